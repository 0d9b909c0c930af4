"""The time that a cue speaks of, in a recall.

Mechanism: "after the wedding" is counted from the memory that tells of the wedding, "what did we
talk about last week" leaves only what was told then. Damage without it: memories of the right days
are lost among those that share a word with the cue; with too much of it, a rule's guess hides the
only answer. Guard: the same memories and cue, with the switch on and off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import spector
from spector import ManualClock, Memory
from spector.clock import to_ms
from spector.kernel.profile import get_profile

DIM = 16
FLAT = np.ones(DIM)
DAYS = {
    "the wedding of Ann was lovely": "2023-05-10T12:00:00Z",
    "we drank cocoa by the lake": "2023-05-20T12:00:00Z",
    "we drank lemonade by the lake": "2023-01-20T12:00:00Z",
    "we drank tea by the lake": "2023-11-14T12:00:00Z",
    "we drank milk by the lake": "2023-11-21T12:00:00Z",
}
#: a Wednesday
NOW = "2023-11-22T12:00:00Z"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM, clock=ManualClock(to_ms(NOW))) as it:
        it.remember_many(
            [{"text": text, "vector": FLAT, "event_time": at} for text, at in DAYS.items()]
        )
        yield it


def asked(memory: Memory, cue: str, **ranking: object) -> list[str]:
    usual = get_profile("balanced")
    profile = replace(usual, name="test", ranking=replace(usual.ranking, **ranking))  # type: ignore[arg-type]
    return [hit.text for hit in memory.recall(cue, vector=FLAT, k=5, profile=profile)]


def test_a_time_is_counted_from_the_memory_of_the_event(memory: Memory) -> None:
    cue = "What did we drink by the lake after the wedding?"
    on = [text for text in asked(memory, cue) if "drank" in text]
    off = [text for text in asked(memory, cue, events=False) if "drank" in text]
    assert on[0] == "we drank cocoa by the lake"
    assert on != off


def test_before_and_after_an_event_are_different_times(memory: Memory) -> None:
    memory.remember(
        "we drank punch by the lake", vector=FLAT, event_time="2023-04-28T12:00:00Z"
    )
    cue = "What did we drink by the lake {} the wedding?"
    before, after = (
        next(text for text in asked(memory, cue.format(side)) if "drank" in text)
        for side in ("before", "after")
    )
    assert (before, after) == ("we drank punch by the lake", "we drank cocoa by the lake")


def test_what_was_said_then_is_answered_with_what_was_said_then(memory: Memory) -> None:
    cue = "Last week, what did we say about the lake?"
    assert asked(memory, cue) == ["we drank tea by the lake"]
    assert len(asked(memory, cue, restrict=False)) == 5


@pytest.mark.parametrize(
    "cue", ["my messages from last week", "Can you show me my notes from last week?"]
)
def test_a_list_of_what_was_told_then_has_nothing_else(memory: Memory, cue: str) -> None:
    assert asked(memory, cue) == ["we drank tea by the lake"]


def test_what_happened_then_may_be_told_at_any_time(memory: Memory) -> None:
    found = asked(memory, "What happened by the lake last week?")
    assert found[0] == "we drank tea by the lake"
    assert len(found) == 5


def test_a_guess_that_leaves_nothing_is_taken_back(memory: Memory) -> None:
    assert len(asked(memory, "What did we talk about on 3 March 2021?")) == 5


def test_a_filter_of_the_caller_is_kept_beside_that_of_the_cue(memory: Memory) -> None:
    cue = "Last week, what did we say about the lake?"
    early = memory.recall(cue, vector=FLAT, k=5, time_range=(None, "2023-06-01"))
    assert {hit.text for hit in early} == set(list(DAYS)[:3])
    both = memory.recall(cue, vector=FLAT, k=5, time_range=("2023-11-01", None))
    assert [hit.text for hit in both] == ["we drank tea by the lake"]


def test_an_event_that_nobody_told_of_changes_nothing(memory: Memory) -> None:
    cue = "What did we drink by the lake after the eclipse?"
    assert set(asked(memory, cue)) == set(DAYS)


@pytest.mark.parametrize("off", [{"date": 0.0}, {"events": False, "restrict": False, "date": 0.0}])
def test_without_dates_the_cue_has_no_time_at_all(memory: Memory, off: dict[str, object]) -> None:
    cue = "What happened by the lake last week?"
    hits = asked(memory, cue, **off)
    assert set(hits) == set(DAYS)
