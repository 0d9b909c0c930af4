"""Connections to SQLite: opened, confined, lent; their errors typed; reads around damage."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
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
from spector.process import Resource, completed, drop, held_by_calling, managed, take
from spector.store.files import CHECK, is_missing

# The errors that SQLite raises over a damaged catalog.

#: a message about damage may quote damaged bytes, which Python's sqlite3 then cannot decode
SQL_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)


# Refuse code in a catalog that may come from elsewhere.
#
# SQLite's schema is data, and some of it is code: triggers, views, generated columns, virtual tables.
# The catalog has one virtual table and none of the others, so any other one is foreign, and the
# catalog is refused. Code that is added while a store is open meets limits: no trigger may nest even
# once, no file may be attached, no value may exceed the largest one of ours.

#: larger than any value of ours; the most that a damaged length can make us read
MOST_BYTES: Final = 256 << 20
_VIRTUAL: Final = "fulltext"
_COMMENT: Final = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_HIDDEN_GENERATED: Final = (2, 3)
#: names of the C interface; Python has them, and ``setconfig``, since 3.12
_ON_OFF: Final = {
    "SQLITE_DBCONFIG_DEFENSIVE": True,
    "SQLITE_DBCONFIG_ENABLE_TRIGGER": False,
    "SQLITE_DBCONFIG_ENABLE_VIEW": False,
    "SQLITE_DBCONFIG_TRUSTED_SCHEMA": False,
}


def confine(connection: sqlite3.Connection) -> None:
    """Limit what a connection to a foreign catalog can run, attach and read."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    configure = getattr(connection, "setconfig", None)
    for name, value in _ON_OFF.items():
        number = getattr(sqlite3, name, None)
        if configure is not None and number is not None:
            configure(number, value)


class allow_attach:  # noqa: N801 - used like a function
    """Let SQLite attach one file, as a VACUUM does internally."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)

    def __exit__(self, *_: object) -> None:
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


def refuse_foreign_code(
    db: sqlite3.Connection, path: str, fulltext_sql: str, tables: Iterable[str]
) -> None:
    """Raise when the schema holds anything that would run.

    Unknown plain tables and indexes do no harm: a later format may have some.

    Args:
        fulltext_sql: the statement that made the one virtual table.
        tables: names of the others.
    """
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind in ("trigger", "view"):
            raise _foreign_code(path, f"a {kind}", name)
        words = _COMMENT.sub(" ", sql or "").split()
        virtual = [word.upper() for word in words[1:2]] == ["VIRTUAL"]
        if virtual and (name != _VIRTUAL or words != fulltext_sql.split()):
            raise _foreign_code(path, "a virtual table", name)
    for table in tables:
        for _, column, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})"):
            if hidden in _HIDDEN_GENERATED:
                raise _foreign_code(path, "a computed column", f"{table}.{column}")


def _foreign_code(path: str, what: str, name: object) -> CatalogCorruptError:
    return CatalogCorruptError(
        f"{path} holds {what} named {str(name)[:60]!r}, which spector did not make",
        hint="do not trust this store; restore a backup, or take over only its memories: spector"
        " check PATH --repair DEST",
    )


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
        try:
            answer = connection.execute(f"PRAGMA {pragma}").fetchone()
        except MemoryError as error:  # no other statement would run, either
            raise CatalogCorruptError(
                f"{path}: the schema is damaged: {reason_of(error)}", hint=_DAMAGED
            ) from error
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


def id_chunks(ids: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Slices small enough for one statement's variables, see `pad_ids`."""
    for start in range(0, len(ids), _CHUNK):
        yield pad_ids(ids[start : start + _CHUNK])


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


# Why something cannot be read.


#: more than a query of a sound catalog asks for
_ROOM_BYTES: Final = 64 << 20
#: a larger catalog is copied into an (unlinked) temporary file instead of memory
_PAGES_IN_MEMORY: Final = 65_536
#: errors over damaged bytes; a damaged length may ask for more memory than there is
UNREADABLE = (*SQL_ERRORS, OverflowError, MemoryError)


def reason_of(error: BaseException) -> str:
    """Why something cannot be read.

    A damaged size makes SQLite ask for more memory than there is, without a message. Where the
    process has no memory left that proves nothing, and the error is raised again.
    """
    if isinstance(error, MemoryError):
        if not has_room():
            try:
                raise error
            finally:
                del error  # its traceback has this frame
        return "a size in it asks for more memory than there is"
    return str(error)


def has_room() -> bool:
    """Whether both the process and SQLite, which has a limit of its own, can get some memory."""
    try:
        with open_connection(":memory:") as db:
            half = (_ROOM_BYTES // 2,)
            (length,) = db.execute("SELECT length(hex(zeroblob(?)))", half).fetchone()
        return bool(len(bytearray(_ROOM_BYTES)) == length)
    except (*SQL_ERRORS, MemoryError):
        return False


def problem_of_full_text(db: sqlite3.Connection) -> str | None:
    """Why the index is not exactly the words of all texts; None when it is.

    The command that proves it counts as a write, so it runs on a copy.
    """
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    try:
        with open_connection(":memory:" if pages <= _PAGES_IN_MEMORY else "") as copy:
            db.backup(copy)
            copy.execute("INSERT INTO fulltext(fulltext, rank) VALUES ('integrity-check', 1)")
    except UNREADABLE as error:
        return reason_of(error)
    return None
