"""Mechanism: candidates are sorted only as far as they are looked at, and made column by column.

Damage: evidence that is added once the best were sorted goes to other memories than it is of; a
filter applied late leaves out or lets in the wrong ones.
Guard: hundreds of random candidates, looked at in pieces, beside everything sorted at once.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.search.view.features import code_of
from spector.search.view.ordering import Ranked
from tests.proof import seed


def some(rng: np.random.Generator, count: int, dead: float) -> tuple[Ranked, NDArray[np.float64]]:
    """Candidates, and the score of each row."""
    fused = rng.normal(size=count).astype(np.float32).round(1)  # with ties
    fused[rng.random(count) < dead] = -np.inf
    words = (rng.random(count) * (rng.random(count) < 0.3)).astype(np.float32)
    place = np.arange(count, dtype=np.uint32)
    ranked = Ranked(
        rng.permutation(count),
        np.zeros(count, np.int64),
        place // 50,
        place % 50,
        fused,
        np.zeros(count, np.float32),
        {"words": words.copy(), "near": np.zeros(count, np.float32)},
    )
    return ranked, fused.astype(np.float64) + words


def expected(ranked: Ranked, total: NDArray[np.float64]) -> list[int]:
    rows = np.flatnonzero(total > -np.inf)
    return [int(ranked.ids[n]) for n in sorted(rows, key=lambda n: (-total[n], ranked.ids[n]))]


@pytest.mark.parametrize("dead", [0.0, 0.4])
@pytest.mark.parametrize("count", [1, 40, 700])
def test_filters_keep_the_order_of_what_was_sorted_before(count: int, dead: float) -> None:
    rng = np.random.default_rng(seed(21))
    for _ in range(5):
        ranked, total = some(rng, count, dead)
        assert [each.id for each in ranked[:20]] == expected(ranked, total)[:20]
        found = [each for start in range(0, count, 16) for each in ranked[start : start + 16]]
        assert [each.id for each in found] == expected(ranked, total)
        for each in found:
            assert each.score == pytest.approx(each.fused + sum(each.evidence.values()))
            assert 0 not in each.evidence.values()
        keep = rng.random(count) < 0.5
        place = np.flatnonzero(keep).astype(np.uint32)
        ranked.only(code_of(place // 50, place % 50))
        total[~keep] = -np.inf
        assert [each.id for each in ranked[:]] == expected(ranked, total)
        assert len(ranked) == int(np.count_nonzero(total > -np.inf))


def test_candidates_without_any_evidence_are_made() -> None:
    place = np.zeros(2, np.uint32)
    ranked = Ranked(
        np.array([7, 5]),
        np.zeros(2, np.int64),
        place,
        place,
        np.ones(2, np.float32),
        np.ones(2, np.float32),
        {},
    )
    assert [(each.id, each.evidence) for each in ranked[:]] == [(5, {}), (7, {})]
