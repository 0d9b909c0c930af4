"""The arithmetic of evidence, beside the plainest loops that say the same.

Mechanism: sparse sums, padded arrays and one call for all terms. Damage: a neighbour of
another session, or on the wrong side, or counted twice, lends its words. Guard: random sessions,
every figure computed again one memory at a time.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.kernel.contract.evidence import REACH, Ranking
from spector.kernel.reference.scan import ReferenceKernel
from spector.search.view.formulas import (
    Around,
    choose_by_mmr,
    deviation,
    idf_of,
    length_norm,
    mix_neighbours,
    of_forms,
    reciprocal_ranks,
    shares,
    spread_to_neighbours,
)

REFERENCE = ReferenceKernel()


def sessions(rng: np.random.Generator, rows: int) -> list[list[int]]:
    """Rows dealt into sessions, in a mixed order; some stand in none."""
    order = rng.permutation(rows).tolist()
    cuts = sorted(rng.choice(rows, size=4, replace=False).tolist())
    return [order[a:b] for a, b in zip([0, *cuts[:-1]], cuts, strict=True)]


def around_of(groups: list[list[int]], rows: int, ranked: int) -> Around:
    before = np.full((rows, REACH), rows, np.int64)
    after = np.full((rows, REACH), rows, np.int64)
    for group in groups:
        for at, row in enumerate(group):
            for step in range(REACH):
                if at - step - 1 >= 0:
                    before[row, step] = group[at - step - 1]
                if at + step + 1 < len(group):
                    after[row, step] = group[at + step + 1]
    return Around(before, after, ranked)


@pytest.mark.parametrize(
    "ranking",
    [
        Ranking(),
        Ranking(before=(), after=(0.5,)),
        Ranking(before=(0.2, 0, 0.1), after=(), long_words=3),
    ],
)
def test_words_are_smeared_over_the_session_and_no_further(
    rng: np.random.Generator, ranking: Ranking
) -> None:
    rows, terms = 60, 3
    ranked = int(rng.integers(1, rows + 1))
    groups = sessions(rng, rows)
    counts = (rng.random((terms, rows)) < 0.3) * rng.integers(1, 4, (terms, rows))
    lengths = rng.integers(1, 50, rows).astype(np.float32)
    around = around_of(groups, rows, ranked)
    found = smeared(counts.astype(np.uint8), shares(lengths, ranking), around, ranking)
    once = spread_to_neighbours(lengths, shares(lengths, ranking), around, ranking)
    whole = np.zeros((1, rows), np.uint8) + lengths.astype(np.uint8)
    again = smeared(whole, shares(lengths, ranking), around, ranking)[0]
    assert once.tolist() == pytest.approx(again.tolist(), rel=1e-4)
    place = {row: (group, at) for group in groups for at, row in enumerate(group)}
    for term in range(terms):
        for row in range(ranked):
            expected = float(counts[term, row])
            group, at = place.get(row, ([row], 0))
            for weights, sign in ((ranking.before, -1), (ranking.after, 1)):
                for step, weight in enumerate(weights, 1):
                    if 0 <= at + sign * step < len(group):
                        other = group[at + sign * step]
                        give = min(1.0, ranking.long_words / lengths[other])
                        expected += weight * give * counts[term, other]
            assert found[term, row] == pytest.approx(expected, rel=1e-4)


def smeared(
    counts: NDArray[np.uint8], share: NDArray[np.float32], around: Around, ranking: Ranking
) -> NDArray[np.float64]:
    """(t, n) frequencies as BM25 sees them: of one word at a time it is ``tf / (tf + 1)``."""
    given, room = around.given_by(share, ranking), np.ones(around.ranked, np.float32)
    weight = np.ones(1, np.float32)
    told = [
        REFERENCE.blended_bm25(given, line[None, :], None, weight, room).astype(np.float64)
        for line in counts
    ]
    return np.array([each / (1 - each) for each in told])


def test_likeness_is_the_cosine_with_the_mixed_vector(rng: np.random.Generator) -> None:
    rows, ranked, dim, share = 40, 25, 8, 0.3
    vectors = rng.normal(size=(rows, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cue = rng.normal(size=dim).astype(np.float32)
    groups = sessions(rng, rows)
    around = around_of(groups, rows, ranked)
    lengths = [1.0] * ranked
    for row in range(ranked):
        sides = [side for side in (around.before[row, 0], around.after[row, 0]) if side < rows]
        if sides:
            lengths[row] = float(np.linalg.norm(vectors[row] + share * vectors[sides].sum(axis=0)))
    norms = np.array(lengths, np.float32)
    found = mix_neighbours(vectors @ cue, around, norms, share)
    for row in range(ranked):
        total = vectors[row].astype(np.float64)
        for side in (around.before[row, 0], around.after[row, 0]):
            if side < rows:
                total = total + share * vectors[side]
        assert found[row] == pytest.approx(total @ cue / np.linalg.norm(total), abs=1e-5)


def test_bm25_rises_with_the_frequency_and_the_rarity_and_falls_with_the_length() -> None:
    ranking, idf = Ranking(), idf_of(np.array([1, 500]), 1000)
    tf = np.array([[1, 2, 1, 0], [0, 0, 0, 1]], np.uint8)
    nobody = Around(np.full((4, REACH), 4), np.full((4, REACH), 4), 4)
    room = length_norm(np.array([10, 10, 40, 10], np.float32), 10.0, ranking)
    once, twice, longer, common = REFERENCE.blended_bm25(
        nobody.given_by(np.ones(4, np.float32), ranking), tf, None, idf * np.float32(1.6), room
    )
    assert twice > once > longer > common > 0
    assert twice < idf[0] * (ranking.k1 + 1)
    expected = idf[0] * 1.6 / (1 + 0.6 * (0.25 + 0.75 * 10 / 10))
    assert once == pytest.approx(expected, rel=1e-5)


def test_the_rarer_a_word_the_more_it_tells_and_an_absent_one_tells_most() -> None:
    values = idf_of(np.array([0, 1, 10, 999, 1000, 5000]), 1000)
    assert (np.diff(values[1:4]) < 0).all()
    assert values[0] == pytest.approx(math.log1p(1000))
    assert (values >= 0).all()


def test_a_small_store_s_deviation_is_pulled_towards_the_typical_one(
    rng: np.random.Generator,
) -> None:
    typical = float(deviation(np.zeros(0, np.float32)))
    wild = rng.normal(0, 0.5, 10_000).astype(np.float32)
    assert typical == pytest.approx(0.12)
    assert typical < deviation(wild[:5]) < 0.5
    assert deviation(wild) == pytest.approx(wild.std(), rel=1e-2)
    assert 0 < deviation(np.full(10_000, 0.3, np.float32)) < typical


def test_short_texts_and_short_questions_give_way_and_words_of_time_count_twice_at_most() -> None:
    ranking = Ranking()
    words = np.array([1, 29, 100], np.float32)
    nothing = np.full(3, np.inf, np.float32)
    found = of_forms(words, nothing, np.zeros(3, np.float32), ranking)
    assert found["short"][0] == pytest.approx(0.8 * math.log(2 / 30), rel=1e-5)
    assert found["short"][1:].tolist() == [0, 0]
    assert found["question"].tolist() == [0, 0, 0]
    asked = of_forms(words, np.array([0, 15, 45], np.float32), words, ranking)
    assert asked["question"].tolist() == pytest.approx([-2, -1, 0])
    assert asked["time_words"].tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_ranks_are_reciprocal_ties_go_by_id_and_nothing_has_no_rank() -> None:
    found = reciprocal_ranks(np.array([0.5, 0.9, 0.0, 0.5], np.float32), np.array([7, 1, 2, 3]), 60)
    assert found.tolist() == pytest.approx([1 / 63, 1 / 61, 0, 1 / 62])


def test_the_next_hit_is_the_best_that_is_not_said_already() -> None:
    scores = np.array([1.0, 0.99, 0.9, 0.5], np.float32)
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    assert choose_by_mmr(scores, vectors, 3, 1.0) == [0, 1, 2]
    assert choose_by_mmr(scores, vectors, 3, 0.7) == [0, 2, 1]
    assert choose_by_mmr(scores, vectors, 9, 0.0)[:2] == [0, 2]
    assert sorted(choose_by_mmr(scores, vectors, 9, 0.5)) == [0, 1, 2, 3]
    assert choose_by_mmr(scores[:0], vectors[:0], 3, 0.5) == []
