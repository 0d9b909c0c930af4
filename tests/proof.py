"""Record what the reliability tests counted, and write docs/reliability.md from it.

A test asks for the fixture ``proof`` and says, once, what it did::

    proof("T1", kill_points=3120, lost_acknowledged=0, seeds="0..12")

Outcome, seconds, commit and two digests are added: of the rooms that the row names (rows.py), and
of the test files behind the test. A record is stale when one of the two differs from the tree, so a
change in a room leaves the rows of other rooms fresh. With SPECTOR_PROOFS naming a file
(``make test-slow`` does), the newest record of each test is kept there. A run of everything also
notes which proofs exist, because the page is incomplete without a record of each, and how long it
took. A run of all quick tests prints how long it took beside its limit, and notes it as well.

    python -m tests.proof [FILE]        docs/reliability.md from FILE (tests/proofs/results.json)
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.digests import digest_of_rooms, digest_of_tests
from tests.proofs.rows import NAMES, QUICK_S, rooms_of

__all__ = [
    "load",
    "longest_first",
    "proof",
    "proofs_in",
    "pytest_collection_finish",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_sessionstart",
    "pytest_terminal_summary",
    "quick_in",
    "run_in",
    "seed",
]

REPO: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = REPO / "tests" / "proofs" / "results.json"
SCHEMA: Final = 3
_CALLS: Final = pytest.StashKey[list[tuple[str, dict[str, Any]]]]()
_SECONDS: Final = pytest.StashKey[float]()
_BEGAN: Final = pytest.StashKey[float]()
#: slower tests start before all others; the others keep their order, because they share fixtures
_LONG_S: Final = 40.0

Proof = Callable[..., None]


def seed(default: int) -> int:
    """SPECTOR_SEED where it is set: how a failure is repeated, or a nightly run varied."""
    return int(os.environ.get("SPECTOR_SEED", default))


@pytest.fixture
def proof(request: pytest.FixtureRequest) -> Proof:
    """Call it with a row of the page and the counts: ints are summed, texts are listed."""
    calls = request.node.stash.setdefault(_CALLS, [])

    def record(row: str, **counts: float | str) -> None:
        if row not in NAMES:
            raise ValueError(f"no row {row!r}: add it to tests/proofs/rows.py")
        calls.append((row, counts))

    return record


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield  # type: ignore[misc]
    if "proof" in getattr(item, "fixturenames", ()):
        item.stash[_SECONDS] = item.stash.get(_SECONDS, 0.0) + report.duration
        if report.when == "call" or not report.passed:
            _note(item, report)
    return report  # type: ignore[return-value]


def _note(item: pytest.Item, report: Any) -> None:
    calls = item.stash.get(_CALLS, []) or [("", {})]
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    path = os.environ.get("SPECTOR_PROOFS")
    if path:  # at once, so that a run that is stopped keeps what it has proved
        keep(
            Path(path),
            [
                {
                    "row": row,
                    "test": item.nodeid,
                    "outcome": report.outcome,
                    "counts": counts,
                    "seconds": round(item.stash[_SECONDS], 1),
                    "reason": str(reason),
                    "slow": item.get_closest_marker("slow") is not None,
                    "commit": _commit(),
                    "rooms": digest_of_rooms(rooms_of(row)),
                    "tests": digest_of_tests(item.nodeid),
                    "at": _now(),
                }
                for row, counts in calls
            ],
        )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Record which proofs exist, after collecting a run of everything."""
    path = os.environ.get("SPECTOR_PROOFS")
    if path and _is_everything(session.config.args, session.config.option):
        found = [i.nodeid for i in session.items if "proof" in getattr(i, "fixturenames", ())]
        with _held(Path(path)):
            _write(Path(path), _read(Path(path)) | {"proofs": sorted(found)})


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_BEGAN] = time.monotonic()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Record how long a run of everything took, collection included, and on how many cores."""
    if _is_everything(session.config.args, session.config.option):
        _note_run(session.config, "run")


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Print how long a run of all quick tests took, without linters and set-up."""
    stopped = exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if stopped or config.option.maxfail or not _is_quick(config.args, config.option):
        return
    run = _run_of(config)
    over = "" if run["seconds"] <= QUICK_S else ", which is too long"
    terminalreporter.write_line(
        f"quick sample: {run['seconds']:.0f} s of {QUICK_S} s{over}"
        f" ({run['workers']} workers, {run['cores']} cores)"
    )
    _note_run(config, "quick")


