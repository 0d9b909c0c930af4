"""Forgetting curves, exactly and as lookup tables.

The hot loop never calls exp or pow. A table holds a curve at 64 points per octave of x over
[2^-20, 2^20); the index is the exponent and the top six mantissa bits of the float32 x itself,
the other 17 bits interpolate linearly. Every curve therefore costs the same, and every backend
that does these few float32 operations in this order gets the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.kernel.contract.profile import Curve
from spector.records import FSRS6_DECAY, FSRS6_FACTOR

if TYPE_CHECKING:
    from spector._types import F32

__all__ = [
    "ACTIVATION_SCALE",
    "MIN_STABILITY_DAYS",
    "TABLE_SIZE",
    "activation",
    "build_activation_table",
    "build_table",
    "lookup",
    "retained",
    "retention",
]

OCTAVES: Final = 40
STEPS: Final = 64
#: the last point is stored twice, so that reading the next entry never needs a branch
TABLE_SIZE: Final = OCTAVES * STEPS + 2
#: float32 bits of 2^-20, the table's first x
LOW_BITS: Final = (127 - 20) << 23
#: mantissa bits that are left for interpolation
FRACTION_BITS: Final = 17
FRACTION_MASK: Final = (1 << FRACTION_BITS) - 1
#: offset of 2^20, the table's last x
LAST_OFFSET: Final = (OCTAVES * STEPS) << FRACTION_BITS
FRACTION_SCALE: Final = np.float32(2.0**-FRACTION_BITS)
#: seconds are scaled by 2^-14 before the activation table, so it spans 1/64 s .. 544 years
ACTIVATION_SCALE: Final = np.float32(2.0**-14)
MIN_STABILITY_DAYS: Final = np.float32(1e-6)

_LOWEST_X: Final = np.float32(2.0**-20)


def retention(
    elapsed_days: ArrayLike,
    stability_days: ArrayLike,
    curve: Curve = Curve.EBBINGHAUS,
    exponent: float = 0.5,
) -> NDArray[np.float64]:
    """Probability that a memory is retained: the exact curve, in float64.

    Args:
        elapsed_days: days since the last access, any shape; below 0 counts as 0.
        stability_days: days, broadcastable; below 1e-6 counts as 1e-6.
        curve: see `Curve`; ``exponent`` applies to the power law only.

    Returns:
        float64 in [0, 1] of the broadcast shape.

    Source: Ebbinghaus (UCMA), FSRS with its factor of 9 (Cognitive Memory v9), FSRS-6, power law.
    """
    elapsed = np.maximum(np.asarray(elapsed_days, np.float64), 0.0)
    stability = np.maximum(np.asarray(stability_days, np.float64), float(MIN_STABILITY_DAYS))
    return _curve_at(elapsed / stability, Curve(curve), exponent)


#: the same, where the name of this module is in the way
retained = retention


def activation(
    access_count: ArrayLike, age_seconds: ArrayLike, decay: float = 0.5
) -> NDArray[np.float64]:
    """ACT-R base-level activation squashed to 0..1: the exact function, in float64.

    ``sigmoid(ln n - d ln age)`` is algebraically ``n / (n + age^d)``, which needs no logarithm.
    Counts below 1 count as 1, ages below one second as one second.

    Source: Anderson's ACT-R as used by Cognitive Memory v9, d = 0.5.
    """
    count = np.maximum(np.asarray(access_count, np.float64), 1.0)
    age = np.maximum(np.asarray(age_seconds, np.float64), 1.0)
    return np.asarray(count / (count + age**decay), np.float64)


def build_table(curve: Curve, exponent: float = 0.5) -> F32:
    """The curve at 64 points per octave: (TABLE_SIZE,) float32, to be read by `lookup`.

    The first entry is the curve at 0, because every smaller x reads it. Absolute error of a
    lookup against the exact curve: below 2e-5 for the smooth ones; the power law's steps become
    ramps over the last 1/64 of their octave. FSRS-6 falls no lower than 0.118, at the last entry.
    """
    x = _grid()
    table = _curve_at(x, Curve(curve), exponent)
    table[0] = 1.0
    return table.astype(np.float32)


def build_activation_table(decay: float) -> F32:
    """``age_s ** decay`` (age clamped to >= 1 s) at ``x = age_s * 2^-14``: (TABLE_SIZE,) f32."""
    age_s = np.maximum(_grid() / float(ACTIVATION_SCALE), 1.0)
    return np.asarray(age_s**decay, np.float32)


def lookup(table: F32, x: F32) -> F32:
    """Read a table at x (n,) float32 -> (n,) float32; the definition all backends follow.

    x below 2^-20 (NaN included) reads the first entry, x from 2^20 on the last.
    """
    x = np.asarray(x, np.float32)
    inside = np.where(x >= _LOWEST_X, x, _LOWEST_X)
    offset = np.minimum(inside.view(np.int32) - np.int32(LOW_BITS), np.int32(LAST_OFFSET))
    fraction = (offset & FRACTION_MASK).astype(np.float32) * FRACTION_SCALE
    index = offset >> FRACTION_BITS
    low = table[index]
    return np.asarray(low + (table[index + 1] - low) * fraction, np.float32)


def _grid() -> NDArray[np.float64]:
    points = np.minimum(np.arange(TABLE_SIZE), OCTAVES * STEPS).astype(np.float64)
    octave, step = np.divmod(points, float(STEPS))
    return np.asarray(np.exp2(octave - 20.0) * (1.0 + step / STEPS), np.float64)


def _curve_at(x: NDArray[Any], curve: Curve, exponent: float) -> NDArray[np.float64]:
    if curve is Curve.EBBINGHAUS:
        values = np.exp(-x)
    elif curve is Curve.FSRS:
        values = (1.0 + x / 9.0) ** -2.0
    elif curve is Curve.FSRS6:
        values = (1.0 + FSRS6_FACTOR * x) ** -FSRS6_DECAY
    elif curve is Curve.HALF_LIFE:
        values = np.exp2(-x)
    else:
        octave = np.floor(np.log2(np.maximum(x, 2.0**-20)))
        middle = np.exp2(np.minimum(octave, 20.0) + 0.5)
        values = np.where(x < 2.0**-20, 1.0, (1.0 + middle) ** -exponent)
    return np.asarray(values, np.float64)
