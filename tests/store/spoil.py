"""What tests do to the files of a closed store behind its back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["copy_files", "flip", "root_of", "says", "sql"]


def copy_files(source: Path, target: Path, *parts: str) -> None:
    """Copy the files of a store whose names have one of these parts, to where they were."""
    for each in source.rglob("*"):
        if each.is_file() and any(part in each.name for part in parts):
            there = target / each.relative_to(source)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(each, there)


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Flip bits of one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


def sql(store: str | Path, *statements: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Do this in the catalog of a store, as one change; the rows of the last statement.

    ``given``: its parameters.
    """
    *others, last = statements
    with closing(sqlite3.connect(Path(store) / "catalog.db")) as db, db:
        for each in others:
            db.execute(each)
        return db.execute(last, given).fetchall()


def root_of(store: str | Path, name: str) -> tuple[int, int]:
    """Where the first page of a table or an index begins in the catalog, and its size."""
    sql(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    query = "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = ?"
    [(root, size)] = sql(store, query, given=(name,))
    return (root - 1) * size, size


def says(store: Path, version: str) -> None:
    """Let a catalog claim to be of another format."""
    sql(store, "UPDATE meta SET value = ? WHERE key = 'format_version'", given=(version,))
