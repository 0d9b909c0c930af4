"""Payloads come back as they were written, and nothing else passes.

Mechanism: fields with a type and a bound, defaults left out. Damage without it: a rate of 7, a NaN
in a file, words that an erasure does not look for. Guard: each field of each sort.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from spector.errors import CatalogCorruptError, InvalidInputError
from spector.store.payloads import (
    PAYLOAD_TABLES,
    SORTS,
    PayloadTable,
    count_of,
    decode,
    delete_owned,
    delete_rows,
    encode,
    put_rows,
    rows_of,
    tables_in,
    words_in,
)
from spector.store.payloads.rows import make_tables

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


# -- Tables of knowledge follow from their declaration, and every row proves itself ----------------
#
# Mechanism: one class derives SQL, seals and ownership. Damage without it: a flipped bit becomes
# knowledge, an erased memory leaves a row. Guard: every table of the list, every column of it.


ROWS: dict[type, tuple[Any, Any]] = {
    int: (7, 8),
    float: (0.5, 0.25),
    str: ("a", "b|1:c"),
    bytes: (b"a", b"b"),
}
GROUPS = sorted({each.group for each in PAYLOAD_TABLES})
EACH_TABLE = pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)


def catalog() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    return connection


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = catalog()
    for group in GROUPS:
        make_tables(connection, group)
    yield connection
    connection.close()


def example(table: PayloadTable, which: int = 0) -> dict[str, Any]:
    return {
        each.name: (f'{{"n": {which}}}' if each.json else ROWS[each.kind][which])
        for each in table.columns
    }


def test_a_catalog_without_knowledge_has_none_of_the_tables() -> None:
    db = catalog()
    assert tables_in(db) == ()
    assert delete_owned(db, [1]) == 0
    assert list(rows_of(db, PAYLOAD_TABLES[0])) == []
    assert count_of(db, PAYLOAD_TABLES[0]) == 0
    for group in (*GROUPS, GROUPS[0]):
        make_tables(db, group)
        assert all(each in tables_in(db) for each in PAYLOAD_TABLES if each.group == group)
    assert tables_in(db) == PAYLOAD_TABLES


@EACH_TABLE
def test_rows_come_back_as_they_were_put(db: sqlite3.Connection, table: PayloadTable) -> None:
    rows = [example(table, 0), example(table, 1)]
    put_rows(db, table, rows)
    found = list(rows_of(db, table))
    assert sorted(found, key=str) == sorted(rows, key=str)
    delete_rows(db, table, [[rows[0][each] for each in table.key]])
    assert list(rows_of(db, table)) == [rows[1]]


@EACH_TABLE
def test_any_changed_value_breaks_the_seal(db: sqlite3.Connection, table: PayloadTable) -> None:
    put_rows(db, table, [example(table)])
    for column in table.columns:
        other = example(table, 1)[column.name]
        db.execute("SAVEPOINT before")
        db.execute(f"UPDATE {table.name} SET {column.name} = ?", (other,))
        with pytest.raises(CatalogCorruptError, match=f"{table.name} .* is damaged"):
            list(rows_of(db, table))
        db.execute("ROLLBACK TO before")
    assert list(rows_of(db, table)) == [example(table)]


@EACH_TABLE
def test_a_sealed_value_of_another_type_is_damage(table: PayloadTable) -> None:
    values: list[Any] = list(table.sealed(example(table)))
    for at, column in enumerate(table.columns):
        forged = [*values]
        forged[at] = () if column.kind is bytes else b"x"
        forged[-1] = table.seal_of(forged[:-1])
        kind = type(forged[at]).__name__
        assert table.read(forged)[1] == f"{column.name} is of type {kind}"
        forged[at] = None
        forged[-1] = table.seal_of(forged[:-1])
        assert (table.read(forged)[1] is None) == column.optional


@EACH_TABLE
def test_a_row_goes_with_whatever_it_depends_on(
    db: sqlite3.Connection, table: PayloadTable
) -> None:
    # one row, of no memory; and what names nothing
    assert table.owners or table.name in ("sleep_state", "key_mark")
    for owner in table.owners:
        row = example(table) | {each: 100 + n for n, each in enumerate(table.owners)}
        put_rows(db, table, [row])
        assert delete_owned(db, [5, row[owner]]) == 1
        assert list(rows_of(db, table)) == []


def test_conditions_select_rows_by_values_and_by_long_collections(db: sqlite3.Connection) -> None:
    table = PAYLOAD_TABLES[0]
    sorts = ("fact", "episode")
    put_rows(db, table, [{"id": n, "sort": sorts[n % 2], "json": "{}"} for n in range(3000)])
    found = rows_of(db, table, {"sort": "fact", "id": range(0, 3000, 3)})
    assert [each["id"] for each in found] == list(range(0, 3000, 6))
    assert count_of(db, table, {"sort": ["fact", "episode"], "id": {1, 2, 5000}}) == 2
    assert [r["id"] for r in rows_of(db, table, {"sort": "fact"}, order="id DESC", limit=2)] == [
        2998,
        2996,
    ]


def test_only_one_fact_of_a_key_holds(db: sqlite3.Connection) -> None:
    table = next(each for each in PAYLOAD_TABLES if each.name == "fact")
    old = example(table) | {"id": 1, "holds": 0}
    put_rows(db, table, [old, old | {"id": 2}, old | {"id": 3, "holds": 1}])
    with pytest.raises(sqlite3.IntegrityError):
        put_rows(db, table, [old | {"id": 4, "holds": 1}])
    put_rows(db, table, [old | {"id": 3, "holds": 0}, old | {"id": 4, "holds": 1}])
