"""What a message quotes is taken for its speaker's own words: someone else's town becomes hers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.observing import KINDS, classify, is_hedged
from spector.language.statements import own_words, quotations
from tests.cases import Cases

cases = Cases(__file__)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ('The nurse said: "I moved to Varna last week."', "The nurse said:"),
        ("Translate this to Dutch: I keep bees. I live in Split.", "Translate this to Dutch:"),
        (
            "Could you polish this cover letter?\n\nDear Ms Roe,\nI work at Lunar.",
            "Could you polish this cover letter?",
        ),
        ("> I quit my job.\nIs that rude?", "Is that rude?"),
        (
            "It broke on the ferry server.\n```\nOSError: disk\n```\nI need it by noon.",
            "It broke on the ferry server. I need it by noon.",
        ),
        (
            "Our host says: I live upstairs now.\n\nI live in Split.",
            "Our host says: I live in Split.",
        ),
        ("Subject: keys\n\nHi Bo, I live in Pula.\nJo", ""),
        ('Status was {"id": "7", "city": "Pula"} today', "Status was today"),
        ("Annem dedi: eve gel artık.", "Annem dedi:"),
        ('"I live in Split."', ""),
        ("«Artık Pula'da yaşıyorum.»", ""),
    ],
)
def test_words_of_others_are_not_own(text: str, own: str) -> None:
    assert " ".join(own_words(text).split()) == own


@pytest.mark.parametrize(
    "text",
    [
        'My favourite novel is "The Master and Margarita".',
        "As I said: I live in Split.",
        "Write this down: my locker is 31.",
        "Correct: I live in Split.",
        "Edit: I moved to Pula",
        "2026-11-25 09:00 dentist on Oak Street",
        "friday = yoga, 7 pm",
        "warning: the gate code is 4417 now",
        "my parents' house is older than my cousins' one",
    ],
)
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


@pytest.mark.parametrize(
    ("text", "hedged"),
    [
        ("I think she lives in Kars", True),
        ("Maybe we move", True),
        ("Sanırım taşındı", True),
        ("galiba perşembe", True),
        ("She lives in Kars", False),
        ("Kars'ta yaşıyor", False),
        ("", False),
    ],
)
def test_hedges(text: str, hedged: bool) -> None:
    assert is_hedged(text) == hedged
