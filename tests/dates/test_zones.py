"""Days are those of the user's zone: in cues, in contexts, in validity and in filters.

Damage without it: "yesterday" asked in Auckland finds the day before yesterday, a memory that is
valid until a day ends as that day begins. Guard: zones at both ends of the world, and the days of
summer time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import spector
from spector.clock import from_ms, to_ms, zone_named
from spector.errors import InvalidInputError
from spector.language.dates import time_range_in
from tests.fakes import FakeEmbedder

NOW = datetime(2026, 3, 30, 1, 30, tzinfo=UTC)  # in Istanbul 4:30 of the same day


@pytest.fixture
def memory() -> Iterator[spector.Memory]:
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), clock=spector.ManualClock(NOW)
    ) as opened:
        yield opened


def days(cue: str, zone: str) -> list[tuple[datetime, datetime]]:
    found = time_range_in(cue, to_ms(NOW), zone=zone_named(zone))
    return [(from_ms(span.start_ms), from_ms(span.end_ms)) for span in found.spans]


@pytest.mark.parametrize(
    ("zone", "start", "hours"),
    [
        ("UTC", "2026-03-29T00:00Z", 24),
        ("+03:00", "2026-03-28T21:00Z", 24),
        ("America/Los_Angeles", "2026-03-28T07:00Z", 24),
        ("Pacific/Auckland", "2026-03-28T11:00Z", 24),
        ("Europe/Berlin", "2026-03-28T23:00Z", 23),  # the day on which clocks go forward
    ],
)
@pytest.mark.parametrize("cue", ["What did I say yesterday?", "Dün ne dedim?"])
def test_yesterday_is_that_of_the_zone(cue: str, zone: str, start: str, hours: int) -> None:
    ((begin, end),) = days(cue, zone)
    assert begin == datetime.fromisoformat(start)
    assert end - begin == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("given", "offset"),
    [
        ("Europe/Istanbul", 3),
        ("+03:00", 3),
        ("-05:00", -5),
        (ZoneInfo("Asia/Tokyo"), 9),
        (timezone(timedelta(hours=-2)), -2),
        ("UTC", 0),
        (UTC, 0),
    ],
)
def test_a_zone_is_a_name_an_offset_or_a_tzinfo(given: object, offset: int) -> None:
    config = spector.Config(timezone=given)  # type: ignore[arg-type]
    moment = datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert moment.astimezone(config.zone).utcoffset() == timedelta(hours=offset)
    with spector.open(":memory:", embedder=FakeEmbedder(), timezone=given) as memory:  # type: ignore[arg-type]
        record = memory.remember("x", event_time="2026-01-05")
        assert record.event_time == datetime(2026, 1, 5, tzinfo=UTC) - timedelta(hours=offset)


@pytest.mark.parametrize("wrong", ["Mars/Olympus", "", "+25:00", "../etc/passwd", 3, "a" * 5000])
def test_a_zone_that_is_none_is_a_typed_error(
    memory: spector.Memory, wrong: object, tmp_path: Path
) -> None:
    calls = (
        lambda: spector.Config(timezone=wrong),  # type: ignore[arg-type]
        lambda: spector.open(":memory:", embedder=FakeEmbedder(), timezone=wrong),  # type: ignore[arg-type]
        lambda: memory.recall("x", timezone=wrong),  # type: ignore[arg-type]
        lambda: memory.context("x", timezone=wrong),  # type: ignore[arg-type]
        lambda: memory.import_(tmp_path / "x.jsonl", timezone=wrong),
    )
    (tmp_path / "x.jsonl").write_text('{"text": "x"}\n')
    for call in calls:
        with pytest.raises(InvalidInputError, match="timezone"):
            call()


def test_a_machine_without_a_database_of_zones_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    with pytest.raises(InvalidInputError, match="no database of time zones") as caught:
        zone_named("Mars/Olympus")
    assert "tzdata" in caught.value.hint


@pytest.mark.parametrize(
    ("zone", "end"),
    [
        ("UTC", "2026-05-05T00:00Z"),
        ("Europe/Istanbul", "2026-05-04T21:00Z"),
        ("America/New_York", "2026-05-05T04:00Z"),
    ],
)
def test_what_is_valid_until_a_day_is_valid_on_that_day(zone: str, end: str) -> None:
    clock = spector.ManualClock(NOW)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, timezone=zone) as memory:
        record = memory.remember("The ticket is valid", valid_until="2026-05-04")
        last = datetime.fromisoformat(end)
        assert record.valid_until == last
        clock.set(last - timedelta(seconds=1))
        assert memory.recall("ticket valid")
        clock.set(last)
        assert not memory.recall("ticket valid")
        assert memory.update(record, valid_until="2026-06-04").valid_until == last.replace(
            month=6, day=last.day
        )


def test_recall_and_context_take_a_zone_above_that_of_the_store(memory: spector.Memory) -> None:
    late = memory.remember("The late train to Kars", event_time="2026-03-28T22:30:00Z")
    there = memory.recall("train yesterday", mode="temporal", timezone="Europe/Istanbul", k=1)
    assert [hit.id for hit in there] == [late.id]
    text = memory.context("late train to Kars", timezone="+03:00", layout="full", always=True).text
    assert "2026-03-29" in text
    assert "01:30" in text
    assert "2026-03-28" in memory.context("late train to Kars", layout="full", always=True).text
    for zone, count in (("UTC", 1), ("+03:00", 0)):
        found = memory.recall(
            "train", time_range=("2026-03-28", "2026-03-29"), timezone=zone, selective=False
        )
        assert len(found) == count
    options = spector.RecallOptions(timezone="+03:00")
    assert not memory.recall("train", time_range=("2026-03-28", "2026-03-29"), options=options)


def test_lines_without_a_zone_are_read_in_the_one_that_is_named(
    memory: spector.Memory, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"text": "x", "event_time": "2026-05-04T10:00:00", "valid_until": "2026-05-04"}\n'
    )
    with pytest.raises(InvalidInputError, match="no time zone"):
        memory.import_(path)
    (record,) = memory.import_(path, timezone="Europe/Istanbul")
    assert record.event_time == datetime(2026, 5, 4, 7, tzinfo=UTC)
    assert record.valid_until == datetime(2026, 5, 4, 21, tzinfo=UTC)


def test_both_ends_of_the_calendar_stand(memory: spector.Memory) -> None:
    for zone in ("+14:00", "-12:00"):
        for cue in ("in year 1", "on 31 December 9999", "yesterday"):
            time_range_in(cue, to_ms(NOW), zone=zone_named(zone))
            memory.recall(cue, timezone=zone)
    endless = memory.remember("x", valid_until="9999-12-31")
    assert endless.valid_until.year == 9999
    memory.remember("the first day", event_time="0001-01-01")
    memory.context("the first day", timezone="-12:00", always=True)
