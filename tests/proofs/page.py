"""docs/reliability.md from the records of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.proofs.rows import GROUPS, QUICK_S, ROWS, Row

__all__ = ["Found", "render", "state_of", "summary"]

HERE: Final = Path(__file__).resolve().parent
REPO: Final = HERE.parent.parent

Records = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """The records of all runs, and the tree that they are compared with."""

    records: Records
    #: every test that proves something, as a run of everything collected them
    proofs: list[str]
    #: row -> digest of the rooms that it names
    rooms: Callable[[str], str]
    #: test -> digest of the test files that it rests on
    tests: Callable[[str], str]
    #: seconds, workers, cores, commit and time of the newest run of everything
    run: dict[str, Any] = field(default_factory=dict)
    #: the same of the newest run of all quick tests
    quick: dict[str, Any] = field(default_factory=dict)

    def of(self, row: Row) -> Records:
        return [record for record in self.records if record["row"] == row.name]

    def skipped(self, row: Row) -> Records:
        """Planned for the row and not run. A test that never ran counts for rows of its file."""
        files = {_file(record) for record in self.of(row)}
        return [
            record
            for record in self.records
            if record["outcome"] == "skipped"
            and (record["row"] == row.name or (not record["row"] and _file(record) in files))
        ]

    def is_fresh(self, record: dict[str, Any]) -> bool:
        return bool(
            record["rooms"] == self.rooms(record["row"])
            and record["tests"] == self.tests(record["test"])
        )

    @property
    def missing(self) -> list[str]:
        """Proofs without a record: they did not run, or the run was stopped first."""
        return sorted(set(self.proofs) - {record["test"] for record in self.records})


def known(found: Found) -> Found:
    """``found`` without records of tests that were removed."""
    there = set(found.proofs)
    records = [
        record
        for record in found.records
        if _exists(record["test"]) and (not there or record["test"] in there)
    ]
    return replace(found, records=records)


def render(found: Found) -> str:
    """The page: what is missing first, then the table, then the limits."""
    found = known(found)
    parts = [
        _prose("intro"),
        _run(found.run) + " " + _quick(found.quick),
        _attention(found),
        "## Promises and proofs\n\n" + _table(found) + "\n\n" + _groups(),
        *(_without_list(_prose(path.stem)) for path in sorted(HERE.glob("T*.md"))),
        _prose("not-promised"),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def summary(found: Found) -> str:
    """One line for each state, for the terminal."""
    found = known(found)
    states: dict[str, list[str]] = {}
    for row in ROWS:
        states.setdefault(state_of(row, found), []).append(row.name)
    return "\n".join(f"{state:>8}: {', '.join(names)}" for state, names in sorted(states.items()))


def state_of(row: Row, found: Found) -> str:
    """The worst state that applies: not run, failed, stale, partial, short, held.

    Partial: a part of it was skipped, or some proof has no record, since it could belong to any
    row. Short: less was counted than planned.
    """
    ran = [record for record in found.of(row) if record["outcome"] != "skipped"]
    if not ran:
        return "not run"
    if any(record["outcome"] == "failed" for record in ran):
        return "failed"
    if not all(found.is_fresh(record) for record in ran):
        return "stale"
    if not found.proofs or found.missing or found.skipped(row):
        return "partial"
    counts = _counts(_whole(ran, row.apart))
    return "short" if any(counts.get(k, 0) < least for k, least in row.least.items()) else "held"


def _file(record: dict[str, Any]) -> str:
    return str(record["test"]).partition("::")[0]


def _whole(records: Records, apart: frozenset[str]) -> Records:
    """Without counts of quick tests that a slow test of their file has too, except ``apart``.

    The quick test is a sample of the same cases. Adding its counts would claim more than was tried.
    """
    full: dict[str, set[str]] = {}
    for record in records:
        if record["slow"]:
            full.setdefault(_file(record), set()).update(record["counts"])
    return [
        record
        if record["slow"]
        else record
        | {
            "counts": {
                name: value
                for name, value in record["counts"].items()
                if name in apart or name not in full.get(_file(record), ())
            }
        }
        for record in records
    ]


def _counts(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Sums of ints, maxima of floats, lists of texts."""
    found: dict[str, Any] = {}
    for record in records:
        for name, value in record["counts"].items():
            if name not in found:
                found[name] = value
            elif isinstance(value, str) or isinstance(found[name], str):
                known = str(found[name]).split("; ")
                found[name] = "; ".join([*known, *([] if str(value) in known else [str(value)])])
            elif isinstance(value, float) or isinstance(found[name], float):
                found[name] = max(found[name], value)
            else:
                found[name] += value
    return found


