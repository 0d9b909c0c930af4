"""docs/reliability.md from the records of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tests.proofs.rows import ROWS, Row

__all__ = ["render", "state_of", "summary"]

HERE: Final = Path(__file__).resolve().parent
REPO: Final = HERE.parent.parent

Records = list[dict[str, Any]]


def render(records: Records, sources: str) -> str:
    """The page: what is missing first, then the table, then each row's tests, then the limits."""
    records = [record for record in records if _exists(record["test"])]
    by_row = {row.name: [r for r in records if r["row"] == row.name] for row in ROWS}
    parts = [
        _prose("intro"),
        _attention(records, by_row, sources),
        "## Promises and proofs\n\n" + _table(by_row, sources),
        "## Tests\n\n" + _tests(records, by_row, sources),
        *(_prose(path.stem) for path in sorted(HERE.glob("T*.md"))),
        _prose("not-promised"),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def summary(records: Records, sources: str) -> str:
    """One line a state, for the terminal."""
    records = [record for record in records if _exists(record["test"])]
    states: dict[str, list[str]] = {}
    for row in ROWS:
        state = state_of(row, [r for r in records if r["row"] == row.name], sources)
        states.setdefault(state, []).append(row.name)
    return "\n".join(f"{state:>8}: {', '.join(names)}" for state, names in sorted(states.items()))


def state_of(row: Row, records: Records, sources: str) -> str:
    """``held``, ``short`` of its plan, ``failed``, ``stale`` or ``not run``, the worst first."""
    ran = [record for record in records if record["outcome"] != "skipped"]
    if not ran:
        return "not run"
    if any(record["outcome"] == "failed" for record in ran):
        return "failed"
    if any(record["sources"] != sources for record in ran):
        return "stale"
    counts = _counts(ran)
    return "short" if any(counts.get(k, 0) < least for k, least in row.least.items()) else "held"


def _counts(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Ints summed, floats at their largest, texts listed."""
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


def _table(by_row: dict[str, Records], sources: str) -> str:
    lines = [
        "| row | promise | proved by | counted | failed | seconds | run | commit | state |",
        "|---|---|---|---|--:|--:|---|---|---|",
    ]
    for row in ROWS:
        records = by_row[row.name]
        ran = [record for record in records if record["outcome"] != "skipped"]
        state = state_of(row, records, sources)
        failed = sum(record["outcome"] == "failed" for record in ran)
        seconds = sum(record["seconds"] for record in ran)
        newest = max((record["at"] for record in ran), default="")
        commits = " ".join(sorted({record["commit"] for record in ran}))
        told = _told(_counts(ran), row.least)
        lines.append(
            f"| {row.name} | {row.promise} | {row.how} | {told} | {failed if ran else ''} | "
            f"{f'{seconds:,.0f}' if ran else ''} | {newest[:10]} | {commits} | "
            f"{state if state == 'held' else f'**{state}**'} |"
        )
    return "\n".join(lines)


def _told(counts: dict[str, Any], least: dict[str, int]) -> str:
    parts = []
    for name, value in counts.items():
        text = f"{value:,}" if isinstance(value, int) else str(value)
        asked = f" (planned: {least[name]:,})" if name in least else ""
        parts.append(f"{name.replace('_', ' ')} {text}{asked}")
    return "; ".join(parts).replace("|", "\\|")


def _attention(records: Records, by_row: dict[str, Records], sources: str) -> str:
    """What a reader must see before the table: failures, skips, rows without a fresh run."""
    lines = []
    for state in ("failed", "short", "stale", "not run"):
        rows = [row.name for row in ROWS if state_of(row, by_row[row.name], sources) == state]
        if rows:
            lines.append(f"- {state}: {', '.join(rows)}")
    for record in records:
        if record["outcome"] == "skipped":
            lines.append(f"- skipped: `{_short(record['test'])}`: {record['reason']}")
        if record["outcome"] == "failed":
            lines.append(f"- failed: `{_short(record['test'])}`")
    return "## To be seen first\n\n" + ("\n".join(lines) or "Every row has a fresh, full run.")


def _tests(records: Records, by_row: dict[str, Records], sources: str) -> str:
    lines = ["| row | test | counted | seconds | outcome |", "|---|---|---|--:|---|"]
    for row in ROWS:
        for record in by_row[row.name]:
            outcome = record["outcome"] + ("" if record["sources"] == sources else ", stale")
            lines.append(
                f"| {row.name} | `{_short(record['test'])}` | {_told(record['counts'], {})} | "
                f"{record['seconds']} | {outcome} |"
            )
    return "\n".join(lines)


def _short(test: str) -> str:
    return test.removeprefix("tests/").replace("|", "\\|")


def _exists(test: str) -> bool:
    """Whether the test is still in the tree: what was removed proves nothing any more."""
    file, _, name = test.partition("::")
    path = REPO / file
    function = re.split(r"[\[:]", name.rpartition("::")[2] or name)[0]
    return path.exists() and f"def {function}(" in path.read_text()


def _prose(name: str) -> str:
    path = HERE / f"{name}.md"
    return path.read_text() if path.exists() else ""
