"""The part of a check that reads only the catalog: its pages, counters, words and tags."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from spector.layout import PartitionState
from spector.messages import counted
from spector.store.catalog import (
    LINKS_SQL,
    ROW_COLUMNS,
    SPENT,
    SUPERSEDED_SQL,
    Catalog,
    SegmentRow,
    is_sealed,
    is_typed,
)
from spector.store.integrity.findings import Findings
from spector.store.payloads import has_tables
from spector.store.sqlite import problem_of_full_text

__all__ = ["check_catalog", "check_words"]

#: more lines than SQLite's own check of a catalog returns
_ALL = (1 << 31) - 1


def check_catalog(
    db: sqlite3.Connection, catalog: Catalog, found: Findings
) -> list[SegmentRow] | None:
    """I15 pages, I6 counters, I12 counts; returns the rows of partitions that have a file.

    None when they cannot be read. Pages are not checked when the disk cannot read some of them: the
    others then miss what those have.
    """
    with found.surviving():
        most = _ALL if found.limit is None else found.limit
        lines = () if found.catalog_unread else db.execute(f"PRAGMA integrity_check({most})")
        for (line,) in lines:
            if line != "ok":
                found.catalog("I15", str(line))
    segments: list[SegmentRow] | None = None
    with found.surviving():
        rows = catalog.segments(db)
        segments = [s for s in rows if s.state != PartitionState.COMPACTED]
        for row in rows:
            _check_segment_row(row, found)
        _check_counters(db, catalog, rows, found)
    with found.surviving():
        if segments is not None:
            live = sum(row.live for row in segments)
            (count,) = db.execute("SELECT count(*) FROM record").fetchone()
            if live != count:
                message = f"{counted(count, 'memory')}, but the partitions' counts add up to {live}"
                found.catalog("I12", message)
    return segments


def _check_segment_row(row: SegmentRow, found: Findings) -> None:
    fine = (
        row.state in set(PartitionState)
        and 0 <= row.live <= row.slots <= row.capacity
        and row.capacity < 1 << 32
        and 0 <= row.generation < 1 << 32
    )
    if not fine:
        found.catalog(
            "I12",
            f"the row of {row.path} is impossible: state {row.state}, {row.live} of {row.slots} "
            f"slots live, capacity {row.capacity}, generation {row.generation}",
        )


def _check_counters(
    db: sqlite3.Connection, catalog: Catalog, rows: Sequence[SegmentRow], found: Findings
) -> None:
    """I6: no number is used twice."""
    head = catalog.head(db)  # raises when the counters are lost
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    if has_tables(db):  # items take their ids from the same sequence
        (item,) = db.execute("SELECT coalesce(max(item_id), 0) FROM item").fetchone()
        newest = max(newest, item)
    (logged,) = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
    seen = max((row.change_seq for row in rows), default=0)
    for name, value, least in (
        ("last_id", head.last_id, newest),
        ("change_seq", head.change_seq, seen),
        ("journal_seq", head.journal_seq, logged),
        ("retire_epoch", head.retire_epoch, 0),
    ):
        if not least <= value < SPENT:
            found.catalog("I6", f"the counter {name} is {value}, but {least} was given out")


def check_words(db: sqlite3.Connection, catalog: Catalog, found: Findings) -> None:
    """I5 leftovers of forgotten memories, I7 text, I8 tags, I9 parents, I17 seals, I19 links."""
    for name, table in (("content", "content"), ("full text", "fulltext_docsize")):
        with found.surviving():
            _list(
                db,
                f"SELECT id FROM record EXCEPT SELECT id FROM {table}",
                "I7",
                f"has no {name}",
                found,
            )
        with found.surviving():
            _list(
                db,
                f"SELECT id FROM {table} EXCEPT SELECT id FROM record",
                "I5",
                f"{name} without a record",
                found,
            )
    with found.surviving():
        _check_rows(db, catalog, found)
    with found.surviving():
        _check_tag_index(db, found)
    with found.surviving():
        _check_links(db, found)
    with found.surviving():
        _check_full_text(db, found)


def _list(db: sqlite3.Connection, sql: str, code: str, message: str, found: Findings) -> None:
    for (record_id,) in db.execute(sql):
        found.catalog(code, f"memory {record_id}: {message}", record_id)


def _check_rows(db: sqlite3.Connection, catalog: Catalog, found: Findings) -> None:
    last_id = catalog.head(db).last_id
    cursor = db.execute(
        f"SELECT {ROW_COLUMNS}, seal FROM record JOIN content ON content.id = record.id"
    )
    for row in cursor:
        record_id = row[0]
        if not is_sealed(row):
            found.catalog(
                "I17",
                f"text, tags, times or metadata of memory {record_id} are not what was written; "
                f"forget({record_id}) drops it, --repair tells its words",
                record_id,
            )
        elif not is_typed(row) or (row[13] and not _is_object(row[13])):  # forged, seal and all
            message = f"metadata, scopes or times of memory {record_id} are of other types"
            found.catalog("I17", message, record_id)
        if row[16] is not None:
            try:
                parents = json.loads(row[16])
                fine = all(0 <= p <= last_id and p != record_id for p in parents)
            except (ValueError, TypeError, RecursionError):
                fine = False
            if not fine:
                found.catalog("I9", f"memory {record_id}: parents that never were", record_id)


def _is_object(text: Any) -> bool:
    try:
        return type(json.loads(text)) is dict
    except (ValueError, TypeError, RecursionError):
        return False


def _check_tag_index(db: sqlite3.Connection, found: Findings) -> None:
    """I8. Tags that are not JSON have been reported already; here they would end the statement."""
    for sql, message in (
        (
            "SELECT record_tag.id FROM record_tag LEFT JOIN content ON content.id = record_tag.id"
            " WHERE content.id IS NULL OR NOT json_valid(content.tags)"
            " OR NOT EXISTS (SELECT 1 FROM json_each(content.tags) WHERE value = record_tag.tag)",
            "an exact tag that the memory does not have",
        ),
        (
            "SELECT content.id FROM content, json_each("
            " CASE WHEN json_valid(content.tags) THEN content.tags ELSE '[]' END) AS t"
            " LEFT JOIN record_tag ON record_tag.tag = t.value AND record_tag.id = content.id"
            " WHERE content.tags IS NOT NULL AND record_tag.id IS NULL",
            "a tag that is missing from the tag index",
        ),
    ):
        _list(db, sql, "I8", message, found)


def _check_links(db: sqlite3.Connection, found: Findings) -> None:
    """I19: a superseded memory is older and has ended. A link to a forgotten one may stay."""
    sql = (
        "SELECT newer, older, record.id IS NOT NULL AND record.valid_until_ms IS NULL"
        f" AND NOT {SUPERSEDED_SQL} FROM ({LINKS_SQL})"
        " LEFT JOIN record ON record.id = CAST(older AS INTEGER)"
    )
    for newer, older, goes_on in db.execute(sql):
        if not (
            isinstance(older, str) and older.isascii() and older.isdecimal() and int(older) < newer
        ):
            found.catalog("I19", f"memory {newer}: supersedes what was not there before", newer)
        elif goes_on:
            message = f"memory {older}: superseded by {newer}, and holds all the same"
            found.catalog("I19", message, int(older))


def _check_full_text(db: sqlite3.Connection, found: Findings) -> None:
    """I7: the index has every word of every text, and no others."""
    if found.catalog_unread:  # the proof needs a whole copy of the catalog
        return
    problem = problem_of_full_text(db)
    if problem is not None:
        found.catalog("I7", f"the full-text index does not fit the texts: {problem}")
