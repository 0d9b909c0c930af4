"""Mechanism: profiles as frozen, hashable, validated dataclasses.

Damage: a NaN weight or a misspelt curve would rank everything at random.
Guard: each parameter refuses what it cannot mean; presets reproduce their documents.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from spector.errors import InvalidInputError
from spector.kernel.contract.profile import PROFILES, Curve, ScoringProfile, get_profile
from spector.layout import Category

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
