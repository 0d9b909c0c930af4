"""Undoes a cycle: strengths, flags and tiers as before, and what it made is forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from spector.errors import InvalidInputError
from spector.knowledge import Changes, KnowledgeReader
from spector.layout import Flag, TierCode
from spector.records import ReflectReport, StepReport
from spector.search import Strengths, Surveyor
from spector.write import (
    Prepared,
    Unit,
    UnitWriter,
    item_mark,
    plan_rows_back,
    text_mark,
    unpacked,
    unpacked_rows,
)

_BATCH: Final = 500
#: what the record has beside values of a memory
_NO_VALUE: Final = frozenset({"why", "tier"})


def undo(
    cycle: int, survey: Surveyor, writer: UnitWriter, retold: Callable[[int], str | None]
) -> ReflectReport:
    """Undo the newest cycle on record, newest change first.

    What was changed or erased since stays as it is; the report lists it.

    Args:
        retold: how a memory that sleep made reads by what it is made of; None when only its model
            knew.

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
        work.changed += writer.commit(unit, None, lambda made: state.row()).changed
    made = work.made()
    work.kept |= work.erased()
    writer.take_back(made, work.ended(made))
    stay = survey.words(made).keys()  # they were pinned since
    work.kept |= stay
    made = [each for each in made if each not in stay]
    for unit in work.restated(retold):
        work.changed += writer.commit(unit, None, lambda made: state.row()).changed
    for name in ("decayed_ms", "compressed_ms", "extracted_id", "abstracted_id", "recent"):
        setattr(state, name, begun[cycle][name])
    state.step, state.cursor = "", 0
    writer.put_state(state.row(), drop=cycle)
    report = StepReport(
        name="undo",
        seen=len(rows),
        changed=len(set(work.changed)) + len(made),
        ids=tuple(dict.fromkeys([*work.changed, *made]))[:1000],
        skipped={
            name: count
            for name, count in (
                ("changed since", len(work.kept)),
                ("forgotten since", len(work.gone - work.kept)),
            )
            if count
        },
    )
    return ReflectReport(cycle=cycle, steps=(report,), kept=tuple(sorted(work.kept)))


@dataclass(eq=False)
class _Undo:
    """The changes of one cycle, turned back."""

    survey: Surveyor
    rows: Sequence[dict[str, Any]]
    changed: list[int] = field(default_factory=list)
    #: memories that were changed since
    kept: set[int] = field(default_factory=set)
    #: memories that were forgotten since
    gone: set[int] = field(default_factory=set)

    def units(self) -> Iterator[Unit]:
        """Units in the reverse order of the changes."""
        waiting: list[dict[str, Any]] = []
        for row in reversed(self.rows):
            kind = _kind(row)
            if waiting and (
                _kind(waiting[0]) != kind
                or len(waiting) == _BATCH
                or any(row["record_id"] == each["record_id"] for each in waiting)
            ):
                yield self._values(waiting)
                waiting = []
            if kind == "packed":
                yield from self._packed(row)
            elif kind == "rows":
                yield Unit(decide=self._rows_back(row))
            elif kind == "item":
                yield Unit(decide=self._without_item(row))
            elif kind == "value" or kind.startswith("tier"):
                waiting.append(row)
        if waiting:
            yield self._values(waiting)

    def restated(self, retold: Callable[[int], str | None]) -> Iterator[Unit]:
        """Units that bring back words that follow from numbers and sources, as they were."""
        first: dict[int, dict[str, int]] = {}
        last: dict[int, dict[str, int]] = {}
        for row in self.rows:
            if row["what"] == "restated":
                first.setdefault(row["record_id"], row["before"])
                last[row["record_id"]] = row["before"]
        for each, words in self.survey.words(first).items():
            if text_mark(words.text) == first[each]["was"]:
                continue
            text = retold(each) if text_mark(words.text) == last[each]["text"] else None
            if text is None or text_mark(text) != first[each]["was"]:
                self.kept.add(each)
            else:
                yield Unit(restates=each, prepared=[Prepared(text, {})])

    def _rows_back(self, row: dict[str, Any]) -> Callable[[KnowledgeReader, int], Changes]:
        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes, kept = plan_rows_back(reader, unpacked_rows(row["before"]["rows"]))
            self.kept |= kept
            return changes

        return decide

    def _without_item(self, row: dict[str, Any]) -> Callable[[KnowledgeReader, int], Changes]:
        """Drop an entity or an association that the cycle made, if nothing was added to it."""

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            if item_mark(reader, row["record_id"]) == row["before"]["mark"]:
                changes.forget.add(row["record_id"])
            return changes

        return decide

    def made(self) -> list[int]:
        """Memories that the cycle made and that are unchanged."""
        marks = {
            row["record_id"]: row["before"].get("text")
            for row in self.rows
            if row["what"] == "made"
        }
        words = self.survey.words(marks)
        same = [each for each, found in words.items() if text_mark(found.text) == marks[each]]
        self.kept |= words.keys() - set(same)
        return sorted(same)

    def erased(self) -> set[int]:
        """What the cycle has forgotten for good."""
        return {
            each for row in self.rows if row["what"] == "erased" for each in row["before"]["ids"]
        }

    def ended(self, made: Sequence[int]) -> list[int]:
        """What these memories, which the cycle made, had superseded."""
        return [
            each
            for row in self.rows
            if row["what"] == "made" and row["record_id"] in made
            for each in row["before"].get("ended", ())
        ]

    def _values(self, rows: Sequence[dict[str, Any]]) -> Unit:
        values = {row["record_id"]: row["before"] for row in rows}
        tier = rows[0]["before"].get("tier")
        return Unit(
            ids=list(values),
            alter=lambda fresh: self._turned_back(fresh, values),
            to_tier=None if tier is None else tier[0],
        )

    def _turned_back(self, fresh: Strengths, values: dict[int, dict[str, Any]]) -> Any:
        changed = np.zeros(len(fresh), bool)
        self.gone |= values.keys() - set(fresh.rows["id"].tolist())
        for n, record_id in enumerate(fresh.rows["id"].tolist()):
            row, known = fresh.rows[n], values[record_id]
            names = [name for name in known if name not in _NO_VALUE]
            if "flags" in names and self._was_woken(row, known["flags"]):
                self.kept.add(record_id)
            elif all(_is(row, name, known[name][1]) for name in names):
                for name in names:
                    fresh.rows[name][n] = known[name][0]
                changed[n] = True
            elif not all(_is(row, name, known[name][0]) for name in names):
                self.kept.add(record_id)
        return changed

    def _was_woken(self, row: Any, flags: Sequence[int]) -> bool:
        """Whether the cycle put a memory to rest, and it rests again after it was woken by name."""
        rested = flags[1] & ~flags[0] & Flag.DORMANT and row["flags"] & Flag.DORMANT
        return bool(rested) and int(row["last_access_s"]) > self._started_s

    @cached_property
    def _started_s(self) -> int:
        """When the cycle of these changes began, in seconds."""
        begun = [row["before"]["started_ms"] for row in self.rows if row["what"] == "cycle"]
        return int(max(begun, default=0)) // 1000

    def _packed(self, row: dict[str, Any]) -> Iterator[Unit]:
        """Strengths that were kept together."""
        before = unpacked(row["before"]["packed"])
        at = {each: n for n, each in enumerate(before["id"].tolist())}

        def alter(fresh: Strengths) -> Any:
            known = before[[at[each] for each in fresh.rows["id"].tolist()]]
            self.gone |= at.keys() - set(fresh.rows["id"].tolist())
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
    if row["what"] in ("rows", "item"):
        return str(row["what"])
    if row["what"] in ("cycle", "made", "restated", "erased"):
        return "none"
    if "packed" in row["before"]:
        return "packed"
    tier = row["before"].get("tier")
    return "value" if tier is None else f"tier {tier[0]}"


