"""What the steps of a cycle share: the time, the memories, what was retired lately, the limits."""

from __future__ import annotations

import logging
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spector.config import Config, SleepConfig
from spector.kernel.contract import Curve, retained
from spector.language.worth import extract_of
from spector.layout import Category, Flag
from spector.providers import Fact, LLMFactExtractor, estimated_tokens
from spector.search import Strengths, SurveyedText, Surveyor
from spector.sleep.condensing import Tools
from spector.sleep.undo import ERASED, TIERS, SleepState, before_step, compact
from spector.write import Unit, differences, unpacked_rows

#: the units of a step, and at its end the fields of the state that change with it
Units: TypeAlias = Generator[Unit, None, dict[str, Any] | None]
Rows: TypeAlias = NDArray[np.void]
Mask: TypeAlias = NDArray[np.bool_]

DAY_MS: Final = 86_400_000
#: memories that are read at once
_PART: Final = 200
_ID: Final = re.compile(r"\d{6,}")
_log = logging.getLogger("spector.sleep")
#: what is in no recall by default
_OUT: Final = int(Flag.DORMANT | Flag.SUPERSEDED | Flag.QUARANTINED | Flag.AUXILIARY)
#: changes that take a memory out of recall, and count against the limit of a day
RETIRED: Final = "retired"
REHEARSED: Final = "rehearsed"
_TIER_NAMES: Final = {code: name for name, code in TIERS.items()}


