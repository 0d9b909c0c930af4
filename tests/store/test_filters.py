"""Metadata filters.

Mechanism: a ``where`` dict becomes a SQLite expression with bound parameters. Damage if wrong: a
recall that shows another project's memories, or hides some. Guard: the expression is compared with
a plain Python evaluator on random documents and filters, and nothing typed by a user may reach SQL.
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from spector.errors import InvalidFilterError
from spector.store.catalog.filters import MAX_DEPTH, MAX_LIST_ITEMS, MAX_NODES, compile_where
from tests.cases import Cases
from tests.store.filter_oracle import a_document, a_filter, matches_where

cases = Cases(__file__)

# --- running the compiled expression ------------------------------------------------------------


class Table:
    """Documents in a catalogue-like table; ``select`` gives the positions a filter matches."""

    def __init__(self, documents: list[Any]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE TABLE content (id INTEGER PRIMARY KEY, metadata TEXT)")
        rows = [None if doc is None else json.dumps(doc) for doc in documents]
        self._db.executemany("INSERT INTO content VALUES (?, ?)", enumerate(rows))

    def values(self, where: Mapping[str, Any]) -> list[int | None]:
        compiled = compile_where(where)
        query = f"SELECT {compiled.sql} FROM content ORDER BY id"
        return [value for (value,) in self._db.execute(query, compiled.params)]

    def select(self, where: Mapping[str, Any]) -> list[int]:
        return [place for place, value in enumerate(self.values(where)) if value]


def matches(where: Mapping[str, Any], document: Any) -> bool:
    (value,) = Table([document]).values(where)
    assert value in (0, 1)
    return bool(value)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(8))
def test_random_filters_select_what_the_plain_evaluator_selects(seed: int) -> None:
    rng = random.Random(seed)
    selected = total = 0
    for _ in range(25):
        documents: list[Any] = [*(a_document(rng) for _ in range(40)), None, {}]
        table = Table(documents)
        for _ in range(20):
            where = a_filter(rng)
            expected = [matches_where(where, document) for document in documents]
            values = table.values(where)
            assert set(values) <= {0, 1}, (seed, where)
            for value, want, document in zip(values, expected, documents, strict=True):
                assert bool(value) == want, (seed, where, document)
            selected += sum(expected)
            total += len(documents)
    assert 0.1 < selected / total < 0.9, "a property test that sees only one outcome proves nothing"


# --- what the grammar means, one sentence each --------------------------------------------------

MEANING: list[tuple[dict[str, Any], Any, bool]] = [
    *cases.rows("meaning"),
    ({("",): 7}, {"": 7}, True),
    ({("a", ""): 7}, {"a": {"": 7}}, True),
    ({("a", ""): 7}, {"a": 7}, False),
    ({"a": {"gt": 2**53}}, {"a": 2**53 + 1}, True),
    ({"a": {"in": [2.0**53]}}, {"a": 2**53 + 1}, False),
    ({"a": 2.0**53}, {"a": 2**53 + 1}, False),
]


@pytest.mark.parametrize(("where", "document", "expected"), MEANING)
def test_meaning(where: dict[str, Any], document: Any, expected: bool) -> None:
    assert matches(where, document) is expected


@pytest.mark.parametrize(
    "stored",
    [
        "2026-05-04T17:30:00Z",
        "2026-05-04T17:30:00.000+00:00",
        "2026-05-04 17:30:00",
        "2026-05-04T10:30:00-07:00",
    ],
)
def test_a_datetime_equals_the_same_instant_in_any_notation(stored: str) -> None:
    at = datetime(2026, 5, 4, 19, 30, tzinfo=timezone(timedelta(hours=2)))
    assert matches({"due": at}, {"due": stored})
    assert matches({"due": {"in": [at]}}, {"due": stored})
    assert matches({"due": {"gt": at - timedelta(milliseconds=1)}}, {"due": stored})
    assert not matches({"due": {"gt": at}}, {"due": stored})


@pytest.mark.parametrize("stored", ["now", "2461165.5", "12:00", "", "2026-13-44", "next week", 7])
def test_a_datetime_never_matches_what_is_not_an_iso_date(stored: Any) -> None:
    at = datetime(2000, 1, 1, tzinfo=UTC)
    assert not matches({"due": {"gt": at}}, {"due": stored})
    assert not matches({"due": {"lte": at}}, {"due": stored})


def test_every_float_finds_itself() -> None:
    rng = random.Random(7)
    floats = [rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300) for _ in range(500)]
    table = Table([{"x": value} for value in floats])
    for place, value in enumerate(floats):
        assert place in table.select({"x": value}), value
        assert place in table.select({"x": {"in": [value, "other"]}}), value


# --- nothing a user types reaches SQL -----------------------------------------------------------


def _literal(key: str) -> str:
    return "".join("\\" + char if char in "\\.$" else char for char in key)


@cases("text")
def test_hostile_text_is_only_ever_a_value_or_a_key(text: str) -> None:
    table = Table([{text: 1}, {"a": text}, {"a": [text]}, {"a": "harmless"}, {"b": {text: text}}])
    assert table.select({_literal(text): 1}) == [0]
    assert table.select({"a": text}) == [1]
    assert table.select({"a": {"in": [text, "nobody"]}}) == [1]
    assert table.select({"a": {"contains": text}}) == [1, 2]
    assert table.select({"b." + _literal(text): text}) == [4]
    assert table.select({"a": {"ne": text}}) == [0, 2, 3, 4]


# --- every error says where and what next -------------------------------------------------------


def _nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        where = {"not": where}
    return where


def _cyclic() -> dict[str, Any]:
    where: dict[str, Any] = {}
    where["and"] = [where]
    return where


ERRORS: list[tuple[Any, str, str]] = [
    *cases.rows("error_names_the_place_and_the_next_step"),
    ({3: 1}, "where: a key must be a string or a tuple of them, got int", ""),
    ({"a": {3: "x"}}, "unknown operator 3", "accepted"),
    ({"a": {"in": list(range(MAX_LIST_ITEMS + 1))}}, "10001 values, the limit is 10000", ""),
    ({"a": b"x"}, "where.a: cannot compare with bytes", ""),
    ({"a": object()}, "where.a: cannot compare with object", ""),
    ({"a": date(2026, 5, 4)}, "where.a: cannot compare with date", "2026-05-04"),
    ({"a": datetime(2026, 5, 4)}, "has no time zone", "timezone.utc"),
    ({"a": math.nan}, "where.a: nan is not a JSON number", ""),
    ({"a": {"gt": -math.inf}}, "where.a.gt: -inf is not a JSON number", ""),
    ({"a": 2**63}, "where.a: the integer does not fit into 64 bits", "float"),
    ({"a": {"in": [-(2**63) - 1]}}, "where.a.in[0]: the integer does not fit", ""),
    ({".".join("a" * (MAX_DEPTH + 1)): 1}, "17 nested keys, the limit is 16", ""),
    (_nested(MAX_DEPTH), "nested deeper than 16 levels", "ANDed"),
    (_cyclic(), "nested deeper than 16 levels", ""),
    ({"or": [{"a": n} for n in range(MAX_NODES)]}, "more than 256 tests", "in"),
]


@pytest.mark.parametrize(("where", "message", "hint"), ERRORS)
def test_error_names_the_place_and_the_next_step(where: Any, message: str, hint: str) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        compile_where(where)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert len(str(caught.value)) < 500
    str(caught.value).encode("utf-8")


# --- limits are usable to the last --------------------------------------------------------------


def _limits() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    yield _nested(MAX_DEPTH - 2), {"a": 1}
    yield {".".join("a" * MAX_DEPTH): 7}, json.loads('{"a":' * MAX_DEPTH + "7" + "}" * MAX_DEPTH)
    yield {"a": {"in": [*range(MAX_LIST_ITEMS - 1), "last"]}}, {"a": "last"}
    yield {"or": [{"a": n} for n in range((MAX_NODES - 1) // 2)]}, {"a": 7}
    deep = ".".join("a" * MAX_DEPTH)
    yield {"or": [*({deep: n} for n in range(125)), {"a": {"exists": True}}]}, {"a": 7}
    tests: dict[str, Any] = {"exists": True}
    for _ in range(MAX_DEPTH - 2):
        tests = {"not": tests}
    yield {"a": tests}, {"a": 7}


@pytest.mark.parametrize(("where", "document"), list(_limits()))
def test_the_largest_allowed_filters_run(where: dict[str, Any], document: Any) -> None:
    assert matches(where, document)


_HARD_KEYS = ("", "a.b", "a", "and", "$or", "user_id", "\\", "a\\.b", ".", "$", "é\"'", " ")


@pytest.mark.parametrize("first", _HARD_KEYS)
@pytest.mark.parametrize("second", [None, *_HARD_KEYS])
def test_a_tuple_is_the_path_itself(first: str, second: str | None) -> None:
    path = (first,) if second is None else (first, second)
    document: dict[str, Any] = {first: 1 if second is None else {second: 1}}
    where: Any = {path: 1}
    assert matches(where, document)
    assert matches({"not": {path: {"gt": 1}}}, document)  # type: ignore[dict-item]
    other = {first: {second: 2}} if second is not None else {f"{first}x": 1, "x": {first: 1}}
    assert not matches(where, other)
    assert compile_where(where, scopes=True).sql == compile_where(where).sql


@pytest.mark.parametrize("path", [(), ("a", 1), (None,), ("a\0",), ("a",) * 99])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(InvalidFilterError):
        compile_where({path: 1})
