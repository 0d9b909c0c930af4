"""Notes go into a text and come out again, and what was said is left to the letter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spector.language.formation.notes import Insertion, annotated
from spector.records import Note, without_notes


def test_a_note_stands_behind_its_word_and_its_span_takes_the_space() -> None:
    text, notes = annotated("He left.", [Insertion(2, "Omar", "reference")])
    assert text == "He [Omar] left."
    assert notes == (Note(2, 9, "reference", "Omar"),)
    assert text[2:9] == " [Omar]"


def test_a_subject_stands_in_front() -> None:
    text, notes = annotated("works at Acme", [Insertion(0, "Ada", "subject", leads=True)])
    assert text == "[Ada] works at Acme"
    assert without_notes(text, notes) == "works at Acme"


def test_brackets_that_are_no_notes_stay() -> None:
    text, notes = annotated("a [b] c", [Insertion(7, "d", "date")])
    assert text == "a [b] c [d]"
    assert without_notes(text, notes) == "a [b] c"
    assert without_notes("a [b] c [d]", ()) == "a [b] c [d]"


def test_notes_that_do_not_fit_a_text_take_nothing_out() -> None:
    assert without_notes("short", [Note(2, 90, "date", "x"), Note(4, 1, "date", "y")]) == "short"


@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 50), st.text(max_size=8), st.booleans()), max_size=6),
)
def test_what_goes_in_comes_out(said: str, places: list[tuple[int, str, bool]]) -> None:
    insertions = [
        Insertion(0 if leads else at, value, "date", leads=leads) for at, value, leads in places
    ]
    text, notes = annotated(said, insertions)
    assert without_notes(text, notes) == said
    assert [text[each.start : each.end].strip() for each in notes] == [
        f"[{each.value}]".strip() for each in notes
    ]