@dataclass(slots=True)
class Night:
    """One cycle. All its units act at ``started_ms``, also those of a later call."""

    config: Config
    survey: Surveyor
    state: SleepState
    tools: Tools
    #: the cycle was asked for step by step
    named: bool = False
    #: nothing is written: what units would change is changed here only
    dry: bool = False
    #: calls of a model that are left, and that were made
    calls_left: int = 0
    calls: int = 0
    #: the time is over; asked by steps whose plan takes long
    must_stop: Callable[[], bool] = bool
    #: what units would have changed, by kind
    proposed: dict[str, list[int]] = field(default_factory=dict)
    #: a unit has changed memories since they were read
    is_outdated: bool = False
    #: what this step has changed in an earlier call: memories by what became of them
    done: dict[str, set[int]] = field(default_factory=dict)
    _columns: Strengths | None = field(default=None)
    _proposed_texts: set[tuple[str, str]] = field(default_factory=set)

    sleep: SleepConfig = field(init=False)

    def __post_init__(self) -> None:
        self.sleep = self.config.sleep

    @property
    def started_ms(self) -> int:
        return self.state.started_ms

    @property
    def memories(self) -> Strengths:
        """All memories as they were when this step began, but for what others wrote meanwhile."""
        if self._columns is None:
            self._columns = self.survey.all(lambda: breathe(self))
            if self.done:
                self._columns = before_step(self._columns, self._own_changes())
        return self._columns

    def _own_changes(self) -> list[dict[str, Any]]:
        """What this step has changed in this cycle, in order."""
        since = self.state.recent.get("once", {}).get("from", 0)
        with self.survey.knowledge() as reader:
            rows = reader.cycle_changes(cycle=self.state.cycle)
        return [row for row in rows if row["ordinal"] >= since]

    def once(self, name: str, value: Callable[[], Any]) -> Any:
        """What a step computes as it begins, and has again when it is gone on with; JSON."""
        known = self.state.recent.get("once", {})
        if name not in known:
            known = {**known, name: value()}
            self.state.note({"recent": {"once": known}})
        return known[name]

    def dropped(self, table: str) -> Counter[int]:
        """How many rows of a table this step has dropped, by the memory that they began at."""
        found: Counter[int] = Counter()
        for row in () if self.dry else self._own_changes():
            if row["what"] == "rows":
                found.update(
                    each.key[0]
                    for each in unpacked_rows(row["before"]["rows"])
                    if each.table == table and each.mark is None
                )
        return found

    @property
    def made(self) -> int:
        """Memories that this cycle has made so far."""
        return int(self.state.recent.get("made", 0)) + len(self._proposed_texts)

    def note_made(self, count: int) -> None:
        """Count memories that a unit has made."""
        if count:
            self.state.note({"recent": {"made": int(self.state.recent.get("made", 0)) + count}})

    def row(self, made: int) -> dict[str, Any]:
        """The row of the state once a unit has made some memories."""
        row = self.state.row()
        if made:
            count = int(self.state.recent.get("made", 0)) + made
            row["recent"] = compact({**self.state.recent, "made": count})
        return row

    def proposes(self, step: str, text: str) -> bool:
        """Whether a dry run proposes a text for the first time."""
        if (step, text) in self._proposed_texts:
            return False
        self._proposed_texts.add((step, text))
        return True

    def begin_step(self, *, resumed: bool = False) -> None:
        """Have the memories read anew if an earlier step has changed some.

        A step that is gone on with has them as they were before it; `done` is what it has changed.
        """
        if self.is_outdated and not self.dry:
            self._columns, self.is_outdated = None, False
        self.done = {}
        if not resumed:
            self.state.note({"recent": {"once": {}}})
        if self.dry:
            return
        if resumed:
            for row in self._own_changes():
                if row["record_id"] is not None:
                    self.done.setdefault(row["what"], set()).add(row["record_id"])
            self._columns, self.is_outdated = None, True
        self.once("from", self._next_ordinal)

    def _next_ordinal(self) -> int:
        with self.survey.knowledge() as reader:
            return reader.last_ordinal(self.state.cycle) + 1

    def pretend(self, unit: Unit) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
        """(id, values before, values after) of what a unit would change; later steps see it."""
        all_rows = self.memories.rows
        if unit.erases:
            gone = among(all_rows, unit.erases)
            all_rows["flags"][gone] |= int(Flag.DORMANT)
            return [(each, {}, {"forgotten": True}) for each in unit.erases]
        if unit.alter is None or not unit.ids:
            return []
        places = np.flatnonzero(among(all_rows, unit.ids))
        part = Strengths(all_rows[places].copy(), self.memories.users, self.memories.sessions)
        before = part.rows.copy()
        chosen = unit.alter(part)
        out = []
        for old, new in zip(before[chosen], part.rows[chosen], strict=True):
            was, becomes = differences(old, new)
            if unit.to_tier is not None:
                was["tier"], becomes["tier"] = _TIER_NAMES[int(old["tier"])], unit.to_tier
                new["tier"] = TIERS[unit.to_tier]
            out.append((int(old["id"]), was, becomes))
        all_rows[places[chosen]] = part.rows[chosen]
        self.proposed.setdefault(unit.what, []).extend(each for each, *_ in out)
        return out

    def summary_of(self, text: str) -> tuple[str, bool]:
        """A short text of a long one, and whether a model was to make it and did not."""
        made, fallback = self.condensed([text], "summaries")
        return made or extract_of([text], self.sleep.summary_tokens, estimated_tokens), fallback

    def condensed(self, texts: Sequence[str], task: str) -> tuple[str, bool]:
        """What a model makes of texts, and whether it was to and did not; "" without one."""
        condenser = self.tools.condenser
        if self.dry or not condenser.does(task):
            return "", False
        made = ""
        if self._may_call():
            made = condenser.condense(task, texts, self.sleep.summary_tokens)
        return made, not made

    def _may_call(self) -> bool:
        """Whether there is a call of a model left, which is taken."""
        if self.calls_left <= 0:
            return False
        self.calls_left -= 1
        self.calls += 1
        self.state.note({"recent": {"calls": int(self.state.recent.get("calls", 0)) + 1}})
        return True

    def facts_of(self, text: str) -> tuple[Sequence[Fact] | None, bool]:
        """What a caller's extractor reads in a text, and whether it was to and did not."""
        extractor = self.tools.fact_extractor
        if isinstance(extractor, LLMFactExtractor) and self.tools.condenser.has_model:
            extractor = None  # a call for each text would leave none for themes
        if extractor is None or self.dry:
            return None, False
        if not self._may_call():
            return None, True
        try:
            return self.tools.condenser.patience.answer(
                lambda: list(extractor.extract(text))
            ), False
        except Exception:  # whatever a model of someone else raises, the rules go on
            _log.warning("the fact extractor failed; the rules take its place", exc_info=True)
            return None, True

    def vector_of(self, sources: Sequence[int]) -> dict[str, Any]:
        """The field of a vector for what is made of memories: their centre, where none is made."""
        if self.tools.embeds:
            return {}
        centre = self.survey.vectors(list(sources)).sum(axis=0, dtype=np.float64)
        return {"vector": centre if np.abs(centre).max(initial=0.0) > 0.0 else None}

    def fields_of(
        self, sources: Sequence[int], category: Category, user: str | None, tier: str = "semantic"
    ) -> dict[str, Any]:
        """The fields of what is made of memories of a user."""
        fields = {"tier": tier, "category": category, "user_id": user or None}
        return {**fields, **self.vector_of(sources)}

    # -- what memories are --------------------------------------------------------------------

    def is_active(self, rows: Rows) -> Mask:
        """Which are in recalls as a rule."""
        active: Mask = (rows["flags"] & _OUT) == 0
        return active

    def idle_days(self, rows: Rows) -> NDArray[np.float64]:
        """Days since the last use, or since a memory without one was recorded."""
        used = np.maximum(rows["last_access_s"].astype(np.int64) * 1000, rows["recorded_ms"])
        days: NDArray[np.float64] = np.maximum(self.started_ms - used, 0) / DAY_MS
        return days

    def age_days(self, rows: Rows) -> NDArray[np.float64]:
        """Days since memories were recorded."""
        days: NDArray[np.float64] = np.maximum(self.started_ms - rows["recorded_ms"], 0) / DAY_MS
        return days

    def retention(self, rows: Rows) -> NDArray[np.float64]:
        """How well memories are retained, by the curve of sleep."""
        curve = {"fsrs": Curve.FSRS, "ebbinghaus": Curve.EBBINGHAUS}[self.sleep.retention_curve]
        return retained(self.idle_days(rows), rows["stability_days"], curve)

    def by_category(self, values: Any, rows: Rows) -> NDArray[np.float64]:
        """A number a memory, of a table by category; those without a line count as "other"."""
        table = np.full(256, float(values["other"]))
        for each in Category:
            table[int(each)] = float(values.get(each.name.lower(), values["other"]))
        found: NDArray[np.float64] = table[rows["category"]]
        return found

    def by_tier(self, values: Any, rows: Rows) -> NDArray[np.float64]:
        """A number a memory, of a table by tier; tiers of others count as semantic."""
        table = np.full(256, float(values.get("semantic", 1.0)))
        for name, code in TIERS.items():
            table[code] = float(values.get(name, table[code]))
        found: NDArray[np.float64] = table[rows["tier"]]
        return found

    # -- what a day may change ----------------------------------------------------------------

    def _rows_lately(self, what: str) -> list[dict[str, Any]]:
        """What cycles of the last 24 hours have put on record of one kind."""
        since = self.started_ms - DAY_MS
        with self.survey.knowledge() as reader:
            cycles, rows = reader.cycle_changes("cycle"), reader.cycle_changes(what)
        begun = {row["cycle"] for row in cycles if row["before"]["started_ms"] > since}
        return [row for row in rows if row["cycle"] in begun]

    def changed_lately(self, what: str) -> list[int]:
        """Memories that cycles of the last 24 hours have changed in this way."""
        found = [row["record_id"] for row in self._rows_lately(what)]
        return [each for each in found if each is not None] + self.proposed.get(what, [])

    def room_to_retire(self) -> dict[int, int]:
        """How many memories of each user may still become dormant today, by the user's number."""
        memories, lately = self.memories, set(self.changed_lately(RETIRED))
        rows = memories.rows
        active = Counter(rows["user"][self.is_active(rows)].tolist())
        retired = Counter(rows["user"][among(rows, lately)].tolist())
        # what this step has retired is active in the memories that it sees
        active -= self._retired_by_user()
        erased = self._erased_lately()
        for number, user in enumerate(memories.users):
            if (mark := mark_of(user)) in erased:
                retired[number] += erased[mark]
        return {
            user: max(
                self.sleep.blast_least,
                int(self.sleep.blast_radius * (active[user] + retired[user])),
            )
            - retired[user]
            for user in {*active, *retired}
        }

    def room_of_step(self) -> dict[int, int]:
        """The same with what this step has used of it before it was cut short."""
        room = self.room_to_retire()
        for user, count in self._retired_by_user().items():
            room[user] = room.get(user, 0) + count
        return room

    def _retired_by_user(self) -> Counter[int]:
        """How many memories this step has retired in an earlier call, by the user's number."""
        rows = self.memories.rows
        return Counter(rows["user"][among(rows, self.done.get(RETIRED, ()))].tolist())

    def _erased_lately(self) -> Counter[str]:
        """How many memories cycles of the last 24 hours have erased, by the mark of their user."""
        found: Counter[str] = Counter()
        for row in self._rows_lately(ERASED):
            found.update(row["before"]["users"])
        return found


