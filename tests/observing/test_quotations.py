"""What a message quotes is taken for its speaker's own words: someone else's town becomes hers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.observing import KINDS, classify, is_hedged
from spector.language.statements import own_words, quotations
from tests.cases import Cases

cases = Cases(__file__)


@cases("text", "own")
def test_words_of_others_are_not_own(text: str, own: str) -> None:
    assert " ".join(own_words(text).split()) == own


@cases("text")
def test_names_in_quotation_marks_and_headings_are_own_words(text: str) -> None:
    assert quotations(text) == ()


def test_letters_keep_their_places() -> None:
    text = 'He said "I am in Oslo." and I left.'
    assert len(own_words(text)) == len(text)
    assert own_words(text).index("and I left") == text.index("and I left")


# -- The class of a message and how much it says ---------------------------------------------------
#
# Damage without it: a preference stored as a passing event, or a correction taken for small talk.


@cases("text", "kind")
def test_the_class_of_a_message(text: str, kind: str) -> None:
    found = classify(text)
    assert found.kind == kind
    assert bool(found.confidence) == (kind != "other")


def test_confidence_begins_at_the_base_and_grows_by_each_pattern() -> None:
    assert classify("I prefer tea").confidence == pytest.approx(0.30)
    assert classify("I prefer tea, it is my favourite").confidence == pytest.approx(0.45)
    assert classify("We decided it").confidence == pytest.approx(0.35)
    assert classify("My name is Orhan").confidence == pytest.approx(0.25)
    assert classify("Never call my office").confidence == pytest.approx(0.40)


def test_questions_are_not_read() -> None:
    assert classify("Do you prefer tea?").kind == "other"
    assert classify("I prefer tea. Will you go to Kars tomorrow?").kind == "preference"


def test_two_entities_make_a_message_rich_in_entities() -> None:
    assert classify("they met", entities=2).kind == "entity"
    assert classify("they met", entities=1).kind == "other"


@given(st.text(max_size=200))
def test_any_text_has_a_class(text: str) -> None:
    assert classify(text).kind in KINDS


@cases("text", "hedged")
def test_hedges(text: str, hedged: bool) -> None:
    assert is_hedged(text) == hedged
