"""Payloads come back as they were written, and nothing else passes.

Mechanism: fields with a type and a bound, defaults left out. Damage without it: a rate of 7, a NaN
in a file, words that an erasure does not look for. Guard: each field of each sort.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from spector.errors import InvalidInputError
from spector.store.payloads import SORTS, decode, encode, words_in

VALUES: tuple[Any, ...] = (
    "draft",
    "summary",
    "operations",
    "observer",
    "Ada",
    0.25,
    7,
    True,
    ["a", "b"],
    {"n": 1.5},
    [{"description": "grind"}],
    [1, 2],
    [[0, 3, "date", "2026-11-26"]],
)
FIELDS = [(sort, each) for sort, fields in SORTS.items() for each in fields]


@pytest.mark.parametrize(("sort", "field"), FIELDS, ids=lambda each: getattr(each, "name", each))
def test_each_field_comes_back_and_refuses_what_it_is_not(sort: str, field: Any) -> None:
    good = [each for each in VALUES if field.accepts(each)]
    assert good
    for value in good:
        found, problem = decode(sort, encode(sort, {field.name: value}))
        assert problem is None
        assert found[field.name] == value
    for bad in (b"x", float("nan"), float("inf"), -1, 1 << 60, object()):
        if field.accepts(bad):
            continue
        with pytest.raises(InvalidInputError, match=field.name):
            encode(sort, {field.name: bad})
    for bad in (-1, 1 << 60, [[]], {"x": {"y": None}}):
        if not field.accepts(bad):
            assert decode(sort, json.dumps({field.name: bad}))[1] is not None


@pytest.mark.parametrize("sort", SORTS)
def test_defaults_cost_nothing_and_are_not_shared(sort: str) -> None:
    assert encode(sort, {each.name: each.default for each in SORTS[sort]}) == "{}"
    for value in decode(sort, "{}")[0].values():
        if isinstance(value, (dict, list)):
            value.clear()
            (value.append if isinstance(value, list) else value.update)({})  # type: ignore[operator]
    assert decode(sort, "{}") == ({each.name: each.default for each in SORTS[sort]}, None)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no field 'rate'"):
        encode("procedure", {"rate": 1.0})
    assert decode("procedure", '{"rate": 1.0}')[1] == "unknown fields ['rate']"


def test_every_word_is_found() -> None:
    text = encode(
        "procedure",
        {
            "name": "espresso",
            "description": "for guests",
            "steps": [{"description": "grind", "action": {"tool": "mill", "args": ["fine"]}}],
        },
    )
    assert set(words_in("procedure", text)) >= {"espresso", "for guests", "grind", "mill", "fine"}
    mug = encode("concept", {"name": "mug", "properties": {"colour": "blue"}})
    assert set(words_in("concept", mug)) == {"blue", "colour", "mug"}


def test_what_json_cannot_say_is_refused() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    for bad in (cyclic, {"x": float("nan")}, {"x": object()}, {"x": {1, 2}}):
        with pytest.raises(InvalidInputError, match="JSON"):
            encode("concept", {"name": "mug", "properties": bad})
