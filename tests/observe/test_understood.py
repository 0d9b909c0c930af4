"""What hides an older statement is understood whole, and what is said again is the same.

Mechanism: each sentence of a message states something, with nothing before it but leads; two texts
with other prepositions, persons or signs are two. Damage without it: a line of a play moves its
reader to another town, and "the alarm is off" is taken for "the alarm is on".
"""

from __future__ import annotations

import cProfile
import pstats

import pytest

import spector
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def observed(*texts: str) -> spector.ObserveResult:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        for text in texts:
            found = memory.observe(text, user_id="ana")
    return found


@cases("before", "now")
def test_what_is_not_all_understood_hides_nothing(before: str, now: str) -> None:
    assert observed(before, now).units[0].superseded == ()


@cases("one", "other")
def test_another_preposition_person_or_sign_says_another_thing(one: str, other: str) -> None:
    assert observed(one, other).units[0].action != "reinforce"


def test_no_night_rests_what_another_preposition_denies() -> None:
    clock = spector.ManualClock("2026-03-02T09:00:00Z")
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=clock) as memory:
        for text in ("The kiln in the old barn is on.", "The kiln in the old barn is off."):
            memory.remember(text, user_id="ana")
        clock.advance(days=2)
        memory.reflect()
        assert not any(each.dormant for each in memory.records(user_id="ana"))


@cases("said", "asked", "answer")
def test_a_no_to_a_question_about_something_else_corrects_nothing(
    said: str, asked: str, answer: str
) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        with memory.session(user_id="ana") as chat:
            chat.observe(said)
            chat.observe({"role": "assistant", "content": asked})
            found = chat.observe(answer)
        assert found.units[0].superseded == ()
        assert not any(each.superseded for each in memory.records(user_id="ana"))


@pytest.mark.parametrize("way", ["learn", "night"])
@pytest.mark.parametrize(
    ("now", "homes"),
    [
        ("**Henk**: I live in Delft now.", {"Porto", "Delft"}),
        ("Act one. I live in Delft now.", {"Porto", "Delft"}),
        ("I live in Delft now.", {"Delft"}),
    ],
)
def test_a_fact_ends_only_by_a_text_that_is_understood(way: str, now: str, homes: set[str]) -> None:
    clock = spector.ManualClock("2026-03-02T09:00:00Z")
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=clock) as memory:
        for text in ("I live in Porto.", now):
            stored = memory.remember(text, user_id="ana", role="user")
            clock.advance(days=2)
            if way == "learn":
                memory.facts.learn(stored.id, user_id="ana")
            else:
                memory.reflect()
        assert {each.object for each in memory.facts.about("user", user_id="ana")} == homes


@pytest.mark.parametrize("between", ["What is nine times six?", "Shall I water the ferns?"])
def test_a_no_after_a_question_corrects_nothing_that_was_said_before(between: str) -> None:
    with (
        spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory,
        memory.session("s", user_id="ana") as session,
    ):
        session.observe("I am 31.")
        session.observe(between)
        assert session.observe("No, 54.").units[0].superseded == ()


def test_two_texts_of_many_statements_are_compared_in_linear_time() -> None:
    def calls(times: int) -> int:
        old, new = ("I live in Porto. My kiln is on. " * times for _ in range(2))
        with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
            profile = cProfile.Profile()
            profile.runcall(memory.judge, old, new.replace("Porto", "Delft"))
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    calls(40)  # loads what is loaded once
    assert calls(800) <= 5 * calls(200)
