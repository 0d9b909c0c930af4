"""Connections to SQLite that no interrupt leaves open, and that run no code of a file."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from spector.errors import CatalogCorruptError, SpectorError, StoreError
from spector.process import completed, held_by_calling, managed

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
