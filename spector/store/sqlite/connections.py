"""Connections to SQLite that no interrupt leaves open, and their settings."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from spector.errors import SpectorError, StoreError
from spector.process import completed, held_by_calling, managed
from spector.store.sqlite.damage import SQL_ERRORS
from spector.store.sqlite.hardening import confine

__all__ = [
    "LEAST_LOG_BYTES",
    "configure",
    "connect_into",
    "end_statements",
    "has_opened",
    "leaves_statements",
    "open_connection",
]

#: a longer log is cut to this much when it starts over, unless ``limit_log`` says otherwise
LEAST_LOG_BYTES: Final = 4 << 20
_PRAGMAS: Final = (
    "trusted_schema=OFF",
    "cell_size_check=ON",
    "mmap_size=0",
    "temp_store=MEMORY",
    "cache_size=-16000",
)
_WRITE_AHEAD: Final = "journal_mode=WAL"
_WRITING_PRAGMAS: Final = (
    _WRITE_AHEAD,
    "secure_delete=ON",
    f"journal_size_limit={LEAST_LOG_BYTES}",
    "wal_autocheckpoint=0",  # it hides a failed sync; see ``checkpoints``
    "fullfsync=ON",
    "checkpoint_fullfsync=ON",  # these matter on macOS only; see ``syncing``
)


def configure(connection: sqlite3.Connection, path: str, *, writes: bool, syncs: bool) -> None:
    """Apply the limits and settings of every connection to a catalog."""
    confine(connection)
    if not syncs:
        connection.execute("PRAGMA synchronous=OFF")
    for pragma in (*_PRAGMAS, *(_WRITING_PRAGMAS if writes else ())):
        answer = connection.execute(f"PRAGMA {pragma}").fetchone()
        if pragma == _WRITE_AHEAD and answer[0] not in ("wal", "memory"):
            # SQLite reports this failure, even one of the disk, in no other way
            raise StoreError(
                f"{path} cannot be given a write-ahead log",
                hint="try again; if that fails too, look at the disk, or move the store",
            )


def connect_into(
    kept: list[sqlite3.Connection], database: str, **options: Any
) -> sqlite3.Connection:
    """Open a connection and put it into ``kept`` before an interrupt can lose it.

    A lost connection is in a reference cycle of its own, so it closes only when cycles are
    collected.
    """
    connect = partial(sqlite3.connect, isolation_level=None, **options)
    return held_by_calling(kept, connect, database)


@managed
def open_connection(database: str, **options: Any) -> Iterator[sqlite3.Connection]:
    """A connection that is closed at the end."""
    kept: list[sqlite3.Connection] = []
    try:
        yield connect_into(kept, database, **options)
    except BaseException as error:
        if leaves_statements(error):
            end_statements(*kept)
        raise
    finally:
        for each in kept:
            completed(each.close)


def has_opened(connection: sqlite3.Connection) -> bool:
    """Whether a connection has the file open now, so that no other one closes last."""
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except SQL_ERRORS:
        return False
    return True


def end_statements(*connections: sqlite3.Connection) -> None:
    """End every statement that still runs on connections that this thread uses.

    An error's traceback has the frames it came through, and these have their cursors. While the
    traceback lives, as in a notebook, a statement that was not read to its end holds its moment:
    later reads on the connection see no later commit, and closing it leaves its files open.
    """
    if not connections:  # the search would visit every object
        return
    for each in gc.get_referrers(*connections):
        if isinstance(each, sqlite3.Cursor):
            with contextlib.suppress(*SQL_ERRORS):
                each.close()


def leaves_statements(error: BaseException | None) -> bool:
    """Whether an error may keep statements running: it came from outside, between two rows.

    Our own errors are raised at the end of a statement, or over damage.
    """
    ended = (SpectorError, sqlite3.Error, GeneratorExit, StopIteration)
    return not (
        error is None or isinstance(error, ended) or getattr(error, "is_between_statements", False)
    )
