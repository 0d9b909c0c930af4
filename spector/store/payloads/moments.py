"""Reads that see one moment of a catalog, whatever a writer does meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from spector.process import managed
from spector.store.sqlite import read_transaction

__all__ = ["moment_of", "one_moment"]


class _Catalog(Protocol):
    @property
    def in_memory(self) -> bool: ...

    def reading(self) -> AbstractContextManager[sqlite3.Connection]: ...


@managed
def one_moment(db: sqlite3.Connection) -> Iterator[None]:
    """A context in which all reads of a connection see one moment.

    A connection that is in a transaction sees one already.
    """
    if db.in_transaction:
        yield
    else:
        with read_transaction(db):
            yield


@managed
def moment_of(catalog: _Catalog) -> Iterator[sqlite3.Connection]:
    """A reading connection of a catalog that sees one moment of it.

    One in memory is the caller's alone while it reads, so it needs no transaction.
    """
    with catalog.reading() as db:
        if catalog.in_memory:
            yield db
            return
        with one_moment(db):
            yield db
