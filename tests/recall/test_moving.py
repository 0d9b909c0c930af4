"""Recall beside writers that move memories: none is missed, none is called corrupt.

Mechanism: a scan looked at the partitions of one moment and asked the catalog about a later one.
Damage: a filtered recall lacked memories that were updated meanwhile, up to an empty answer; a
recall of a memory that is updated all the time said that the store was corrupt; a reader went on
across a change of model; a recall of a store in memory lacked one whose words alone would have
found it. Guard: partitions and catalog are of one moment; in memory, a recall that a move overtook
is made again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import InvalidInputError, ModelMismatchError
from spector.store.core.transaction import Transaction
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
