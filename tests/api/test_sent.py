"""A message of a chat model was said when it says that it was sent.

Damage: ``timestamp`` was taken for one of the keys that mean nothing here, and "last week" in a
message of March was counted from the day of the import.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import spector
from spector import ManualClock

NOW = datetime(2026, 11, 25, 9, tzinfo=UTC)
SENT = datetime(2026, 3, 2, 6, tzinfo=UTC)
SAYS = {"role": "user", "content": "Ada moved to Lisbon last week."}


@pytest.mark.parametrize(
    "time",
    [
        {"timestamp": "2026-03-02T09:00:00+03:00"},
        {"timestamp": SENT},
        {"created": 1772431200},
        {"created_at": 1772431200.0},
        {"timestamp": 1772431200000},
        {"timestamp": datetime(2026, 3, 2, 9, tzinfo=timezone(timedelta(hours=3)))},
        {"timestamp": "10:42 AM", "created_at": "2026-03-02T06:00:00"},  # of the store's zone
    ],
)
def test_the_time_of_a_message_is_its_event_time(time: dict[str, Any]) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        observed = memory.observe({**SAYS, **time}).records[0]
        assert observed.event_time == SENT
        assert "2026-02-23/2026-03-01" in observed.text
        assert memory.remember({**SAYS, **time}, user_id="ada").event_time == SENT


@pytest.mark.parametrize("time", ["10:42 AM", "", None, 12, True, -5, 1e30, float("nan"), [], {}])
def test_what_is_no_time_is_as_if_it_were_not_there(time: Any) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        assert memory.remember({**SAYS, "timestamp": time}).event_time == NOW


def test_a_time_that_is_given_wins() -> None:
    given = "2026-05-04T00:00:00Z"
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        message = {**SAYS, "timestamp": SENT}
        observed = memory.observe(message, event_time=given).records[0]
        assert observed.event_time.isoformat() == "2026-05-04T00:00:00+00:00"
        kept = memory.remember(message, event_time=given, user_id="ada")
        assert kept.event_time.isoformat() == "2026-05-04T00:00:00+00:00"
        assert memory.remember({**message, "event_time": given}, user_id="bo").event_time == (
            kept.event_time
        )
