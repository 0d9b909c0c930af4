"""Keys of knowledge are equal for what is the same, and differ for what is not.

Mechanism: Unicode forms, case, white space, separators, camel case, escapes. Damage without it: one
fact twice, two facts as one. Guard: the published key of a known triple, and injectivity.
"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.words import (
    concept_key,
    entity_uri,
    fact_key,
    folded,
    normalize_tokens,
    slug,
)


def test_the_key_of_a_known_triple() -> None:
    assert fact_key("Ada", "works_at", "Acme") == "cc3dceedfd9a0601cc54780e07826869"


@pytest.mark.parametrize(
    "other",
    [("ADA", "Works_At", "acme"), (" Ada ", "works_at", "Acme\n"), ("Ada", "works_at", "ACME")],
)
def test_case_and_space_change_no_key(other: tuple[str, str, str]) -> None:
    assert fact_key(*other) == fact_key("Ada", "works_at", "Acme")


def test_composed_and_decomposed_letters_have_one_key() -> None:
    name = "Zoë Gökçe"
    apart = unicodedata.normalize("NFD", name)
    assert apart != name
    assert fact_key(apart, "lives_in", "Kars") == fact_key(name, "lives_in", "Kars")


TRIPLES = st.tuples(*[st.text("ab|\\ ", max_size=4)] * 3)


@given(TRIPLES, TRIPLES)
def test_two_triples_share_a_key_only_when_their_parts_are_equal(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    def clean(parts: tuple[str, str, str]) -> tuple[str, ...]:
        return tuple(" ".join(each.split()) for each in parts)

    assert (fact_key(*one) == fact_key(*other)) == (clean(one) == clean(other))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("navigate_to_kitchen", ["navigate", "kitchen"]),
        ("graspObject", ["grasp", "object"]),
        ("HTTPServer.start/stop", ["http", "server", "start", "stop"]),
        ("Çay ve şeker", ["çay", "şeker"]),
        ("kapıyıAç_İLE", ["kapıyı", "aç"]),
        ("ÉtatCivil2Go", ["état", "civil2", "go"]),
        ("  ", []),
    ],
)
def test_identifiers_fall_into_words(text: str, words: list[str]) -> None:
    assert normalize_tokens(text) == words


def test_spellings_of_one_concept_have_one_key() -> None:
    spellings = ("coffee_mug", "Coffee mug", "CoffeeMug", "coffee-mug")
    assert len({concept_key(each) for each in spellings}) == 1
    assert concept_key("coffee mug") != concept_key("coffee cup")


def test_names_and_addresses_are_folded() -> None:
    assert folded("  Ada   LOVELACE ") == "ada lovelace"
    assert folded("İstanbul") == folded("istanbul")
    assert slug("Zoë's Café & Bar") == "zoe-s-cafe-bar"
    assert entity_uri("Redis", "tech") == "entity://tech/redis"
