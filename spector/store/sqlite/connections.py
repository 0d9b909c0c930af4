"""Connections to SQLite that no interrupt leaves open."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

from spector.errors import SpectorError
from spector.process import completed, held_by_calling, managed
from spector.store.sqlite.damage import SQL_ERRORS

__all__ = ["connected", "connecting", "end_statements", "leaves_statements"]


def connecting(kept: list[sqlite3.Connection], database: str, **options: Any) -> sqlite3.Connection:
    """A connection that is in ``kept`` as soon as it is there.

    One that is lost closes itself only when cycles are collected, because it is in one of its own.
    """
    connect = partial(sqlite3.connect, isolation_level=None, **options)
    return held_by_calling(kept, connect, database)


@managed
def connected(database: str, **options: Any) -> Iterator[sqlite3.Connection]:
    """A connection that is closed at the end."""
    kept: list[sqlite3.Connection] = []
    try:
        yield connecting(kept, database, **options)
    except BaseException as error:
        if leaves_statements(error):
            end_statements(*kept)
        raise
    finally:
        for each in kept:
            completed(each.close)


def end_statements(*connections: sqlite3.Connection) -> None:
    """End every statement that still runs on connections, of which this thread has the use.

    The traceback of an error has the frames that it came through, and they have their cursors. As
    long as somebody keeps it, as a notebook does, a statement that was not read to its end holds on
    to its moment: what reads from the connection next sees no later one, whatever is committed, and
    closing the connection leaves its files open.
    """
    if not connections:  # what refers to nothing in particular would be looked for
        return
    for each in gc.get_referrers(*connections):
        if isinstance(each, sqlite3.Cursor):
            with contextlib.suppress(*SQL_ERRORS):
                each.close()


def leaves_statements(error: BaseException | None) -> bool:
    """Whether an error may keep statements running: it came from outside, between two rows.

    Our own are raised where a statement is at its end, or over damage.
    """
    ended = (SpectorError, sqlite3.Error, GeneratorExit, StopIteration)
    return not (
        error is None or isinstance(error, ended) or getattr(error, "is_between_statements", False)
    )
