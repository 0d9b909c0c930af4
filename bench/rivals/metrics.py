"""Measures, and the exact answers they are compared with. No engine is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.results import rank

F32 = NDArray[np.float32]
#: stands in a row of answers where there are fewer than k
NOBODY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What decides an order: ``base[i] + slope[i] * cosine`` over the members.

    With no base at all it is a product, in which a cosine below 0 counts as 0.

    members: (n,) bool, None for all records.
    base, slope: (n,) float32 per record, both None for the plain cosine.
    """

    members: NDArray[np.bool_] | None = None
    base: F32 | None = None
    slope: F32 | None = None

    def scores(self, rows: NDArray[np.int64], sims: F32) -> F32:
        """Scores of records ``rows`` (m,) for cosines (m, ...) of the same leading length."""
        if self.base is None or self.slope is None:
            return sims
        shape = (-1, *([1] * (sims.ndim - 1)))
        if not self.base.any():
            sims = np.maximum(sims, np.float32(0))
        fused = self.base[rows].reshape(shape) + self.slope[rows].reshape(shape) * sims
        return np.asarray(fused, np.float32)


def exact_top(
    vectors: NDArray[np.float32],
    cues: F32,
    k: int,
    rankings: Mapping[str, Ranking],
    chunk: int = 20_000,
) -> dict[str, NDArray[np.int64]]:
    """The true best k of each ranking for each cue, best first, in float32.

    Args:
        vectors: (n, dim) float32 unit rows; may be a map of a file, it is read once in order.
        cues: (q, dim) float32 unit rows.

    Returns:
        Per ranking (q, k) int64 rows of ``vectors``, `NOBODY` where fewer than k are members.
    """
    best = {name: _Best(len(cues), k) for name in rankings}
    for start in range(0, len(vectors), chunk):
        sims = np.asarray(vectors[start : start + chunk]) @ cues.T
        everyone = np.arange(start, start + len(sims))
        for name, ranking in rankings.items():
            rows, mine = everyone, sims
            if ranking.members is not None:
                kept = ranking.members[start : start + len(sims)]
                rows, mine = everyone[kept], sims[kept]
            if len(rows):
                best[name].offer(rows, ranking.scores(rows, mine))
    return {name: each.rows for name, each in best.items()}


class _Best:
    """The k best so far of each cue."""

    def __init__(self, cues: int, k: int) -> None:
        self.rows = np.full((cues, k), NOBODY, np.int64)
        self._scores = np.full((cues, k), -np.inf, np.float32)

    def offer(self, rows: NDArray[np.int64], scores: F32) -> None:
        """More records (m,) with their scores (m, cues)."""
        k = self.rows.shape[1]
        if len(rows) > k:
            few = np.argpartition(-scores, k - 1, axis=0)[:k]
            rows_in, scores_in = rows[few], np.take_along_axis(scores, few, axis=0)
        else:
            rows_in, scores_in = np.repeat(rows[:, None], scores.shape[1], axis=1), scores
        all_rows = np.concatenate([self.rows, rows_in.T], axis=1)
        all_scores = np.concatenate([self._scores, scores_in.T], axis=1)
        order = np.argsort(-all_scores, axis=1, kind="stable")[:, :k]
        self.rows = np.take_along_axis(all_rows, order, axis=1)
        self._scores = np.take_along_axis(all_scores, order, axis=1)


def recall(found: Sequence[int] | NDArray[Any], truth: Sequence[int] | NDArray[Any]) -> float:
    """Share of the true answers that are among those found; 1 when there is nothing to find.

    `NOBODY` counts on neither side, and an answer given twice counts once.
    """
    wanted = {int(row) for row in truth} - {NOBODY}
    if not wanted:
        return 1.0
    return len(wanted & {int(row) for row in found}) / len(wanted)


def mean_recall(found: Sequence[Sequence[int]], truth: NDArray[np.int64]) -> float:
    """Mean of `recall` over the cues that were asked, which may be fewer than ``truth`` has."""
    if not found:
        raise ValueError("no cue was asked")
    return float(np.mean([recall(rows, truth[i]) for i, rows in enumerate(found)]))


def reranked(
    neighbours: Sequence[int] | NDArray[Any], sims: F32, ranking: Ranking, k: int
) -> list[int]:
    """The best k of a rival's neighbours after ranking them again by the fused formula.

    sims: (m,) exact float32 cosines of the neighbours, as a rival would return them at best.
    """
    rows = np.asarray(neighbours, np.int64)
    scores = ranking.scores(rows, np.asarray(sims, np.float32))
    return [int(row) for row in rows[np.argsort(-scores, kind="stable")[:k]]]


def times_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Nearest-rank p50 and p99, best, and the number of samples; milliseconds."""
    ordered = sorted(seconds)
    return {
        "p50_ms": ordered[rank(0.50, len(ordered))] * 1e3,
        "p99_ms": ordered[rank(0.99, len(ordered))] * 1e3,
        "best_ms": ordered[0] * 1e3,
        "samples": len(ordered),
    }


def paired_ratio(slow: Sequence[float], fast: Sequence[float]) -> dict[str, float]:
    """Median and quartiles of ``slow[i] / fast[i]``: both were timed within one round."""
    ratios = sorted(a / b for a, b in zip(slow, fast, strict=True))
    return {
        "ratio": ratios[rank(0.50, len(ratios))],
        "ratio_p25": ratios[rank(0.25, len(ratios))],
        "ratio_p75": ratios[rank(0.75, len(ratios))],
    }
