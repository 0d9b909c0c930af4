"""A reading process beside a writer that never rests: it always gets its answer, at first try.

Mechanism: checkpoints tombstoned the slots that moved memories had left, compactions deleted the
files they had replaced, whoever was still looking at them; a reader noticed and started over.
Damage: beside a writer that commits all the time a recall started over 60 times and then raised, a
reader that followed compactions said that a partition was missing, and ``get`` of a memory that is
reinforced all the time said that it was damaged. Guard: what a change leaves stays until SQLite
says that no snapshot is older than the change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.store.catalog.catalog import Catalog
from spector.store.erasure import catalog as erase
from spector.store.rewriting.compaction import compact_partition
from tests.crash.workload import open_tiny, texts_of, vector_of


def _put(memory: spector.Memory, text: str, **more: Any) -> int:
    return memory.remember(text, vector=vector_of(text), **more).id


def _update(memory: spector.Memory, record_id: int, text: str) -> None:
    memory.update(record_id, text=text, vector=vector_of(text))


def _store(memory: spector.Memory) -> Any:
    return memory._parts.store


def _before_each(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, work: Callable[[int], object]
) -> list[int]:
    """``work(n)`` comes before each call of a method; returns the numbers of the calls."""
    once, calls = getattr(owner, name), []

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        calls.append(len(calls))
        work(calls[-1])
        return once(*args, **kwargs)

    monkeypatch.setattr(owner, name, wrapped)
    return calls


@contextmanager
def _both(path: Path) -> Iterator[tuple[spector.Memory, spector.Memory]]:
    with (
        open_tiny(str(path)) as writer,
        open_tiny(str(path), mode="r") as reader,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(erase, "_LOOKS", 1)  # the reader does not end meanwhile
        yield writer, reader


def test_recall_beside_a_writer_that_moves_memories_and_checkpoints_all_the_time(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _both(store_path) as (writer, reader):
        ids = [_put(writer, f"m{n}", tier="semantic") for n in range(3)]

        def busy(turn: int) -> None:
            for record_id in ids:
                _update(writer, record_id, f"m{record_id} at {turn}")
            writer.checkpoint()

        inner: Any = reader._parts.searcher
        calls = _before_each(monkeypatch, inner, "_answer", busy)
        for _ in range(3):
            assert {hit.id for hit in reader.recall(vector=vector_of("x"), k=9)} == set(ids)
        assert len(calls) == 3, "the recall started over"


def test_get_of_a_memory_that_is_reinforced_all_the_time(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _both(store_path) as (writer, reader):
        record_id = _put(writer, "m")
        own, fetch, busy = _store(reader).catalog, Catalog.fetch, []

        def ahead(self: Catalog, *args: Any, **more: Any) -> Any:
            found = fetch(self, *args, **more)
            if self is own and not busy:  # the file is one step ahead of what was read
                busy.append(1)
                writer.reinforce(record_id)
                busy.clear()
            return found

        monkeypatch.setattr(Catalog, "fetch", ahead)
        counts = [reader.get(record_id).access_count for _ in range(5)]
        assert counts == sorted(set(counts)), "an older state after a newer one, or none"


def test_a_damaged_mutable_half_is_still_damage_to_a_reader(store_path: Path) -> None:
    with open_tiny(str(store_path)) as writer:
        record_id = _put(writer, "m", tier="semantic")
    (path,) = store_path.glob("semantic/*.mem")
    raw = bytearray(path.read_bytes())
    raw[64 + 44] ^= 0xFF  # importance
    path.write_bytes(raw)
    with (
        open_tiny(str(store_path), mode="r") as reader,
        pytest.raises(spector.PartitionCorruptError, match="flags and strength"),
    ):
        reader.get(record_id)


@contextmanager
def _old_snapshot(reader: spector.Memory) -> Iterator[None]:
    with _store(reader).snapshot():
        yield


def test_a_disk_that_is_full_when_a_file_could_go_fails_no_commit(store_path: Path) -> None:
    """To ask for marks is to copy the log, which takes room; the commit is done by then."""

    class Full:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, sql: str, *more: Any) -> Any:
            if "wal_checkpoint" in sql:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return self._connection.execute(sql, *more)

    with open_tiny(str(store_path)) as writer:
        store = _store(writer)
        ids = [_put(writer, f"m{n}", tier="semantic") for n in range(2)]
        (segment_id,) = store.segments
        writer.forget(ids[0])
        main = store.catalog.main
        store.catalog.main = Full(main)
        compact_partition(store, segment_id)
        store.catalog.main = main
        assert len(store.partitions.retired_files) == 1
        assert texts_of(writer) == {ids[1]: "m1"}
        writer.checkpoint()
        assert not len(store.partitions.retired_files)


def test_a_replaced_file_waits_for_the_oldest_snapshot_and_is_no_finding(store_path: Path) -> None:
    with _both(store_path) as (writer, reader):
        ids = [_put(writer, f"secret {n}", tier="semantic") for n in range(3)]
        (old,) = store_path.glob("semantic/*.mem")
        with _old_snapshot(reader):
            writer.forget(ids[0])
            report = writer.compact(threshold=0.0)
            assert old.exists()
            assert not report.erased, "forgotten bytes are still there"
            checked = writer.check()
            assert checked.ok
            assert str(old.relative_to(store_path)) in [note.where for note in checked.notes]
        assert writer.compact().erased
        assert not old.exists()


def test_a_replaced_file_that_a_writer_left_goes_with_the_next_opening(store_path: Path) -> None:
    with open_tiny(str(store_path)) as writer:
        ids = [_put(writer, f"m{n}", tier="semantic") for n in range(3)]
    (old,) = store_path.glob("semantic/*.mem")
    with open_tiny(str(store_path), mode="r") as reader:
        with _old_snapshot(reader):
            with open_tiny(str(store_path)) as writer:
                writer.forget(ids[0])
                writer.compact(threshold=0.0)
            assert old.exists()
            open_tiny(str(store_path)).close()
            assert old.exists()
        open_tiny(str(store_path)).close()
        assert not old.exists()
        assert len(reader) == 2
