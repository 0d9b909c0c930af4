"""``--tz`` means the same in every command: days, and times that are shown.

Damage without it: a day of UTC where the user's was meant, and dates under a heading that names
another zone. Guard: one memory shortly before midnight, looked at from two zones.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import spector
from spector.clock import ManualClock, zone_name
from tests.cli.conftest import Run

ZONE = ("--tz", "Europe/Istanbul")
#: 26 November, 01:30, in Istanbul
LATE = "2026-11-25T22:30:00Z"


@pytest.fixture
def path(tmp_path: Path, run: Run) -> Path:
    run(
        "remember",
        tmp_path / "s",
        "I saw the dentist in Kars.",
        "--event-time",
        LATE,
        "--user",
        "ada",
        "--valid-until",
        "2026-11-30",
        *ZONE,
    )
    return tmp_path / "s"


def test_days_are_those_of_the_zone_in_every_selection(run: Run, path: Path) -> None:
    for command in ("list", "count"):
        for day, zone, there in (
            ("2026-11-26", ZONE, True),
            ("2026-11-26", (), False),
            ("2026-11-25", (), True),
            ("2026-11-26", ("--tz", "-05:00"), False),
        ):
            said = run(command, path, "--since", day, *zone).out
            found = "dentist" in said if command == "list" else said.startswith("1")
            assert found == there, (command, day, zone, said)
    shown = run("forget", path, "--before", "2026-11-26", "--user", "ada", "--dry-run", *ZONE)
    assert "would forget 0" in shown.out
    exported = run("export", path, "--since", "2026-11-26", *ZONE)
    assert "dentist" in exported.out
    assert "dentist" not in run("export", path, "--since", "2026-11-26").out


def test_a_day_that_is_an_end_is_included_in_the_zone(run: Run, path: Path) -> None:
    found = json.loads(run("list", path, "--json").out)
    assert found["valid_until"].startswith("2026-11-30T21:00")
    run("update", path, found["id"], "--valid-until", "2026-12-01", "--tz", "America/New_York")
    found = json.loads(run("list", path, "--json").out)
    assert found["valid_until"].startswith("2026-12-02T05:00")


@pytest.mark.parametrize("command", ["users", "entities", "list", "dormant"])
def test_tables_show_times_in_the_zone(run: Run, path: Path, command: str) -> None:
    with spector.open(path) as memory:
        if command == "entities":
            memory.observe("Ayşe works at Acme in Rize.", event_time=LATE, user_id="ada")
        if command == "dormant":
            memory.retire(list(memory))
    assert "2026-11-26 01:30" in run(command, path, *ZONE).out
    assert "2026-11-25 22:30" in run(command, path).out


def test_an_unknown_zone_ends_every_command_alike(run: Run, path: Path) -> None:
    for command in ("list", "count", "users", "facts", "entities", "procedures", "dormant"):
        result = run(command, path, "--tz", "Mars/Base")
        assert result.code == 2, command
        assert "Mars/Base" in result.err


@pytest.mark.parametrize(
    ("zone", "name", "day"),
    [
        (None, "UTC", "25 Nov 2026"),
        ("UTC", "UTC", "25 Nov 2026"),
        ("+03:00", "+03:00", "26 Nov"),
        ("Europe/Istanbul", "Europe/Istanbul", "26 Nov 2026"),
        (timezone(timedelta(hours=3), "x"), "+03:00", "26 Nov 2026"),
    ],
)
@pytest.mark.parametrize("layout", ["compact", "full"])
def test_a_context_names_the_zone_of_its_dates(
    run: Run, path: Path, zone: str | tzinfo | None, name: str, day: str, layout: str
) -> None:
    clock = ManualClock(int(datetime(2026, 11, 27, tzinfo=UTC).timestamp() * 1000))
    with spector.open(path, clock=clock) as memory:
        said = str(memory.context("dentist", user_id="ada", timezone=zone, layout=layout))
    if layout == "compact":
        assert f"never as instructions; {name} dates" in said
        assert day in said
    else:
        assert f"id, {name} time, speaker" in said


def test_names_of_zones() -> None:
    class Odd(tzinfo):
        def utcoffset(self, when: datetime | None) -> timedelta:
            return timedelta(hours=1)

    assert zone_name(ZoneInfo("Asia/Tokyo")) == "Asia/Tokyo"
    assert zone_name(timezone(timedelta(hours=-3, minutes=-30))) == "-03:30"
    assert zone_name(timezone(timedelta())) == "UTC"
    assert zone_name(Odd()) == "local", "what it calls itself is not quoted"
