"""Mechanism: one relation has one predicate, and the user has one name among subjects.

Damage: who the boss is depends on the word that was used for him, and on how one asks.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import spector
from spector import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:") as memory:
        yield memory


def drawn(memory: Memory, text: str) -> list[tuple[str, str, str]]:
    memory.observe({"role": "user", "content": text}, user_id="u")
    found = memory.facts.query(user_id="u")
    memory.forget(user_id="u")
    return [(each.subject, each.predicate, each.object) for each in found]


@pytest.mark.parametrize(
    ("fact", "texts"),
    [
        (
            ("user", "manager", "Odile"),
            (
                "My boss is Odile.",
                "My supervisor is called Odile.",
                "I report to Odile.",
                "Odile is my line manager.",
            ),
        ),
        (
            ("user", "partner", "Kemal"),
            (
                "My husband is Kemal.",
                "I'm married to Kemal.",
                "My fiance is called Kemal.",
            ),
        ),
        (
            ("user", "works_at", "Brackley Foundry"),
            (
                "I work at Brackley Foundry.",
                "My employer is Brackley Foundry.",
                "I'm employed by Brackley Foundry.",
            ),
        ),
        (("user", "lives_in", "Fowey"), ("I live in Fowey.", "My home is in Fowey.")),
    ],
)
def test_one_relation_has_one_predicate(
    memory: Memory, fact: tuple[str, str, str], texts: tuple[str, ...]
) -> None:
    assert {text: drawn(memory, text) for text in texts} == {text: [fact] for text in texts}


@pytest.mark.parametrize(
    "text", ["My dog is called Bosun.", "My dog's name is Bosun.", "My dog Bosun is ill."]
)
def test_a_pet_and_its_name_are_one_fact_by_kind(memory: Memory, text: str) -> None:
    assert drawn(memory, text) == [("user", "dog", "Bosun")]


def test_a_sister_keeps_a_name_of_her_own(memory: Memory) -> None:
    assert drawn(memory, "My sister is called Una.") == [("user's sister", "is_named", "Una")]


def test_of_two_pets_of_a_kind_both_names_stay(memory: Memory) -> None:
    memory.observe("My dog is called Bosun.", user_id="u")
    memory.observe("My dog is called Pip.", user_id="u")
    held = memory.facts.query(predicate="dog", user_id="u")
    assert {each.object for each in held} == {"Bosun", "Pip"}


def test_where_someone_lives_is_a_place_and_where_someone_works_need_not_be(
    memory: Memory,
) -> None:
    memory.observe("I live in Brovary.", user_id="u")
    memory.observe("The desk in Radiology is mine.", user_id="u")
    kinds = {each.name: each.type for each in memory.entities.all(user_id="u")}
    assert kinds["Brovary"] == "place"
    assert kinds["Radiology"] == "thing"


def test_facts_are_found_by_any_name_of_a_relation(memory: Memory) -> None:
    memory.observe("My boss is called Odile.", user_id="u")
    memory.facts.add("Ines", "wife", "Ruth", user_id="u")
    for name in ("boss", "manager", "line manager"):
        assert [each.object for each in memory.facts.query(predicate=name)] == ["Odile"]
    for name in ("wife", "partner", "married_to"):
        assert [each.object for each in memory.facts.query(predicate=name)] == ["Ruth"]
    assert memory.facts.query(predicate="not_boss") == []


def test_the_user_is_meant_by_me_and_by_name(memory: Memory) -> None:
    memory.observe("My name is Ines.", user_id="u")
    memory.observe("I live in Fowey.", user_id="u")
    memory.observe("I live in Oban.", user_id="other")
    for name in ("me", "I", "user", "Ines"):
        found = {each.object for each in memory.facts.about(name, user_id="u")}
        assert found == {"Ines", "Fowey"}
    assert {each.object for each in memory.facts.about("me", user_id="other")} == {"Oban"}
    assert memory.facts.about("Ines", user_id="other") == []


def test_a_session_says_how_the_user_is_called(memory: Memory) -> None:
    session = memory.session("s", user_id="u", speaker="Ines")
    session.observe("Ines: I live in Fowey.")
    assert [each.object for each in memory.facts.about("Ines", user_id="u")] == ["Fowey"]
