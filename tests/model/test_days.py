"""Days are UTC days, whoever asks from wherever; sleep takes every memory exactly once.

Mechanism: callers in every zone from UTC-12 to UTC+14, both ends of summer time, a process whose
own zone changes, late events, reflections at any moment around midnight. Damage: a memory in the
partition of another day is not found by its time; a session on the edge of a day is processed
twice or never. Guard: partitions and windows are computed from milliseconds in UTC alone.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

import spector
from spector.clock import ManualClock, to_ms
from spector.errors import InvalidTimeError
from spector.layout import PartitionState
from tests.crash.harness import scratch
from tests.crash.workload import DIM, TINY, vector_of
from tests.proof import seed

MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
#: local nights in which clocks were set: a gap, an hour twice, half an hour, a day that never was
NIGHTS = {
    "Europe/Berlin": [(2026, 3, 29), (2026, 10, 25)],
    "America/New_York": [(2026, 3, 8), (2026, 11, 1)],
    "Australia/Lord_Howe": [(2026, 4, 5), (2026, 10, 4)],
    "Pacific/Apia": [(2011, 12, 29), (2011, 12, 31)],
    "Asia/Kathmandu": [(2026, 1, 1)],
}


def _open(path: str | Path, clock: ManualClock) -> spector.Memory:
    return spector.open(path, embedder=None, dim=DIM, config=TINY, clock=clock)


def _day_file(memory: spector.Memory, record_id: int) -> str:
    store = memory._parts.store
    row = store.catalog.fetch([record_id])[record_id]
    return store.segments[row.segment_id].row.path[len("episodic/") :][:10]


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        pytest.skip("no time zone data here: install the package tzdata")


@pytest.mark.parametrize(
    "instant",
    [
        *(MIDNIGHT + timedelta(milliseconds=edge) for edge in (-1, 0, 1)),
        datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(1900, 1, 1, 14, tzinfo=UTC),
        datetime(2262, 4, 12, tzinfo=UTC),
    ],
    ids=str,
)
def test_an_instant_is_one_day_in_every_zone(instant: datetime) -> None:
    """A millisecond on either side of midnight, and far away, said in 30 zones."""
    zones = [timezone(timedelta(hours=hours)) for hours in range(-12, 15)]
    zones += [timezone(timedelta(hours=h, minutes=m)) for h, m in ((5, 45), (-9, -30), (12, 45))]
    with _open(":memory:", ManualClock(MIDNIGHT)) as memory:
        for n, zone in enumerate(zones):
            local = instant.astimezone(zone)
            for said in (local, local.isoformat()):
                record = memory.remember(f"n{n}", vector=vector_of(str(n)), event_time=said)
                assert record.event_time == instant
                assert record.event_time.tzinfo is UTC
                assert _day_file(memory, record.id) == instant.date().isoformat()
                window = (said, (local + timedelta(milliseconds=1)))
                found = [r.id for r in memory.records(time_range=window)]
                assert found[-1] == record.id
                assert len(found) == len(memory)
        assert {p.day for p in memory._parts.store.view().partitions} == {
            to_ms(instant) // 86_400_000
        }


@pytest.mark.parametrize("name", NIGHTS)
def test_a_night_in_which_clocks_are_set_has_every_minute_once(name: str) -> None:
    """Hours that come twice are two instants; those that never were are read as Python does."""
    zone = _zone(name)
    with _open(":memory:", ManualClock(MIDNIGHT)) as memory:
        for night in NIGHTS[name]:
            start = datetime(*night, tzinfo=zone)
            for minutes in range(0, 30 * 60, 90):
                for fold in (0, 1):
                    wall = start.replace(tzinfo=None) + timedelta(minutes=minutes)
                    local = wall.replace(tzinfo=zone, fold=fold)
                    utc = local.astimezone(UTC)
                    record = memory.remember("x", vector=vector_of("x"), event_time=local)
                    assert record.event_ms == round(utc.timestamp() * 1000)
                    assert _day_file(memory, record.id) == utc.date().isoformat()
                    found = memory.records(time_range=(local, utc + timedelta(milliseconds=1)))
                    assert record.id in {r.id for r in found}
        assert not memory.check().problems


@pytest.mark.parametrize(
    "naive", [datetime(2026, 3, 29, 2, 30), "2026-03-29T02:30", "2026-03-29 02:30:00"]
)
def test_a_time_without_a_zone_is_refused(naive: datetime | str) -> None:
    with _open(":memory:", ManualClock(MIDNIGHT)) as memory:
        for name in ("event_time", "valid_from", "valid_until"):
            with pytest.raises(InvalidTimeError, match="no time zone") as caught:
                memory.remember("x", vector=vector_of("x"), **{name: naive})
            assert caught.value.hint
        with pytest.raises(InvalidTimeError, match="no time zone"):
            memory.recall(time_range=(naive, None))
        assert len(memory) == 0


@pytest.fixture
def own_zone() -> Iterator[list[str]]:
    """The zones of a process that travels."""
    before = os.environ.get("TZ")
    yield ["UTC0", "XXX+12", "YYY-14", "CET-1CEST,M3.5.0,M10.5.0/3"]
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def test_the_zone_of_the_process_decides_nothing(own_zone: list[str], tmp_path: Path) -> None:
    """Not even when it changes between two runs."""
    days = set()
    for n, zone in enumerate(own_zone * 2):
        os.environ["TZ"] = zone
        time.tzset()
        with _open(tmp_path / "mind", ManualClock(MIDNIGHT - timedelta(hours=1))) as memory:
            record = memory.remember(f"n{n}", vector=vector_of(str(n)))
            date_alone = memory.remember(f"m{n}", vector=vector_of(str(n)), event_time="2026-11-21")
            days |= {_day_file(memory, record.id), "at " + _day_file(memory, date_alone.id)}
            assert date_alone.event_time == MIDNIGHT
            memory.reflect()
            assert not memory.check().problems
    assert days == {"2026-11-20", "at 2026-11-21"}


def _processed(memory: spector.Memory) -> set[int]:
    """Ids in partitions that sleep is done with."""
    segments = memory._parts.store.segments.values()
    return {
        int(record_id)
        for segment in segments
        if segment.row.state == PartitionState.REFLECTABLE
        for record_id in segment.partition().headers()["id"]
    }


@pytest.mark.parametrize("path", [":memory:", pytest.param("disk", marks=pytest.mark.slow)])
def test_sleep_takes_every_memory_once_whenever_it_sleeps(path: str) -> None:
    """Seven days of sessions across midnight in five zones, late events, naps at any moment."""
    start = seed(19)
    rng = random.Random(start)
    zones = [timezone(timedelta(hours=h)) for h in (-12, -5, 0, 9, 14)]
    clock, taken = ManualClock(MIDNIGHT), Counter[int]()
    marked = 0
    with scratch() as root:
        where = path if path == ":memory:" else f"{root}/mind"
        memory = _open(where, clock)
        made: set[int] = set()
        for _ in range(7 * 12):
            clock.advance(hours=2 * rng.random() * 2)
            now = datetime.fromtimestamp(clock.now_ms() / 1000, rng.choice(zones))
            late = timedelta(hours=rng.choice([0, 0, 0, 1, 23, 70]))
            made.add(memory.remember("x", vector=vector_of("x"), event_time=now - late).id)
            for _ in range(rng.choice([0, 0, 1, 2])):
                before = _processed(memory)
                report = memory.reflect()
                marked += report.marked_reflectable
                after = _processed(memory)
                assert before <= after, "what sleep was done with is open again"
                taken.update(after - before)
            if path == "disk" and rng.random() < 0.1:
                memory.close()
                memory = _open(where, clock)
        clock.advance(days=2)
        before = _processed(memory)
        memory.reflect()
        taken.update(_processed(memory) - before)
        again = memory.reflect()
        problems = memory.check().problems
        memory.close()
    never = made - taken.keys()
    twice = [i for i, count in taken.items() if count > 1]
    assert not never, f"SPECTOR_SEED={start}"
    assert not twice
    assert not problems
    assert (again.sealed, again.marked_reflectable) == (0, 0)
    assert marked > 7
