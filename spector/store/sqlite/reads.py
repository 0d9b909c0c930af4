"""Contexts that lend a connection and turn SQLite's errors into typed ones."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spector.errors import (
    CatalogCorruptError,
    SpectorError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.process import Resource, drop, held_by_calling, managed, take
from spector.store.files import CHECK, is_missing
from spector.store.sqlite.connections import (
    SQL_ERRORS,
    end_statements,
    has_room,
    leaves_statements,
    what_seems_damaged,
)

if TYPE_CHECKING:
    from spector.store.sqlite.database import Database

#: variables per statement; SQLite allows 32,766 since 3.32, older builds 999
_CHUNK: Final = 900
_DAMAGED = (
    "run: spector check PATH; restore a backup, or salvage what there is: "
    "spector check PATH --repair DEST"
)


class typed_sql_errors:  # noqa: N801 - used like a function
    """Turn SQLite's errors into typed ones that name the file and the next step."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if error is None or isinstance(error, SpectorError):
            return
        if isinstance(error, sqlite3.Error):
            raise _typed_sql_error(error, self._path) from error
        if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError)):
            raise CatalogCorruptError(
                f"{self._path}: a damaged row: {error}", hint=_DAMAGED
            ) from error
        if isinstance(error, MemoryError) and (what := what_seems_damaged(self._path)):
            made_anew = "run: spector check PATH --repair DEST, which makes the index anew"
            raise CatalogCorruptError(
                f"{self._path}: the {what} is damaged",
                hint=_DAMAGED if what == "schema" else made_anew,
            ) from error


def _typed_sql_error(error: sqlite3.Error, path: str) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return StoreClosedError(
            f"{path} was closed meanwhile", hint="open the store again with spector.open"
        )
    message = f"{path}: {error}"
    if primary == sqlite3.SQLITE_FULL:
        return StoreFullError(message, hint="free some space, then try again")
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # the -shm file cannot grow
        return StoreFullError(
            f"{message}: no room for {path}-shm",
            hint="free some space, then try again; if there was enough, look at the disk",
        )
    if primary == sqlite3.SQLITE_IOERR:  # SQLite does not pass on the system's error
        return StoreError(
            message,
            hint="look at the disk, its room and the limit of a file's size (ulimit -f), close the"
            " store and open it again, and run: spector check PATH",
        )
    no_text = code is None and "decode to UTF-8" in str(error)  # from Python, not from SQLite
    # a duplicate key can only come from damage: no key is given twice
    broken = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT}
    if no_text or primary in broken:
        return CatalogCorruptError(message, hint=_DAMAGED)
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return StoreReadOnlyError(message, hint='check the permissions, or open with mode="r"')
    if primary == sqlite3.SQLITE_CANTOPEN:  # "not found" would suggest that there is no store
        found = StoreNotFoundError if is_missing(path) else StoreError
        return found(
            message,
            hint="check the path, its permissions, room on the disk and the limit of open files",
        )
    return StoreError(message, hint=CHECK)


class ConnectionLease(Resource):
    """The connection of this thread's snapshot, a pooled one, or the only one in memory."""

    __slots__ = ("_borrowed", "_catalog", "_locked", "_translated")

    def __init__(self, catalog: Database) -> None:
        self._catalog = catalog
        self._translated = typed_sql_errors(catalog.path)
        self._borrowed: sqlite3.Connection | None = None
        #: whether the lock of a catalog in memory was taken
        self._locked: list[bool] = []

    def __enter__(self) -> sqlite3.Connection:
        catalog = self._catalog
        pinned: sqlite3.Connection | None = getattr(catalog.pinned, "connection", None)
        if pinned is not None:
            return pinned
        take(self)
        try:
            if catalog.in_memory:
                held_by_calling(self._locked, catalog.only.acquire, True)
                self._borrowed = catalog.main
            else:
                self._borrowed = catalog.borrow(self)
        except BaseException:
            self.abandon(None)
            drop(self)
            raise
        return self._borrowed

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        borrowed = self._borrowed
        if borrowed is not None:
            if leaves_statements(error):
                self._catalog.cut_off = True
                end_statements(borrowed)
            if self._catalog.in_memory:
                self._unlock()
            else:
                self._catalog.give_back(borrowed)
            self._borrowed = None
            drop(self)
        if error is not None:
            self._translated.__exit__(kind, error, trace)

    def _unlock(self) -> None:
        if self._locked:
            release = self._catalog.only.release
            del self._locked[:]  # no interrupt can come between this line and the next one
            release()

    def abandon(self, error: BaseException | None) -> None:
        if self._catalog.in_memory:
            self._unlock()
        elif self._borrowed is not None:
            self._catalog.discard(self._borrowed, self)
        self._borrowed = None


