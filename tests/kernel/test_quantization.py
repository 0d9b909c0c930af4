"""Mechanism: unit vectors and one int8 scale per record.

Damage: NaN or zero vectors rank at random; a coarse scale loses neighbours.
Guard: bad rows are refused by number, the error of every component is bounded by half a step.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.errors import InvalidVectorError
from spector.kernel.contract.quantization import MAX_CODE, dequantize, normalize, quantize


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 700),
    st.integers(0, 2**32),
    st.floats(-15, 15),
)
def test_error_is_at_most_half_a_step(n: int, dim: int, seed: int, magnitude: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = normalize(rng.standard_normal((n, dim)) * 10.0**magnitude + 1e-12)
    codes, scales = quantize(vectors)
    error = np.abs(dequantize(codes, scales) - vectors)
    assert (error <= scales[:, None] * (0.5 + 1e-4)).all()
    assert (np.abs(codes.astype(int)).max(axis=1) == MAX_CODE).all()
    assert codes.min() >= -MAX_CODE


def test_rounding_is_half_to_even() -> None:
    codes, scales = quantize(np.array([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5]], np.float32))
    assert scales.tolist() == [1.0]
    assert codes.tolist() == [[127, 0, 2, 2, 0, -2]]


def test_zero_rows_quantise_to_zero() -> None:
    codes, scales = quantize(np.zeros((2, 3), np.float32))
    assert not codes.any()
    assert scales.tolist() == [0.0, 0.0]


def test_a_row_does_not_depend_on_its_batch() -> None:
    rows = np.random.default_rng(0).standard_normal((1500, 33)).astype(np.float32)
    batch_codes, batch_scales = quantize(normalize(rows))
    for i in (0, 511, 512, 1499):
        codes, scales = quantize(normalize(rows[i : i + 1]))
        assert (codes[0] == batch_codes[i]).all()
        assert scales[0] == batch_scales[i]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.nan, 1.0], "vector 600 holds nan at component 0"),
        ([1.0, np.inf], "vector 600 holds inf at component 1"),
        ([0.0, 0.0], "vector 600 has no direction"),
        ([1e-40, 0.0], "vector 600 has no direction"),
    ],
)
def test_bad_rows_are_refused_by_number(values: list[float], message: str) -> None:
    rows = np.ones((700, 2), np.float32)
    rows[600] = values
    with pytest.raises(InvalidVectorError, match=message):
        normalize(rows)
