"""Counts what the reliability tests did, and makes docs/reliability.md of it.

A test asks for the fixture ``proof`` and says, once, what it did::

    proof("T1", kill_points=3120, lost_acknowledged=0, seeds="0..12")

Outcome, seconds, commit, a digest of the product's sources and one of the test's own folder are
added. With SPECTOR_PROOFS naming a file (``make test-slow`` does), the records are kept there, the
newest of each test. A record whose digests are not those of the tree as it is now is stale. A run
of everything also notes which proofs there are: without a record of each the page is not complete.

    python -m tests.proof [FILE]        docs/reliability.md from FILE (docs/reliability.json)
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.rows import NAMES

__all__ = ["digest_of_sources", "digest_of_tests", "load", "proof", "proofs_in", "seed"]

REPO: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = REPO / "docs" / "reliability.json"
SCHEMA: Final = 2
_CALLS: Final = pytest.StashKey[list[tuple[str, dict[str, Any]]]]()
_SECONDS: Final = pytest.StashKey[float]()

Proof = Callable[..., None]


def seed(default: int) -> int:
    """SPECTOR_SEED where it is set: how a failure is repeated, or a nightly run varied."""
    return int(os.environ.get("SPECTOR_SEED", default))


@pytest.fixture
def proof(request: pytest.FixtureRequest) -> Proof:
    """Call it with a row of the page and what was counted: ints are summed, texts are listed."""
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
    if path:  # at once: a run of an hour that is stopped has proved what it has proved
        keep(Path(path), [
            {
                "row": row, "test": item.nodeid, "outcome": report.outcome, "counts": counts,
                "seconds": round(item.stash[_SECONDS], 1), "reason": str(reason),
                "slow": item.get_closest_marker("slow") is not None,
                "commit": _commit(), "sources": digest_of_sources(),
                "tests": digest_of_tests(item.nodeid),
                "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            for row, counts in calls
        ])  # fmt: skip


def pytest_collection_finish(session: pytest.Session) -> None:
    """Of a run of everything, note which proofs there are."""
    path = os.environ.get("SPECTOR_PROOFS")
    if path and _is_everything(session.config.args, session.config.option):
        found = [i.nodeid for i in session.items if "proof" in getattr(i, "fixturenames", ())]
        with _held(Path(path)):
            _write(Path(path), load(Path(path)), sorted(found))


def _is_everything(arguments: list[str], option: Any) -> bool:
    chosen = option.markexpr or option.keyword or option.deselect or option.ignore
    if chosen or option.collectonly or option.lf:
        return False
    return [Path(each).resolve() for each in arguments] == [REPO / "tests"]


def keep(path: Path, fresh: list[dict[str, Any]]) -> None:
    """Put records into the file, each in place of what is known of the same test.

    Of a test that failed before it could count, or was skipped, the rows it had are kept.
    """
    with _held(path):
        _keep(path, fresh)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Of several workers one at a time."""
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
    _write(path, merged, proofs_in(path))


def _write(path: Path, records: list[dict[str, Any]], proofs: list[str]) -> None:
    whole = {"schema": SCHEMA, "proofs": proofs, "records": records}
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps(whole, indent=1) + "\n")
    scratch.replace(path)


def load(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = _read(path)["records"]
    return records


def proofs_in(path: Path) -> list[str]:
    """All tests that prove something, as the newest run of everything found them."""
    proofs: list[str] = _read(path)["proofs"]
    return proofs


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"schema": SCHEMA, "proofs": [], "records": []}
    found: dict[str, Any] = json.loads(path.read_text())
    if found["schema"] != SCHEMA:
        raise ValueError(f"{path} has schema {found['schema']}, this code knows {SCHEMA}")
    return found


@functools.cache
def digest_of_sources() -> str:
    """12 hex digits of everything that decides how the product behaves."""
    return _digest([*REPO.glob("spector/**/*.py"), *REPO.glob("native/*.[chp]*")])


def digest_of_tests(test: str) -> str:
    """The same of the folder that a test is in: what it asserts, and what it asserts it with."""
    folder = (REPO / test.partition("::")[0]).parent
    return _digest_in(folder, "*" if folder == REPO / "tests" else "**/*")


@functools.cache
def _digest_in(folder: Path, names: str) -> str:
    return _digest([path for end in (".py", ".c") for path in folder.glob(names + end)])


def _digest(names: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for name in sorted(names):
        path = os.path.relpath(name, REPO)
        whole.update(f"{path}\0".encode() + name.read_bytes() + b"\0")
    return whole.hexdigest()[:12]


@functools.cache
def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main(arguments: list[str]) -> int:
    from tests.proofs import page

    source = Path(arguments[0]) if arguments else RESULTS
    found = page.Found(load(source), proofs_in(source), digest_of_sources(), digest_of_tests)
    (REPO / "docs" / "reliability.md").write_text(page.render(found))
    print(page.summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