def _run(run: dict[str, Any]) -> str:
    if not run:
        return "How long a run of everything takes has not been noted yet."
    return (
        f"The last run of everything took {run['seconds'] / 60:.0f} minutes with {run['workers']} "
        f"workers on {run['cores']} cores ({run['at']}, {run['commit']}), all other tests included."
    )


def _quick(quick: dict[str, Any]) -> str:
    """The time of the quick sample beside its limit, and whether it is over."""
    if not quick:
        return (
            f"How long the quick sample (`make test`) takes of its {QUICK_S} seconds has not been"
            " noted here; it says so at its end, and"
            " `make test SPECTOR_PROOFS=tests/proofs/results.json` notes it."
        )
    seconds = quick["seconds"]
    return (
        f"The last quick sample that was noted (`make test`, without the linters) took"
        f" {seconds:.0f} of its {QUICK_S} seconds{'' if seconds <= QUICK_S else ', **too long**,'}"
        f" with {quick['workers']} workers on {quick['cores']} cores"
        f" ({quick['at']}, {quick['commit']})."
    )


def _table(found: Found) -> str:
    lines = [
        "| row | promise | proved by | counted | failed | seconds | run | commit | rooms | state |",
        "|---|---|---|---|--:|--:|---|---|---|---|",
    ]
    for row in ROWS:
        ran = [record for record in found.of(row) if record["outcome"] != "skipped"]
        state = state_of(row, found)
        failed = sum(record["outcome"] == "failed" for record in ran)
        seconds = sum(record["seconds"] for record in ran)
        newest = max((record["at"] for record in ran), default="")
        commits = " ".join(sorted({record["commit"] for record in ran}))
        told = _counted(_counts(_whole(ran, row.apart)), row.least)
        lines.append(
            f"| {row.name} | {row.promise} | {row.how} | {told} | {failed if ran else ''} | "
            f"{f'{seconds:,.0f}' if ran else ''} | {newest[:10]} | {commits} | "
            f"{', '.join(row.rooms)} | "
            f"{state if state == 'held' else f'**{state}**'} |"
        )
    return "\n".join(lines)


def _groups() -> str:
    """What the short names of the column of rooms stand for."""
    lines = [f"- **{name}**: {', '.join(rooms)}" for name, rooms in GROUPS.items()]
    return "Groups of rooms:\n\n" + "\n".join(lines)


def _counted(counts: dict[str, Any], least: dict[str, int]) -> str:
    parts = []
    for name, value in counts.items():
        text = f"{value:,}" if isinstance(value, int) else str(value)
        asked = f" (planned: {least[name]:,})" if name in least else ""
        parts.append(f"{name.replace('_', ' ')} {text}{asked}")
    return "; ".join(parts).replace("|", "\\|")


def _attention(found: Found) -> str:
    """What a reader must see before the table: failures, skips, rows without a fresh run."""
    lines = []
    for state in ("failed", "short", "partial", "stale", "not run"):
        rows = [row.name for row in ROWS if state_of(row, found) == state]
        if rows:
            lines.append(f"- {state}: {', '.join(rows)}")
    if not found.proofs:
        lines.append("- no run of everything has said which proofs there are")
    lines += [f"- without a record: `{_cell(test)}`" for test in found.missing]
    for record in found.records:
        if record["outcome"] == "skipped":
            lines.append(f"- skipped: `{_cell(record['test'])}`: {record['reason']}")
        if record["outcome"] == "failed":
            lines.append(f"- failed: `{_cell(record['test'])}`")
    return "## Read this first\n\n" + ("\n".join(lines) or "Every row has a fresh, full run.")


def _cell(test: str) -> str:
    return test.replace("|", "\\|")


def _exists(test: str) -> bool:
    """Whether the test is still in the tree; a removed test proves nothing."""
    file, _, name = test.partition("::")
    path = REPO / file
    function = re.split(r"[\[:]", name.rpartition("::")[2] or name)[0]
    return path.exists() and f"def {function}(" in path.read_text()


def _without_list(text: str) -> str:
    """The mutants that were looked at are a long table, which changes with the code it quotes."""
    prose, table, _ = text.partition("\n| module |")
    return prose + "\n[Their list](../tests/proofs/T30.md)." if table else prose


def _prose(name: str) -> str:
    path = HERE / f"{name}.md"
    return path.read_text() if path.exists() else ""
