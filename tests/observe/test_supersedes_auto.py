"""``remember(supersedes="auto")``: the new value takes the place of the old one, said so, undoable.

Mechanism: the gate's rules of contradiction run in the commit. Damage without it: an agent recalls
both values, or loses what is still true. Guard: the verdicts below, in batches and threads too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import spector
from spector.clock import ManualClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(round(START.timestamp() * 1000))


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[spector.Memory]:
    with spector.open(":memory:", clock=clock) as found:
        yield found


def texts(hits: Any) -> list[str]:
    return [hit.text for hit in hits]


def test_a_new_port_takes_the_place_of_the_old_one(
    memory: spector.Memory, clock: ManualClock
) -> None:
    old = memory.remember("The staging server uses port 8080.")
    clock.advance(days=3)
    new = memory.remember("The staging server uses port 8443.", supersedes="auto")
    assert new.supersedes == (old.id,)
    assert texts(memory.recall("Which port does staging use?")) == [new.text]
    assert [each.id for each in memory.history(new)] == [old.id, new.id]
    first_day = START + timedelta(hours=1)
    assert texts(memory.recall("Which port does staging use?", as_of=first_day)) == [old.text]


def test_the_record_says_what_was_decided(memory: spector.Memory) -> None:
    old = memory.remember("User lives in Paris.")
    record = memory.remember("User lives in Berlin.", supersedes="auto")
    decided = record.decision
    assert (decided.action, decided.rule, decided.superseded) == ("supersede", "value", (old.id,))
    assert decided.likeness == pytest.approx(0.66, abs=0.02)
    assert (decided.confidence or 0) >= 0.97
    assert str(old.id) in str(decided)
    assert memory.get(record.id).decision is None
    assert memory.remember("I like tea.").decision is None


def test_a_value_that_returns_is_a_third_memory(memory: spector.Memory) -> None:
    ids = [
        memory.remember(f"I live in {city}.", supersedes="auto").id
        for city in ("Paris", "Berlin", "Paris")
    ]
    assert [each.id for each in memory.history(ids[0])] == ids
    assert [hit.id for hit in memory.recall("Where do I live?")] == ids[2:]


def test_users_are_walls(memory: spector.Memory) -> None:
    kept = [
        memory.remember("I live in Paris.", user_id="a"),
        memory.remember("I live in Paris."),
    ]
    mine = memory.remember("I live in Paris.", user_id="b")
    new = memory.remember("I live in Berlin.", user_id="b", supersedes="auto")
    assert new.supersedes == (mine.id,)
    assert not any(memory.get(each.id).superseded for each in kept)
    assert memory.remember("I live in Oslo.", supersedes="auto").supersedes == (kept[1].id,)


def test_the_scope_is_the_user_whatever_agent_or_session(memory: spector.Memory) -> None:
    old = memory.remember("I live in Paris.", user_id="a", agent_id="x", session_id="1")
    new = memory.remember(
        "I live in Berlin.", user_id="a", agent_id="y", session_id="2", supersedes="auto"
    )
    assert new.supersedes == (old.id,)


def test_one_of_many_users_finds_his_own_among_the_words_of_all(memory: spector.Memory) -> None:
    memory.remember_many(
        [{"text": "The staging server uses port 8080.", "user_id": f"u{n}"} for n in range(150)]
    )
    mine = memory.remember("The staging server uses port 8080.", user_id="me")
    new = memory.remember("The staging server uses port 8443.", user_id="me", supersedes="auto")
    assert new.supersedes == (mine.id,)


def test_a_batch_is_as_one_by_one(memory: spector.Memory) -> None:
    told = [
        "I work at Acme.",
        "I like tea.",
        "I work at Contoso.",
        "My port is 80.",
        "I work at Initech.",
        "I do not like tea.",
        "I work at Initech.",
    ]
    one = [memory.remember(each, user_id="one", supersedes="auto") for each in told]
    many = memory.remember_many(told, user_id="many", supersedes="auto")
    place = {each.id: n for n, each in enumerate(one)} | {e.id: n for n, e in enumerate(many)}

    def links(records: list[spector.MemoryRecord]) -> list[list[int]]:
        return [[place[each] for each in record.supersedes] for record in records]

    assert links(many) == links(one) == [[], [], [0], [], [2], [1], []]


def test_items_of_a_batch_decide_for_themselves(memory: spector.Memory) -> None:
    old = memory.remember("I live in Paris.")
    made = memory.remember_many(
        [
            {"text": "I live in Berlin."},
            {"text": "I live in Rome.", "supersedes": "auto"},
        ]
    )
    assert [each.supersedes for each in made] == [(), (old.id, made[0].id)]


def test_two_threads_leave_one_value(memory: spector.Memory) -> None:
    cities = ["Paris", "Berlin", "Rome", "Oslo", "Kars", "Rize", "Izmir", "Bursa"]
    memory.remember("I live in Ankara.")

    def tell(some: list[str]) -> None:
        for city in some:
            memory.remember(f"I live in {city}.", supersedes="auto")

    threads = [threading.Thread(target=tell, args=(cities[n::2],)) for n in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    living = [each for each in memory if not each.superseded]
    assert len(living) == 1
    assert len(memory.history(living[0])) == len(cities) + 1


def test_learned_facts_of_the_old_value_go_too(memory: spector.Memory) -> None:
    old = memory.remember("I live in Paris.")
    memory.facts.learn(old)
    new = memory.remember("I live in Berlin.", supersedes="auto")
    assert old.id in new.supersedes
    assert memory.facts.query(predicate="lives_in") == []
    memory.facts.learn(new)
    assert [each.object for each in memory.facts.query(predicate="lives_in")] == ["Berlin"]


def test_a_registered_predicate_has_one_value(memory: spector.Memory) -> None:
    memory.facts.declare("drives", single_valued=True)
    old = memory.remember("I drive a Volvo.")
    assert memory.remember("I drive a Saab.", supersedes="auto").supersedes == (old.id,)


def test_a_hint_names_the_word_auto(memory: spector.Memory) -> None:
    with pytest.raises(spector.InvalidInputError, match='"auto"'):
        memory.remember("I live in Paris.", supersedes="automatic")
    assert len(memory) == 0


@pytest.mark.parametrize("text", ["", "\x00", "?" * 2000])
def test_odd_texts_are_as_without(memory: spector.Memory, text: str) -> None:
    memory.remember("I live in Paris.")
    try:
        memory.remember(text)
    except spector.SpectorError as error:
        with pytest.raises(type(error)):
            memory.remember(text, supersedes="auto")
    else:
        assert memory.remember(text, supersedes="auto").supersedes == ()


def test_the_working_tier_supersedes_nothing(memory: spector.Memory) -> None:
    memory.remember("I live in Paris.")
    assert memory.remember("I live in Berlin.", tier="working", supersedes="auto").supersedes == ()


def test_names_of_speakers_count(memory: spector.Memory) -> None:
    old = memory.remember("Ann: I live in Paris.")
    other = memory.remember("Bob: I live in Oslo.", supersedes="auto")
    new = memory.remember("Ann: I live in Berlin.", supersedes="auto")
    assert (other.supersedes, new.supersedes) == ((), (old.id,))


def test_the_speaker_is_read_as_without(memory: spector.Memory) -> None:
    told = ["Ann: Hi Bob!", "Bob: Hi Ann!", "Ann: I live in Paris.", "Bob: I live in Oslo."]
    for user, how in (("with", "auto"), ("without", None)):
        for each in told:
            memory.remember(each, user_id=user, supersedes=how)
    found = {
        user: [each.metadata.get("speaker") for each in memory if each.user_id == user]
        for user in ("with", "without")
    }
    assert found["with"] == found["without"]
    assert "Ann" in found["with"]


def test_a_tie_is_of_the_memory_that_contradicts(memory: spector.Memory) -> None:
    old = memory.remember("I live in Paris.", pinned=True)
    made = memory.remember_many(
        [{"text": "a note", "tier": "working"}, {"text": "I live in Berlin."}], supersedes="auto"
    )
    assert [edge.kind for edge in memory.graph.edges(made[0].id)] == []
    ends = {(edge.source, edge.target) for edge in memory.graph.edges(made[1].id)}
    assert ends == {(old.id, made[1].id)}
