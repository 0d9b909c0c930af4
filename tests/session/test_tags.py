"""Weak memories are tagged, and a strong one of the same session strengthens them once."""

from __future__ import annotations

import pytest

import spector
from spector.clock import ManualClock


def stability(memory: spector.Memory, id: int) -> float:
    return memory.get(id).stability_days


def test_a_strong_memory_captures_the_weak_ones_of_its_session(
    memory: spector.Memory, clock: ManualClock
) -> None:
    session = memory.session("s", user_id="u")
    weak = session.remember("a door creaked", importance=0.4)
    assert stability(memory, weak.id) == pytest.approx(6.3)
    clock.advance(hours=3, seconds=59 * 60)
    session.remember("the house was on fire", importance=0.7)
    assert stability(memory, weak.id) == pytest.approx(8.19)
    clock.advance(seconds=1)
    session.remember("the roof fell in", importance=0.9)  # captured once
    assert stability(memory, weak.id) == pytest.approx(8.19)
    assert [tag.captured for tag in session.tags] == [True]
    assert session.end().tags_captured == 1


def test_a_tag_dies_after_four_hours(memory: spector.Memory, clock: ManualClock) -> None:
    session = memory.session("s", user_id="u")
    weak = session.remember("a door creaked", importance=0.4)
    clock.advance(hours=4, seconds=60)
    session.remember("the house was on fire", importance=0.9)
    assert stability(memory, weak.id) == pytest.approx(6.3)
    assert session.tags == ()
    assert session.end().tags_expired == 1


def test_another_session_captures_nothing(memory: spector.Memory) -> None:
    weak = memory.session("one", user_id="u").remember("a door creaked", importance=0.4)
    memory.session("two", user_id="u").remember("the house was on fire", importance=0.9)
    memory.session("one", user_id="v").remember("the house was on fire", importance=0.9)
    assert stability(memory, weak.id) == pytest.approx(6.3)


@pytest.mark.parametrize(
    ("importance", "tagged"),
    [
        (0.49, True),
        (0.5, False),
        (0.6, False),
        (0.69, False),
        (0.0, True),
    ],
)
def test_the_middle_neither_tags_nor_captures(
    memory: spector.Memory, importance: float, tagged: bool
) -> None:
    session = memory.session("s")
    weak = session.remember("a door creaked", importance=0.3)
    middle = session.remember("a window broke", importance=importance)
    assert (middle.id in [tag.memory_id for tag in session.tags]) == tagged
    assert stability(memory, weak.id) == pytest.approx(7 * 0.8)


def test_a_forgotten_memory_is_captured_by_nothing(memory: spector.Memory) -> None:
    session = memory.session("s")
    gone = session.remember("a door creaked", importance=0.4)
    left = session.remember("a window broke", importance=0.4)
    memory.forget(gone.id)
    assert [tag.memory_id for tag in session.tags] == [left.id]
    session.remember("the house was on fire", importance=0.9)
    assert stability(memory, left.id) == pytest.approx(8.19)


def test_working_memories_are_not_tagged(memory: spector.Memory) -> None:
    session = memory.session("s")
    session.remember("a door creaked", importance=0.4, tier="working")
    assert session.tags == ()
