"""Statistics of what was lived through: series, success rates, rhythm, co-occurrence.

All functions are pure and take plain sequences. A test says "may be chance" only with enough values
to judge; with fewer it says so and lets a pattern pass.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from spector.errors import InvalidInputError
from spector.records import Assessment

#: values from which a series is judged
ENOUGH: Final = 8
#: two-sided 5 % of the normal distribution
_Z: Final = 1.96
#: Kolmogorov-Smirnov at 5 %, times 1/sqrt(n)
_KS: Final = 1.06
_HOURS: Final = 24


def assess(
    values: Sequence[float], days: Sequence[float] | None = None, *, enough: int = ENOUGH
) -> Assessment:
    """Mean, spread, trend and randomness of a series.

    Args:
        values: (n,) finite numbers in the order of time, n >= 1.
        days: (n,) their times in days; without them the slope is 0.
        enough: Values from which randomness is judged.

    Raises:
        InvalidInputError: No values, one that is not finite, or times of another length.
    """
    try:
        x = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise InvalidInputError(
            "values must be a non-empty sequence of finite numbers", hint="leave out NaN and None"
        )
    slope, r2 = _trend(x, days)
    return Assessment(
        n=len(x),
        mean=float(x.mean()),
        std=float(x.std(ddof=1)) if len(x) > 1 else 0.0,
        min=float(x.min()),
        max=float(x.max()),
        slope_per_day=slope,
        r2=r2,
        is_random=len(x) >= enough and values_are_random(values),
        enough=len(x) >= enough,
    )


def _trend(x: np.ndarray, days: Sequence[float] | None) -> tuple[float, float]:
    """Slope per day and R² of least squares; zeros where no line can be drawn."""
    if days is None:
        return 0.0, 0.0
    t = np.asarray(days, np.float64)
    if t.shape != x.shape or not np.isfinite(t).all():
        raise InvalidInputError("days must be as many finite numbers as values", hint="")
    t, y = t - t.mean(), x - x.mean()
    tt, yy = float((t * t).sum()), float((y * y).sum())
    if tt == 0.0:
        return 0.0, 0.0
    slope = float((t * y).sum()) / tt
    return slope, 0.0 if yy == 0.0 else min(1.0, slope * slope * tt / yy)


def values_are_random(values: Sequence[float]) -> bool:
    """Whether the order of values looks like chance: runs test about the median, 5 %.

    Values on the median are left out. A series that stays on one side has an order: False.
    """
    x = np.asarray(values, np.float64)
    above = x[x != np.median(x)] > np.median(x)
    n1, n2 = int(above.sum()), int((~above).sum())
    if not n1 or not n2:
        return False
    runs = 1 + int((above[1:] != above[:-1]).sum())
    n = n1 + n2
    mean = 2.0 * n1 * n2 / n + 1.0
    variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0)
    return variance > 0.0 and abs(runs - mean) / math.sqrt(variance) < _Z


def outcomes_are_random(outcomes: Sequence[bool]) -> bool:
    """Whether successes cannot be told from a fair coin: exact binomial test, two-sided, 5 %."""
    n, k = len(outcomes), sum(map(bool, outcomes))
    if not n:
        return True
    tail = sum(math.comb(n, each) for each in range(min(k, n - k) + 1))
    return min(1.0, 2.0 * tail / 2.0**n) > 0.05


def intervals_are_random(times: Sequence[float]) -> bool:
    """Whether events look independent: their intervals against an exponential of the same mean.

    Kolmogorov-Smirnov, D < 1.06 / sqrt(n) for n intervals. Events at one moment are no chance.
    """
    gaps = np.sort(np.diff(np.sort(np.asarray(times, np.float64))))
    n = len(gaps)
    if not n or not gaps.sum():
        return False
    expected = 1.0 - np.exp(-gaps / gaps.mean())
    places = np.arange(n)
    distance = max(float((expected - places / n).max()), float(((places + 1) / n - expected).max()))
    return distance < _KS / math.sqrt(n)


def is_noise(outcomes: Sequence[bool], times: Sequence[float], enough: int = ENOUGH) -> bool:
    """Whether a pattern may be chance: its outcomes and its times are random, both.

    With fewer than ``enough`` observations nothing can be told: False.
    """
    if len(outcomes) < enough:
        return False
    return outcomes_are_random(outcomes) and intervals_are_random(times)


def rhythm(hours: Sequence[float], *, enough: int = ENOUGH) -> tuple[float, float] | None:
    """Phase (hour of the day) and coupling (mean resultant length) of uses, or None.

    Hours count in 24 bins. None with fewer than ``enough`` uses, or with a coupling below 0.5.
    """
    if len(hours) < enough:
        return None
    bins = np.floor(np.asarray(hours, np.float64)) % _HOURS
    resultant = np.exp(2j * np.pi * bins / _HOURS).mean()
    coupling = float(abs(resultant))
    if coupling < 0.5:
        return None
    phase = float(np.angle(resultant)) / (2 * math.pi) * _HOURS % _HOURS
    return phase, coupling


def jaccard(a: Collection[int], b: Collection[int]) -> float:
    """Share of what two sets have in common, in [0, 1]; 0 for two empty ones."""
    one, other = set(a), set(b)
    return len(one & other) / len(one | other) if one or other else 0.0


def associated(strength: float, success: bool, *, rate: float = 0.3) -> float:
    """Strength of an association after one more outcome (Rescorla and Wagner 1972)."""
    return strength + rate * (float(success) - strength)


def running_rate(rate: float, executions: int, success: bool) -> float:
    """A success rate after one more execution; ``executions`` counts this one."""
    return rate + (float(success) - rate) / executions


def certainty(count: int) -> float:
    """Confidence in what was met ``count`` times: ``0.5 + 0.1 sqrt(count)``, at most 0.99."""
    return min(0.99, 0.5 + 0.1 * math.sqrt(count))
