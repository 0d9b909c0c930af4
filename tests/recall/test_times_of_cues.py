"""The time that a cue names, in a recall.

Mechanism: an explicit date or a plain relative one ("last week") is a window: what lies outside of
it is no answer, and where nothing lies in it the answer is empty and says so. Damage without it:
memories of the right days are lost among those that share a word with the cue. Guard: the same
memories and cue, the switch on and off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import spector
from spector import ManualClock, Memory
from spector.clock import to_ms
from spector.kernel.contract.profile import get_profile

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


def asked(memory: Memory, cue: str, k: int = 5, **ranking: object) -> list[str]:
    usual = get_profile("balanced")
    profile = replace(usual, name="test", ranking=replace(usual.ranking, **ranking))  # type: ignore[arg-type]
    return [hit.text for hit in memory.recall(cue, vector=FLAT, k=k, profile=profile)]


@pytest.mark.parametrize(
    "cue",
    [
        "Last week, what was it about the lake?",
        "What did we drink on 14 November 2023?",
        "Geçen hafta gölde ne içtik?",
        "14 Kasım 2023'te ne içtik?",
    ],
)
def test_a_cue_that_names_a_time_restricts_to_it(memory: Memory, cue: str) -> None:
    assert asked(memory, cue) == ["we drank tea by the lake"]
    assert set(asked(memory, cue, by_time=False)) == set(DAYS)


@pytest.fixture
def talk() -> Iterator[Memory]:
    """Many turns in May, one a day in June; now it is Saturday, 20 June."""
    clock = ManualClock(to_ms("2026-05-04T09:00:00Z"))
    with spector.open(":memory:", embedder=None, dim=DIM, clock=clock) as it:
        it.remember_many(
            [{"text": f"mended fence {n}", "vector": FLAT, "role": "user"} for n in range(150)]
        )
        for day in range(1, 20):
            clock.set(to_ms(f"2026-06-{day:02}T09:00:00Z"))
            it.remember(f"walked dog {day}", vector=-FLAT, role="user")
        clock.set(to_ms("2026-06-20T12:00:00Z"))
        yield it


def walked(*days: int) -> set[str]:
    return {f"walked dog {day}" for day in days}


@pytest.mark.parametrize(
    "cue",
    [
        "my messages from last week",
        "Can you show me my notes from last week?",
        "What did we discuss last week?",
        "What else did I mention last week?",
        "What was happening last week?",
        "Which fence did I mend last week?",
    ],
)
def test_what_was_told_or_done_then_is_found_however_far_it_ranks(talk: Memory, cue: str) -> None:
    assert set(asked(talk, cue, 20)) == walked(*range(8, 15))
    assert asked(talk, cue, 3) == asked(talk, cue, 20)[:3]


def test_a_list_of_messages_is_of_those_recorded_then(memory: Memory) -> None:
    """All were remembered today, whenever they happened."""
    assert asked(memory, "my messages from last week") == []
    assert set(asked(memory, "Could I see my notes from today?")) == set(DAYS)


def test_what_is_told_later_follows_where_a_date_is_given(talk: Memory) -> None:
    """Only what is asked of days counted from now is told on them; and a list has all there is."""
    hits = asked(talk, "Who walked with me on 3 June 2026?", 40)
    assert hits[0] == "walked dog 3"
    assert len(hits) == 40
    assert asked(talk, "What happened on 3 June 2026?", 40) == ["walked dog 3"]
    assert len(asked(talk, "Which fence did I mend a few days ago?", 40)) == 40
    assert len(asked(talk, "Which fence did I mend over the past few days?", 40)) == 40


@pytest.mark.parametrize(
    "cue",
    [
        "Where was the fence that we mended in June?",
        "When did we mend a fence in June?",
        "Who sings in the choir in early June?",
        "It rained in June. Which fence is broken?",
        "Haziranda onardığımız çit hangisiydi?",
    ],
)
def test_a_time_on_the_way_orders_and_leaves_nothing_out(talk: Memory, cue: str) -> None:
    hits = asked(talk, cue, 50)
    assert hits[0] in walked(*range(1, 20))
    assert len(hits) == 50


def test_a_cue_about_the_telling_asks_when_it_was_told(memory: Memory) -> None:
    """All were remembered today, whenever they happened."""
    assert asked(memory, "Last week, what did we say about the lake?") == []
    assert set(asked(memory, "What did I tell you today?")) == set(DAYS)


def test_the_best_of_all_is_no_answer_outside_of_the_time(memory: Memory) -> None:
    cue = "Which wedding was it in November 2023?"
    best = asked(memory, cue, by_time=False)[0]
    assert best == "the wedding of Ann was lovely"
    inside = [f"November, day {n}" for n in range(9)]
    memory.remember_many(
        [{"text": text, "vector": FLAT, "event_time": "2023-11-15"} for text in inside]
    )
    hits = asked(memory, cue)
    assert len(hits) == 5
    assert set(hits) <= {*inside, "we drank tea by the lake", "we drank milk by the lake"}


def test_a_memory_of_the_time_is_found_wherever_it_ranks(memory: Memory) -> None:
    memory.remember_many(
        [
            {
                "text": f"we drank tea by the lake, as on {n} others",
                "vector": FLAT,
                "event_time": "2022-03-01",
            }
            for n in range(60)
        ]
    )
    away = memory.remember("cocoa", vector=-FLAT, event_time="2021-07-04").text
    assert asked(memory, "What did we drink by the lake on 4 July 2021?")[0] == away


@pytest.mark.parametrize("cue", ["What did we drink on 3 May 2020?", "Where are we next week?"])
def test_a_time_that_no_memory_is_from_is_answered_with_that(memory: Memory, cue: str) -> None:
    hits = memory.recall(cue, vector=FLAT)
    assert (list(hits), hits.abstained) == ([], True)
    assert hits.reason.startswith("nothing lies in the time that is asked for, 202")


def test_what_should_be_tomorrow_asks_for_no_time(memory: Memory) -> None:
    cue = "What should we drink tomorrow?"
    assert asked(memory, cue) == asked(memory, cue, by_time=False)


def test_a_given_range_of_times_holds_whatever_the_cue_says(memory: Memory) -> None:
    hits = memory.recall(
        "What did we drink last week?", vector=FLAT, time_range=("2023-05-01", "2023-06-01")
    )
    assert {hit.text for hit in hits} == {
        "the wedding of Ann was lovely",
        "we drank cocoa by the lake",
    }
