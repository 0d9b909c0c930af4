"""What contradicts is shown by the messages, not by the facts that are read from them."""

from __future__ import annotations

import pytest

import spector
from spector import ManualClock


@pytest.mark.parametrize(
    ("old", "new", "cue"),
    [
        ("User lives in Lima.", "User lives in Quito.", "Where does the user live?"),
        ("The mail relay uses port 2525.", "The mail relay uses port 587.", "mail relay port"),
    ],
)
def test_the_words_that_were_said_are_the_hits_and_name_each_other(
    old: str, new: str, cue: str
) -> None:
    clock = ManualClock("2026-03-03T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        first = memory.observe(old, user_id="ada").records[0]
        clock.advance(days=1)
        second = memory.observe(new, user_id="ada")
        assert second.units[0].action == "supersede"
        assert second.units[0].nearest == first.id
        memory.reinstate(first.id, keep=True)
        hits = {hit.id: hit for hit in memory.recall(cue, user_id="ada")}
        later = second.records[0].id
        assert later in hits[first.id].conflicts
        assert first.id in hits[later].conflicts


def test_what_an_assistant_says_against_it_is_compared_with_the_message() -> None:
    with spector.open(":memory:") as memory:
        first = memory.observe("The mail relay uses port 2525.").records[0]
        unit = memory.observe(
            {
                "role": "assistant",
                "content": "The mail relay uses port 587.",
            }
        ).units[0]
        assert (unit.action, unit.relation, unit.nearest) == ("create", "contradicts", first.id)


class Ticking(ManualClock):
    """A clock that goes on whenever it is read, as real ones do."""

    def now_ms(self) -> int:
        self.advance(seconds=0.002)
        return super().now_ms()


def test_what_a_batch_says_later_is_newer_also_while_time_goes_on() -> None:
    with spector.open(":memory:", clock=Ticking("2026-03-03T08:00:00Z")) as memory:
        first, second, third = memory.observe_many(
            ["I live in Lima.", "I live in Quito.", "I live in Bogota."], user_id="ada"
        )
        assert [each.units[0].action for each in (second, third)] == ["supersede", "supersede"]
        assert first.records[0].id in second.units[0].superseded
        texts = [hit.text for hit in memory.recall("Where do I live?", user_id="ada")]
        assert texts == ["I live in Bogota."]


@pytest.mark.parametrize(
    ("old", "new", "action", "relation"),
    [
        ("I own a red canoe and a blue tent.", "I own a red canoe.", "reinforce", None),
        ("Ada bought a boat.", "Ada bought a boat from her aunt.", "create", "elaborates"),
        ("I dont eat meat.", "I eat meat.", "supersede", None),
    ],
)
def test_a_word_that_ends_like_a_denial_denies_nothing(
    old: str, new: str, action: str, relation: str | None
) -> None:
    with spector.open(":memory:") as memory:
        memory.observe(old)
        unit = memory.observe(new).units[0]
        assert (unit.action, unit.relation) == (action, relation)
