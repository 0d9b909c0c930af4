"""Differences between arms on the same questions, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.recall.metrics import Metric, Outcome

SEED: Final = 20_261_122
RESAMPLES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of (that - this) over questions, and the 95 % interval of a bootstrap over groups."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """The interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def difference(
    this: Sequence[Outcome],
    that: Sequence[Outcome],
    metric: Metric,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Difference:
    """How much better ``that`` is, paired by question."""
    other = {each.question: each for each in that}
    assert len(other) == len(that) == len(this), "the arms were not asked the same questions"
    gained = [(each.group, metric(other[each.question]) - metric(each)) for each in this]
    return _bootstrap(gained, resamples, seed)


def interval(
    outcomes: Sequence[Outcome], metric: Metric, resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """The mean of a metric itself, with its interval."""
    return _bootstrap([(each.group, metric(each)) for each in outcomes], resamples, seed)


def _bootstrap(values: Sequence[tuple[str, float]], resamples: int, seed: int) -> Difference:
    """Mean of (group, value) pairs.

    Whole groups (conversations) are drawn with replacement, because questions of one conversation
    share its difficulties; each draw's mean is over all its questions. With five groups such an
    interval is itself rough.
    """
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for group, value in values:
        sums[group] = sums.get(group, 0.0) + value
        counts[group] = counts.get(group, 0) + 1
    total, count = np.array(list(sums.values())), np.array(list(counts.values()))
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(total), (resamples, len(total)))
    means = total[draws].sum(axis=1) / count[draws].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(float(total.sum() / count.sum()), float(low), float(high))