def _run_of(config: pytest.Config) -> dict[str, Any]:
    return {
        "seconds": round(time.monotonic() - config.stash[_BEGAN], 1),
        "workers": int(getattr(config.option, "numprocesses", None) or 1),
        "cores": os.cpu_count() or 0,
        "commit": _commit(),
        "at": _now(),
    }


def _note_run(config: pytest.Config, name: str) -> None:
    path = os.environ.get("SPECTOR_PROOFS")
    if path and not hasattr(config, "workerinput"):
        with _held(Path(path)):
            _write(Path(path), _read(Path(path)) | {name: _run_of(config)})


def longest_first(items: list[pytest.Item]) -> None:
    """Tests marked longest come first, then slow ones by the time they took in the last run.

    An idle worker steals half of what another one has left, from its end. With the long tests at
    the beginning, all workers finish together.
    """
    seconds = {record["test"]: record["seconds"] for record in _read(RESULTS)["records"]}

    def rank(item: pytest.Item) -> tuple[bool, float]:
        took = seconds.get(item.nodeid, 0.0) if item.get_closest_marker("slow") else 0.0
        return item.get_closest_marker("longest") is None, -took if took > _LONG_S else 0.0

    items.sort(key=rank)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_everything(arguments: list[str], option: Any) -> bool:
    return not option.markexpr and _is_all_of_it(arguments, option)


def _is_quick(arguments: list[str], option: Any) -> bool:
    return bool(option.markexpr == "not slow") and _is_all_of_it(arguments, option)


def _is_all_of_it(arguments: list[str], option: Any) -> bool:
    chosen = option.keyword or option.deselect or option.ignore or getattr(option, "lf", False)
    if chosen or option.collectonly:
        return False
    return [Path(each).resolve() for each in arguments] == [REPO / "tests"]


def keep(path: Path, fresh: list[dict[str, Any]]) -> None:
    """Write records into the file, each replacing the earlier ones of its test.

    A test that failed before it could count, or was skipped, keeps the row it had.
    """
    with _held(path):
        _keep(path, fresh)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock of the file: several workers write it."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _keep(path: Path, fresh: list[dict[str, Any]]) -> None:
    ran = {record["test"] for record in fresh}
    before = load(path)
    rows = {record["test"]: record["row"] for record in before if record["row"]}
    for record in fresh:
        record["row"] = record["row"] or rows.get(record["test"], "")
    merged = [record for record in before if record["test"] not in ran] + fresh
    merged.sort(key=lambda record: (record["test"], record["row"]))
    _write(path, _read(path) | {"records": merged})


def _write(path: Path, whole: dict[str, Any]) -> None:
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(whole, indent=1) + "\n")
    scratch.replace(path)


def load(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = _read(path)["records"]
    return records


def proofs_in(path: Path) -> list[str]:
    """All tests that prove something, as the newest run of everything collected them."""
    proofs: list[str] = _read(path)["proofs"]
    return proofs


def run_in(path: Path) -> dict[str, Any]:
    """Seconds, workers, cores, commit and time of the newest run of everything, or nothing."""
    run: dict[str, Any] = _read(path)["run"]
    return run


def quick_in(path: Path) -> dict[str, Any]:
    """The same of the newest run of all quick tests."""
    quick: dict[str, Any] = _read(path)["quick"]
    return quick


def _read(path: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"schema": SCHEMA, "run": {}, "quick": {}, "proofs": [], "records": []}
    if not path.exists():
        return empty
    found: dict[str, Any] = json.loads(path.read_text())
    if found["schema"] != SCHEMA:
        raise ValueError(f"{path} has schema {found['schema']}, this code knows {SCHEMA}")
    return empty | found


@functools.cache
def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main(arguments: list[str]) -> int:
    from tests.proofs import page

    source = Path(arguments[0]) if arguments else RESULTS
    found = page.Found(
        load(source),
        proofs_in(source),
        rooms=lambda row: digest_of_rooms(rooms_of(row)),
        tests=digest_of_tests,
        run=run_in(source),
        quick=quick_in(source),
    )
    (REPO / "docs" / "reliability.md").write_text(page.render(found))
    print(page.summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
