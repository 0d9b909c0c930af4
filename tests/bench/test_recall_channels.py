"""The channels that plain arms are combined of, and the formulas over them.

Mechanism: BM25 by a library, cosines, scales, sums. Damage if wrong: a yardstick that is too short.
Guard: values worked out by hand on stores of a few texts.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.recall.channels import (
    Channels,
    Formula,
    neighbourhoods,
    reciprocal_ranks,
    smoothed,
    standardised,
    to_largest,
    to_unit,
)
from bench.recall.lexical import Bm25
from tests.bench.recall_samples import TEXTS, Recording, a_store


def test_neighbours_stop_at_the_session() -> None:
    assert neighbourhoods(["a", "b", "c"], ["s", "s", "t"]) == ["a b", "a b", "c"]


def test_vectors_take_a_share_of_their_neighbours_in_the_session() -> None:
    rows = np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(
        smoothed(rows, ["s", "s", "t"], 0.5), [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    )
    np.testing.assert_array_equal(rows, np.eye(3))


def test_scales_equal_the_values_worked_out_by_hand() -> None:
    scores = np.array([4.0, 0.0, 2.0])
    np.testing.assert_allclose(to_largest(scores), [1, 0, 0.5])
    np.testing.assert_allclose(to_unit(scores), [1, 0, 0.5])
    np.testing.assert_allclose(standardised(scores), np.array([2, -2, 0]) / math.sqrt(8 / 3))
    np.testing.assert_allclose(reciprocal_ranks(60)(scores), [1 / 61, 0, 1 / 62])
    for scale in (to_largest, to_unit, standardised, reciprocal_ranks(60)):
        np.testing.assert_array_equal(scale(np.zeros(2)), [0, 0])


def test_centring_takes_away_what_all_texts_share() -> None:
    store = a_store("one", ("a", "b"))
    rows = np.array([[0.8, 0.6, 0], [0.8, -0.6, 0]], dtype=np.float32)
    channels = Channels(store, rows, "items")
    cue = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    np.testing.assert_allclose(channels.cosine(cue), [0.8, 0.8], atol=1e-6)
    np.testing.assert_allclose(
        channels.cosine(np.array([0.8, 0.6, 0], np.float32), centred=True), [1, -1], atol=1e-6
    )


def test_bm25_equals_the_formula_on_a_store_worked_out_by_hand() -> None:
    """Three texts of 1, 1 and 4 words, mean 2; "cat" in two of them, once each."""
    scores = Bm25(["cats", "dogs", "cat house tree river"], k1=1.2, b=0.75).scores("the CAT?")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def expected(length: int) -> float:
        return idf * 1 / (1 + 1.2 * (1 - 0.75 + 0.75 * length / 2))

    np.testing.assert_allclose(scores, [expected(1), 0, expected(4)], rtol=1e-5)


def test_bm25_of_unknown_words_or_of_nothing_is_zero() -> None:
    np.testing.assert_array_equal(Bm25(["cat", "dog"]).scores("zebra the"), [0, 0])
    np.testing.assert_array_equal(Bm25(["...", "the"]).scores("cat"), [0, 0])


def test_coverage_is_the_share_of_what_the_words_of_a_cue_could_score() -> None:
    """ "cat" (in one of two texts) is found in a text of one word, "zebra" is nowhere."""
    bm25 = Bm25(["cat", "dog"], k1=1.2, b=0.75)
    cat, zebra = math.log(1 + 1.5 / 1.5), math.log(1 + 2.5 / 0.5)
    assert bm25.coverage("cat") == pytest.approx(1 / 2.2)
    assert bm25.coverage("cat zebra") == pytest.approx(cat / 2.2 / (cat + zebra))
    assert bm25.coverage("the") == bm25.coverage("zebra") == 0


def test_evidence_is_not_scaled_to_the_best_of_the_cue() -> None:
    """Scores are; then the best text of any cue says 1, and a threshold could not be set."""
    store, rows = a_store(), Recording().embed(list(TEXTS))
    formula = Formula(words=1, dense=1)
    channels = formula.channels(store, rows)
    cue = Recording().embed(["cue"])[0]
    evidence = formula.evidence(channels, "cat", cue)
    assert evidence == pytest.approx(channels.coverage("cat") + channels.cosine(cue).max())
    assert evidence > formula.evidence(channels, "zebra", cue)
    words = Formula(words=1)
    assert words.evidence(words.channels(store, rows), "zebra", cue) == 0


def test_a_formula_is_the_weighted_sum_of_its_scaled_channels() -> None:
    store, rows = a_store(), Recording().embed(list(TEXTS))
    cue = Recording().embed(["cue"])[0]
    formula = Formula(words=2, dense=3, lexical_scale="max", dense_scale="minmax")
    channels = formula.channels(store, rows)
    expected = 2 * to_largest(channels.words("cat dog")) + 3 * to_unit(channels.cosine(cue))
    np.testing.assert_allclose(formula.scores(channels, "cat dog", cue), expected)
