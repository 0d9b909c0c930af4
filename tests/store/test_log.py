"""The catalog's log: when it is copied, and that it is left alone after a failure.

Mechanism: SQLite copies a long log after a commit, and any log when the last writing connection
closes, and tells nobody when a sync fails in doing so. Damage without the guard: the next sync
succeeds although the disk has lost the bytes, and a commit is gone. Guard: the store asks for the
copy itself, and after a failure makes sure that no connection closes last that could do it.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import CatalogCorruptError, StoreError, StoreFailedError
from spector.store.catalog import journal as log
from spector.store.catalog.catalog import Catalog
from spector.store.core.records import verify_strength
from spector.store.core.store import Store
from tests.crash.workload import open_tiny, put, texts_of


def _store(memory: spector.Memory) -> Store:
    return memory._parts.store


def _in_catalog(memory: spector.Memory, word: bytes) -> bool:
    """Whether a word is in the catalog's own file, not only in its log."""
    store = _store(memory)
    file = store.catalog.raw_file(store.files)
    return word in file.read_at(0, file.size())


class Failing:
    """A connection on which statements that hold ``part`` fail."""

    def __init__(self, connection: sqlite3.Connection, part: str, code: int) -> None:
        self._connection, self._part, self._code = connection, part, code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *more: Any) -> Any:
        if self._part in sql:
            error = sqlite3.DatabaseError("as a damaged disk has it")
            error.sqlite_errorcode = self._code
            raise error
        return self._connection.execute(sql, *more)


def test_long_log_is_copied_into_the_catalog_after_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(tmp_path / "short")) as memory:
        put(memory, "platypus")
        assert not _in_catalog(memory, b"platypus")
    monkeypatch.setattr(log, "LONG_BYTES", 0)
    with open_tiny(str(tmp_path / "long")) as memory:
        put(memory, "platypus")
        assert _in_catalog(memory, b"platypus")


def test_log_beside_readers_who_never_pause_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: SQLite begins a log anew only when no reader looks at an older moment.

    Damage without the guard: among readers who overlap there always is one, and the log grows for
    as long as they read. Guard: a commit waits a little for those who read now.
    """
    monkeypatch.setattr(log, "LONG_BYTES", 100_000)
    monkeypatch.setattr(log, "_STEP_BYTES", 100_000)
    monkeypatch.setattr(log, "_PATIENCE_MS", 30_000)  # a machine may be slow; readers are not
    path = tmp_path / "mind" / "catalog.db"
    stop = threading.Event()

    def read_for_ever() -> None:
        """Two connections, one of which always is in a transaction."""
        each = [sqlite3.connect(path, isolation_level=None) for _ in range(2)]
        each[1].execute("BEGIN")
        each[1].execute("SELECT count(*) FROM record").fetchone()
        for now, other in itertools.cycle([each, each[::-1]]):
            if stop.is_set():
                break
            now.execute("BEGIN")
            now.execute("SELECT count(*) FROM record").fetchone()
            other.execute("COMMIT")
        for connection in each:
            connection.close()

    with open_tiny(str(tmp_path / "mind")) as memory:
        reader = threading.Thread(target=read_for_ever)
        reader.start()
        try:
            sizes = []
            for n in range(80):
                put(memory, f"platypus{n}", tier="procedural")
                sizes.append(path.with_name("catalog.db-wal").stat().st_size)
        finally:
            stop.set()
            reader.join()
        assert memory.check().ok
    assert max(sizes) < 1_000_000  # some 3,500,000 without


def test_recall_that_sees_a_newer_strength_waits_for_no_commit(tmp_path: Path) -> None:
    """The commit may wait for the recall, so that the log begins anew: one for the other."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        kept, store = put(memory, "platypus"), _store(memory)
        row = store.catalog.fetch_stored([kept])[kept]
        memory.reinforce(kept)
        reader = threading.Thread(target=verify_strength, args=(store, row), daemon=True)
        with store.lock:
            reader.start()
            reader.join(60)
            assert not reader.is_alive()


def test_failure_to_copy_the_log_spares_the_write_and_fails_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "LONG_BYTES", 0)
    memory = open_tiny(str(tmp_path / "mind"))
    catalog = _store(memory).catalog
    main = catalog.main
    catalog.main = Failing(main, "wal_checkpoint", sqlite3.SQLITE_IOERR)  # type: ignore[assignment]
    kept = put(memory, "platypus")
    catalog.main = main
    with pytest.raises(StoreFailedError, match="open it again"):
        put(memory, "another")
    memory.close()
    with open_tiny(str(tmp_path / "mind")) as memory:
        assert texts_of(memory) == {kept: "platypus"}


def test_full_disk_at_the_copy_of_the_log_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "LONG_BYTES", 0)
    with open_tiny(str(tmp_path / "mind")) as memory:
        catalog = _store(memory).catalog
        main = catalog.main
        catalog.main = Failing(main, "wal_checkpoint", sqlite3.SQLITE_FULL)  # type: ignore[assignment]
        put(memory, "platypus")
        catalog.main = main
        put(memory, "another")
        assert len(memory) == 2


def test_closing_a_failed_store_leaves_its_log_even_when_nothing_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reading connection can be made to close last: then the writing one stays open."""
    memory = open_tiny(str(tmp_path / "mind"))
    kept = put(memory, "platypus")

    def refuse(self: Catalog, *, readonly: bool) -> sqlite3.Connection:
        raise StoreError("cannot open: Input/output error")

    _store(memory).fail(StoreError("as if a sync had failed"))
    before = (tmp_path / "mind" / "catalog.db-wal").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "_connect", refuse)
        memory.close()
    assert (tmp_path / "mind" / "catalog.db-wal").read_bytes() == before
    with open_tiny(str(tmp_path / "mind")) as memory:  # in the process that has it open for ever
        assert texts_of(memory) == {kept: "platypus"}
        put(memory, "another")
        memory.compact()
    assert spector.check(tmp_path / "mind").ok
    with open_tiny(str(tmp_path / "mind"), mode="r") as memory:
        assert len(memory) == 2


def test_damaged_page_met_by_a_compaction_is_a_typed_error(tmp_path: Path) -> None:
    """The rows of the partition were asked for outside of what translates SQLite's errors."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        ids = [put(memory, f"m{n}", tier="semantic") for n in range(3)]
        memory.forget(ids[0])
        catalog = _store(memory).catalog
        main = catalog.main
        catalog.main = Failing(  # type: ignore[assignment]
            main, "SELECT slot, id FROM record", sqlite3.SQLITE_CORRUPT
        )
        with pytest.raises(CatalogCorruptError, match=r"catalog\.db"):
            memory.compact()
        catalog.main = main
        assert len(memory) == 2
