"""The feeling of a text: by the formula, monotone, and calm where people only chat.

Damage without it: a flashbulb, which is pinned for good, made of small talk with exclamation marks.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.emotion import CATEGORIES, emotion_in
from spector.language.emotion.detection import LABELS, EmotionHead
from tests.cases import Cases

cases = Cases(__file__)


def _texts(words: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words.split()), min_size=1, max_size=12).map(" ".join)


_ENGLISH = _texts(
    "the dog ran home and we had tea after work in Kars I am happy sad furious server not love ok"
)
_TURKISH = _texts("bugün mutluyum çünkü eve gittim, kedim hasta değil, kızgınım, korkuyorum").map(
    "bugün {}".format
)
_TEXTS = _ENGLISH | _TURKISH
_EXCITING = st.tuples(
    _ENGLISH, st.sampled_from(["very", "damn", "urgent", "furious", "the server is down"])
) | st.tuples(_TURKISH, st.sampled_from(["çok", "acil", "kahretsin", "felaket", "sunucu çöktü"]))


def test_an_outage_in_capitals_is_a_flashbulb_of_anger() -> None:
    found = emotion_in("I am FURIOUS!!! The production server is DOWN!")
    assert found.arousal == pytest.approx(0.85)
    assert found.category == "anger"
    assert found.valence < -0.5
    assert found.evidence


def test_a_calm_preference_is_calm() -> None:
    found = emotion_in("I prefer tea over coffee.")
    assert found.arousal <= 0.2
    assert found.category is None


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("We are delighted", "joy"),
        ("We have never been delighted", "sadness"),
        ("We are no longer delighted", "sadness"),
        ("We were not delighted", "sadness"),
        ("No, delighted to come", "joy"),
    ],
)
def test_a_trained_head_names_no_feeling_that_the_text_denies(text: str, category: str) -> None:
    class Head(EmotionHead):
        def log_odds(self, text: str, vector: Any) -> Any:
            odds = np.full(len(LABELS), -1.0, np.float32)
            odds[[LABELS.index("joy"), LABELS.index("sadness")]] = 2.0, 1.0
            return odds

        def valence_of(self, log_odds: Any) -> float:
            return 0.0

    head = Head(weights={"thresholds": np.zeros(len(LABELS), np.float32)}, fingerprint="")
    vector = np.zeros(4, np.float32)
    assert emotion_in(text, vector=vector, head=head).category == category


@cases("text", "category", "sign")
def test_category_and_valence(text: str, category: str | None, sign: int) -> None:
    found = emotion_in(text)
    assert found.category == category
    assert (found.valence > 0) - (found.valence < 0) == sign


@cases("text", "arousal")
def test_arousal_by_the_formula(text: str, arousal: float) -> None:
    assert emotion_in(text).arousal == pytest.approx(arousal)


def test_exclamation_marks_count_only_where_they_are_given_a_weight() -> None:
    assert emotion_in("we won!!!!!").arousal == emotion_in("we won").arousal
    weighted = emotion_in("we won!!!!!", exclamation=0.2).arousal
    assert weighted == pytest.approx(emotion_in("we won").arousal + 0.6)


@given(_TEXTS, st.integers(1, 5))
def test_a_trailing_exclamation_mark_changes_nothing(text: str, count: int) -> None:
    assert emotion_in(text + "!" * count) == emotion_in(text)


@given(_EXCITING)
def test_more_of_what_excites_never_calms(both: tuple[str, str]) -> None:
    text, word = both
    before = emotion_in(text)
    assert emotion_in(f"{text} . . . . {word}").arousal >= before.arousal
    assert 0.0 <= before.arousal <= 1.0
    assert -1.0 < before.valence < 1.0
    assert before.category in (None, *CATEGORIES)


@given(_TEXTS)
def test_capitals_never_calm(text: str) -> None:
    assert emotion_in(text.upper()).arousal >= emotion_in(text).arousal


def test_code_and_hostile_texts_are_read_in_one_pass() -> None:
    assert emotion_in("see `FATAL ERROR` here").arousal == 0.0
    began = time.perf_counter()
    for unit in ("not happy ", "!", "😡", "a", "```", "`", "not ", "değil ", "\x00", "fed up "):
        emotion_in(unit * (50_000 // len(unit)))
    assert time.perf_counter() - began < 30
