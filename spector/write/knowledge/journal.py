"""What a unit of sleep changes in rows of knowledge, as ids and numbers by which it is undone.

A row that was made is known by its key and its checksum; of one that was changed the numbers before
are kept as well, of one that was dropped all its numbers. Words never are: a change of words cannot
be undone from here, and the undoing says so.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.knowledge import Changes, KnowledgeReader, New
from spector.store.payloads import PayloadTable, compact_json, table_named

__all__ = [
    "RowChange",
    "changed_rows",
    "item_mark",
    "made_items",
    "packed",
    "packed_rows",
    "plan_rows_back",
    "unpacked",
    "unpacked_rows",
]

#: tables whose rows are no knowledge
_OWN: Final = frozenset({"sleep_state", "cycle_change"})
#: fields whose texts are names of ours, and no words of a user
_NAMED: Final = frozenset(
    {
        "provenance",
        "status",
        "write_source",
        "data_source",
        "kind",
        "origin",
        "sort",
        "category",
        "domain",
        "code",
    }
)
#: fields that map names of ours to numbers
_TABLES: Final = frozenset({"values", "note"})
#: properties that promotion gives to a pattern, with numbers
_FIGURES: Final = frozenset({"strength", "observations", "slope_per_day", "r2"})


class RowChange(NamedTuple):
    """One row: its table and key, its checksum afterwards, and what it was."""

    table: str
    key: tuple[Any, ...]
    #: None for a row that was dropped
    mark: int | None
    #: columns before, those that differ; None for a row that was made
    before: dict[str, Any] | None
    #: fields of its JSON before, those that differ
    fields: dict[str, Any]
    #: words changed with it, which are not kept
    has_words: bool = False


def changed_rows(changes: Changes, reader: KnowledgeReader) -> list[RowChange]:
    """What a change set does to rows that do not depend on a memory or an item that it makes."""
    puts: dict[tuple[str, tuple[Any, ...]], tuple[PayloadTable, Mapping[str, Any]]] = {}
    drops: dict[tuple[str, tuple[Any, ...]], PayloadTable] = {}
    for table, given in changes.drops:
        if table.name not in _OWN:
            drops[table.name, tuple(given)] = table
    for table, row in changes.puts:
        key = tuple(row[each] for each in table.key)
        if table.name not in _OWN and not any(isinstance(each, New) for each in key):
            puts[table.name, key] = (table, row)
            drops.pop((table.name, key), None)
    known = reader.rows_at([*puts, *drops])
    out = []
    for at, table in drops.items():
        if at in known:
            out.append(
                RowChange(at[0], _key_of(table, known[at]), None, *_kept(table, known[at], {}))
            )
    for at, (table, row) in puts.items():
        before, mark = known.get(at), _mark(table, row)
        if before is None:
            out.append(RowChange(at[0], _key_of(table, row), mark, None, {}))
        elif _mark(table, before) != mark:
            out.append(RowChange(at[0], _key_of(table, row), mark, *_kept(table, before, row)))
    return out


def made_items(changes: Changes) -> list[tuple[New, int]]:
    """The items that a change set makes, each with its checksum."""
    return [
        (row["item_id"], _mark(table, {**row, "item_id": 0}))
        for table, row in changes.puts
        if table.name == "item" and isinstance(row["item_id"], New)
    ]


def item_mark(reader: KnowledgeReader, item: int) -> int | None:
    """The checksum of an item as it is; None without it."""
    row = reader.rows_at([("item", (item,))]).get(("item", (item,)))
    return None if row is None else _mark(table_named("item"), {**row, "item_id": 0})


def _mark(table: PayloadTable, row: Mapping[str, Any]) -> int:
    """A checksum of the values of a row, whatever the order of its JSON."""
    values = [
        json.dumps(json.loads(row[each.name]), sort_keys=True)
        if each.json and row.get(each.name) is not None
        else row.get(each.name)
        for each in table.columns
    ]
    return zlib.crc32(json.dumps(values).encode())


def _key_of(table: PayloadTable, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key of a row; of a name only what it names, and the checksum that tells which."""
    if table.name == "name":
        if row["sort"] == "property" and row["folded"].partition("=")[0] in _FIGURES:
            return (row["id"], _mark(table, row), row["folded"])
        return (row["id"], _mark(table, row))
    return tuple(row[each] for each in table.key)


