"""A zone is found by its name on every system, or the error says what to install.

Mechanism: the system's zones, else those of the package tzdata, which the installation brings.
Damage without it: a store that opens on one machine fails on Windows or in a small image, and days
are counted in another zone. Guard: a child process that sees no zones of the system.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spector.clock import zone_named
from spector.errors import InvalidInputError
from spector.language.formation import Referents, form

REPO = Path(__file__).resolve().parents[2]
_CHILD = """
import spector
from spector.clock import zone_named
try:
    print(zone_named("Europe/Istanbul"))
except spector.SpectorError as error:
    print(type(error).__name__, error.hint)
"""


def test_without_zones_of_the_system_those_of_the_package_count() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        env={**os.environ, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    if importlib.util.find_spec("tzdata") is not None:
        assert done.stdout.strip() == "Europe/Istanbul"
    else:
        assert done.stdout.startswith("InvalidInputError ")
        assert "pip install tzdata" in done.stdout


def test_the_installation_brings_the_zones() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(each.startswith("tzdata") for each in project["dependencies"])


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "+25:00", "\x00", "Europe"])
def test_an_unknown_zone_is_an_error_with_a_next_step(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        zone_named(name)
    assert "Europe/Istanbul" in caught.value.hint


def day_of(text: str, at: datetime, zone: str) -> str:
    (one,) = form(
        text, referents=Referents(), now_ms=int(at.timestamp() * 1000), timezone=zone_named(zone)
    )
    return one.notes[0].value


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        # 00:30 in Istanbul
        ("Europe/Istanbul", datetime(2026, 11, 24, 21, 30, tzinfo=UTC), "2026-11-24"),
        ("UTC", datetime(2026, 11, 24, 21, 30, tzinfo=UTC), "2026-11-23"),
        # 00:30 in Berlin, an hour and two hours before midnight in UTC
        ("Europe/Berlin", datetime(2026, 1, 9, 23, 30, tzinfo=UTC), "2026-01-09"),
        ("Europe/Berlin", datetime(2026, 7, 9, 22, 30, tzinfo=UTC), "2026-07-09"),
        ("Europe/Berlin", datetime(2026, 1, 9, 22, 30, tzinfo=UTC), "2026-01-08"),
        # 14 hours ahead, and 10 behind
        ("Pacific/Kiritimati", datetime(2026, 3, 1, 10, 0, tzinfo=UTC), "2026-03-01"),
        ("Pacific/Honolulu", datetime(2026, 3, 1, 9, 59, tzinfo=UTC), "2026-02-27"),
        ("+05:45", datetime(2026, 3, 1, 18, 15, tzinfo=UTC), "2026-03-01"),
    ],
)
def test_yesterday_is_that_of_the_place(zone: str, at: datetime, day: str) -> None:
    assert day_of("Ada called yesterday", at, zone) == day
