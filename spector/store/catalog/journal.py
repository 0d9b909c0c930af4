"""The journal of a transaction, counters, partition rows, and the write-ahead log of the catalog."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

from spector.errors import StoreNotFoundError
from spector.store.catalog.catalog import Catalog
from spector.store.catalog.rows import Head, SegmentRow
from spector.store.catalog.schema import (
    CATALOG_NAME,
    JOURNAL_MUTABLE,
    JOURNAL_RECORDS,
    JOURNAL_RETIRE,
    put_meta,
)
from spector.store.files import File, Files
from spector.store.sqlite import (
    LEAST_LOG_BYTES,
    UNKNOWN_MARKS,
    copy_log,
    limit_log,
    restart_log,
    salts_of,
)

#: (segment id, kind, first slot, redo image)
JournalEntry = tuple[int, int, int, bytes | memoryview]


_PUT_SEGMENT: Final = (
    f"INSERT OR REPLACE INTO segment VALUES (?{', ?' * (len(SegmentRow.__slots__) - 1)})"
)
_values_of = attrgetter(*SegmentRow.__slots__)


def write_journal(
    db: sqlite3.Connection, first: int, entries: Iterable[JournalEntry], rows: Iterable[SegmentRow]
) -> None:
    """Add redo images with ascending numbers from ``first`` on; put the rows of partitions."""
    db.executemany(
        "INSERT INTO journal VALUES (?, ?, ?, ?, ?)",
        [(first + n, *entry) for n, entry in enumerate(entries)],
    )
    db.executemany(_PUT_SEGMENT, map(_values_of, rows))


def write_head(db: sqlite3.Connection, head: Head) -> None:
    """Set the store's counters."""
    db.execute(
        "UPDATE head SET last_id = ?, change_seq = ?, journal_seq = ?, retire_epoch = ?",
        (head.last_id, head.change_seq, head.journal_seq, head.retire_epoch),
    )


def raise_epoch(db: sqlite3.Connection) -> None:
    """Tell the scans of a store in memory that slots which memories have left are retired."""
    db.execute("UPDATE head SET retire_epoch = retire_epoch + 1")


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


def read_retired(db: sqlite3.Connection) -> list[tuple[int, int, int, bytes]]:
    """(journal number, segment id, slot, block) of each slot that waits to be retired."""
    sql = "SELECT seq, segment_id, slot, image FROM journal WHERE kind = ? ORDER BY seq"
    return db.execute(sql, (JOURNAL_RETIRE,)).fetchall()


def segments_in_journal(db: sqlite3.Connection) -> list[int]:
    """The partitions of which not every commit is known to be durable."""
    return [found for (found,) in db.execute("SELECT DISTINCT segment_id FROM journal")]


def clear_journal(db: sqlite3.Connection, *, keep_retired: bool = False) -> None:
    """Drop every entry, or all but the slots that wait to be retired."""
    db.execute("DELETE FROM journal WHERE kind <> ?", (JOURNAL_RETIRE if keep_retired else -1,))


def delete_journal_of(db: sqlite3.Connection, segment_id: int) -> None:
    """Drop the redo images of a partition whose file goes."""
    db.execute("DELETE FROM journal WHERE segment_id = ?", (segment_id,))


def trim_journal(db: sqlite3.Connection, last: int, waiting: int) -> None:
    """Drop entries up to ``last``, but no slot to retire numbered ``waiting`` or later."""
    sql = "DELETE FROM journal WHERE seq <= ? AND (kind <> ? OR seq < ?)"
    db.execute(sql, (last, JOURNAL_RETIRE, waiting))


def replace_files(
    db: sqlite3.Connection, rows: Iterable[SegmentRow], meta: Mapping[str, str], change_seq: int
) -> None:
    """Point partitions at the files and counts of their rows; set the description, the counter."""
    db.executemany(
        "UPDATE segment SET generation = ?, path = ?, state = ?, slots = ?, live = ?,"
        " change_seq = ? WHERE id = ?",
        [(r.generation, r.path, r.state, r.slots, r.live, change_seq, r.id) for r in rows],
    )
    put_meta(db, meta)
    db.execute("UPDATE head SET change_seq = ?", (change_seq,))


def last_segment_id(db: sqlite3.Connection) -> int:
    """The greatest number that a partition has had; 0 when there was none."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM segment").fetchone()[0])


# The catalog's write-ahead log: synced on request, copied into the catalog when it is long.
#
# SQLite would copy a long log by itself after a commit, but it hides a sync that fails during the
# copy. The next commit would then sync the same file again, which can succeed although the disk has
# lost what the first sync should have written. So the copy is requested here, and a failure is an
# error.

#: a log is copied when it is longer than the catalog, at the latest when it is longer than this
LONG_BYTES = 32 << 20
#: how much further it may grow when it could not start over
_STEP_BYTES: Final = 4 << 20
#: how long a commit then waits for readers of an older moment; most recalls are shorter
_PATIENCE_MS: Final = 50
#: the wait grows with the log, up to this
_MOST_PATIENCE_MS: Final = 2000
LOG_NAME: Final = f"{CATALOG_NAME}-wal"


class Log:
    """The log of a store's catalog; absent in memory and on some file systems."""

    def __init__(self, files: Files, catalog: Catalog) -> None:
        self._files = files
        self._catalog = catalog
        #: a log that could not start over is left alone up to this size
        self._enough = 0
        #: its size at the last look; a shorter log has started over
        self._size = 0

    def sync(self) -> None:
        """Make every commit durable."""
        with contextlib.suppress(StoreNotFoundError), self._open() as log:
            log.sync()

    def salts(self) -> str | None:
        """The salts that distinguish this log from later ones; None without a log."""
        with contextlib.suppress(StoreNotFoundError), self._open() as log:
            return salts_of(log) or None
        return None

    def _open(self) -> contextlib.closing[File]:
        return contextlib.closing(self._files.open(LOG_NAME, writable=False))

    def shorten(self) -> None:
        """After a commit: copy a long log, so that the next commit starts it over.

        That needs a moment at which no reader sees an older one, which beside readers that never
        pause does not come by chance. So the commit waits for them: briefly at first, four times as
        long when the log is twice as long as it should be. After a wait in vain the log grows by a
        quarter before the next attempt. It grows for ever only beside readers that keep one moment
        for longer than ``_MOST_PATIENCE_MS``.

        Raises:
            StoreError: the copy failed, and the store with it.
        """
        if self._catalog.in_memory:
            return
        least = min(LEAST_LOG_BYTES, LONG_BYTES)
        try:
            size, before = self._files.size_of(LOG_NAME), self._size
            self._size = size
            if size < before:
                self._enough = 0
            if size <= max(least, self._enough):
                return
            long = max(least, min(self._files.size_of(CATALOG_NAME), LONG_BYTES))
        except StoreNotFoundError:
            return
        if size <= long:
            return
        limit_log(self._catalog, long)
        marks = copy_log(self._catalog)
        copied = marks is not None and marks != UNKNOWN_MARKS and marks.frames == marks.seen_by_all
        over = size / max(1, long)
        # a log that is copied whole starts over by itself, unless readers of its end prevent that
        if not copied or over >= 2:
            patience_ms = max(_PATIENCE_MS, min(_MOST_PATIENCE_MS, int(_PATIENCE_MS * over**2)))
            copied = restart_log(self._catalog, patience_ms)
        # a log that starts over is cut and then shorter than this; any other is looked at later
        self._enough = size + (_STEP_BYTES // 4 if copied else max(_STEP_BYTES, size // 4))
