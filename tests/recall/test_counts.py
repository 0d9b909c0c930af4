"""Mechanism: two memories are tied; the one that counts comes first and a context says which.

Damage: an assistant's later word is read as the present state of what the user said. Guard: the
user's word stands directly before the other's, whoever spoke last, and the older of two of one
speaker is quoted only behind the newer.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import spector
from spector import Memory

START = datetime(2026, 4, 6, 9, tzinfo=UTC)
#: what the user said, what another one said of the same, who, and a question
SAID = (
    (
        "I work at Brackley Foundry.",
        "You work at Northgate Mills.",
        "assistant",
        "Where do I work?",
    ),
    (
        "The choir rehearses at 19:15.",
        "The choir rehearses at 20:45.",
        "assistant",
        "When does the choir rehearse?",
    ),
    (
        "My landlord is Otto Brandt.",
        "Your landlord is Ines Falk.",
        "assistant",
        "Who is my landlord?",
    ),
    ("The cellar has 12 racks.", "Racks in the cellar: 18", "tool", "How many racks are there?"),
    (
        "The roof was repaired in October.",
        "The roof was not repaired in October.",
        "assistant",
        "Was the roof repaired?",
    ),
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:") as memory:
        yield memory


def tell(memory: Memory, *said: tuple[str, str]) -> None:
    """Turns of one session, a day apart."""
    with memory.session("s", user_id="ida") as session:
        for day, (role, text) in enumerate(said):
            at = START + timedelta(days=day)
            session.observe({"role": role, "content": text, "timestamp": at})


@pytest.mark.parametrize("user_first", [True, False])
@pytest.mark.parametrize(("own", "other", "role", "cue"), SAID)
def test_the_users_word_comes_directly_before_that_of_others(
    memory: Memory, own: str, other: str, role: str, cue: str, user_first: bool
) -> None:
    said = [("user", own), (role, other)]
    tell(memory, *(said if user_first else said[::-1]))
    hits = memory.recall(cue, user_id="ida")
    assert [hit.role for hit in hits] == ["user", role]
    assert hits.outdated == {hits[1].id: (hits[0].id,)}
    lines = memory.context(cue, user_id="ida", always=True, cut=0).text.splitlines()
    at = next(n for n, line in enumerate(lines) if "(this counts)" in line)
    assert own[:20] in lines[at]
    assert "said otherwise, 2026-04-0" in lines[at + 1]
    assert other[:20] in lines[at + 1]


def test_what_is_no_other_value_of_the_same_is_not_tied(memory: Memory) -> None:
    tell(
        memory,
        ("user", "I bought a canoe for 400 euros."),
        ("assistant", "A good canoe costs 900 euros."),
        ("assistant", "You bought it in Ghent."),
    )
    hits = memory.recall("How much was my canoe?", user_id="ida")
    assert hits.outdated == {}
    assert not any(hit.conflicts for hit in hits)


def test_an_assistant_makes_no_fact_against_the_users_word(memory: Memory) -> None:
    tell(memory, ("user", "I live in Tarbert."), ("assistant", "You live in Oban."))
    assert [each.object for each in memory.facts.about("user", user_id="ida")] == ["Tarbert"]


def test_what_an_assistant_states_is_less_sure_than_what_the_user_states(memory: Memory) -> None:
    tell(memory, ("assistant", "Your dentist is Dr Reed."), ("user", "My dentist is Dr Park."))
    assert memory.facts.about("user", user_id="ida")[0].object == "Dr Park"


def test_the_older_of_two_is_quoted_only_behind_the_newer(memory: Memory) -> None:
    tell(
        memory,
        ("user", "I usually take the ferry to the studio."),
        ("user", "These days I cycle to the studio instead."),
    )
    ask = {"cue": "How do I get to the studio?", "user_id": "ida", "always": True, "cut": 0}
    lines = memory.context(**ask).text.splitlines()
    at = lines.index('- (earlier, 2026-04-06: "I usually take the ferry to the studio.")')
    assert "cycle" in lines[at - 1]
    for most in range(20, 90):  # never the older one without the newer
        text = memory.context(**ask, max_tokens=most).text
        assert "cycle" in text or "ferry" not in text


def test_a_moment_of_before_has_its_own_order(memory: Memory) -> None:
    clock = spector.ManualClock(START)
    with spector.open(":memory:", clock=clock) as memory:
        memory.observe("I usually take the ferry to the studio.", user_id="ida")
        clock.advance(days=3)
        memory.observe("These days I cycle to the studio instead.", user_id="ida")
        ask = {"cue": "How do I get to the studio?", "user_id": "ida"}
        assert [hit.text.split()[0] for hit in memory.recall(**ask)] == ["These", "I"]
        (then,) = memory.recall(**ask, as_of=START + timedelta(days=1))
        assert "ferry" in then.text
        text = memory.context(**ask, as_of=START + timedelta(days=1), always=True).text
        assert "(earlier" not in text
