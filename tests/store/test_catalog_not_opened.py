"""A catalog that is there and cannot be opened is not a store that is missing.

Mechanism: SQLite has one error for both, SQLITE_CANTOPEN. Damage: a caller who takes a missing
store for an empty one, and makes a new one elsewhere or answers from nothing, when it was out of
descriptors for a moment. Guard: "not found" is said only where there is no such file.
"""

from __future__ import annotations

import os
import resource
import sqlite3
from pathlib import Path

import pytest

from spector.errors import StoreError, StoreNotFoundError
from spector.store.sqlite.reads import typed_sql_errors
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, vector_of


def _refused(path: Path) -> StoreError:
    with pytest.raises(StoreError) as caught, typed_sql_errors(str(path)):
        sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("SELECT 1 FROM sqlite_master")
    assert "unable to open" in caught.value.message
    assert "open files" in caught.value.hint
    return caught.value


def test_missing_only_where_no_such_file_is(tmp_path: Path) -> None:
    assert isinstance(_refused(tmp_path / "none"), StoreNotFoundError)
    assert isinstance(_refused(tmp_path / "none" / "deeper"), StoreNotFoundError)
    (tmp_path / "loop").symlink_to("loop")  # is there, and opens for nobody
    assert not isinstance(_refused(tmp_path / "loop"), StoreNotFoundError)


def test_reader_without_a_descriptor_left_is_not_told_that_there_is_no_store(
    store_path: Path,
) -> None:
    with open_tiny(str(store_path)) as memory:
        memory.remember("kept", vector=vector_of("kept"))

    def work() -> None:
        refusals, last = list[StoreError](), 0
        while last < 63:  # all below are taken
            last = os.open(os.devnull, os.O_RDONLY)
        for room in range(24):
            resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1 + room, 4096))
            try:
                with open_tiny(str(store_path), mode="r") as reader:
                    assert len(reader) == 1
                    assert [hit.text for hit in reader.recall(vector=vector_of("kept"))] == ["kept"]
            except StoreError as error:
                refusals.append(error)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        assert 0 < len(refusals) < 24, refusals
        assert all(error.hint for error in refusals)
        assert not [error for error in refusals if isinstance(error, StoreNotFoundError)]

    assert in_fork(work) == 0
