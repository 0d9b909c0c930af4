"""Reads the rows of a damaged table around those that cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spector.store.sqlite.damage import SQL_ERRORS
from spector.store.sqlite.fulltext import has_room

__all__ = ["MAX_ROWID", "UNREADABLE", "LostTable", "read_table", "reason_of"]

MAX_ROWID = (1 << 63) - 1

#: errors over damaged bytes; a damaged length may ask for more memory than there is
UNREADABLE = (*SQL_ERRORS, OverflowError, MemoryError)


@dataclass(slots=True)
class LostTable:
    """A range of a table's rows that cannot be read."""

    table: str
    low: int
    high: int
    reason: str


def read_table(
    db: sqlite3.Connection, table: str, lost: list[LostTable], *, key: str | None = "id"
) -> Iterator[dict[str, Any]]:
    """Rows of a table by ascending key, around those that cannot be read.

    A damaged page ends a walk. The walk then starts again behind it: the distance doubles until
    a row can be read, and halves until no row in between is passed over.
    """
    try:
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    except UNREADABLE as error:
        lost.append(LostTable(table, 0, MAX_ROWID, reason_of(error)))
        return
    if not names:
        lost.append(LostTable(table, 0, MAX_ROWID, "the table is gone"))
        return
    if key is None:
        yield from _read_unkeyed(db, table, names, lost)
        return
    low = 0
    while low <= MAX_ROWID:
        reached, reason = low - 1, ""
        try:
            for each in db.execute(
                f"SELECT * FROM {table} NOT INDEXED WHERE {key} >= ? ORDER BY {key}", (low,)
            ):
                found = dict(zip(names, each, strict=True))
                if not isinstance(found[key], int) or found[key] < low:
                    raise sqlite3.DatabaseError("rows are out of order")
                reached = found[key]
                yield found
            return
        except UNREADABLE as error:
            reason = reason_of(error)
        # the step that failed lost the row before it as well
        row = _first(db, table, key, reached + 1)
        behind = reached + 1
        if row is not None:
            behind = reached = row[0]
            yield dict(zip(names, row[1:], strict=True))
        following = _next_readable(db, table, key, behind)
        lost.append(LostTable(table, reached + 1, max(reached + 1, following - 1), reason))
        low = following


def _next_readable(db: sqlite3.Connection, table: str, key: str, behind: int) -> int:
    """The smallest key from ``behind`` + 1 on that a walk can start from; 2**63 when none can."""
    last = _last_key(db, table, key)
    low, step = behind, 1
    while True:
        high = min(behind + step, last)
        if high <= low:
            return MAX_ROWID + 1
        if _readable(db, table, key, high):
            break
        low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if _readable(db, table, key, middle):
            high = middle
        else:
            low = middle
    return high


def reason_of(error: BaseException) -> str:
    """Why something cannot be read.

    A damaged length makes SQLite ask for more memory than there is, without a message. Where the
    process has no memory left that proves nothing, and the error is raised again.
    """
    if isinstance(error, MemoryError):
        if not has_room():
            try:
                raise error
            finally:
                del error  # its traceback has this frame
        return "its stored size asks for more memory than there is"
    return str(error)


def _last_key(db: sqlite3.Connection, table: str, key: str) -> int:
    try:
        found = db.execute(f"SELECT max({key}) FROM {table} NOT INDEXED").fetchone()[0]
    except UNREADABLE as error:
        reason_of(error)
        return MAX_ROWID
    return found if isinstance(found, int) else -1


def _readable(db: sqlite3.Connection, table: str, key: str, low: int) -> bool:
    return _first(db, table, key, low) is not None


def _first(db: sqlite3.Connection, table: str, key: str, low: int) -> tuple[Any, ...] | None:
    """The key and the columns of the first row from ``low`` on; None if it cannot be read.

    A damaged tree may lead to an earlier row from wherever a search begins; that counts as none.
    """
    try:
        found: tuple[Any, ...] | None = db.execute(
            f"SELECT {key}, * FROM {table} NOT INDEXED WHERE {key} >= ? ORDER BY {key} LIMIT 1",
            (low,),
        ).fetchone()
    except UNREADABLE as error:
        reason_of(error)
        return None
    return found if found and isinstance(found[0], int) and found[0] >= low else None


def _read_unkeyed(
    db: sqlite3.Connection, table: str, names: Sequence[str], lost: list[LostTable]
) -> Iterator[dict[str, Any]]:
    try:
        for row in db.execute(f"SELECT * FROM {table}"):
            yield dict(zip(names, row, strict=True))
    except UNREADABLE as error:
        lost.append(LostTable(table, 0, MAX_ROWID, reason_of(error)))
