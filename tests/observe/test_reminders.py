"""What a user wants to be reminded of is a plan.

Mechanism: patterns of each language tell "remind me to call" from "remind me what he is called".
Damage: the one thing that a user asked to be kept in mind was dropped as an order to the model.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import spector
from spector import ManualClock

NOW = datetime(2026, 11, 25, 9, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("remind me to call the landlord on friday about the broken boiler", "2026-11-28"),
        ("Can you remind me tomorrow to pick up Leo's prescription?", "2026-11-27"),
        ("Could you set an alarm for 6:30 on Monday please", "2026-12-01"),
        ("don't let me forget about my mom's birthday on Saturday", "2026-11-29"),
        ("cuma günü ev sahibini aramamı hatırlat", "2026-11-28"),
        ("Bana yarın ilacımı almamı hatırlatır mısın?", "2026-11-27"),
        ("pazartesi için dişçi hatırlatıcısı kur", "2026-12-01"),
    ],
)
def test_a_reminder_is_a_plan_that_ends_with_its_day(text: str, end: str) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        result = memory.observe(text)
    assert result.kind == "plan"
    assert [str(each.valid_until)[:10] for each in result.records] == [end]


def test_a_reminder_without_a_day_or_of_every_week_does_not_end() -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        open_ended = memory.observe("remind me to renew my passport").records[0]
        weekly = memory.observe("remind me every Monday to water the orchids").records[0]
    assert open_ended.valid_until is None
    assert weekly.valid_until is None


@pytest.mark.parametrize(
    "text",
    [
        "remind me what my dentist is called", "can you remind me of my locker number?",
        "remind me how to restart the server", "could you remind me when the meeting is?",
        "dişçimin adını hatırlatır mısın?", "toplantı ne zamandı hatırlat",
    ],
)  # fmt: skip
def test_who_asks_again_asks_for_no_reminder(text: str) -> None:
    with spector.open(":memory:") as memory:
        assert memory.observe(text).filter in ("request", "question")
