"""Read transactions end, whatever goes wrong in them.

Mechanism: a connection with an open transaction holds a mark in SQLite's log, which cannot be cut
then, and what changes left cannot go; and SQLite ends a transaction by itself after some errors.
Damage without it: the log grows until the store is closed; a check tells of a transaction that is
not active instead of the disk that cannot be read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.store.core.store import Store
from spector.store.integrity import check
from spector.store.sqlite.checkpoints import truncate_log
from tests.crash.workload import open_tiny, vector_of


def _store(memory: spector.Memory) -> Store:
    return memory._parts.store


def _refuse(connection: sqlite3.Connection, *ends: str) -> None:
    """These ends of transactions fail from now on."""

    def authorize(action: int, what: str | None, *_: str | None) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and what in ends
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)


@pytest.mark.parametrize("ends", [("COMMIT",), ("COMMIT", "ROLLBACK")])
def test_a_snapshot_whose_commit_fails_holds_no_mark(store_path: Path, ends: Any) -> None:
    with open_tiny(str(store_path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        store = _store(memory)
        snapshot = store.catalog.snapshot()
        db = snapshot.__enter__()
        assert store.catalog.head(db).last_id
        _refuse(db, *ends)
        # nothing was written: its end has nothing to say, as long as nobody is left reading
        snapshot.__exit__(None, None, None)
        with contextlib.suppress(sqlite3.ProgrammingError):  # it was closed
            db.set_authorizer(None)
        memory.remember("n", vector=vector_of("n"))
        assert truncate_log(store.catalog) is not None, "a reader holds on to the log"
        assert len(memory.recall(vector=vector_of("m"), k=5)) == 2


def test_a_check_names_the_error_that_ended_its_transaction(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(db: sqlite3.Connection, *_: Any) -> Any:
        db.execute("ROLLBACK")  # as SQLite does by itself after some errors
        raise sqlite3.OperationalError("disk I/O error")

    with open_tiny(str(store_path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        monkeypatch.setattr(check, "check_catalog", fail)
        for problem in memory.check().problems:
            assert "disk I/O error" in problem.message