class MainConnection:
    """The connection that was opened first: it writes, or follows a writer."""

    __slots__ = ("_catalog",)

    def __init__(self, catalog: Database) -> None:
        self._catalog = catalog

    def __enter__(self) -> sqlite3.Connection:
        return self._catalog.main

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if error is not None:
            if leaves_statements(error):
                self._catalog.cut_off = True
                end_statements(self._catalog.main)
            typed_sql_errors(self._catalog.path).__exit__(kind, error, trace)


class TransactionReads:
    """A context, in an open transaction, in which every read by this thread sees its changes."""

    __slots__ = ("_catalog",)

    def __init__(self, catalog: Database) -> None:
        self._catalog = catalog

    def __enter__(self) -> None:
        self._catalog.pinned.connection = self._catalog.main

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._catalog.pinned.connection = None


class SnapshotLease(Resource):
    """A read transaction that every read by this thread joins until it ends."""

    __slots__ = ("_catalog", "_connection", "_reading")

    def __init__(self, catalog: Database) -> None:
        self._catalog = catalog
        self._reading = ConnectionLease(catalog)

    def __enter__(self) -> sqlite3.Connection:
        take(self)
        try:
            self._connection = self._reading.__enter__()
            with typed_sql_errors(self._catalog.path):
                self._connection.execute("BEGIN")
            self._catalog.pinned.connection = self._connection
        except BaseException:
            self.abandon(None)
            drop(self)
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._catalog.pinned.connection = None
        try:
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        except SQL_ERRORS:  # after a statement that met damage even this; nothing was written
            pass
        finally:
            if self._connection.in_transaction:
                roll_back_open(self._connection)
            self._reading.__exit__(kind, error, trace)
            drop(self)

    def abandon(self, error: BaseException | None) -> None:
        self._catalog.pinned.connection = None
        self._reading.abandon(error)  # it may be above this one on the stack, or gone already


def roll_back_open(connection: sqlite3.Connection) -> None:
    """Roll back a transaction that is still open, without hiding the error that came first."""
    if connection.in_transaction:
        with contextlib.suppress(*SQL_ERRORS):
            connection.execute("ROLLBACK")


@managed
def read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A read transaction on a connection that belongs to the caller alone.

    SQLite ends it itself after some errors; that hides no error of the caller.
    """
    try:
        connection.execute("BEGIN")
        yield
        if connection.in_transaction:
            connection.execute("COMMIT")
    finally:
        roll_back_open(connection)


def id_chunks(ids: Sequence[Any], size: int = _CHUNK) -> Iterator[tuple[Any, ...]]:
    """Slices small enough for one statement's variables, see `pad_ids`."""
    for start in range(0, len(ids), size):
        yield pad_ids(ids[start : start + size], size)


def pad_ids(ids: Sequence[int], most: int = _CHUNK) -> tuple[int, ...]:
    """The same set of ids for an ``IN (?, ...)``, padded to a power of two with the last one.

    Each length is a statement of its own. Prepared for 500 ids it takes 100 KB, and a connection
    caches hundreds of them: with sets of every size a process would grow for hours.
    """
    out = tuple(ids)
    length = min(1 << (len(out) - 1).bit_length(), most) if out else 0
    return out + out[-1:] * max(0, length - len(out))


def select_among(
    db: sqlite3.Connection, sql: str, ids: Sequence[Any], params: Sequence[Any] = ()
) -> list[Any]:
    """The rows of a statement that has ``(:ids)`` before its other parameters, in any number."""
    out: list[Any] = []
    for chunk in id_chunks(ids):
        marks = ",".join("?" * len(chunk))
        out += db.execute(sql.replace("(:ids)", f"({marks})"), (*chunk, *params))
    return out


# Reads the rows of a damaged table around those that cannot be read.

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
