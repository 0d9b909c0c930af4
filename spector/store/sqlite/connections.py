"""Connections to SQLite: opened, confined, lent; their errors typed; reads around damage."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

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


@managed
def attaching(connection: sqlite3.Connection) -> Iterator[None]:
    """Let SQLite attach one file, as a VACUUM does internally."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


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


# Damage of the schema and the full-text index that SQLite takes for a lack of memory.
#
# FTS5 trusts the sizes in its own blocks, and the schema's parser trusts the schema's rows. A damaged
# size can ask for more memory than SQLite ever grants, and the error is then the same as when the
# process is out of memory. The two are distinguished here: damage is permanent, memory pressure is
# not.

#: far more than a sound index needs for the queries here
_ROOM_BYTES: Final = 64 << 20
#: a larger catalog is copied into an (unlinked) temporary file instead of memory
_PAGES_IN_MEMORY: Final = 65_536
_ANY_WORD: Final = "SELECT rowid FROM fulltext WHERE fulltext MATCH '\"spector\"' LIMIT 1"
_ENDLESS: Final = "it asks for more memory than an intact one needs"


def what_seems_damaged(path: str) -> str | None:
    """After a MemoryError of SQLite: which part of the catalog asks for too much, or None.

    The request proves damage only if the process has memory left.
    """
    if path == ":memory:" or not has_room():
        return None
    try:
        with open_connection(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True) as db:
            confine(db)
            if problem_of_schema(db) is not None:
                return "schema"
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            found = _asks_too_much(db) or (
                pages <= _PAGES_IN_MEMORY and problem_of_full_text(db) is not None
            )
    except (*SQL_ERRORS, MemoryError):
        return None
    return "full-text index" if found else None


def problem_of_schema(db: sqlite3.Connection) -> str | None:
    """Why no statement can run, if the schema asks for too much memory; None otherwise."""
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except MemoryError:
        return _ENDLESS if has_room() else None
    except SQL_ERRORS:  # the statement that matters raises it again
        pass
    return None


def _asks_too_much(db: sqlite3.Connection) -> bool:
    try:
        db.execute(_ANY_WORD).fetchone()
    except MemoryError:
        return has_room()
    return False


def problem_of_full_text(db: sqlite3.Connection) -> str | None:
    """Why the index is not exactly the words of all texts; None when it is.

    The command that proves it counts as a write, so it runs on a copy.

    Raises:
        MemoryError: the process has too little memory for the copy.
    """
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    try:
        with open_connection(":memory:" if pages <= _PAGES_IN_MEMORY else "") as copy:
            db.backup(copy)
            try:
                copy.execute("INSERT INTO fulltext(fulltext, rank) VALUES ('integrity-check', 1)")
            except MemoryError:
                if not has_room():
                    raise
                return _ENDLESS
    except SQL_ERRORS as error:
        return str(error)
    return None


def has_room() -> bool:
    """Whether both the process and SQLite, which has a limit of its own, can get some memory."""
    try:
        with open_connection(":memory:") as db:
            half = (_ROOM_BYTES // 2,)
            (length,) = db.execute("SELECT length(hex(zeroblob(?)))", half).fetchone()
        return bool(len(bytearray(_ROOM_BYTES)) == length)
    except (*SQL_ERRORS, MemoryError):
        return False


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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
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
        try:
            for row in db.execute(f"SELECT * FROM {table}"):
                yield dict(zip(names, row, strict=True))
        except UNREADABLE as error:
            lost.append(LostTable(table, 0, MAX_ROWID, reason_of(error)))
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
        if _first(db, table, key, high) is not None:
            break
        low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if _first(db, table, key, middle) is not None:
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
