"""First person becomes third where the rules are sure, and else stays as it was said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.formation import rewritten


@pytest.mark.parametrize(
    ("text", "name", "turned"),
    [
        ("I prefer tea", "User", "User prefers tea"),
        ("I'm a nurse.", "User", "User is a nurse."),
        ("I am 34 years old.", "Ada", "Ada is 34 years old."),
        ("I have two cats", "User", "User has two cats"),
        ("I've moved to Kars", "User", "User has moved to Kars"),
        ("I went home and cooked dinner", "User", "User went home and cooked dinner"),
        ("I cook and bake bread", "User", "User cooks and bakes bread"),
        ("I don't like olives", "User", "User doesn't like olives"),
        ("I always try new food", "User", "User always tries new food"),
        ("I'll learn Rust", "User", "User will learn Rust"),
        ("My boss likes me", "Ada", "Ada's boss likes Ada"),
        ("Well, I think I love it", "User", "User thinks User loves it"),
        ("I was born in Kars", "User", "User was born in Kars"),
        ("Çayı tercih ediyorum", "Ada", "Ada çayı tercih ediyor"),
        ("Kars'a taşındım", "Ada", "Ada Kars'a taşındı"),
        ("Rust öğreneceğim.", "User", "User rust öğrenecek."),
    ],
)
def test_the_first_person_becomes_a_name(text: str, name: str, turned: str) -> None:
    assert rewritten(text, name) == turned


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        'She said "I like tea"',
        "`I = 3`",
        "We moved to Kars",
        "I'd like tea",
        "Ada likes tea",
        "If I were rich, I would travel",
        "Annem beni aradı",
        "",
    ],
)
def test_what_is_not_sure_stays_as_it_was_said(text: str) -> None:
    assert rewritten(text, "User") == text


def test_it_ends_at_a_word_after_500_characters() -> None:
    made = rewritten("I like " + "tea and " * 100 + "milk", "User")
    assert len(made) <= 500
    assert made.startswith("User likes tea")
    assert made.endswith(("tea", "and"))
    assert len(rewritten("x" * 900, "User")) == 500


@given(st.text(max_size=200))
def test_any_text_is_rewritten_without_an_error(text: str) -> None:
    assert len(rewritten(text, "User")) <= 500
