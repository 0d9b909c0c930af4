"""What SQLite says of a failure becomes the error that names the next step.

Mechanism: SQLite has some thirty codes and a text for each, Python adds errors that have none.
Damage: who is told of a damaged catalog restores a backup, who is told of a full disk frees some
room; after the wrong one a user does the wrong thing. Guard: a connection that another thread has
closed, and every code that is told apart, with the one beside it that is not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from spector.errors import (
    CatalogCorruptError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.store.sqlite.reads import typed_sql_errors


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
    assert type(_translated(error, str(tmp_path / "none.db"))) is StoreNotFoundError


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
