"""What a store should hold, as a dictionary, and what each operation does to it.

The rules are those of the manual and of the docstrings of ``Memory``. Records are the frozen
dataclasses that users get, so that comparing one is comparing every field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from spector.clock import to_ms
from spector.config import Config
from spector.layout import Category, Flag, Modality
from spector.records import MemoryRecord
from tests.model.ranking import Asked, Interval, score

MAX_U32 = 0xFFFF_FFFF
Vector = tuple[int, ...]


def f32(value: float) -> float:
    return float(np.float32(value))


#: a filter, and what it means in Python
WHERES: tuple[tuple[dict[str, Any], Callable[[Mapping[str, Any]], bool]], ...] = (
    ({"n": 2}, lambda m: m.get("n") == 2),
    ({"n": {"gte": 2}}, lambda m: m.get("n", -1) >= 2),
    ({"n": {"in": [0, 3]}}, lambda m: m.get("n") in (0, 3)),
    ({"s": "x"}, lambda m: m.get("s") == "x"),
    ({"s": {"ne": "x"}}, lambda m: m.get("s") != "x"),
    ({"s": {"exists": False}}, lambda m: "s" not in m),
    ({"not": {"n": 1}}, lambda m: m.get("n") != 1),
    ({"or": [{"n": 0}, {"s": "y"}]}, lambda m: m.get("n") == 0 or m.get("s") == "y"),
)


@dataclass
class Oracle:
    """Live memories by id, their vectors, the rings of the working tier."""

    config: Config
    records: dict[int, MemoryRecord] = field(default_factory=dict)
    vectors: dict[int, Vector | None] = field(default_factory=dict)
    #: id that a slot of the working tier holds or held -> whose it was when it was written
    slots: dict[int, str | None] = field(default_factory=dict)

    def copy(self) -> Oracle:
        return Oracle(self.config, dict(self.records), dict(self.vectors), dict(self.slots))

    def without_volatile(self) -> Oracle:
        kept = {i: r for i, r in self.records.items() if r.tier != "working"}
        return Oracle(self.config, kept, {i: self.vectors[i] for i in kept})

    def tier_of(self, record_id: int) -> str | None:
        found = self.records.get(record_id)
        return None if found is None else found.tier

    # -- write ------------------------------------------------------------------------------------

    def add(self, record_id: int, given: Mapping[str, Any], now_ms: int) -> None:
        config = self.config
        flags = Flag.NONE
        for name, flag in (
            ("pinned", Flag.PINNED),
            ("immutable", Flag.IMMUTABLE),
            ("unresolved", Flag.UNRESOLVED),
        ):
            if given.get(name):
                flags |= flag
        importance, arousal = (
            given.get("importance", config.default_importance),
            given.get("arousal", 0.0),
        )
        stability = config.initial_stability_days * (0.5 + importance)
        if arousal >= config.flashbulb_arousal:
            flags |= Flag.PINNED | Flag.FLASHBULB
            importance = max(importance, 0.9)
            stability = config.initial_stability_days * (0.5 + importance) * 1.5
        event_ms = to_ms(given["event_time"]) if "event_time" in given else now_ms
        self.records[record_id] = MemoryRecord(
            id=record_id,
            text=given["text"],
            tier=given.get("tier", "episodic"),
            tags=tuple(dict.fromkeys(given.get("tags", ()))),
            metadata=given.get("metadata", {}),
            event_ms=event_ms,
            recorded_ms=now_ms,
            valid_from_ms=_maybe_ms(given.get("valid_from")),
            valid_until_ms=_maybe_ms(given.get("valid_until")),
            user_id=given.get("user_id"),
            role=given.get("role"),
            confidence=round(255 * given.get("confidence", config.default_confidence)) / 255,
            importance=f32(importance),
            valence=round(127 * given.get("valence", 0.0)) / 127,
            arousal=round(255 * arousal) / 255,
            stability_days=f32(min(stability, config.max_stability_days)),
            utility=0.5,
            last_access_s=max(0, min(MAX_U32, event_ms // 1000)),
            flags=flags,
            category=Category[given.get("category", "other").upper()],
            modality=Modality[given.get("modality", "text").upper()],
            supersedes=tuple(given.get("supersedes", ())),
        )
        self.vectors[record_id] = given.get("vector")
        if given.get("tier") == "working":
            self._into_ring(record_id, given.get("user_id"))

    def end(self, record_id: int, newer: int, given: Mapping[str, Any], now_ms: int) -> None:
        """A newer memory takes the place of this one from when it begins."""
        start = _maybe_ms(given.get("valid_from"))
        if start is None:
            start = min(to_ms(given["event_time"]), now_ms) if "event_time" in given else now_ms
        before = replace(self.records[record_id], superseded_by=(newer,))
        self.records[record_id] = _ended(before, start, now_ms)

    def reinstate(self, record_id: int) -> None:
        self.records[record_id] = _own(self.records[record_id])

    def _into_ring(self, record_id: int, user_id: str | None) -> None:
        """A slot of the user's, or that of the oldest, dead or alive, when he has had them all."""
        ring = sorted(i for i, first in self.slots.items() if self._owner(i, first) == user_id)
        for oldest in ring[: max(0, len(ring) + 1 - self.config.working_capacity)]:
            self.drop([oldest], heirs=False)
            del self.slots[oldest]
        self.slots[record_id] = user_id

    def _owner(self, record_id: int, first: str | None) -> str | None:
        found = self.records.get(record_id)
        return first if found is None else found.user_id

    def update(self, record_id: int, changes: Mapping[str, Any], now_ms: int) -> None:
        before = self.records[record_id]
        self._update(record_id, changes)
        after = self.records[record_id]
        if (_begins(before), _starts(before)) == (_begins(after), _starts(after)):
            return
        for older in before.supersedes:
            if older in self.records and self.records[older].own_until_ms:
                self.records[older] = _ended(self.records[older], _starts(after), now_ms)
        if before.own_until_ms:
            newer = [_starts(self.records[each]) for each in before.superseded_by]
            start = min(newer, default=before.valid_until_ms)
            if start is not None:
                self.records[record_id] = _ended(after, start, now_ms)

    def _update(self, record_id: int, changes: Mapping[str, Any]) -> None:
        new: dict[str, Any] = {
            name: value for name, value in changes.items() if name in {"text", "user_id", "role"}
        }
        if "tags" in changes:
            new["tags"] = tuple(dict.fromkeys(changes["tags"] or ()))
        if "metadata" in changes:
            new["metadata"] = changes["metadata"] or {}
        for name in ("valid_from", "valid_until"):
            if name in changes:
                new[f"{name}_ms"] = _maybe_ms(changes[name])
        if "event_time" in changes:
            new["event_ms"] = to_ms(changes["event_time"])
        if "confidence" in changes:
            new["confidence"] = round(255 * changes["confidence"]) / 255
        if "importance" in changes:
            new["importance"] = f32(changes["importance"])
        if "valence" in changes:
            new["valence"] = round(127 * changes["valence"]) / 127
        flags = self.records[record_id].flags
        if "pinned" in changes:
            flags = flags | Flag.PINNED if changes["pinned"] else flags & ~Flag.PINNED
        self.records[record_id] = replace(self.records[record_id], flags=flags, **new)
        if "vector" in changes:
            self.vectors[record_id] = changes["vector"]

    def flag(self, record_id: int, flag: Flag, on: bool) -> None:
        before = self.records[record_id]
        flags = before.flags | flag if on else before.flags & ~flag
        self.records[record_id] = replace(before, flags=flags)

    def reinforce(self, record_id: int, success: bool, now_ms: int) -> None:
        before, config = self.records[record_id], self.config
        now_s = max(0, min(MAX_U32, now_ms // 1000))
        days = max(0, now_s - before.last_access_s) / 86_400
        stability = (
            before.stability_days + config.stability_boost_days * max(1.0, days)
            if success
            else before.stability_days * config.stability_failure_factor
        )
        utility = before.utility + config.utility_rate * (float(success) - before.utility)
        self.records[record_id] = replace(
            before,
            stability_days=f32(min(max(stability, 1e-3), config.max_stability_days)),
            utility=f32(utility),
            access_count=before.access_count + 1,
            last_access_s=last_access_s(before, now_s),
        )

    def use(self, ids: Iterable[int], now_ms: int) -> None:
        now_s = max(0, min(MAX_U32, now_ms // 1000))
        for record_id in ids:
            before = self.records[record_id]
            stability = min(before.stability_days * 1.02, self.config.max_stability_days)
            self.records[record_id] = replace(
                before,
                stability_days=f32(stability),
                access_count=before.access_count + 1,
                last_access_s=last_access_s(before, now_s),
            )

    def drop(self, ids: Iterable[int], *, heirs: bool = True) -> None:
        """What one superseded that is forgotten is superseded by what superseded that one."""
        for record_id in sorted(ids):
            gone = self.records.pop(record_id, None)
            self.vectors.pop(record_id, None)
            if gone is None:
                continue
            newer = gone.superseded_by if heirs else ()
            older = [each for each in gone.supersedes if each in self.records]
            for each in older:
                self.records[each] = replace(self.records[each], superseded_by=newer)
            for heir in newer if older else ():
                links = tuple(sorted({*self.records[heir].supersedes, *older}))
                self.records[heir] = replace(self.records[heir], supersedes=links)

    # -- read -------------------------------------------------------------------------------------

    def selected(self, chosen: Mapping[str, Any]) -> list[int]:
        """Ids of the memories that a selection means, ascending."""
        return sorted(i for i, r in self.records.items() if selects(r, chosen))

    def ranked(self, asked: Asked, gates: Mapping[str, Any]) -> dict[int, Interval]:
        """The memories that a recall may return, and their scores."""
        out = {}
        for record_id, record in self.records.items():
            if selects(record, gates) and _passes(record, gates, asked.now_ms):
                out[record_id] = score(record, self.vectors[record_id], asked)
        return out


def _begins(record: MemoryRecord) -> int:
    return record.event_ms if record.valid_from_ms is None else record.valid_from_ms


def _starts(record: MemoryRecord) -> int:
    """The time from which it replaces others; a plan does when it is recorded."""
    known = min(record.event_ms, record.recorded_ms)
    return known if record.valid_from_ms is None else record.valid_from_ms


def _own(record: MemoryRecord) -> MemoryRecord:
    """A memory as if nothing had superseded it."""
    for until in record.own_until_ms:
        flags = record.flags & ~Flag.SUPERSEDED
        return replace(record, flags=flags, valid_until_ms=until, own_until_ms=())
    return record


def _ended(record: MemoryRecord, start: int, now_ms: int) -> MemoryRecord:
    own = _own(record)
    until = start if own.valid_until_ms is None else min(start, own.valid_until_ms)
    over = until <= max(now_ms, _begins(own))
    return replace(
        own,
        valid_until_ms=until,
        own_until_ms=(own.valid_until_ms,),
        flags=own.flags | Flag.SUPERSEDED if over else own.flags,
    )


def last_access_s(record: MemoryRecord, now_s: int) -> int:
    """A use never makes a memory older, unless its last use lies days ahead of all that is."""
    latest = max(now_s, min(record.event_ms // 1000, MAX_U32))
    return latest if record.last_access_s > latest + 86_400 else max(record.last_access_s, now_s)


def selects(record: MemoryRecord, chosen: Mapping[str, Any]) -> bool:
    tags = set(record.tags)
    start, end = chosen.get("time_range", (None, None))
    return (
        record.tier in chosen.get("tiers", (record.tier,))
        and tags.issuperset(chosen.get("tags", ()))
        and ("any_tags" not in chosen or not tags.isdisjoint(chosen["any_tags"]))
        and chosen.get("user_id") in (None, record.user_id)
        and (start is None or record.event_ms >= to_ms(start))
        and (end is None or record.event_ms < to_ms(end))
        and ("where" not in chosen or WHERES[chosen["where"]][1](record.metadata))
    )


def _passes(record: MemoryRecord, gates: Mapping[str, Any], now_ms: int) -> bool:
    """The gates that only a recall has."""
    low, high = gates.get("valence", (-1.0, 1.0))
    floor = gates.get("min_importance", 0.0)
    return (
        holds_at(record, gates, now_ms)
        and round(127 * low) <= round(127 * record.valence) <= round(127 * high)
        and (record.pinned or record.importance >= f32(floor))
        and record.category.name.lower() in gates.get("categories", (record.category.name.lower(),))
    )


def holds_at(record: MemoryRecord, gates: Mapping[str, Any], now_ms: int) -> bool:
    """Whether a memory is valid now, or at the moment that is asked for."""
    from_ms, until_ms = record.valid_from_ms, record.valid_until_ms
    over = until_ms is not None and until_ms <= now_ms
    if "superseded" in gates.get("include", ()):
        over = over and not (record.superseded or record.superseded_by)
    elif "as_of" in gates:
        over = over or (until_ms is None and record.superseded)
    else:
        over = over or record.superseded
    happened = "as_of" not in gates or record.event_ms <= now_ms
    return happened and not over and (from_ms is None or from_ms <= now_ms)


def _maybe_ms(when: Any) -> int | None:
    return None if when is None else to_ms(when)


def wrong_ranking(
    found: list[tuple[int, float]], expected: Mapping[int, Interval], k: int, tolerance: float
) -> str | None:
    """Why (id, score) pairs are not the best k of what is expected; None when they are.

    Ties, and what is closer than the arithmetic of float32, may be in any order but that of equal
    scores, which is by id.
    """
    if len(found) != min(k, len(expected)):
        return f"{len(found)} hits, {min(k, len(expected))} expected of {sorted(expected)}"
    if len({i for i, _ in found}) != len(found):
        return "a memory was found twice"
    for (a, high), (b, low) in pairwise(found):
        if low > high or (low == high and b < a):
            return f"{b} stands behind {a}"
    for record_id, value in found:
        if record_id not in expected:
            return f"{record_id} should not have been found"
        least, most = expected[record_id]
        if not least - tolerance <= value <= most + tolerance or not math.isfinite(value):
            return f"{record_id} scored {value}, expected {least}..{most}"
    returned = {i for i, _ in found}
    for record_id, (least, _) in expected.items():
        if found and record_id not in returned and least > found[-1][1] + tolerance:
            return f"{record_id} is missing: {least} > {found[-1][1]}"
    return None
