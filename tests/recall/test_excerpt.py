"""Excerpts: the part of a long memory that a cue is about.

Damage guarded against: the sentence that answers is the one that was cut away; an excerpt that is
larger than its room; words that the memory does not have.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.statements.excerpts import cue_words, excerpt

FILLER = "It rained again. Nobody came by. The day was long. "


@pytest.mark.parametrize("before", [0, 1, 30])
@pytest.mark.parametrize("after", [0, 1, 30])
def test_the_sentence_that_the_cue_is_about_stays(before: int, after: int) -> None:
    text = FILLER * before + "Her violins were sold in May. " + FILLER * after
    found = excerpt(text, cue_words("who sold the violin?"), 60, len)
    assert "violins were sold" in found
    assert found.startswith("…") == bool(before)
    assert found.endswith("…") == bool(after)


def test_a_long_sentence_is_cut_around_the_word() -> None:
    text = "and then " * 500 + "the violin " + "and so on " * 500
    found = excerpt(text, cue_words("violin"), 40, len)
    assert "violin" in found
    assert len(found) <= 40


def test_more_room_shows_more() -> None:
    text = FILLER * 5 + "The violin was sold. " + FILLER * 5
    sizes = [len(excerpt(text, cue_words("violin"), room, len)) for room in range(30, 500, 20)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 400


def test_a_cue_without_words_gets_the_beginning() -> None:
    assert excerpt("First this. " + FILLER * 9, cue_words("?!"), 30, len).startswith("First this.")


def test_where_nothing_fits_there_is_nothing() -> None:
    assert excerpt(FILLER, cue_words("day"), 2, len) == ""
    assert excerpt(FILLER, cue_words("day"), 0, lambda text: 1) == ""


@given(st.text(max_size=400), st.text(max_size=30), st.integers(0, 200), st.sampled_from((1, 4)))
def test_an_excerpt_fits_and_is_of_the_text(text: str, cue: str, room: int, per: int) -> None:
    def cost(part: str) -> int:
        return math.ceil(len(part) / per)

    found = excerpt(text, cue_words(cue), room, cost)
    assert not found or cost(found) <= room
    assert found.strip("…").strip() in text


@pytest.mark.parametrize("at", [0, 3, 77, 300])
def test_the_place_is_found_in_a_very_long_text(at: int) -> None:
    chapters = [FILLER * 20] * 301
    chapters[at] = "Her violins were sold in May. " + FILLER * 20
    found = excerpt("".join(chapters), cue_words("who sold the violin?"), 200, len)
    assert "violins were sold" in found
    assert found.startswith("…") == bool(at)
    assert found.endswith("…")
