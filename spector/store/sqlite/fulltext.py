"""Damage of the schema and the full-text index that SQLite takes for a lack of memory.

FTS5 trusts the sizes in its own blocks, and the schema's parser trusts the schema's rows. A damaged
size can ask for more memory than SQLite ever grants, and the error is then the same as when the
process is out of memory. The two are distinguished here: damage is permanent, memory pressure is
not.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final
from urllib.parse import quote

from spector.store.sqlite.connections import open_connection
from spector.store.sqlite.damage import SQL_ERRORS
from spector.store.sqlite.hardening import confine

__all__ = ["has_room", "problem_of_full_text", "problem_of_schema", "what_seems_damaged"]

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
