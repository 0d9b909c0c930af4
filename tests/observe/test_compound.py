"""A memory that says several things is not hidden by a newer word on one of them.

Damage without it: "I moved" hides the cats, the job and the name of the sentence that said where
one lives; or a fact outlives the message that stated it.
"""

from __future__ import annotations

import pytest

import spector
from spector import Memory
from tests.fakes import FakeEmbedder


def opened() -> Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=64))


def told(memory: Memory, *texts: str) -> list[int]:
    out = []
    for month, text in enumerate(texts, 1):
        found = memory.observe(text, user_id="ada", event_time=f"2026-0{month}-01")
        assert found.stored, found
        record = found.units[0].record
        assert record is not None
        out.append(record.id)
    return out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Kars, have two cats and a boat.", "I live in Bonn now."),
        ("I work at Acme as a welder, night shifts only.", "I work at Initech now."),
        ("My phone number is 555-1234, call after six.", "My phone number is 555-9999."),
        ("Ankara'da yaşıyorum ve iki kedi besliyorum.", "Artık İzmir'de yaşıyorum."),
        ("Kedimin adı Pamuk, beyaz bir tekir.", "Kedimin adı Duman."),
    ],
)
def test_what_else_a_sentence_says_stays(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert not memory.get(first).superseded
        assert not memory.get(second).superseded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Kars.", "I live in Bonn now."),
        ("Hi, I live in Kars, Turkey.", "I live in Bonn now."),
        ("So, as you know, the port is 8080.", "Actually the port is 8443."),
        ("Evet, staging portu 8080.", "Staging portu artık 8443."),
    ],
)
def test_what_says_nothing_else_is_superseded_with_its_facts(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert memory.get(first).superseded
        ended = [r for r in memory.records(user_id="ada", sorts="fact") if r.superseded]
        assert len(ended) == 1
        memory.reinstate(first, keep=True)
        assert not memory.get(first).superseded
        assert not memory.get(second).superseded
        assert not memory.get(ended[0].id).superseded
        assert memory.check().ok


def test_a_fact_comes_back_when_the_newer_message_is_forgotten() -> None:
    with opened() as memory:
        first, second = told(memory, "Note: the port is 8080.", "Actually the port is 8443.")
        memory.forget(second)
        memory.reinstate(first)
        texts = {r.text for r in memory.records(user_id="ada") if not r.superseded}
        assert texts == {"Note: the port is 8080."}
        facts = {r.text for r in memory.records(user_id="ada", sorts="fact") if not r.superseded}
        assert facts == {"port is 8080."}


def test_a_fact_that_another_memory_states_too_stays() -> None:
    with opened() as memory:
        told(memory, "Note: the port is 8080.")
        other = memory.remember("the log of the server", user_id="ada")
        fact = next(iter(memory.records(user_id="ada", sorts="fact")))
        memory.facts.add("port", "is", "8080", source=other, user_id="ada")
        assert len(memory.facts.get(fact.id).sources) == 2
        memory.observe("Actually the port is 8443.", user_id="ada", event_time="2026-03-01")
        assert not memory.get(fact.id).superseded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I drive a Honda Civic", "sold the Civic last week, i drive a Mazda 3 now"),
        ("I drive a Volvo.", "I sold the Volvo, I drive a Fiat now."),
    ],
)
def test_a_fact_that_a_message_ends_twice_ends_once(old: str, new: str) -> None:
    with opened() as memory:
        first, second = told(memory, old, new)
        assert memory.get(first).superseded
        assert memory.get(second).text.startswith(new[:8])
        assert memory.check().ok
