"""The evidence that words, neighbours, people, dates and forms of text give, in plain arrays.

Nothing here knows a store: arrays in, arrays out. ``n`` rows are ranked; ``near`` names the rows
around each in its session, and may name rows that are not ranked, so arrays of what a row *has*
(counts, lengths, dot products) have ``m >= n`` entries, the ranked ones first. All evidence is in
standard deviations of the store's likeness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import REACH, Ranking, TermSpread, dots, squared

__all__ = [
    "TYPICAL_DEVIATION",
    "Around",
    "deviation",
    "diverse",
    "idf_of",
    "length_norm",
    "mixed",
    "of_forms",
    "reciprocal_ranks",
    "shares",
    "spread",
]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

#: deviation of cosines in a store that is too small to have one of its own (MiniLM, conversations)
TYPICAL_DEVIATION: Final = np.float32(0.12)
#: memories that the typical deviation counts for
_PRIOR_ROWS: Final = 10.0
_LEAST_DEVIATION: Final = np.float32(0.02)
_LEAST: Final = np.float32(1e-9)


@dataclass(frozen=True, eq=False)
class Around:
    """What stands around each row in its session: (m, REACH) i64 each, nearest first, ``m`` where
    there is nothing. The first ``ranked`` rows are ranked, the others are there for those.
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
        """To whom each row gives of its words: to those that it stands before and after."""
        # what stands before a row has that row after itself
        target = np.concatenate([self.after, self.before], axis=1).astype(np.uint32)
        factor = np.zeros(2 * REACH)
        factor[: len(ranking.before)] = ranking.before
        factor[REACH : REACH + len(ranking.after)] = ranking.after
        return TermSpread(share, target, factor, self.ranked)


def deviation(likeness: F32) -> np.float32:
    """Standard deviation of cosines over a store; pulled towards a typical one in small stores.

    Args:
        likeness: (n,) float32, the cue's cosine with each memory (or a sample of them).
    """
    count = float(likeness.size)
    wide = likeness.astype(np.float64)
    mean = float(wide.sum()) / max(count, 1.0)
    own = max(0.0, squared(wide) / max(count, 1.0) - mean * mean)
    prior = float(TYPICAL_DEVIATION) ** 2
    pooled = np.float32(((count * own + _PRIOR_ROWS * prior) / (count + _PRIOR_ROWS)) ** 0.5)
    return max(pooled, _LEAST_DEVIATION)


def mixed(dots: F32, around: Around, norms: F32, share: float) -> F32:
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
    padded = _padded(dots)
    before, after = around.beside
    sides = padded[before] + padded[after]
    return np.asarray((dots[:n] + np.float32(share) * sides) / norms, np.float32)


def idf_of(df: NDArray[Any], rows: int) -> F32:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), (t,) float32; ln(1 + N) for df 0."""
    found = np.minimum(np.asarray(df, np.float64), rows)
    out = np.log1p((rows - found + 0.5) / (found + 0.5))
    return np.asarray(np.where(found == 0, np.log1p(float(rows)), out), np.float32)


def length_norm(length: F32, mean_length: float, ranking: Ranking) -> F32:
    """What BM25 adds to a word's frequency before it divides by it: (n,) float32, above 0.

    Args:
        length: (n,), with shares of the texts around. mean_length: the same over the store.

    Returns:
        ``k1 (1 - b + b length / mean)``.
    """
    k1, b = ranking.k1, ranking.b
    slope = np.float32(k1 * b / max(mean_length, 1e-6))
    return np.float32(k1 * (1 - b) + _LEAST) + length * slope


def shares(lengths: F32, ranking: Ranking) -> F32:
    """What a text of so many words gives of its words to the turns around it: (m,) float32."""
    return np.minimum(np.float32(1), np.float32(ranking.long_words) / np.maximum(lengths, 1))


def spread(values: F32, share: F32, around: Around, ranking: Ranking) -> F32:
    """Own values (m,) of the ranked rows plus their shares of those around: (n,) float32."""
    n = around.ranked
    given = _padded(values * share)
    out = values[:n].astype(np.float32)
    for weights, sides in ((ranking.before, around.before), (ranking.after, around.after)):
        for step, weight in enumerate(weights[:REACH]):
            if weight:
                out += np.float32(weight) * given[sides[:n, step]]
    return out


def of_forms(
    words: F32, questions: F32, time_words: F32, ranking: Ranking
) -> dict[str, F32]:
    """What the form of a text says of its use as an answer: (n,) float32 each, by term.

    Args:
        words: words that say something. questions: all words where the text is a question, else
            infinite. time_words: words of time.
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


def diverse(scores: F32, vectors: F32, count: int, weight: float) -> list[int]:
    """Maximal marginal relevance: the next is the best by its score and its newness.

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


def _padded(values: F32) -> F32:
    """With one more row of zeros, which stands for what is not there."""
    out = np.zeros((len(values) + 1, *values.shape[1:]), np.float32)
    out[:-1] = values
    return out
