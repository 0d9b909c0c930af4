"""What a user said and an observer kept does not fade because its session was about other things.

Damage: "switched the flour supplier, ... now it's Granja" had an importance of 0.247, since the
session had spoken of opening hours and it was like what was known; seven days later it slept.
"""

from __future__ import annotations

import pytest

import spector
from spector import Config, ManualClock, Memory, SleepConfig

SAID = "The flour now comes from Granja in Viseu"


def slept(memory: Memory, clock: ManualClock, source: str) -> bool:
    message = {"role": "assistant" if source == "assistant_message" else "user", "content": SAID}
    if source:
        kept = memory.observe({**message, "importance": 0.22}, user_id="ana").records[0]
    else:
        kept = memory.remember(message, importance=0.22, user_id="ana")
    clock.advance(days=120)
    memory.reflect()
    return {each.id: each.dormant for each in memory.records(include=["dormant"])}[kept.id]


@pytest.mark.parametrize(
    ("source", "sleeps"), [("user_message", False), ("assistant_message", True), ("", True)]
)
def test_what_a_user_said_does_not_fade_by_itself(source: str, sleeps: bool) -> None:
    clock = ManualClock("2026-09-07T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        assert slept(memory, clock, source) is sleeps


def test_it_fades_where_all_that_is_little_retained_does() -> None:
    clock = ManualClock("2026-09-07T08:00:00Z")
    config = Config(sleep=SleepConfig(forget_max_importance=1.0))
    with spector.open(":memory:", clock=clock, config=config) as memory:
        assert slept(memory, clock, "user_message")
