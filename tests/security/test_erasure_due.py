"""When an erasure is due, what stands in its way, and that neither makes the next repeat it all.

Mechanism: the catalog says what is due and how far an erasure is; a damaged partition keeps its
dead records, a reader the log. Damage without it: nothing is erased until the next opening, or each
sleep rewrites every partition and the catalog, or writers wait for a reader. Guard: faults at each.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spector import ManualClock, Memory, StoreFullError
from spector.store.catalog.catalog import Catalog
from spector.store.core.store import Store
from spector.store.erasure import catalog as erase
from spector.store.sqlite.database import Database
from tests.api.helpers import files_with, ids
from tests.sleep.test_damaged import damage


def store_of(memory: Memory) -> Store:
    return memory._parts.store


@contextlib.contextmanager
def no_room_for_commits() -> Iterator[None]:
    """Each transaction finds the disk full at its COMMIT, and rolls back."""
    once: Any = Catalog.writing

    @contextlib.contextmanager
    def writing(self: Catalog) -> Iterator[Any]:
        with once(self) as connection:
            yield connection
            raise StoreFullError("database or disk is full", hint="free some space")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalog, "writing", writing)
        yield


def test_an_erasure_that_could_not_be_settled_on_a_full_disk_is_still_due(memory: Memory) -> None:
    """Mechanism: memory noted the end before the COMMIT, which failed."""
    made = memory.remember_many(["a", "b"])
    memory.forget(made[0].id)
    store = store_of(memory)
    assert erase.purge(store)[1] == ""
    with no_room_for_commits(), pytest.raises(StoreFullError):
        erase.mark_erased(store, [made[0].id])
    assert erase.needs_purge(store)
    receipt = memory.compact().receipt
    assert receipt.ids == (made[0].id,)
    assert not erase.needs_purge(store)


def test_a_forget_that_found_the_disk_full_makes_nothing_due(memory: Memory) -> None:
    made = memory.remember_many(["a", "b"])
    with no_room_for_commits(), pytest.raises(StoreFullError):
        memory.forget(made[0].id)
    assert not erase.needs_purge(store_of(memory))
    assert memory.compact().receipt is None


def test_writers_do_not_wait_while_an_erasure_waits_for_the_log(
    memory: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: SQLite waited ten seconds for a foreign snapshot, under the store's lock. A recall
    of this process that asked for the lock meanwhile was waited for in turn."""
    made = memory.remember_many(["a", "b"])
    catalog = store_of(memory).catalog
    asked: list[str] = []
    kept: list[int] = []

    def pause() -> None:
        writer = threading.Thread(target=lambda: kept.append(memory.remember("meanwhile").id))
        writer.start()
        writer.join(60)

    monkeypatch.setattr(erase, "_pause", pause)
    with contextlib.closing(
        sqlite3.connect(store_path / "catalog.db", isolation_level=None)
    ) as holder:
        holder.execute("BEGIN")
        holder.execute("SELECT count(*) FROM record").fetchone()
        catalog.main.set_trace_callback(asked.append)
        receipt = memory.forget(made[0].id, purge=True).receipt
        catalog.main.set_trace_callback(None)
        assert len(kept) == erase._LOOKS - 1, "a writer waited for the erasure"
    assert "log" in receipt.pending[0]
    for n, sql in enumerate(asked):
        if "TRUNCATE" in sql:
            assert asked[n - 1] == "PRAGMA busy_timeout=0"
    assert catalog.main.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
    assert memory.compact().erased
    assert memory.check().ok


def test_what_is_forgotten_while_an_erasure_waits_is_still_due_after_it(
    memory: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = ids(memory.remember_many(["zqxfirst", "zqxsecond", "c"]))
    holder = sqlite3.connect(store_path / "catalog.db", isolation_level=None)
    holder.execute("BEGIN")
    holder.execute("SELECT count(*) FROM record").fetchone()

    def pause() -> None:
        memory.forget(second)
        holder.close()

    monkeypatch.setattr(erase, "_pause", pause)
    receipt = memory.forget(first, purge=True).receipt
    assert receipt.complete
    assert files_with(store_path, "zqxfirst") == []
    assert memory.stats()["erasure"]["pending"] == 1
    receipt = memory.compact().receipt
    assert receipt.ids == (second,)
    assert files_with(store_path, "zqxsecond") == []


# -- beside damage ---------------------------------------------------------------------------------


@pytest.fixture
def made(memory: Memory) -> list[int]:
    """Ten memories of yesterday, ten of today; each day is a partition."""
    old = memory.remember_many(
        [f"yesterday {n}" for n in range(10)], event_time="2026-11-20T09:00:00Z"
    )
    return ids(old) + ids(memory.remember_many([f"today {n}" for n in range(10)]))


def test_a_damaged_partition_does_not_make_each_sleep_repeat_an_erasure(
    memory: Memory, made: list[int], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: one dead record in a damaged partition was due for ever, and with it everything:
    each sleep rewrote every partition that had a tombstone, and the catalog."""
    once, vacuums = erase.vacuum, []

    def vacuum(database: Database) -> tuple[int, int, int]:
        vacuums.append(database.path)
        return once(database)

    monkeypatch.setattr(erase, "vacuum", vacuum)
    memory.forget([made[0], made[10]])
    damage(memory, 3)
    clock.advance(hours=25)
    first = memory.reflect().compaction
    assert len(first.failed) == 1
    assert not first.receipt.complete
    assert (first.receipt.ids, first.receipt.not_yet) == ((made[10],), (made[0],))
    erasure = memory.stats()["erasure"]
    assert erasure == {"pending": 1, "due": "2026-11-23T13:00:00Z"}, "what is erased is not due"
    memory.forget(made[11])
    for _ in range(2):
        quiet = memory.reflect().compaction
        assert quiet.receipt is None
        assert quiet.partitions_compacted == 0
    assert len(vacuums) == 1
    clock.advance(hours=25)  # and with what is due by then it is tried again
    again = memory.reflect().compaction
    assert len(again.failed) == 1
    assert again.partitions_compacted == 1
    assert len(vacuums) == 2
    assert memory.stats()["erasure"]["pending"] == 1
    memory.forget(made[3])
    assert memory.compact().erased
    assert memory.stats()["erasure"] == {"pending": 0, "due": None}
    assert memory.check().ok
