"""A long message is cut where it pauses, and nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.formation import cut


def parts(text: str, most: int) -> list[str]:
    return [text[start:end] for start, end in cut(text, most)]


def test_paragraphs_come_first() -> None:
    text = "One two. Three four.\n\nFive six. Seven eight."
    assert parts(text, 30) == ["One two. Three four.", "Five six. Seven eight."]


def test_then_sentences() -> None:
    text = "Ada lives in Kars. Bob lives in Van. Carl lives in Bursa."
    assert parts(text, 40) == ["Ada lives in Kars. Bob lives in Van.", "Carl lives in Bursa."]


def test_then_words() -> None:
    assert parts("aaaa bbbb cccc dddd", 11) == ["aaaa bbbb", "cccc dddd"]


def test_a_word_that_is_too_long_is_cut_within() -> None:
    assert parts("x" * 25, 11) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_full_stop_of_a_number_ends_no_part() -> None:
    assert parts("It costs 3.5 lira. Ada pays.", 20) == ["It costs 3.5 lira.", "Ada pays."]


def test_a_short_text_is_one_part() -> None:
    assert parts("  Ada called.  ", 5000) == ["Ada called."]
    assert parts("", 5000) == []
    assert parts(" \n ", 5000) == []


def test_a_limit_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 1 characters"):
        cut("Ada", 1)


def test_a_huge_text_is_cut_in_one_go() -> None:
    text = "Ada met Bob. " * 40_000
    found = cut(text, 5000)
    assert len(found) < 120
    assert all(end - start < 5000 for start, end in found)


@given(st.text(alphabet=st.sampled_from("ab .!\n\t\u2026"), max_size=120), st.integers(2, 30))
def test_only_white_space_is_left_out(text: str, most: int) -> None:
    found = cut(text, most)
    done = 0
    for start, end in found:
        assert start < end
        assert end - start < most
        assert text[done:start].strip() == ""
        done = end
    assert text[done:].strip() == ""
