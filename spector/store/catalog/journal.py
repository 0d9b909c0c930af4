"""Journal, counters and partition rows, as a transaction and a checkpoint write them.

The journal has the redo images of everything that no checkpoint has made durable in a partition
yet. The functions that take a connection run inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator

from spector.store.catalog.catalog import Catalog
from spector.store.catalog.row_codec import Head, SegmentRow
from spector.store.catalog.schema import JOURNAL_MUTABLE, JOURNAL_RECORDS, JOURNAL_RETIRE

__all__ = [
    "JournalEntry",
    "clear_journal",
    "delete_journal_of",
    "is_journal_empty",
    "last_segment_id",
    "raise_epoch",
    "read_journal",
    "read_journal_after",
    "read_retired",
    "replace_file",
    "segments_in_journal",
    "trim_journal",
    "write_change_seq",
    "write_head",
    "write_journal",
    "write_segments",
]

#: (segment id, kind, first slot, redo image)
JournalEntry = tuple[int, int, int, bytes | memoryview]


def write_journal(db: sqlite3.Connection, first: int, entries: Iterable[JournalEntry]) -> None:
    """Add redo images with ascending numbers from ``first`` on."""
    db.executemany(
        "INSERT INTO journal VALUES (?, ?, ?, ?, ?)",
        [(first + n, *entry) for n, entry in enumerate(entries)],
    )


def is_journal_empty(db: sqlite3.Connection) -> bool:
    """True when every commit is durable in its partition."""
    return not db.execute("SELECT EXISTS (SELECT 1 FROM journal)").fetchone()[0]


def read_journal(db: sqlite3.Connection) -> Iterator[tuple[int, int, int, bytes]]:
    """(segment id, kind, slot, redo image) of every entry, in the order of commits."""
    return db.execute("SELECT segment_id, kind, slot, image FROM journal ORDER BY seq")


def read_journal_after(
    db: sqlite3.Connection, last: int, again: Collection[int]
) -> list[tuple[int, int, int, bytes]]:
    """Redo images of records numbered above ``last``, and all of the partitions ``again``."""
    numbers = ",".join(map(str, again)) or "NULL"
    return db.execute(
        "SELECT segment_id, kind, slot, image FROM journal WHERE kind IN (?, ?)"
        f" AND (seq > ? OR segment_id IN ({numbers})) ORDER BY seq",
        (JOURNAL_RECORDS, JOURNAL_MUTABLE, last),
    ).fetchall()


def clear_journal(db: sqlite3.Connection, *, keep_retired: bool = False) -> None:
    """Drop every entry, or all but the slots that wait to be retired."""
    if keep_retired:
        db.execute("DELETE FROM journal WHERE kind <> ?", (JOURNAL_RETIRE,))
    else:
        db.execute("DELETE FROM journal")


def delete_journal_of(db: sqlite3.Connection, segment_id: int) -> None:
    """Drop the redo images of a partition whose file goes."""
    db.execute("DELETE FROM journal WHERE segment_id = ?", (segment_id,))


def trim_journal(db: sqlite3.Connection, last: int, waiting: int) -> None:
    """Drop entries up to ``last``, but no slot to retire numbered ``waiting`` or later."""
    db.execute(
        "DELETE FROM journal WHERE seq <= ? AND (kind <> ? OR seq < ?)",
        (last, JOURNAL_RETIRE, waiting),
    )


def segments_in_journal(db: sqlite3.Connection) -> list[int]:
    """The partitions of which not every commit is known to be durable."""
    return [found for (found,) in db.execute("SELECT DISTINCT segment_id FROM journal")]


def read_retired(catalog: Catalog) -> list[tuple[int, int, int, bytes]]:
    """(journal number, segment id, slot, block) of each slot that waits to be retired."""
    with catalog.latest() as db:
        return db.execute(
            "SELECT seq, segment_id, slot, image FROM journal WHERE kind = ? ORDER BY seq",
            (JOURNAL_RETIRE,),
        ).fetchall()


def write_segments(db: sqlite3.Connection, rows: Iterable[SegmentRow]) -> None:
    """Insert partitions' rows, or replace the ones with the same ids."""
    db.executemany(
        "INSERT OR REPLACE INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                r.id,
                r.tier,
                r.day,
                r.sequence,
                r.generation,
                r.path,
                r.state,
                r.capacity,
                r.slots,
                r.live,
                r.change_seq,
            )
            for r in rows
        ],
    )


def replace_file(db: sqlite3.Connection, segment_id: int, row: SegmentRow, change_seq: int) -> None:
    """Point a partition at the file and the counts of ``row``."""
    db.execute(
        "UPDATE segment SET generation = ?, path = ?, state = ?, slots = ?, live = ?,"
        " change_seq = ? WHERE id = ?",
        (row.generation, row.path, row.state, row.slots, row.live, change_seq, segment_id),
    )


def last_segment_id(catalog: Catalog) -> int:
    """The greatest number that a partition has had; 0 when there was none."""
    with catalog.latest() as db:
        return int(db.execute("SELECT coalesce(max(id), 0) FROM segment").fetchone()[0])


def write_head(db: sqlite3.Connection, head: Head) -> None:
    """Set the store's counters."""
    db.execute(
        "UPDATE head SET last_id = ?, change_seq = ?, journal_seq = ?, retire_epoch = ?",
        (head.last_id, head.change_seq, head.journal_seq, head.retire_epoch),
    )


def write_change_seq(db: sqlite3.Connection, change_seq: int) -> None:
    """Set the change counter only."""
    db.execute("UPDATE head SET change_seq = ?", (change_seq,))


def raise_epoch(db: sqlite3.Connection) -> None:
    """Tell the scans of a store in memory that slots which memories have left are retired."""
    db.execute("UPDATE head SET retire_epoch = retire_epoch + 1")
