"""Recall beside writers that move memories: none is missed, none is called corrupt.

Mechanism: a scan looked at the partitions of one moment and asked the catalog about a later one.
Damage: a filtered recall lacked memories that were updated meanwhile, up to an empty answer; a
recall of a memory that is updated all the time said that the store was corrupt; a reader went on
across a change of model; a recall of a store in memory lacked one whose words alone would have
found it. Guard: partitions and catalog are of one moment; in memory, a recall that a move overtook
is made again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Flag, Memory
from spector.errors import InvalidInputError, ModelMismatchError
from spector.language.cues.intent import split_cue
from spector.store.catalog.catalog import Catalog
from spector.store.core.transaction import Transaction
from spector.store.erasure import catalog as erase
from spector.store.rewriting import compact_partition
from tests.api.helpers import ids, own_vectors, texts, vector
from tests.crash.workload import open_tiny, texts_of, vector_of
from tests.fakes import FakeEmbedder

DIM = 32


@contextmanager
def _updating(memory: spector.Memory, ids: list[int]) -> Iterator[list[int]]:
    """A thread that gives the memories new texts and vectors, over and over."""
    rng, done, stop = np.random.default_rng(1), [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            for record_id in ids:
                memory.update(
                    record_id, text=f"moving rarity {done[0]}", vector=rng.normal(size=DIM)
                )
                done[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["rw", "r", ":memory:"])
def test_a_filtered_recall_misses_no_memory_that_moves_meanwhile(
    store_path: Path, mode: Any
) -> None:
    rng = np.random.default_rng(0)
    where = ":memory:" if mode == ":memory:" else store_path
    with spector.open(where, embedder=None, dim=DIM, durability="relaxed") as memory:
        memory.remember_many(
            [{"text": f"filler {n}", "vector": rng.normal(size=DIM)} for n in range(500)]
        )
        ids = [
            memory.remember(f"moving {n}", vector=rng.normal(size=DIM), metadata={"x": 1}).id
            for n in range(5)
        ]
        asked = memory if mode != "r" else spector.open(store_path, mode="r", embedder=None)
        found: Counter[int] = Counter()
        with _updating(memory, ids) as updates:
            while updates[0] < 100 or sum(found.values()) < 20:
                cue = rng.normal(size=DIM)
                found[len(asked.recall(vector=cue, where={"x": 1}, k=10))] += 1
                hits = asked.recall("rarity", vector=cue, k=10, where={"x": 1})
                assert {hit.id for hit in hits} == set(ids)
        if asked is not memory:
            asked.close()
        assert set(found) == {5}, found
        assert memory.check().ok


def test_a_reader_does_not_go_on_across_a_change_of_model(store_path: Path) -> None:
    with spector.open(store_path, embedder=FakeEmbedder(dim=DIM)) as memory:
        memory.remember_many([f"memory {n}" for n in range(50)])
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(dim=DIM)) as reader:
        assert reader.recall("memory 7", k=1)[0].text == "memory 7"
        spector.reembed(store_path, FakeEmbedder(dim=DIM, seed=9))  # the same stride
        with pytest.raises(ModelMismatchError, match="open the store again"):
            reader.recall("memory 7", k=1)
        with pytest.raises(ModelMismatchError):
            len(reader)


def test_a_reader_that_failed_once_does_not_stay_behind(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spector.open(store_path, embedder=FakeEmbedder(dim=DIM)) as memory:
        memory.remember("one")
        with spector.open(store_path, mode="r", embedder=FakeEmbedder(dim=DIM)) as reader:
            assert len(reader) == 1
            memory.remember("two")
            store: Any = reader._parts.store

            def broken(*_: Any) -> None:
                monkeypatch.undo()
                raise OSError("for once")

            monkeypatch.setattr(store, "publish", broken)
            with pytest.raises(OSError, match="for once"):
                len(reader)
            assert len(reader) == 2
            assert reader.recall("two", k=1)[0].text == "two"


def test_a_memory_that_appears_between_view_and_words_ends_no_recall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A catalog in memory knows no moments: the words may be of memories that the view lacks."""
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        kept = memory.remember("rarity here", vector=np.ones(DIM))
        channel = memory._parts.searcher._lexical
        real, late = channel.at, []

        def at(*args: Any) -> Any:
            if not late:
                late.append(memory.remember("rarity there", vector=np.ones(DIM)).id)
            return real(*args)

        monkeypatch.setattr(channel, "at", at)
        assert [hit.id for hit in memory.recall("rarity", vector=np.ones(DIM))] == [kept.id]
        found = {hit.id for hit in memory.recall("rarity", vector=np.ones(DIM))}
        assert found == {kept.id, *late}


