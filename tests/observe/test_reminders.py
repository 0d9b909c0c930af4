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
    "text",
    [
        "remind me to call the landlord on friday about the broken boiler",
        "Can you remind me tomorrow to pick up Leo's prescription?",
        "Could you set an alarm for 6:30 on Monday please",
        "don't let me forget about my mom's birthday on Saturday",
        "cuma günü ev sahibini aramamı hatırlat",
        "Bana yarın ilacımı almamı hatırlatır mısın?",
        "pazartesi için dişçi hatırlatıcısı kur",
    ],
)
def test_a_reminder_is_a_plan(text: str) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        result = memory.observe(text)
    assert result.kind == "plan"
    assert [each.category for each in result.records] == [spector.Category.PLAN]


@pytest.mark.parametrize(
    "text",
    [
        "remind me what my dentist is called",
        "can you remind me of my locker number?",
        "remind me how to restart the server",
        "could you remind me when the meeting is?",
        "dişçimin adını hatırlatır mısın?",
        "toplantı ne zamandı hatırlat",
    ],
)
def test_who_asks_again_asks_for_no_reminder(text: str) -> None:
    with spector.open(":memory:") as memory:
        kept = memory.observe(text).records
        assert spector.Category.PLAN not in [each.category for each in kept]
