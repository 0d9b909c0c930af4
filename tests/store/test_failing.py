"""After which errors a store takes no more writes until it is opened again.

Mechanism: a sync that failed once may succeed the next time although the bytes are lost, so what
the disk has is not known any more; whereas too many open files, or a full disk, leave nothing in
doubt. Damage: writes go on beside a partition that never got its bytes; or a host that was short of
descriptors for a moment must be started again.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from spector.errors import (
    CatalogCorruptError,
    StoreClosedError,
    StoreError,
    StoreFailedError,
    StoreFullError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.store.catalog.schema import UNSYNCED
from spector.store.core.store import Store
from spector.store.files.disk import DiskFile
from spector.store.files.protocol import translate_os_errors
from spector.store.sqlite.connections import typed_sql_errors
from tests.crash.workload import open_tiny, texts_of, vector_of
from tests.store.spoil import sql


@pytest.mark.parametrize(
    ("code", "fails"),
    [
        (errno.EIO, True),
        (errno.EBADF, True),
        (errno.EMFILE, False),
        (errno.ENFILE, False),
        (errno.ENOSPC, False),
    ],
    ids=["EIO", "EBADF", "EMFILE", "ENFILE", "ENOSPC"],
)
def test_an_error_of_a_new_partitions_sync_fails_the_store_or_does_not(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    def failing(file: DiskFile) -> None:
        with translate_os_errors("sync", "a partition"):
            raise OSError(code, os.strerror(code))

    def put(text: str, tier: str) -> None:
        memory.remember(text, vector=vector_of(text), tier=tier)

    memory = open_tiny(str(store_path))
    put("before", "semantic")
    with monkeypatch.context() as patch:
        patch.setattr(DiskFile, "sync", failing)
        with pytest.raises(StoreError, match="cannot sync"):
            put("beside", "episodic")
    if fails:
        with pytest.raises(StoreFailedError, match="open it again"):
            put("after", "episodic")
    else:
        put("after", "episodic")
    memory.close()
    with open_tiny(str(store_path)) as memory:
        assert sorted(texts_of(memory).values()) == ["after", "before"][fails:]
        assert memory.check().ok


def test_a_store_that_an_interrupt_has_failed_says_so(store_path: Path) -> None:
    memory = open_tiny(str(store_path))
    memory._parts.store._failed = KeyboardInterrupt()
    with pytest.raises(StoreFailedError, match="failed: KeyboardInterrupt"):
        memory.remember("after", vector=vector_of("after"))
    memory.close()


# -- Mechanism: a relaxed writer closes, and its last checkpoint has no room -----------------------
#
# Damage: a note that all commits are durable, although partitions may not have been synced. Guard:
# the note is written after a checkpoint that came to its end, or not at all.


@pytest.mark.parametrize("room", [True, False])
def test_durability_is_vouched_for_after_a_whole_checkpoint_only(
    room: bool, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store) -> None:
        raise StoreFullError("the disk is full", hint="free some space")

    memory = open_tiny(str(store_path), durability="relaxed")
    memory.remember("a note", vector=vector_of("a note"))
    if not room:
        monkeypatch.setattr(Store, "checkpoint", full)
    memory.close()
    assert ((UNSYNCED,) in sql(store_path, "SELECT key FROM meta")) is not room
    monkeypatch.undo()
    with open_tiny(str(store_path)) as again:
        assert [record.text for record in again] == ["a note"]


# -- What SQLite says of a failure becomes the error that names the next step ----------------------
#
# Mechanism: SQLite has some thirty codes and a text for each, Python adds errors that have none.
# Damage: who is told of a damaged catalog restores a backup, who is told of a full disk frees some
# room; after the wrong one a user does the wrong thing. Guard: a connection that another thread
# has closed, and every code that is told apart, with the one beside it that is not.


def _translated(error: Exception, path: str = "catalog.db") -> StoreError:
    with pytest.raises(StoreError) as caught, typed_sql_errors(path):
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.hint
    return caught.value


def _of(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError(f"code {code}")
    error.sqlite_errorcode = code
    return error


def _raised(job: Callable[[sqlite3.Connection], object]) -> sqlite3.Error:
    """What SQLite's module itself raises when a job is done on a new connection."""
    connection = sqlite3.connect(":memory:")
    try:
        job(connection)
    except sqlite3.Error as error:
        return error
    finally:
        connection.close()
    raise AssertionError("the job raised nothing")