def _kept(
    table: PayloadTable, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The numbers of a row that differ, those of its JSON, and whether words do."""
    columns: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    lost = False
    for column in table.columns:
        old, new = before[column.name], after.get(column.name)
        if column.name in table.key or (old == new and after):
            continue
        if column.json:
            was = {} if old is None else json.loads(old)
            now = {} if new is None else json.loads(new)
            for name in sorted({*was, *now}):
                if was.get(name) == now.get(name):
                    continue
                if name == "properties" and after:
                    found = _changed_figures(was.get(name) or {}, now.get(name) or {})
                    lost = lost or found is None
                    fields[name] = found or {}
                    continue
                if not _is_ours(name, was.get(name)):
                    lost = True
                    continue
                fields[name] = was.get(name)
        elif _is_ours(column.name, old):
            columns[column.name] = old
        else:
            lost = True
    return columns, fields, lost


def _changed_figures(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Figures of a pattern that differ, as they were; None where another property differs."""
    names = [each for each in {*was, *now} if was.get(each) != now.get(each)]
    if not _FIGURES.issuperset(names):
        return None
    return {each: was.get(each) for each in sorted(names)}


def _is_ours(name: str, value: Any) -> bool:
    """Whether a value is a number, or a name that the product gives."""
    if value is None or isinstance(value, (bool, int, float)):
        return True
    if isinstance(value, dict):
        return name in _TABLES and all(isinstance(each, (int, float)) for each in value.values())
    return name in _NAMED


def plan_rows_back(reader: KnowledgeReader, rows: Sequence[RowChange]) -> tuple[Changes, set[int]]:
    """What turns changes of rows back, and the memories whose rows stay as they are.

    A row stays that was changed since, or whose words have changed. Nothing comes back of a memory
    that is gone.
    """
    changes, kept = Changes(), set[int]()
    known = reader.rows_at([(each.table, each.key) for each in rows if each.table != "name"])
    names = reader.names_of({each.key[0] for each in rows if each.table == "name"})
    ends = {end for each in rows for end in _ends(table_named(each.table), each.key)}
    living = reader.owners(ends).keys() | reader.items(ends).keys()
    for each in rows:
        table = table_named(each.table)
        if table.name == "name":
            found = [row for row in names.get(each.key[0], ()) if _mark(table, row) == each.key[1]]
            if each.mark is not None and found:
                changes.drop("name", *(found[0][column] for column in table.key))
            elif each.mark is None and len(each.key) > 2:
                changes.put("name", **_figure_name(reader, each))
            elif each.mark is None:
                kept.add(each.key[0])
            continue
        now = known.get((each.table, each.key))
        if each.mark is None:
            if now is None and living.issuperset(_ends(table, each.key)):
                if each.has_words:
                    kept.add(each.key[0])
                else:
                    changes.put(table.name, **_row_of(table, each, None))
        elif now is None:
            continue  # it is gone, and what it hung on
        elif _mark(table, now) != each.mark:
            kept.add(each.key[0])
        elif each.before is None:
            changes.drop(table.name, *each.key)
        else:
            changes.put(table.name, **_row_of(table, each, now))
            if each.has_words:
                kept.add(each.key[0])
    return changes, kept & reader.owners(kept).keys()


def _figure_name(reader: KnowledgeReader, change: RowChange) -> dict[str, Any]:
    """The row by which a concept is found by a figure of its own."""
    owner = reader.owners([change.key[0]])
    scope = owner[change.key[0]].scope if owner else ""
    return {"scope": scope, "sort": "property", "folded": change.key[2], "id": change.key[0]}


def _ends(table: PayloadTable, key: Sequence[Any]) -> set[int]:
    """The memories and items that a row hangs on, as far as its key says."""
    if table.name == "name":
        return {key[0]}
    return {value for name, value in zip(table.key, key, strict=True) if name in table.owners}


def _row_of(
    table: PayloadTable, change: RowChange, now: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A row as it was."""
    row = dict(now or {}) | dict(zip(table.key, change.key, strict=True)) | (change.before or {})
    for column in table.columns:
        if not column.json:
            continue
        text = None if now is None else now[column.name]
        fields = {} if text is None else json.loads(text)
        for name, value in change.fields.items():
            if name == "properties":
                fields[name] = {
                    key: each
                    for key, each in {**fields.get(name, {}), **value}.items()
                    if each is not None
                }
            elif value is None:
                fields.pop(name, None)
            else:
                fields[name] = value
        row[column.name] = None if column.optional and not fields else compact_json(fields)
    return row


def packed_rows(rows: Iterable[RowChange]) -> dict[str, str]:
    """Changes of rows as text, for the record of a cycle."""
    text = compact_json([list(each) for each in rows])
    return {"rows": base64.b85encode(zlib.compress(text.encode(), 6)).decode("ascii")}


def unpacked_rows(text: str) -> list[RowChange]:
    """What `packed_rows` made."""
    found = json.loads(zlib.decompress(base64.b85decode(text)))
    return [RowChange(each[0], tuple(each[1]), *each[2:]) for each in found]


#: fields of a header that many memories change at once
_PACKED: Final = np.dtype(
    [
        ("id", "<i8"),
        ("stability", "<f4"),
        ("stability_after", "<f4"),
        ("utility", "<f4"),
        ("utility_after", "<f4"),
    ]
)


def packed(before: NDArray[np.void], after: NDArray[np.void]) -> dict[str, str]:
    """Stabilities and utilities of many memories, before and after, as text."""
    rows = np.zeros(len(before), _PACKED)
    rows["id"] = before["id"]
    rows["stability"], rows["stability_after"] = before["stability_days"], after["stability_days"]
    rows["utility"], rows["utility_after"] = before["utility"], after["utility"]
    columns = b"".join(rows[name].tobytes() for name in _PACKED.names or ())
    return {"packed": base64.b85encode(zlib.compress(columns, 6)).decode("ascii")}


def unpacked(text: str) -> NDArray[np.void]:
    """What `packed` made, as rows of id, stability and utility, before and after."""
    raw = zlib.decompress(base64.b85decode(text))
    count = len(raw) // _PACKED.itemsize
    rows, at = np.zeros(count, _PACKED), 0
    for name in _PACKED.names or ():
        kind = _PACKED[name]
        rows[name] = np.frombuffer(raw, kind, count, at)
        at += count * kind.itemsize
    return rows