@pytest.mark.parametrize("rank_all", [1, 2000])
def test_a_memory_that_moves_between_view_and_words_is_found_by_its_words(
    monkeypatch: pytest.MonkeyPatch, rank_all: int
) -> None:
    """Its new place is not in the view, and the scan does not bring up the old one by itself."""
    config = spector.Config(rank_all_records=rank_all)
    with spector.open(":memory:", embedder=None, dim=DIM, config=config) as memory:
        memory.remember_many([{"text": f"filler {n}", "vector": np.ones(DIM)} for n in range(50)])
        told = memory.remember("rarity here", vector=-np.ones(DIM))
        channel = memory._parts.searcher._lexical
        real, moves = channel.at, []

        def at(*args: Any) -> Any:
            if not moves:
                moves.append(memory.update(told.id, text="rarity there", vector=-np.ones(DIM)))
            return real(*args)

        monkeypatch.setattr(channel, "at", at)
        assert "rarity there" in [hit.text for hit in memory.recall("rarity", vector=np.ones(DIM))]
        assert moves


def test_a_move_that_came_to_nothing_is_in_no_recalls_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was counted before the commit, which failed."""
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        told = memory.remember("rarity here", vector=np.ones(DIM))

        def broken(*_: Any) -> None:
            raise InvalidInputError("for once")

        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "head", broken)
            with pytest.raises(InvalidInputError, match="for once"):
                memory.update(told.id, text="rarity there", vector=np.ones(DIM))
        assert [hit.text for hit in memory.recall("rarity", vector=np.ones(DIM))] == ["rarity here"]


# -- A reading process beside a writer that never rests: it always gets its answer, at first try ---
#
# Mechanism: checkpoints tombstoned the slots that moved memories had left, compactions deleted the
# files they had replaced, whoever was still looking at them; a reader noticed and started over.
# Damage: beside a writer that commits all the time a recall started over 60 times and then raised,
# a reader that followed compactions said that a partition was missing, and ``get`` of a memory
# that is reinforced all the time said that it was damaged. Guard: what a change leaves stays until
# SQLite says that no snapshot is older than the change.


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


# -- A recall beside a writer that supersedes: what always holds is always found, and once ---------
#
# Mechanism: the flag of a superseded memory is written in place with the commit, for scans in
# older snapshots to see, which do not have the newer memory yet. Damage: 57 of 141 recalls of a
# fact that was never without a value were empty. Guard: a recall during which something was
# superseded is done again, and then asks its own snapshot of the catalog what is superseded; also
# where a writer supersedes during every attempt.


FOUND: dict[str, Callable[[Memory], spector.HitList]] = {
    "words": lambda memory: memory.recall("Ann lives", vector=vector(1), user_id="ann"),
    "all": lambda memory: memory.recall("Ann lives", vector=vector(1), k=1),
    "vector": lambda memory: memory.recall(vector=vector(1), k=1),
    "tags": lambda memory: memory.recall(tags=["home"]),
    "where": lambda memory: memory.recall("Ann", vector=vector(1), where={"of": "Ann"}),
}


def _elsewhere(work: Callable[[], object]) -> None:
    """In another thread: this one is in the middle of a snapshot."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Town:
    """Who lives where: one memory at a time that holds, among many that do not matter."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        memory.remember_many([{"text": f"noise {n}", "vector": vector(n + 10)} for n in range(20)])
        self.count = 0
        self.now = self._put(None)

    def move(self) -> None:
        self.now = self._put(self.now)

    def _put(self, old: int | None) -> int:
        self.count += 1
        return self.memory.remember(
            f"Ann lives in town number {self.count}",
            vector=vector(1),
            user_id="ann",
            tags=["home"],
            metadata={"of": "Ann"},
            supersedes=old,
        ).id


@contextmanager
def _town(path: Path, mode: str) -> Iterator[tuple[Town, Memory]]:
    where = ":memory:" if mode == ":memory:" else path
    with own_vectors(where) as memory:
        if mode != "r":
            yield Town(memory), memory
            return
        town = Town(memory)
        with own_vectors(where, mode="r") as reader:
            yield town, reader


def _during(
    monkeypatch: pytest.MonkeyPatch, memory: Memory, work: Callable[[], object], times: int
) -> list[int]:
    """``work`` is done in the snapshot of each of so many attempts; returns their numbers."""
    reader: Any = memory._parts.searcher
    real, calls = reader._answer, []

    def wrapped(*args: Any) -> Any:
        calls.append(len(calls))
        if len(calls) <= times:
            _elsewhere(work)
        return real(*args)

    monkeypatch.setattr(reader, "_answer", wrapped)
    return calls


@pytest.mark.parametrize("how", FOUND)
@pytest.mark.parametrize("mode", ["rw", "r", ":memory:"])
def test_a_flag_set_in_place_hides_nothing_from_an_older_snapshot(
    store_path: Path, mode: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 3 if mode == ":memory:" else 99  # a store in memory has no snapshots, so writers wait
    with _town(store_path, mode) as (town, memory):
        calls = _during(monkeypatch, memory, town.move, times)
        for _ in range(3):
            calls.clear()
            before = town.now
            hits = FOUND[how](memory)
            assert len(hits) == 1, texts(hits)
            assert before <= hits[0].id <= town.now
            assert not hits[0].record.superseded
            assert len(calls) == (4 if mode == ":memory:" else 2), "it does not start over for ever"
        assert town.memory.check().ok


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_the_parts_of_a_compound_cue_are_of_one_moment(
    store_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _town(store_path, mode) as (town, memory):
        _during(monkeypatch, memory, town.move, 99)
        cue = "Where does Ann live now? And when did the noise begin to be so loud?"
        assert len(split_cue(cue, memory._parts.searcher.speakers())) > 1
        hits = memory.recall(cue, vector=vector(1), user_id="ann", compound=True)
        assert len(hits) == 1, texts(hits)


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_a_recall_is_done_once_beside_writes_that_supersede_nothing(
    store_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _town(store_path, mode) as (town, memory):

        def write() -> None:
            made = town.memory.remember("more noise", vector=vector(2))
            town.memory.pin(made.id)
            town.memory.forget(made.id)

        calls = _during(monkeypatch, memory, write, 99)
        for n, recall in enumerate(FOUND.values(), 1):
            assert ids(recall(memory)) == [town.now]
            assert len(calls) == n
        town.move()
        assert ids(memory.recall(tags=["home"], include=["superseded"], k=9))[-1:] != []
        assert len(calls) == len(FOUND) + 1


@pytest.mark.parametrize("mode", ["rw", "r", ":memory:"])
def test_a_fact_that_changes_all_the_time_is_found_by_every_recall(
    store_path: Path, mode: str
) -> None:
    stop = threading.Event()
    with _town(store_path, mode) as (town, memory):

        def work() -> None:
            while not stop.is_set():
                town.move()

        writer = threading.Thread(target=work)
        writer.start()
        found: Counter[int] = Counter()
        try:
            while town.count < 20 or sum(found.values()) < 20:
                found[len(memory.recall("Ann lives", vector=vector(1), user_id="ann"))] += 1
        finally:
            stop.set()
            writer.join()
        assert set(found) == {1}, found
        assert Flag.SUPERSEDED not in memory.get(town.now).flags
