"""How rivals are judged.

Mechanism: exact answers in float32, recall against them, the re-ranking of fetched neighbours.
Damage if wrong: a comparison that flatters somebody. Guard: answers worked out by hand or by brute
force, and the engine's own score beside the line that stands for it.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.rivals import workload
from bench.rivals.metrics import (
    NOBODY,
    Ranking,
    exact_top,
    mean_recall,
    recall,
    times_ms,
)


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_recall_counts_true_answers_once_and_placeholders_never() -> None:
    assert recall([1, 2, 3], [1, 2, 3]) == 1
    assert recall([3, 3, 3], [1, 2, 3]) == pytest.approx(1 / 3)
    assert recall([], [1, 2]) == 0
    assert recall([1, NOBODY], [1, NOBODY]) == 1
    assert recall([NOBODY, 5], [1, NOBODY]) == 0
    assert recall([], [NOBODY, NOBODY]) == 1, "nothing to find"


def test_mean_recall_is_over_the_cues_that_were_asked() -> None:
    truth = np.array([[0, 1], [2, 3], [4, 5]])
    assert mean_recall([[0, 1], [2, 9]], truth) == 0.75
    with pytest.raises(ValueError, match="no cue"):
        mean_recall([], truth)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_exact_top_equals_sorting_everything(chunk: int) -> None:
    rng = np.random.default_rng(5)
    vectors, cues = unit(rng.standard_normal((200, 9))), unit(rng.standard_normal((4, 9)))
    members = rng.random(200) < 0.3
    base, slope = rng.random((2, 200)).astype(np.float32)
    rankings = {
        "cosine": Ranking(),
        "gated": Ranking(members),
        "fused": Ranking(None, base, slope),
        "both": Ranking(members, base, slope),
    }
    found = exact_top(vectors, cues, 10, rankings, chunk=chunk)
    sims = cues @ vectors.T
    for name, ranking in rankings.items():
        scores = sims if ranking.base is None else base + slope * sims
        if ranking.members is not None:
            scores = np.where(members, scores, -np.inf)
        np.testing.assert_array_equal(found[name], np.argsort(-scores, axis=1)[:, :10])


def test_times_are_nearest_rank_percentiles_in_milliseconds() -> None:
    figures = times_ms([n / 1000 for n in range(100, 0, -1)])
    assert figures == pytest.approx(
        {"p50_ms": 50.0, "p99_ms": 99.0, "best_ms": 1.0, "samples": 100}
    )


def test_a_filter_keeps_exactly_its_share_and_at_least_one() -> None:
    kept = workload.draw_members(20_000).sum(axis=1)
    assert kept.tolist() == [20_000, 2_000, 200, 20, 2]
    assert workload.draw_members(50).sum(axis=1).tolist() == [50, 5, 1, 1, 1]