def test_a_connection_that_was_closed_meanwhile_is_a_closed_store() -> None:
    def use_closed(connection: sqlite3.Connection) -> None:
        connection.close()
        connection.execute("SELECT 1")

    found = _translated(_raised(use_closed))
    assert type(found) is StoreClosedError
    assert "catalog.db was closed meanwhile" in found.message


@pytest.mark.parametrize(
    "sql",
    ["SELECT ?", "SELECT 1; SELECT 2", "SELECT * FROM closed"],
    ids=["without its parameter", "two at once", "closed is only the name of a table"],
)
def test_a_statement_that_is_wrong_closes_no_store(sql: str) -> None:
    found = _translated(_raised(lambda connection: connection.execute(sql)))
    assert type(found) is StoreError
    assert "spector check" in found.hint


CODES = {
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFullError,
    sqlite3.SQLITE_IOERR: StoreError,
    sqlite3.SQLITE_IOERR_FSYNC: StoreError,
    sqlite3.SQLITE_IOERR_SHMMAP: StoreError,
    sqlite3.SQLITE_CORRUPT: CatalogCorruptError,
    sqlite3.SQLITE_CORRUPT_VTAB: CatalogCorruptError,
    sqlite3.SQLITE_NOTADB: CatalogCorruptError,
    sqlite3.SQLITE_CONSTRAINT: CatalogCorruptError,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: CatalogCorruptError,
    sqlite3.SQLITE_READONLY: StoreReadOnlyError,
    sqlite3.SQLITE_READONLY_DBMOVED: StoreReadOnlyError,
    sqlite3.SQLITE_PERM: StoreReadOnlyError,
    sqlite3.SQLITE_BUSY: StoreError,
    sqlite3.SQLITE_ERROR: StoreError,
}


@pytest.mark.parametrize("code", CODES)
def test_a_code_becomes_the_error_that_a_user_can_act_on(code: int) -> None:
    found = _translated(_of(code))
    assert type(found) is CODES[code]
    assert f"code {code}" in found.message


def test_no_room_for_the_shared_memory_is_told_from_a_disk_that_fails() -> None:
    assert "catalog.db-shm" in _translated(_of(sqlite3.SQLITE_IOERR_SHMSIZE)).message
    assert "ulimit -f" in _translated(_of(sqlite3.SQLITE_IOERR_SHMMAP)).hint
    assert "ulimit -f" not in _translated(_of(sqlite3.SQLITE_ERROR)).hint


def test_a_catalog_that_cannot_be_opened_is_missing_only_where_it_is_not(tmp_path: Path) -> None:
    there = tmp_path / "catalog.db"
    there.touch()
    error = _of(sqlite3.SQLITE_CANTOPEN)
    assert type(_translated(error, str(there))) is StoreError
    (tmp_path / "loop").symlink_to("loop")  # is there, and opens for nobody
    assert type(_translated(error, str(tmp_path / "loop"))) is StoreError
    assert "open files" in _translated(error, str(tmp_path / "loop")).hint
    for absent in ("none.db", "none/deeper"):
        assert type(_translated(error, str(tmp_path / absent))) is StoreNotFoundError


def test_text_that_is_no_utf_8_is_damage() -> None:
    """Python's own error, which has no code; the words alone are no sign when there is one."""
    error = _raised(lambda connection: connection.execute("SELECT CAST(x'ff' AS TEXT)").fetchone())
    assert type(_translated(error)) is CatalogCorruptError
    coded = sqlite3.OperationalError(str(error))
    coded.sqlite_errorcode = sqlite3.SQLITE_ERROR
    assert type(_translated(coded)) is StoreError


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no byte to begin with"),
        StoreClosedError("closed by us", hint="open it"),
        ValueError("of a caller's function"),
    ],
    ids=["no text", "one of ours", "somebody else's"],
)
def test_only_errors_of_the_catalog_are_translated(error: Exception) -> None:
    expected = CatalogCorruptError if isinstance(error, UnicodeDecodeError) else type(error)
    with pytest.raises(Exception, match=r".") as caught, typed_sql_errors("catalog.db"):
        raise error
    assert type(caught.value) is expected
    assert (caught.value is error) == (expected is type(error))
