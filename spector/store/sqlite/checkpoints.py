"""Checkpoints of a write-ahead log, and VACUUM: how pages get from one place to another.

Each function takes the database whose writing connection does the work. SQLite runs none of this
by itself (``wal_autocheckpoint=0``), because it hides a sync that fails while it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spector.errors import StoreFullError
from spector.process import managed
from spector.store.sqlite.hardening import allow_attach
from spector.store.sqlite.reads import Connections, typed_sql_errors

__all__ = [
    "BUSY_TIMEOUT_MS",
    "UNKNOWN_MARKS",
    "Marks",
    "copy_log",
    "limit_log",
    "page_bytes",
    "restart_log",
    "truncate_log",
    "vacuum",
]

#: how long a statement waits for another process
BUSY_TIMEOUT_MS: Final = 10_000
#: a larger database is vacuumed through an (unlinked) temporary file instead of memory
_VACUUM_PAGES_IN_MEMORY: Final = 65_536


@dataclass(frozen=True, slots=True)
class Marks:
    """How far the log goes, and how far every snapshot sees it, in frames."""

    frames: int
    seen_by_all: int


UNKNOWN_MARKS: Final = Marks(-1, -1)


def copy_log(database: Connections) -> Marks | None:
    """Copy as much of the log as every snapshot of every process sees; how much that is.

    None for a database in memory, which has no snapshots. Without a log (some file systems support
    none) no commit succeeds beside a snapshot, so every snapshot has seen everything. On a full
    disk nothing may have been copied; then the marks are unknown.
    """
    if database.in_memory:
        return None
    try:
        with typed_sql_errors(database.path):
            found = database.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except StoreFullError:
        return UNKNOWN_MARKS
    busy, frames, copied = found
    if busy:  # another process is copying now
        return UNKNOWN_MARKS
    return Marks(frames, copied) if frames >= 0 else Marks(0, 0)


def limit_log(database: Connections, bytes_kept: int) -> None:
    """Cut a log that starts over to this many bytes."""
    with typed_sql_errors(database.path):
        database.main.execute(f"PRAGMA journal_size_limit={bytes_kept}")


def restart_log(database: Connections, patience_ms: int) -> bool:
    """Copy the whole log, so that the next commit starts it over; waits that long for readers.

    False when a reader looks at an older moment for longer, or the disk is full.
    """
    try:
        with database.only, typed_sql_errors(database.path), _waiting(database, patience_ms):
            return not database.main.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0]
    except StoreFullError:
        return False


def truncate_log(database: Connections) -> int | None:
    """Copy the whole log and cut it to zero bytes; the bytes that were copied last.

    None when a reader in the middle of a transaction holds on to it; it is not waited for.
    """
    with database.only, typed_sql_errors(database.path):
        if database.in_memory:
            return 0
        size = _pragma(database, "page_size")
        frames = database.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        with _waiting(database, 0):
            busy = database.main.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return None if busy else max(0, frames) * size


def vacuum(database: Connections) -> tuple[int, int, int]:
    """Rewrite the file without free pages and without old bytes in the slack of other pages.

    Returns its bytes before, the bytes of these in free pages, and its bytes after. Writers wait
    meanwhile, and the log grows by as much as is left.
    """
    with database.only, typed_sql_errors(database.path):
        database.ensure_writable()
        pages, free = _pragma(database, "page_count"), _pragma(database, "freelist_count")
        size = _pragma(database, "page_size")
        spill = "FILE" if pages > _VACUUM_PAGES_IN_MEMORY else "MEMORY"
        database.main.execute(f"PRAGMA temp_store={spill}")
        with allow_attach(database.main):
            database.main.execute("VACUUM")
        database.main.execute("PRAGMA temp_store=MEMORY")
        return pages * size, free * size, _pragma(database, "page_count") * size


def page_bytes(database: Connections) -> int:
    """Bytes of one page of the database."""
    with typed_sql_errors(database.path):
        return _pragma(database, "page_size")


@managed
def _waiting(database: Connections, patience_ms: int) -> Iterator[None]:
    """Wait this long for readers, and no longer."""
    database.is_impatient = True
    try:
        database.main.execute(f"PRAGMA busy_timeout={patience_ms}")
        yield
    finally:
        database.main.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        database.is_impatient = False


def _pragma(database: Connections, name: str) -> int:
    return int(database.main.execute(f"PRAGMA {name}").fetchone()[0])
