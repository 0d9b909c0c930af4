"""Connections to SQLite that no interrupt leaves open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

from spector.store.resources import completed, held_by_calling, managed

__all__ = ["connected", "connecting"]


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
    finally:
        for each in kept:
            completed(each.close)
