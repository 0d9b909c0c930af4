"""A clock may say anything: nothing is lost, no id comes twice, no strength leaves 0..1.

Mechanism: clocks that jump back and ahead, stand still, say 1969 or 2262, or nonsense. Damage: ids
out of order or given out twice, ages below zero, memories that a window or a reflection loses, a
nonsense stamp that stays for ever. Guard: order comes from ids alone, ages end at 0, a clock that
cannot be right is refused before anything is stored.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import MAX_MS, MIN_MS, ManualClock, to_ms
from spector.errors import InvalidTimeError
from spector.kernel.contract.profile import PROFILES, Curve, ScoringProfile
from tests.cases import Cases
from tests.crash.workload import DIM, START, TINY, vector_of
from tests.proof import seed

cases = Cases(__file__)

NOW_MS = to_ms(START)
HOUR, DAY = 3_600_000, 86_400_000
#: last instants before and first ones after a field, a type or a calendar ends
EDGES = {
    "year 1": MIN_MS,
    "before 1900": to_ms("1899-12-31T23:59:59Z"),
    "end of 1969": -1,
    "1970": 0,
    "first second": 999,
    "i32 seconds": (1 << 31) * 1000 - 1,
    "2038": (1 << 31) * 1000,
    "u32 seconds": (1 << 32) * 1000 - 1,
    "2106": (1 << 32) * 1000,
    "end of ids by time": (1 << 43) - 1,
    "2248": 1 << 43,
    "i64 nanoseconds": 9_223_372_036_854,
    "2262": 9_223_372_036_855,
    "year 9999": MAX_MS,
}


def _open(path: str | Path, clock: Any, **more: Any) -> spector.Memory:
    return spector.open(path, embedder=None, dim=DIM, config=TINY, clock=clock, **more)


def _put(memory: spector.Memory, text: str, **more: Any) -> spector.MemoryRecord:
    return memory.remember(text, vector=vector_of(text), **more)


# -- order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [":memory:", "disk"])
def test_ids_stay_in_order_through_any_walk_of_the_clock(path: str, tmp_path: Path) -> None:
    """Jumps, freezes and leaps, within a session and between sessions."""
    start = seed(18)
    rng = random.Random(start)
    clock, where = ManualClock(START), path if path == ":memory:" else tmp_path / "mind"
    memory, texts, last = _open(where, clock), {}, 0
    steps = 150 if path == ":memory:" else 70
    jumps = [0, 0, 1, HOUR, -HOUR, DAY, -DAY, 40 * DAY, -400 * DAY]
    try:
        for n in range(steps):
            if n % 50 == 49:
                clock.set(rng.choice(list(EDGES.values())))
            elif n % 50 == 9:
                clock.set(NOW_MS + rng.randrange(DAY))
            else:
                clock.set(max(MIN_MS, min(MAX_MS, clock.now_ms() + rng.choice(jumps))))
            tier = rng.choice(["episodic", "semantic", "procedural", "working"])
            record = _put(memory, f"text {n}", tier=tier)
            assert record.id > last, f"SPECTOR_SEED={start}"
            assert record.recorded_ms == record.event_ms == clock.now_ms()
            last = record.id
            if tier != "working":
                texts[record.id] = record.text
            if n % 20 == 7:
                memory.reflect()
            if path == "disk" and n % 40 == 13:
                memory.close()
                memory = _open(where, clock)
        found = {r.id: r.text for r in memory if r.tier != "working"}
        problems = memory.check().problems
    finally:
        memory.close()
    assert found == texts, f"SPECTOR_SEED={start}"
    assert list(found) == sorted(found)
    assert not problems


def test_what_a_leap_sealed_takes_late_memories_in_further_partitions(tmp_path: Path) -> None:
    """A clock that was in 2262 for one reflection does not lock today away."""
    clock = ManualClock(START)
    with _open(tmp_path / "mind", clock) as memory:
        first = _put(memory, "before the leap")
        clock.set(EDGES["2262"])
        memory.reflect()
        clock.set(START)
        second = _put(memory, "after the leap")
        memory.reflect()
        assert [r.id for r in memory] == [first.id, second.id]
        day = ("2026-11-20", "2026-11-21")
        assert len(memory.recall(vector=vector_of("x"), time_range=day)) == 2
        assert not memory.check().problems
    names = sorted(p.name for p in (tmp_path / "mind" / "episodic").glob("*.mem"))
    assert names == ["2026-11-20-000.mem", "2026-11-20-001.mem"]


@pytest.mark.parametrize("leap", [HOUR // 2, 10 * DAY, EDGES["2262"] - NOW_MS])
def test_what_was_forgotten_under_a_clock_that_ran_ahead_is_erased_all_the_same(
    leap: int, tmp_path: Path
) -> None:
    """Else its words would stay in the files until that clock's day has come."""
    clock = ManualClock(START)
    with _open(tmp_path / "mind", clock) as memory:
        record = _put(memory, "Zaphod was here")
        clock.set(NOW_MS + leap)
        memory.forget(record.id)
        clock.set(NOW_MS)
        erased_now = memory.reflect().compaction.receipt is not None
        assert erased_now == (leap > HOUR), "an hour is no clock gone wrong, ten days are"
        clock.advance(days=1, hours=1)
        memory.reflect()
    files = [p for p in (tmp_path / "mind").rglob("*") if p.is_file()]
    assert not [p.name for p in files if b"Zaphod" in p.read_bytes()]


