"""The formulas of evidence, arrays in, arrays out: BM25, neighbours, forms of text, diversity.

``n`` rows are ranked. The neighbours of a row in its session may be rows that are not ranked, so
columns (counts, lengths, dot products) have ``m >= n`` entries, the ranked ones first. Evidence is
in standard deviations of the cue's similarity over the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.kernel.contract import REACH, Ranking, TermSpread, dots, squared

__all__ = [
    "TYPICAL_DEVIATION",
    "Around",
    "choose_by_mmr",
    "deviation",
    "idf_of",
    "length_norm",
    "mix_neighbours",
    "of_forms",
    "reciprocal_ranks",
    "shares",
    "spread_to_neighbours",
]


#: deviation of cosines in a store that is too small to have one of its own (MiniLM, conversations)
TYPICAL_DEVIATION: Final = np.float32(0.12)
#: memories that the typical deviation counts for
_PRIOR_ROWS: Final = 10.0
_LEAST_DEVIATION: Final = np.float32(0.02)
_LEAST: Final = np.float32(1e-9)


@dataclass(frozen=True, eq=False)
class Around:
    """The neighbours of each row in its session: (m, REACH) i64, nearest first, ``m`` for none.

    The first ``ranked`` rows are ranked; the others are only neighbours.
    """

    before: I64
    after: I64
    ranked: int

    @property
    def rows(self) -> int:
        return len(self.before)

    @cached_property
    def beside(self) -> tuple[I64, I64]:
        """(ranked,) each: the rows right before and right after the ranked ones."""
        n = self.ranked
        return np.ascontiguousarray(self.before[:n, 0]), np.ascontiguousarray(self.after[:n, 0])

    def given_by(self, share: F32, ranking: Ranking) -> TermSpread:
        """How each row's term frequency spreads: to the rows that it stands before and after."""
        # the row before another has that one after itself
        target = np.concatenate([self.after, self.before], axis=1).astype(np.uint32)
        factor = np.zeros(2 * REACH)
        factor[: len(ranking.before)] = ranking.before
        factor[REACH : REACH + len(ranking.after)] = ranking.after
        return TermSpread(share, target, factor, self.ranked)


def deviation(cosines: F32) -> np.float32:
    """Standard deviation of cosines over a store; pulled towards a typical one in small stores.

    Args:
        cosines: (n,) float32, the cue's cosine with each memory (or a sample of them).
    """
    count = float(cosines.size)
    wide = cosines.astype(np.float64)
    mean = float(wide.sum()) / max(count, 1.0)
    own = max(0.0, squared(wide) / max(count, 1.0) - mean * mean)
    prior = float(TYPICAL_DEVIATION) ** 2
    pooled = np.float32(((count * own + _PRIOR_ROWS * prior) / (count + _PRIOR_ROWS)) ** 0.5)
    return max(pooled, _LEAST_DEVIATION)


def mix_neighbours(dots: F32, around: Around, norms: F32, share: float) -> F32:
    """Cosines with each memory's vector mixed with those of the turns beside it.

    Args:
        dots: (m,) float32, the cue's dot product with the vectors of the rows.
        norms: (n,) float32, length of each mixed vector, see ``NeighbourKernel.blended_norms``.

    Returns:
        (n,) float32: ``(d(i) + share d(i-1) + share d(i+1)) / |mixed vector|``.
    """
    n = around.ranked
    if not share:
        return dots[:n]
    padded = _pad(dots)
    before, after = around.beside
    sides = padded[before] + padded[after]
    return np.asarray((dots[:n] + np.float32(share) * sides) / norms, np.float32)


def idf_of(df: NDArray[Any], rows: int) -> F32:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), (t,) float32; ln(1 + N) for df 0."""
    found = np.minimum(np.asarray(df, np.float64), rows)
    out = np.log1p((rows - found + 0.5) / (found + 0.5))
    return np.asarray(np.where(found == 0, np.log1p(float(rows)), out), np.float32)


def length_norm(length: F32, mean_length: float, ranking: Ranking) -> F32:
    """The length norm K of BM25, tf / (tf + K): (n,) float32, above 0.

    Args:
        length: (n,), with the shares of neighbours. mean_length: the same over the store.

    Returns:
        ``k1 (1 - b + b length / mean)``.
    """
    k1, b = ranking.k1, ranking.b
    slope = np.float32(k1 * b / max(mean_length, 1e-6))
    return np.float32(k1 * (1 - b) + _LEAST) + length * slope


def shares(lengths: F32, ranking: Ranking) -> F32:
    """The share of its term frequency that a text of so many words gives: (m,) float32."""
    return np.minimum(np.float32(1), np.float32(ranking.long_words) / np.maximum(lengths, 1))


def spread_to_neighbours(values: F32, share: F32, around: Around, ranking: Ranking) -> F32:
    """Values of the ranked rows plus the shares of their neighbours': (n,) float32 from (m,)."""
    n = around.ranked
    given = _pad(values * share)
    out = values[:n].astype(np.float32)
    for weights, sides in ((ranking.before, around.before), (ranking.after, around.after)):
        for step, weight in enumerate(weights[:REACH]):
            if weight:
                out += np.float32(weight) * given[sides[:n, step]]
    return out


def of_forms(words: F32, questions: F32, time_words: F32, ranking: Ranking) -> dict[str, F32]:
    """Evidence of the form of a text, by term, (n,) float32: short texts and questions answer less.

    Args:
        words: content words. questions: all words where the text is a question, else infinite.
            time_words: words of time.
    """
    short = np.float32(ranking.short) * np.minimum(
        np.float32(0), np.log((1 + words) / np.float32(ranking.short_words))
    )
    open_ = np.maximum(np.float32(0), 1 - questions / np.float32(ranking.question_words))
    return {
        "short": short,
        "question": -np.float32(ranking.question) * open_,
        "time_words": np.float32(ranking.time_words) * np.minimum(time_words, np.float32(2)),
    }


def reciprocal_ranks(values: F32, ids: I64, k: float) -> F32:
    """1 / (k + rank) by descending value, (n,) float32; ranks count from 1, ties go by id.

    Values of 0 or less have no rank and earn 0.
    """
    out = np.zeros(len(values), np.float32)
    order = np.lexsort((ids, -values))
    order = order[values[order] > 0]
    out[order] = 1.0 / (k + 1.0 + np.arange(len(order), dtype=np.float64))
    return out


def choose_by_mmr(scores: F32, vectors: F32, count: int, weight: float) -> list[int]:
    """Maximal marginal relevance: each next row is the best by score and novelty.

    ``weight * score - (1 - weight) * highest cosine with what was chosen`` (Carbonell and Goldstein
    1998); scores are on the scale of cosines already.

    Args:
        scores: (n,) float32. vectors: (n, dim) float32 unit rows.

    Returns:
        Positions of the chosen, in their order; ties go to the first.
    """
    closest = np.full(len(scores), -np.inf, np.float32)
    left = np.ones(len(scores), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(count, len(scores)):
        newness = np.where(np.isfinite(closest), closest, 0)
        marginal = np.float32(weight) * scores - np.float32(1 - weight) * newness
        best = int(np.argmax(np.where(left, marginal, -np.inf)))
        chosen.append(best)
        left[best] = False
        closest = np.maximum(closest, dots(vectors, vectors[best]))
    return chosen


def _pad(values: F32) -> F32:
    """With one more row of zeros, for missing neighbours."""
    out = np.zeros((len(values) + 1, *values.shape[1:]), np.float32)
    out[:-1] = values
    return out