def _is(row: Any, name: str, value: Any) -> bool:
    """Whether a stored number is this one; it may have fewer digits than what was noted."""
    return bool(row[name] == row.dtype[name].type(value))


# Where sleep has come to: the one row that the store keeps of it.

TIERS: Final = {each.name.lower(): int(each) for each in TierCode}
ERASED: Final = "erased"
#: changes that are not of the numbers of a memory
_NO_VALUES: Final = frozenset({"made", "item", "restated", "rows", "cycle", ERASED})


@dataclass(slots=True, kw_only=True)
class SleepState:
    """The cycle that goes on or ended last, and when each part last ran.

    Attributes:
        step: the step that goes on; "" when no cycle is unfinished. cursor: how far it is.
        recent: what a going cycle has to know when it is resumed: its steps, when parts last ran.
        central: the most central memories and their scores.
    """

    cycle: int = 0
    started_ms: int = 0
    step: str = ""
    cursor: int = 0
    decayed_ms: int = 0
    extracted_id: int = 0
    abstracted_id: int = 0
    compressed_ms: int = 0
    tested_ms: int = 0
    seed: int = 0
    recent: dict[str, Any] = field(default_factory=dict)
    central: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> SleepState:
        """The state of a row; that of a store that never slept without one."""
        if row is None:
            return cls()
        values = {name: value for name, value in row.items() if name != "one"}
        values["recent"], values["central"] = json.loads(row["recent"]), json.loads(row["central"])
        return cls(**values)

    def row(self) -> dict[str, Any]:
        """The row of this state."""
        values = {name: getattr(self, name) for name in self.__slots__}
        for name in ("recent", "central"):
            values[name] = compact(values[name])
        return {"one": 1, **values}

    def note(self, changes: Mapping[str, Any]) -> None:
        """Take over fields; what ``recent`` names is added to it."""
        for name, value in changes.items():
            if name == "recent":
                self.recent = {**self.recent, **value}
            else:
                setattr(self, name, value)

    def note_once(self, name: str, value: Any) -> None:
        """Keep how far a step's plan has come, for when it is gone on with; JSON."""
        self.recent = {**self.recent, "once": {**self.recent.get("once", {}), name: value}}


def compact(value: Any) -> str:
    """JSON as the row keeps it."""
    return json.dumps(value, separators=(",", ":"))


def before_step(memories: Strengths, changes: Sequence[dict[str, Any]]) -> Strengths:
    """Memories without what a step has made, and as they were before it."""
    made = [row["record_id"] for row in changes if row["what"] == "made"]
    rows = memories.rows[~np.isin(memories.rows["id"], np.array(made, np.int64))].copy()
    places = {each: n for n, each in enumerate(rows["id"].tolist())}
    for row in reversed(changes):
        place = places.get(row["record_id"])
        if place is None or row["what"] in _NO_VALUES:
            continue
        for name, value in row["before"].items():
            if name == "tier":
                rows["tier"][place] = TIERS.get(value[0], rows["tier"][place])
            elif name != "why":
                rows[name][place] = value[0]
    return Strengths(rows, memories.users, memories.sessions)
