"""Rows of the catalog as part of a transaction: insert, change, delete, with their full text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from spector.store.catalog import Row, chunked

__all__ = ["delete_rows", "insert_rows", "move_rows", "set_mutable", "update_row"]


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> str | None:
    """Compact JSON text, or None for an empty container."""
    return _encode(value) if value else None


@lru_cache(maxsize=16_384)
def tags_json(tags: tuple[str, ...]) -> str | None:
    """``to_json`` of tags, which repeat from record to record."""
    return to_json(tags)


def insert_rows(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Insert records with content, exact tags and full text."""
    db.executemany(
        "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (r.id, r.segment_id, r.slot, r.event_ms, r.recorded_ms, r.valid_from_ms,
             r.valid_until_ms, r.session_id, r.agent_id, r.user_id, r.mutable)
            for r in rows
        ],
    )
    db.executemany(
        "INSERT INTO content VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (r.id, r.text, tags_json(r.tags), r.metadata_json or to_json(r.metadata), r.role,
             r.source, to_json(r.parents))
            for r in rows
        ],
    )
    tags = [(tag, r.id) for r in rows for tag in r.tags]
    if tags:
        db.executemany("INSERT INTO record_tag VALUES (?, ?)", tags)
    db.executemany(
        "INSERT INTO fulltext(rowid, text) VALUES (?, ?)", [(r.id, r.text) for r in rows]
    )


def delete_rows(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Delete records with everything that the catalog knows of them."""
    found = list(rows)
    db.executemany(
        "INSERT INTO fulltext(fulltext, rowid, text) VALUES ('delete', ?, ?)",
        [(row.id, row.text) for row in found],
    )
    tags = [(tag, row.id) for row in found for tag in row.tags]
    db.executemany("DELETE FROM record_tag WHERE tag = ? AND id = ?", tags)
    for chunk in chunked([row.id for row in found]):
        marks = ",".join("?" * len(chunk))
        db.execute(f"DELETE FROM content WHERE id IN ({marks})", tuple(chunk))
        db.execute(f"DELETE FROM record WHERE id IN ({marks})", tuple(chunk))


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
    db.execute(
        "UPDATE content SET text = ?, tags = ?, metadata = ?, role = ?, source = ?, parents = ?"
        " WHERE id = ?",
        (after.text, tags_json(after.tags), to_json(after.metadata), after.role, after.source,
         to_json(after.parents), after.id),
    )
    db.execute(
        "UPDATE record SET segment_id = ?, slot = ?, event_ms = ?, valid_from_ms = ?,"
        " valid_until_ms = ?, session_id = ?, agent_id = ?, user_id = ?, mutable = ? WHERE id = ?",
        (after.segment_id, after.slot, after.event_ms, after.valid_from_ms, after.valid_until_ms,
         after.session_id, after.agent_id, after.user_id, after.mutable, after.id),
    )


def set_mutable(db: sqlite3.Connection, blocks: Iterable[tuple[int, bytes]]) -> None:
    """Store new mutable blocks, (id, 24 bytes) each."""
    db.executemany("UPDATE record SET mutable = ? WHERE id = ?", [(b, i) for i, b in blocks])


def move_rows(db: sqlite3.Connection, moves: Sequence[tuple[int, int, int]]) -> None:
    """Point records, (id, segment id, slot) each, at the places of a rewritten partition.

    Places are unique, and a rewrite permutes them within one partition, so they are first moved
    out of the way.
    """
    db.executemany("UPDATE record SET slot = -1 - slot WHERE id = ?", [(m[0],) for m in moves])
    db.executemany(
        "UPDATE record SET segment_id = ?, slot = ? WHERE id = ?", [(s, n, i) for i, s, n in moves]
    )
