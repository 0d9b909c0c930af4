"""Sentences written for this test, and the triples that they state.

Mechanism: frames over words, with modality, polarity and speaker decided first. Damage without it:
a question, a wish or a rumour becomes a fact about the user, a list is swallowed into one object,
somebody else's port is ours. Guard: each frame has a sentence, and most of what people say states
nothing.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.language.frames import Statement, compare, extract, normal_value
from spector.language.frames.sentences import sentences
from spector.language.tables import in_languages
from spector.language.words import plain
from tests.cases import Cases
from tests.frames.test_values import values_differ

cases = Cases(__file__)


def lines(heading: str) -> list[str]:
    """What the sentences of both languages have under a heading."""
    found: list[str] = []
    for language in ("english", "turkish"):
        text = Path(__file__).with_name(f"{language}.txt").read_text(encoding="utf-8")
        found += text.partition(f"[{heading}]\n")[2].partition("\n\n")[0].splitlines()
    return found


def said(statement: Statement) -> str:
    denial = "" if statement.polarity else "not "
    return f"{statement.subject} | {denial}{statement.predicate} | {statement.object}"


@pytest.mark.parametrize("line", lines("STATES"))
def test_a_sentence_states_these_triples_and_no_others(line: str) -> None:
    text, _, wanted = line.partition(" -> ")
    assert [said(each) for each in extract(text)] == wanted.split("; ")


@pytest.mark.parametrize("text", lines("STATES_NOTHING"))
def test_a_sentence_states_nothing(text: str) -> None:
    assert [said(each) for each in extract(text)] == []


@cases("text", "modality", "triple")
def test_what_is_not_asserted_comes_only_when_it_is_asked_for(
    text: str, modality: str, triple: str
) -> None:
    every = ("asserted", "hedged", "planned", "reported", "conditional", "asked")
    found = extract(text, modalities=every)
    assert [said(each) for each in found] == ([triple] if triple else [])
    assert {each.modality for each in found} <= {modality}
    kept = [each.modality for each in extract(text)]
    assert kept == (["hedged"] if modality == "hedged" else [])


def test_a_hedge_costs_confidence() -> None:
    (sure,) = extract("My port is 8080.")
    (unsure,) = extract("I think my port is 8080.")
    assert (sure.confidence, unsure.confidence) == (0.6, 0.42)


def test_the_speaker_is_who_says_i() -> None:
    def subjects(text: str, **who: str) -> list[str]:
        return [each.subject for each in extract(text, **who)]  # type: ignore[arg-type]

    assert subjects("I live in Oslo.") == ["user"]
    assert subjects("I live in Oslo.", speaker="Ines") == ["Ines"]
    assert subjects("I live in Oslo.", role="assistant") == ["agent"]
    assert subjects("You live in Oslo.") == ["agent"]
    assert subjects("You live in Oslo.", role="assistant") == ["user"]
    assert subjects("I live in Oslo.", role="tool") == []
    assert subjects("The gateway's port is 9000.", role="tool") == ["gateway"]
    assert subjects("You live in Oslo.", speaker="Ines") == []
    assert subjects("My sister lives in Oslo.", speaker="Ines") == ["Ines's sister"]
    assert subjects("Rize'de yaşıyorum.", speaker="Selin") == ["Selin"]


def test_the_turns_of_a_transcript_have_their_own_speakers() -> None:
    text = "Ines: I live in Oslo.\nOmar: I like chess.\nI like tea. I also like rum."
    assert [said(each) for each in extract(text)] == [
        "Ines | lives_in | Oslo",
        "Omar | likes | chess",
        "Omar | likes | tea",
        "Omar | likes | rum",
    ]
    roles = "user: I live in Oslo.\nassistant: You live in Oslo."
    assert [said(each) for each in extract(roles)] == ["user | lives_in | Oslo"] * 2
    assert extract("Edit: I live in Oslo.")[0].subject == "user"
    assert [said(each) for each in extract("Name: Omar\nPort: 8080")] == ["Port | is | 8080"]


def test_the_language_may_be_given() -> None:
    def read(code: str, text: str) -> list[str]:
        return in_languages((code,), lambda: [said(each) for each in extract(text)])

    assert read("tr", "adim Ali") == ["user | is_named | Ali"]
    assert read("en", "adim Ali") == read("tr", "I live in Oslo.") == []


def test_what_a_statement_says_of_time_and_change() -> None:
    (moved,) = extract("I moved from Lille to Nantes.")
    assert (moved.replaced, moved.changed, moved.tense) == ("Lille", True, "present")
    (lived,) = extract("In 2019 I lived in Paris.")
    assert (lived.window, lived.tense) == ("In 2019", "past")
    assert extract("I also like tea.")[0].added
    assert extract("We live in Ghent now.")[0].changed
    assert extract("Actually, the port is 8443, not 8080.")[0].replaced == "8080"
    assert extract("I use Helix instead of Vim.")[0].replaced == "Vim"


def test_code_quotations_and_lists_of_others_state_nothing() -> None:
    assert extract("```\nI live in Oslo.\n```") == ()
    assert extract("> I live in Oslo.") == ()
    assert extract("~~~\nport = 8080\n") == ()
    assert [said(each) for each in extract("```\nx\n```\nI live in Oslo.")] == [
        "user | lives_in | Oslo"
    ]
    assert [said(each) for each in extract("- I live in Oslo.\n- I like tea.")] == [
        "user | lives_in | Oslo",
        "user | likes | tea",
    ]


def test_only_the_callers_predicates_are_added_to_the_one_valued() -> None:
    assert not extract("I drive a Volvo.")[0].single
    assert extract("I drive a Volvo.", single_valued=("drives",))[0].single


def test_a_doubt_is_about_its_whole_sentence() -> None:
    for text, modality in (
        ("I speak Greek, so maybe we can travel.", "hedged"),
        ("Maybe, I live in Oslo.", "hedged"),
        ("I live in Oslo, I think, and perhaps it rains.", "hedged"),
        ("I probably live in Oslo.", "hedged"),
        ("Guess what - I live in Oslo.", "asserted"),
        ("I guess I live in Oslo.", "hedged"),
    ):
        assert [each.modality for each in extract(text)] == [modality], text


# -- Whatever a text holds: no error, spans that quote it, few statements, linear time -------------
#
# Mechanism: texts come from anywhere. Damage without it: one odd message stops an observer, a fact
# cites words that are not there, a pasted log takes minutes. Guard: random mixtures of the words
# that frames look at, any Unicode, and long texts of what an expression could run wild on.


EVERY = ("asserted", "hedged", "planned", "reported", "conditional", "asked")


def check(text: str) -> None:
    found = extract(text, modalities=EVERY)
    for each in found:
        for start, end in (each.span, each.subject_span, each.object_span):
            assert 0 <= start < end <= len(text)
        assert each.subject.strip() == each.subject != ""
        assert each.object.strip() == each.object != ""
        assert each.predicate
        assert " " not in each.predicate
        assert len(each.object.split()) <= 8
        compare(found, each, text)
        values_differ(each.object, text[:60])
        normal_value(each.object)
    for sentence in sentences(text):
        inside = [each for each in found if sentence.start <= each.span[0] < sentence.end]
        assert len(inside) <= 3


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_values_are_compared_either_way(one: str, other: str) -> None:
    assert values_differ(one, other) == values_differ(other, one)
    assert not values_differ(one, one)


@cases("text")
def test_spans_quote_the_words(text: str) -> None:
    found = extract(text)
    assert found
    for each in found:
        quoted = text[slice(*each.object_span)]
        assert plain(quoted)[:3] == plain(each.object)[:3]
        assert quoted in text[slice(*each.span)]
        assert each.span[0] <= each.subject_span[0] or each.frame.startswith("tr")


@pytest.mark.parametrize(
    "text",
    [
        "I live in Oslo. Just kidding!",
        "Not true: I live in Oslo.",
        "Letter from Ann:\nI live in Oslo.",
    ],
)
def test_what_a_text_does_not_stand_by_is_no_statement(text: str) -> None:
    assert extract(text) == ()


def said_anywhere(statement: Statement) -> tuple[str, str, str]:
    return statement.subject, statement.predicate, statement.object


def test_a_text_states_what_its_sentences_state() -> None:
    parts = ["I live in Oslo.", "Do you like tea?", "My port is 8080.", "Kahveyi severim."]
    whole = [said_anywhere(each) for each in extract(" ".join(parts))]
    assert whole == [said_anywhere(each) for part in parts for each in extract(part)]


@cases("unit")
def test_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        extract(text)
        return time.process_time() - start

    seconds(1000)
    small = max(seconds(25_000), 0.02)
    assert seconds(100_000) < 12 * small