def breathe(night: Night) -> None:
    """Make room for recalls and writers, where none of them waits for what is open here."""
    if not night.survey.locking:
        night.tools.breathe()


def texts_of(night: Night, ids: Collection[int]) -> dict[int, SurveyedText]:
    """What memories say, read in parts so that no one waits."""
    out: dict[int, SurveyedText] = {}
    each = list(ids)
    for start in range(0, len(each), _PART):
        out |= night.survey.words(each[start : start + _PART])
        breathe(night)
    return out


def mark_of(user: str | None) -> str:
    """What stands for a user in the record of a cycle, which has no words."""
    return f"{zlib.crc32((user or '').encode()):08x}"


def without_ids(reason: str) -> str:
    """A reason without the memory that it names."""
    return _ID.sub("another", reason)


def among(rows: Rows, ids: Collection[int]) -> Mask:
    """Which rows are of these memories."""
    found: Mask = np.isin(rows["id"], np.fromiter(ids, np.int64, len(ids)))
    return found


def has_flag(rows: Rows, flag: Flag) -> Mask:
    """Which memories have one of these flags."""
    found: Mask = (rows["flags"] & int(flag)) != 0
    return found


def consolidated(fresh: Strengths) -> Mask:
    """What was not marked as consolidated is so."""
    chosen = ~has_flag(fresh.rows, Flag.CONSOLIDATED)
    fresh.rows["flags"] |= int(Flag.CONSOLIDATED)
    return chosen


def woken(fresh: Strengths) -> Mask:
    """What rested is awake again."""
    asleep = has_flag(fresh.rows, Flag.DORMANT)
    fresh.rows["flags"] &= ~np.uint16(Flag.DORMANT)
    return asleep


def in_units(
    night: Night,
    ids: NDArray[np.int64],
    cursor: int | None = None,
    skipped: Mapping[str, int] = MappingProxyType({}),
    **fields: Any,
) -> Iterator[Unit]:
    """Units of memories, in their order and of one size; the first one says what was spared.

    Args:
        cursor: where the step is; units of what is behind it move it. None: it has no cursor.
        fields: of every unit.
    """
    if cursor is not None:
        ids = ids[ids > cursor]
    for start in range(0, len(ids), night.sleep.batch_records):
        part = ids[start : start + night.sleep.batch_records].tolist()
        at = 0 if cursor is None else part[-1]
        yield Unit(ids=part, seen=len(part), cursor=at, skipped=skipped, **fields)
        skipped = {}