# -- the ends of fields ---------------------------------------------------------------------------


def test_every_edge_of_time_is_kept_found_and_put_away_by_its_day(tmp_path: Path) -> None:
    with _open(tmp_path / "mind", ManualClock(START)) as memory:
        ids = {}
        for name, ms in EDGES.items():
            ids[name] = _put(memory, name, event_time=_at(ms)).id
        for again in range(3):
            for name, ms in EDGES.items():
                assert memory.get(ids[name]).event_ms == ms
                end = None if ms == MAX_MS else _at(ms + 1)
                for found in (
                    [h.id for h in memory.recall(vector=vector_of("x"), time_range=(_at(ms), end))],
                    [r.id for r in memory.records(time_range=(_at(ms), end))],
                ):
                    assert found == [ids[name]], (name, again)
            assert not memory.check().problems
            memory.reflect()
            memory.forget(_put(memory, "a hole", event_time=_at(-1)).id)
            memory.compact()
        days = {str(_at(ms).date()) for ms in EDGES.values()}
        paths = {s.row.path[9:19] for s in memory._parts.store.segments.values()}
        assert paths == days
    with _open(tmp_path / "mind", ManualClock(START)) as memory:
        assert {r.text: r.event_ms for r in memory} == EDGES


@pytest.mark.parametrize("name", EDGES)
def test_a_store_works_at_every_edge_of_time(name: str) -> None:
    clock = ManualClock(EDGES[name])
    with _open(":memory:", clock) as memory:
        records = [
            _put(memory, f"text {n}", tier=t)
            for n, t in enumerate(["episodic", "semantic", "working", "episodic", "episodic"])
        ]
        for record in records:
            assert record.event_time == _at(EDGES[name])
            memory.reinforce(record.id)
        hits = memory.recall(vector=vector_of("text 1"), k=9, learn=True, profile="cognitive")
        assert hits[0].text == "text 1"
        assert len(hits) == 5
        for hit in hits:
            assert all(0 <= v <= 1 for k, v in hit.explain().values.items() if k != "similarity")
            assert 0 <= memory.get(hit.id).last_access_s <= 0xFFFF_FFFF
            assert memory.get(hit.id).access_count == 2
        memory.reflect()
        memory.compact()
        assert not memory.check().problems


