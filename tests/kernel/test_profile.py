"""Mechanism: profiles as frozen, hashable, validated dataclasses.

Damage: a NaN weight or a misspelt curve would rank everything at random.
Guard: each parameter refuses what it cannot mean; presets reproduce their documents.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.errors import InvalidInputError, InvalidVectorError
from spector.kernel.contract.profile import (
    ACTIVATION_SCALE,
    PROFILES,
    Curve,
    ScoringProfile,
    activation,
    build_activation_table,
    build_table,
    get_profile,
    lookup,
    retention,
)
from spector.kernel.contract.quantization import MAX_CODE, normalize, quantize
from spector.layout import Category
from tests.cases import Cases

cases = Cases(__file__)

NUMBERS = [
    name
    for name, field in ScoringProfile.__dataclass_fields__.items()
    if isinstance(field.default, float)
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -2.0, 1e9, "1", None, True])
def test_a_number_out_of_range_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        ScoringProfile(**{name: bad})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("fusion", "max"),
        ("retention_curve", "linear"),
        ("recency_curve", ""),
        ("name", ""),
        ("tier_factors", ((256, 1.0),)),
        ("tier_factors", ((1, math.nan),)),
        ("category_factors", ((-1, 1.0),)),
        ("category_factors", 5),
        ("tier_factors", ((1,),)),
    ],
)
def test_a_malformed_choice_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        ScoringProfile(**{name: bad})


def test_presets_are_found_by_name_and_passed_through() -> None:
    for name, profile in PROFILES.items():
        assert get_profile(name) is profile
        assert profile.name == name
        assert get_profile(profile) is profile
    assert {"balanced", "similarity", "importance", "recent", "spector", "ucma"} <= set(PROFILES)


@pytest.mark.parametrize("bad", ["Balanced", "", None, 3])
def test_an_unknown_preset_is_refused_with_the_choices(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="choose one of balanced, similarity"):
        get_profile(bad)


def test_presets_of_the_documents_carry_their_numbers() -> None:
    ucma = PROFILES["ucma"].weights()
    assert (ucma["similarity"], ucma["importance"]) == (0.40, 0.25)
    assert (ucma["recency"], ucma["retention"]) == (0.20, 0.15)
    assert PROFILES["ucma"].recency_curve is Curve.EBBINGHAUS
    assert PROFILES["ucma"].recency_scale_days == 7
    cognitive = PROFILES["cognitive"]
    assert cognitive.weights()["similarity"] == 0.40
    assert cognitive.weights()["activation"] == 0.30
    assert cognitive.w_importance == cognitive.w_lexical == 0.15
    assert dict(cognitive.category_factors)[Category.PATTERN] == 1.1
    utility = PROFILES["utility"].weights()
    assert (utility["similarity"], utility["utility"], utility["importance"]) == (0.6, 0.2, 0.2)
    similarity = PROFILES["similarity"].weights()
    assert [name for name, weight in similarity.items() if weight] == ["similarity"]


# -- Mechanism: curves as tables indexed by the bits of a float32 ----------------------------------
#
# Damage: a table that is off by one entry bends every ranking a little, and nobody notices. Guard:
# lookups stay within 1e-4 of the exact curves over the whole range, ends included.


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


# -- Mechanism: unit vectors and one int8 scale per record -----------------------------------------
#
# Damage: NaN or zero vectors rank at random; a coarse scale loses neighbours. Guard: bad rows are
# refused by number, the error of every component is bounded by half a step.


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
    error = np.abs(codes.astype(np.float32) * scales[:, None] - vectors)
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


@cases("values", "message")
def test_bad_rows_are_refused_by_number(values: list[float], message: str) -> None:
    rows = np.ones((700, 2), np.float32)
    rows[600] = values
    with pytest.raises(InvalidVectorError, match=message):
        normalize(rows)
