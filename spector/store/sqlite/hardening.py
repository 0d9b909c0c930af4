"""Refuse code in a catalog that may come from elsewhere.

SQLite's schema is data, and some of it is code: triggers, views, generated columns, virtual tables.
The catalog has one virtual table and none of the others, so any other one is foreign, and the
catalog is refused. Code that is added while a store is open meets limits: no trigger may nest even
once, no file may be attached, no value may exceed the largest one of ours.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from spector.errors import CatalogCorruptError

__all__ = ["allow_attach", "confine", "refuse_foreign_code"]

#: larger than any value of ours; the most that a damaged length can make us read
MOST_BYTES: Final = 256 << 20
_VIRTUAL: Final = "fulltext"
_TABLES: Final = (
    "meta",
    "head",
    "segment",
    "record",
    "content",
    "record_tag",
    "journal",
    "session",
    "erasure",
    "payload",
    "fact",
    "item",
    "name",
    "edge",
    "link",
    "sleep_state",
    "cycle_change",
    "entry",
    "attachment",
    "key_mark",
)
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


def refuse_foreign_code(db: sqlite3.Connection, path: str, fulltext_sql: str) -> None:
    """Raise when the schema holds anything that would run.

    Unknown plain tables and indexes do no harm: a later format may have some.

    Args:
        fulltext_sql: the statement that made the one virtual table.
    """
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind in ("trigger", "view"):
            raise _foreign_code(path, f"a {kind}", name)
        words = _COMMENT.sub(" ", sql or "").split()
        virtual = [word.upper() for word in words[1:2]] == ["VIRTUAL"]
        if virtual and (name != _VIRTUAL or words != fulltext_sql.split()):
            raise _foreign_code(path, "a virtual table", name)
    for table in _TABLES:
        for _, column, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})"):
            if hidden in _HIDDEN_GENERATED:
                raise _foreign_code(path, "a computed column", f"{table}.{column}")


def _foreign_code(path: str, what: str, name: object) -> CatalogCorruptError:
    return CatalogCorruptError(
        f"{path} holds {what} named {str(name)[:60]!r}, which spector did not make",
        hint="do not trust this store; restore a backup, or take over only its memories: spector"
        " check PATH --repair DEST",
    )
