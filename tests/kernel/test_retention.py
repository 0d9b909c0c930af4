"""Mechanism: curves as tables indexed by the bits of a float32.

Damage: a table that is off by one entry bends every ranking a little, and nobody notices.
Guard: lookups stay within 1e-4 of the exact curves over the whole range, ends included.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from spector.kernel.contract.profile import Curve
from spector.kernel.contract.retention import (
    ACTIVATION_SCALE,
    activation,
    build_activation_table,
    build_table,
    lookup,
    retention,
)

X = np.concatenate([np.geomspace(2.0**-24, 2.0**24, 200_001), [0.0]]).astype(np.float32)
SMOOTH = (Curve.EBBINGHAUS, Curve.FSRS, Curve.FSRS6, Curve.HALF_LIFE)


@pytest.mark.parametrize("curve", SMOOTH)
def test_table_is_within_1e_4_of_the_exact_curve(curve: Curve) -> None:
    got = lookup(build_table(curve), X)
    # FSRS-6 has not faded by the end of the table: beyond it stays as it is there
    x = np.minimum(X, np.float32(2.0**20)) if curve is Curve.FSRS6 else X
    np.testing.assert_allclose(got, retention(x, 1.0, curve), atol=3e-5)
    assert (np.diff(got[:-1]) <= 0).all()


def test_known_values() -> None:
    assert retention(7, 7, Curve.EBBINGHAUS) == pytest.approx(math.exp(-1))
    assert retention(9, 1, Curve.FSRS) == pytest.approx(0.25)
    assert retention(30, 10, Curve.HALF_LIFE) == pytest.approx(0.125)
    assert retention(10, 10, Curve.FSRS6) == pytest.approx(0.9)
    assert retention(2508 * 10, 10, Curve.FSRS6) == pytest.approx(0.30, abs=1e-4)
    assert retention(1, 1, Curve.POWER_LAW_BUCKETS, 0.5) == pytest.approx((1 + 2**0.5) ** -0.5)
    for curve in Curve:
        assert retention(0, 5, curve) == 1
        assert retention(-3, 5, curve) == 1
        assert retention(1, 0, curve) == pytest.approx(float(retention(1, 1e-6, curve)), rel=1e-6)
        assert lookup(build_table(curve), np.zeros(1, np.float32))[0] == 1


@pytest.mark.parametrize("decay", [0.1, 0.5, 1.0, 2.0])
def test_activation_table_equals_the_sigmoid(decay: float) -> None:
    age_s = np.geomspace(1, 5e9, 50_001).astype(np.float32)
    powers = lookup(build_activation_table(decay), age_s * ACTIVATION_SCALE)
    for count in (1, 2, 100):
        want = activation(count, age_s, decay)
        np.testing.assert_allclose(count / (count + powers), want, atol=1e-4)


def test_activation_is_the_act_r_formula() -> None:
    for count, age in ((1, 1), (3, 3600), (50, 86_400 * 30)):
        base = math.log(count) - 0.5 * math.log(age)
        assert activation(count, age) == pytest.approx(1 / (1 + math.exp(-base)))
    assert activation(0, 0.0) == activation(1, 1.0) == 0.5