def _at(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


# -- decay ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["native", "numba", "reference"])
def test_strengths_fall_with_age_and_stay_within_0_and_1(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along any path of a clock; before an event its age is 0."""
    monkeypatch.setenv("SPECTOR_KERNEL", kernel)
    moments = sorted(
        {NOW_MS + sign * step for sign in (-1, 1) for step in _ages()} | set(EDGES.values())
    )
    clock = ManualClock(NOW_MS)
    inversions = outside = compared = 0
    with _open(":memory:", clock) as memory:
        for n, ms in enumerate((NOW_MS, -1, EDGES["2106"] - DAY, EDGES["2262"])):
            record = _put(memory, f"text {n}", event_time=_at(ms), arousal=0.9 * (n % 2))
            for _ in range(n):
                memory.reinforce(record.id, success=n % 2 == 0)
        profiles = [PROFILES["balanced"]] + [
            ScoringProfile(
                name=str(c),
                w_retention=1.0,
                w_recency=1.0,
                w_activation=1.0,
                retention_curve=c,
                recency_curve=c,
            )
            for c in Curve
        ]
        for profile in profiles:
            before: dict[int, dict[str, float]] = {}
            scores: dict[int, float] = {}
            for ms in moments:
                clock.set(ms)
                for hit in memory.recall(k=9, profile=profile):
                    values = hit.explain().values
                    last = before.get(hit.id, values)
                    for name in ("retention", "recency", "activation"):
                        if name in values:
                            compared += 1
                            outside += not 0 <= values[name] <= 1
                            inversions += values[name] > last[name] + 1e-7
                    inversions += hit.score > scores.get(hit.id, hit.score) + 1e-6
                    before[hit.id], scores[hit.id] = dict(values), hit.score
    assert compared > 400
    assert (outside, inversions) == (0, 0)


def _ages() -> list[int]:
    return [0, 1, 999, 1000, 61_000, HOUR, DAY - 1, *(DAY * 6**n // 2 for n in range(7))]


def test_a_clock_that_went_back_finds_memories_of_age_0() -> None:
    """Not younger than new: the same strengths as at the moment they were made."""
    clock = ManualClock(START)
    with _open(":memory:", clock) as memory:
        record = _put(memory, "text")
        fresh = memory.recall(vector=vector_of("text"), profile="cognitive")[0]
        for back in (1, HOUR, DAY, 400 * DAY, 100 * 365 * DAY):
            clock.set(NOW_MS - back)
            hit = memory.recall(vector=vector_of("text"), profile="cognitive")[0]
            assert hit.score == fresh.score
            assert hit.explain().values == fresh.explain().values
            changed = memory.reinforce(record.id)
            assert changed.last_access_s == record.last_access_s, "older than its own event"
            assert changed.stability_days > record.stability_days
            clock.set(NOW_MS)
            fresh = memory.recall(vector=vector_of("text"), profile="cognitive")[0]


@pytest.mark.parametrize("learn", [False, True])
def test_a_use_under_a_clock_that_ran_ahead_does_not_keep_a_memory_fresh_for_ever(
    learn: bool,
) -> None:
    """The next use puts it right; hours ahead, and events to come, are left as they are."""
    clock = ManualClock(START)
    with _open(":memory:", clock) as memory:

        def use(record: spector.MemoryRecord) -> spector.MemoryRecord:
            if not learn:
                return memory.reinforce(record.id)
            memory.recall(vector=vector_of(record.text), k=1, profile="similarity", learn=True)
            return memory.get(record.id)

        now_s = NOW_MS // 1000
        plan = _put(memory, "plan", event_time=START + timedelta(days=30))
        assert use(plan).last_access_s == now_s + 30 * 86_400
        record = _put(memory, "text")
        for ahead_s, kept in ((3600, True), (86_400, True), (40 * 86_400, False), (1 << 31, False)):
            clock.set(NOW_MS + 1000 * ahead_s)
            assert use(record).last_access_s == now_s + ahead_s
            clock.set(NOW_MS)
            assert use(record).last_access_s == now_s + ahead_s * kept


def test_after_2106_the_last_access_stays_at_the_end_of_its_field() -> None:
    """A documented limit: strengths count from there, and still only fall."""
    clock = ManualClock(EDGES["2106"] + DAY)
    with _open(":memory:", clock) as memory:
        record = _put(memory, "text")
        assert record.last_access_s == 0xFFFF_FFFF
        seen = []
        for _ in range(5):
            clock.advance(days=300)
            assert memory.reinforce(record.id).last_access_s == 0xFFFF_FFFF
            seen.append(memory.recall(profile="ucma")[0].explain().values["retention"])
        assert all(0 <= value <= 1 for value in seen)
        record = memory.get(record.id)
        assert record.access_count == 5
        assert record.stability_days < 20, "the years since 2106 counted as a long absence"


def test_a_validity_window_follows_the_clock_both_ways() -> None:
    clock = ManualClock(START)
    with _open(":memory:", clock) as memory:
        _put(memory, "lunch", valid_from=START, valid_until=START + timedelta(hours=1))
        shown = {}
        for ms in (-1, 0, HOUR - 1, HOUR, -1, 0):
            clock.set(NOW_MS + ms)
            shown[ms] = [h.text for h in memory.recall(vector=vector_of("lunch"))]
            assert [r.text for r in memory] == ["lunch"]
        assert shown == {-1: [], 0: ["lunch"], HOUR - 1: ["lunch"], HOUR: []}


# -- clocks that cannot be right ------------------------------------------------------------------


class _Says:
    def __init__(self, value: Any) -> None:
        self.value = value

    def now_ms(self) -> Any:
        return self.value


@cases("value")
def test_a_clock_in_nanoseconds_is_refused_before_it_stamps_anything(value: Any) -> None:
    clock = _Says(NOW_MS)
    with _open(":memory:", clock) as memory:
        first = _put(memory, "text")
        clock.value = value
        for verb in (
            lambda: _put(memory, "other"),
            lambda: _put(memory, "other", event_time=START),
            lambda: memory.recall("text"),
            lambda: memory.recall("text", learn=True),
            lambda: memory.reinforce(first.id),
            memory.reflect,
            lambda: memory.remember_many([{"text": "a", "vector": vector_of("a")}]),
        ):
            with pytest.raises(InvalidTimeError, match="the clock returned") as caught:
                verb()
            assert "milliseconds" in (caught.value.hint or "")
        clock.value = NOW_MS
        assert list(memory) == [first]
        assert _put(memory, "other").id == first.id + 1, "an id from the wrong clock stayed"
        assert not memory.check().problems
