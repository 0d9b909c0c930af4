"""Insert, change and delete memories in the catalog, inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from spector.errors import CatalogCorruptError
from spector.messages import counted
from spector.process import keeps
from spector.store.catalog.row_codec import ROW, SEALED, WORDS, Row, recovery_hint, seal_of
from spector.store.payloads import delete_owned
from spector.store.sqlite import id_chunks

Columns = Mapping[str, list[Any]]

#: rows of one INSERT; eleven columns each stay below the 999 variables of older SQLite
_ROWS_AT_ONCE = 64

#: columns of a record that change with it
_MOVING = tuple(name for name in ROW if name not in ("id", "recorded_ms"))
_moving, _sealed = attrgetter(*_MOVING), attrgetter(*SEALED)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> str | None:
    """Compact JSON text, or None for an empty container."""
    return _encode(value) if value else None


@keeps(16_384)
def tags_json(tags: tuple[str, ...]) -> str | None:
    """``to_json`` of tags, cached because they repeat from record to record."""
    return to_json(tags)


def insert_rows(
    db: sqlite3.Connection, record: Columns, content: Columns, tags: Sequence[tuple[str, ...]]
) -> None:
    """Insert records with content, exact tags and full text, by ascending id.

    Args:
        record, content: a list for every column of the table that is not NULL throughout; the
            mutable blocks as bytearrays (see ``_insert``), tags, metadata and parents as JSON.
        tags: the exact tags of every record.
    """
    _insert(db, "record", record)
    _insert(db, "content", {**content, "seal": _seals(record, content)})
    _insert_tags(db, record["id"], tags)
    _insert_fulltext(db, content["id"], content["text"])


def _seals(record: Columns, content: Columns) -> list[int]:
    nothing = [None] * len(record["id"])
    columns = [record.get(name, nothing) for name in SEALED]
    columns += [content.get(name, nothing) for name in WORDS]
    return list(map(seal_of, *columns))


def _insert(db: sqlite3.Connection, table: str, columns: Columns) -> None:
    """Insert rows given by columns of equal length, leaving out a column that is all None.

    Binding None or bytes takes the sqlite3 module ten times as long as an int, because it first
    looks for an adapter; it does not for a bytearray.
    """
    given = {name: each for name, each in columns.items() if each.count(None) < len(each)}
    values = chain.from_iterable(zip(*given.values(), strict=True))
    count, width = len(columns["id"]), len(given)
    into = f"INSERT INTO {table}({', '.join(given)}) VALUES "
    row = f"({', '.join('?' * width)})"
    if count >= _ROWS_AT_ONCE:
        rows = zip(*[values] * (_ROWS_AT_ONCE * width), strict=False)
        db.executemany(
            into + ", ".join([row] * _ROWS_AT_ONCE), islice(rows, count // _ROWS_AT_ONCE)
        )
    db.executemany(into + row, zip(*[values] * width, strict=True))


def _insert_tags(
    db: sqlite3.Connection, ids: Sequence[int], tags: Sequence[tuple[str, ...]]
) -> None:
    """Insert exact tags; many records share few tags, and the table is ordered by tag."""
    by_tag: dict[str, list[int]] = defaultdict(list)
    for record_id, each in zip(ids, tags, strict=True):
        for tag in each:
            by_tag[tag].append(record_id)
    if 2 * len(by_tag) > sum(map(len, by_tag.values())):
        db.executemany(
            "INSERT INTO record_tag VALUES (?, ?)",
            [(tag, record_id) for tag, members in by_tag.items() for record_id in members],
        )
    else:
        db.executemany(
            "INSERT INTO record_tag SELECT ?, value FROM json_each(?)",
            [(tag, str(by_tag[tag])) for tag in sorted(by_tag)],
        )


def _insert_fulltext(db: sqlite3.Connection, ids: Sequence[int], texts: Sequence[str]) -> None:
    """Index the text of records whose content has been inserted."""
    if ids[-1] - ids[0] == len(ids) - 1:  # they ascend, so no other id lies between them
        db.execute(
            "INSERT INTO fulltext(rowid, text) SELECT id, text FROM content"
            " WHERE id BETWEEN ? AND ?",
            (ids[0], ids[-1]),
        )
    else:
        db.executemany(
            "INSERT INTO fulltext(rowid, text) VALUES (?, ?)", zip(ids, texts, strict=True)
        )


def delete_rows(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Delete records with everything that the catalog has about them."""
    found = list(rows)
    db.executemany(
        "INSERT INTO fulltext(fulltext, rowid, text) VALUES ('delete', ?, ?)",
        [(row.id, row.text) for row in found],
    )
    tags = [(tag, row.id) for row in found for tag in row.tags]
    db.executemany("DELETE FROM record_tag WHERE tag = ? AND id = ?", tags)
    for chunk in id_chunks([row.id for row in found]):
        marks = ",".join("?" * len(chunk))
        for table in ("content", "record"):
            gone = db.execute(f"DELETE FROM {table} WHERE id IN ({marks})", tuple(chunk)).rowcount
            if gone != len(set(chunk)):  # a damaged key hid one: the error rolls back
                raise CatalogCorruptError(
                    f"the table {table} finds {gone} of {counted(len(set(chunk)), 'memory')} to be"
                    " forgotten",
                    hint=recovery_hint(None),
                )
    delete_owned(db, {row.id for row in found})


def update_row(db: sqlite3.Connection, before: Row, after: Row) -> None:
    """Bring a record's row, content, tags and full text to the state of ``after``."""
    if before.text != after.text:
        db.execute(
            "INSERT INTO fulltext(fulltext, rowid, text) VALUES ('delete', ?, ?)",
            (before.id, before.text),
        )
        db.execute("INSERT INTO fulltext(rowid, text) VALUES (?, ?)", (after.id, after.text))
    if before.tags != after.tags:
        gone, new = set(before.tags) - set(after.tags), set(after.tags) - set(before.tags)
        db.executemany(
            "DELETE FROM record_tag WHERE tag = ? AND id = ?", [(tag, before.id) for tag in gone]
        )
        db.executemany("INSERT INTO record_tag VALUES (?, ?)", [(tag, before.id) for tag in new])
    own = (
        after.text,
        tags_json(after.tags),
        to_json(after.metadata),
        after.role,
        after.source,
        to_json(after.parents),
    )
    seal = seal_of(*_sealed(after), *own)
    content = dict(zip(WORDS, own, strict=True), seal=seal)
    record = dict(zip(_MOVING, _moving(after), strict=True))
    for table, values in (("content", content), ("record", record)):
        sets = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE {table} SET {sets} WHERE id = ?", (*values.values(), after.id))


def set_mutable(db: sqlite3.Connection, blocks: Iterable[tuple[int, bytes]]) -> None:
    """Store new mutable blocks, (id, 24 bytes) each."""
    db.executemany("UPDATE record SET mutable = ? WHERE id = ?", [(b, i) for i, b in blocks])


def move_rows(db: sqlite3.Connection, moves: Sequence[tuple[int, int, int]]) -> None:
    """Point records, (id, segment id, slot) each, at the slots of a rewritten partition.

    Places are unique, and a rewrite permutes them within one partition, so the old ones are first
    made negative.
    """
    db.executemany("UPDATE record SET slot = -1 - slot WHERE id = ?", [(m[0],) for m in moves])
    db.executemany(
        "UPDATE record SET segment_id = ?, slot = ? WHERE id = ?", [(s, n, i) for i, s, n in moves]
    )
