"""Of two long messages that give the value that is asked for, the newer one stands first.

Mechanism: in messages that say much else no two sentences are alike, so their order was that of
their words. Damage: "How many beehives do I have?" was answered by the number of last month. Guard:
numbers, days and hours in English and Turkish; cues about the past, other people and others who
speak, which change nothing; and nothing but the order changes.
"""

from __future__ import annotations

from typing import Final

import pytest

import spector
from spector import Memory
from spector.language.frames import value_asked

#: (older, newer, cue)
PAIRS: Final = (
    (
        "I spent the morning in the orchard with the smoker and clipped drones. All in all I keep 6"
        " beehives along the hedge, two of them from the swarm that Piet brought over last year.",
        "The extractor broke twice and the wax moths were back. After splitting the strong colonies"
        " there are now 9 beehives along the hedge, so I had to order frames for next spring.",
        "How many beehives do I have along the hedge?",
    ),
    (
        "I have a call with Professor Aslan on March 22 at 3 PM to review my draft, which points"
        " should I bring up to get the most out of our hour?",
        "I'm afraid of missing the call with Professor Aslan, so can you remind me that it's"
        " rescheduled to March 22 at 4:30 PM?",
        "What time should I join the call with Professor Aslan to review my draft?",
    ),
    (
        "Şiir kitabım için haftada 1200 kelime yazma hedefim var, bunu nasıl takip edebilirim, bir"
        " tablo mu tutsam yoksa bir uygulama mı bulsam?",
        "Haftada yazma hedefim artık 1350 kelime oldu, bu yüzden sabahları biraz daha erken kalkmam"
        " gerekecek, bana bir plan çıkarır mısın?",
        "Haftada kaç kelime yazma hedefim var?",
    ),
)


def _places(older: str, newer: str, cue: str, **fields: str) -> list[str]:
    with spector.open(":memory:") as memory:
        _fill(memory, older, newer, **fields)
        return [hit.text for hit in memory.recall(cue, k=10, user_id="jon")]


def _fill(memory: Memory, older: str, newer: str, *, role: str = "user") -> None:
    for n, (text, who) in enumerate(((older, "user"), (newer, role))):
        memory.remember(
            {"role": who, "content": text}, user_id="jon", event_time=f"2026-0{3 + n}-01"
        )


@pytest.mark.parametrize(("older", "newer", "cue"), PAIRS)
def test_the_newer_value_comes_first(older: str, newer: str, cue: str) -> None:
    assert _places(older, newer, cue) == [newer, older]


def test_what_an_assistant_says_does_not_come_before_what_its_user_said() -> None:
    older, newer, cue = PAIRS[0]
    with spector.open(":memory:") as memory:
        _fill(memory, older, newer, role="assistant")
        hits = memory.recall(cue, k=10, user_id="jon")
        assert len(hits) == 2
        assert not any("newer" in str(hit.explain()) for hit in hits)


def test_the_order_alone_changes() -> None:
    older, newer, cue = PAIRS[0]
    with spector.open(":memory:") as memory:
        _fill(memory, older, newer)
        hits = memory.recall(cue, k=10, user_id="jon")
        assert not hits.outdated
        assert all(not hit.conflicts for hit in hits)


@pytest.mark.parametrize(
    "cue",
    [
        "How many commits were merged before?",
        "How many commits did I have at first?",
        "How many days passed between the two calls?",
        "What was my word count last month?",
        "Who is my boss?",
        "I have 140 commits.",
        "kiram önce ne kadardı?",
        "eskiden kaç kiloydum?",
        "Where do I live?",
        "",
    ],
)
def test_cues_about_the_past_and_about_no_value_change_nothing(cue: str) -> None:
    assert value_asked(cue) is None


def test_a_value_of_someone_else_is_none() -> None:
    asked = value_asked("What is my locker code at the gym?")
    assert asked is not None
    assert asked.given_in("My locker code at the gym is 3307.") is not None
    assert asked.given_in("My sister's locker code at the gym is 9125.") is None
    assert asked.given_in("My code is 9125.") is None
