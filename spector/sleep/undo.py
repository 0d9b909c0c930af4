"""Undoes a cycle: strengths, flags and tiers as before, and what it made is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from spector.errors import InvalidInputError
from spector.knowledge import Changes, KnowledgeReader
from spector.records import ReflectReport, StepReport
from spector.search import Strengths, Surveyor
from spector.sleep.state import SleepState
from spector.write import Unit, UnitWriter, text_mark, unpacked

__all__ = ["undo"]

_BATCH: Final = 500
#: what the record has beside values of a memory
_NO_VALUE: Final = frozenset({"why", "tier"})


def undo(
    cycle: int, survey: Surveyor, writer: UnitWriter, forget: Callable[[Sequence[int]], None]
) -> ReflectReport:
    """Undo the newest cycle on record, newest change first.

    What was changed or erased since stays as it is; the report lists it.

    Raises:
        InvalidInputError: The cycle is not on record, or a later one is and has to be undone first.
    """
    with survey.knowledge() as reader:
        state = SleepState.of(reader.sleep_state())
        begun = {row["cycle"]: row["before"] for row in reader.cycle_changes("cycle")}
        rows = reader.cycle_changes(cycle=cycle)
        later = [each for each in begun if each > cycle]
    if cycle not in begun:
        known = ", ".join(map(str, sorted(begun))) or "none"
        raise InvalidInputError(
            f"cycle {cycle} cannot be undone: it is not on record",
            hint=f"cycles on record: {known}; they stay for Config.sleep.undo_days",
        )
    if later:
        raise InvalidInputError(
            f"cycle {cycle} cannot be undone before the later ones",
            hint=f"begin with the newest: memory.reflect_undo({max(later)})",
        )
    work = _Undo(survey, rows)
    for unit in work.units():
        done = writer.commit(unit, None, state.row())
        work.changed += done.changed
    made = work.made()
    forget(made)
    for name in ("decayed_ms", "compressed_ms", "extracted_id", "abstracted_id", "recent"):
        setattr(state, name, begun[cycle][name])
    state.step, state.cursor = "", 0
    writer.put_state(state.row(), drop=cycle)
    report = StepReport(
        name="undo", seen=len(rows), changed=len(set(work.changed)) + len(made),
        ids=tuple(dict.fromkeys([*work.changed, *made]))[:1000],
        skipped={"changed since": len(work.kept)} if work.kept else {},
    )  # fmt: skip
    return ReflectReport(cycle=cycle, steps=(report,), kept=tuple(sorted(work.kept)))


class _Undo:
    """The changes of one cycle, turned back."""

    def __init__(self, survey: Surveyor, rows: Sequence[dict[str, Any]]) -> None:
        self._survey = survey
        self._rows = rows
        self.changed: list[int] = []
        #: memories that were changed since
        self.kept: set[int] = set()

    def units(self) -> Iterator[Unit]:
        """Units in the reverse order of the changes."""
        waiting: list[dict[str, Any]] = []
        for row in reversed(self._rows):
            kind = _kind(row)
            if waiting and (_kind(waiting[0]) != kind or len(waiting) == _BATCH
                            or any(row["record_id"] == each["record_id"] for each in waiting)):
                yield from self._unit(waiting)
                waiting = []
            if kind == "packed":
                yield from self._packed(row)
            elif kind != "none":
                waiting.append(row)
        if waiting:
            yield from self._unit(waiting)

    def made(self) -> list[int]:
        """Memories that the cycle made and that are unchanged."""
        marks = {
            row["record_id"]: row["before"].get("text") for row in self._rows
            if row["what"] == "made"
        }  # fmt: skip
        words = self._survey.words(marks)
        same = [each for each, found in words.items() if text_mark(found.text) == marks[each]]
        self.kept |= words.keys() - set(same)
        return sorted(same)

    def _unit(self, rows: Sequence[dict[str, Any]]) -> Iterator[Unit]:
        if rows[0]["what"] == "edge":
            yield Unit(decide=lambda reader, now_ms: _without_edges(rows))
            return
        if rows[0]["what"] == "dropped":
            yield Unit(decide=lambda reader, now_ms: _with_dropped(reader, rows))
            return
        values = {row["record_id"]: row["before"] for row in rows}
        tier = rows[0]["before"].get("tier")
        yield Unit(
            ids=list(values), alter=lambda fresh: self._turned_back(fresh, values),
            to_tier=None if tier is None else tier[0],
        )  # fmt: skip

    def _turned_back(self, fresh: Strengths, values: dict[int, dict[str, Any]]) -> Any:
        changed = np.zeros(len(fresh), bool)
        for n, record_id in enumerate(fresh.rows["id"].tolist()):
            row, known = fresh.rows[n], values[record_id]
            names = [name for name in known if name not in _NO_VALUE]
            if all(_is(row, name, known[name][1]) for name in names):
                for name in names:
                    fresh.rows[name][n] = known[name][0]
                changed[n] = True
            elif not all(_is(row, name, known[name][0]) for name in names):
                self.kept.add(record_id)
        return changed

    def _packed(self, row: dict[str, Any]) -> Iterator[Unit]:
        """Strengths that were kept together."""
        before = unpacked(row["before"]["packed"])
        at = {each: n for n, each in enumerate(before["id"].tolist())}

        def alter(fresh: Strengths) -> Any:
            known = before[[at[each] for each in fresh.rows["id"].tolist()]]
            rows, changed = fresh.rows, np.zeros(len(fresh), bool)
            for name, old in (("stability_days", "stability"), ("utility", "utility")):
                same = rows[name] == known[f"{old}_after"]
                other = ~same & (rows[name] != known[old])
                self.kept.update(rows["id"][other].tolist())
                changed |= same & (known[old] != known[f"{old}_after"])
                rows[name] = np.where(same, known[old], rows[name])
            return changed

        yield Unit(ids=before["id"].tolist(), alter=alter)


def _kind(row: dict[str, Any]) -> str:
    """Changes of one kind are undone together."""
    if row["what"] in ("cycle", "made"):
        return "none"
    if "packed" in row["before"]:
        return "packed"
    if row["what"] in ("edge", "dropped"):
        return str(row["what"])
    tier = row["before"].get("tier")
    return "value" if tier is None else f"tier {tier[0]}"


def _is(row: Any, name: str, value: Any) -> bool:
    """Whether a stored number is this one; it may have fewer digits than what was noted."""
    return bool(row[name] == row.dtype[name].type(value))


def _with_dropped(reader: KnowledgeReader, rows: Sequence[dict[str, Any]]) -> Changes:
    """Edges and pairs that the cycle dropped, where both ends still live."""
    changes, values = Changes(), [row["before"] for row in rows]
    living = reader.owners({end for each in values for end in (each["a"], each["b"])})
    for each in values:
        if each["a"] not in living or each["b"] not in living:
            continue
        if each["kind"] == "pair":
            changes.put("link", **each)
        else:
            ends = {"source_id": each["a"], "target_id": each["b"]}
            rest = {name: value for name, value in each.items() if name not in ("a", "b")}
            changes.put("edge", **ends, **rest, note=None)
    return changes


def _without_edges(rows: Sequence[dict[str, Any]]) -> Changes:
    changes = Changes()
    for row in rows:
        changes.drop("edge", *row["before"]["edge"])
    return changes


