"""Check beside a writer that never pauses: no false alarm, and damage is still found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory
from spector.errors import StoreClosedError, UnknownRecordError
from spector.layout import stride_of
from spector.store.integrity import check as checking
from spector.store.partitions import segment as images
from tests.api.helpers import ids
from tests.crash.workload import START, open_tiny, put, vector_of
from tests.store.spoil import flip

DIM = 8


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[spector.Memory]:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM) as memory:
        for number in range(6):
            remember(memory, number)
        memory.checkpoint()
        yield memory


def remember(memory: spector.Memory, number: int) -> int:
    vector = np.eye(DIM, dtype=np.float32)[number % DIM]
    return memory.remember(f"memory {number}", vector=vector).id


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the writer act between a check's snapshot of the catalog and its look at partitions."""
    plain = checking.check_catalog

    def overtaken(*args: object) -> object:
        found = plain(*args)  # type: ignore[arg-type]
        act()
        return found

    monkeypatch.setattr(checking, "check_catalog", overtaken)


@pytest.mark.parametrize("what", ["remember", "many", "reinforce", "forget"])
def test_a_writer_that_never_pauses_is_no_damage(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    acts = []
    first = next(iter(writer)).id
    many = [{"text": "one of many", "vector": [1.0] * DIM}] * 80

    def act() -> None:
        acts.append(what)
        if what == "remember":
            remember(writer, len(acts))
        elif what == "many":
            writer.remember_many(many)
        elif what == "reinforce":
            writer.reinforce(first)
        else:
            writer.forget(remember(writer, 1))
        if len(acts) % 2:
            writer.checkpoint()

    between(monkeypatch, act)
    report = spector.check(tmp_path / "mind")
    assert report.ok, report.problems
    assert acts


def test_damage_beside_a_writer_that_never_pauses_is_found(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (tmp_path / "mind").rglob("*.mem")
    flip(file, 64 + stride_of(DIM) * 2 + 66)  # the vector of the third record
    between(monkeypatch, lambda: remember(writer, 1))
    report = spector.check(tmp_path / "mind")
    assert {problem.code for problem in report.problems} >= {"I3"}
    assert {problem.slot for problem in report.problems} == {2}


# -- Reading all records: verified by the batch, yet each as it is at the moment it is handed out --


COUNT = 600


@pytest.fixture
def made(memory: Memory) -> list[int]:
    return ids(memory.remember_many([f"n {n}" for n in range(COUNT)]))


def test_checksums_are_verified_by_the_batch(
    memory: Memory, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = images.crc32c_rows

    def counting(rows: Any, *rest: Any, **given: Any) -> Any:
        sizes.append(len(rows))
        return real(rows, *rest, **given)

    monkeypatch.setattr(images, "crc32c_rows", counting)
    monkeypatch.setattr("spector.store.core.records.crc32c_rows", counting)
    assert ids(memory) == made
    assert sum(sizes) == COUNT
    assert len(sizes) == 3


def test_what_is_walked_is_what_get_returns(memory: Memory, made: list[int]) -> None:
    memory.remember("a rule", tier="procedural", metadata={"a": [1]}, tags=["t"])
    memory.remember("a thought", tier="working")
    assert list(memory) == [memory.get(record_id) for record_id in ids(memory)]


def test_a_walk_ends_with_its_store(memory: Memory, made: list[int]) -> None:
    """Also within a batch, the rest of which it has in hand."""
    walked = iter(memory)
    assert next(walked).id == made[0]
    memory.close()
    with pytest.raises(StoreClosedError):
        next(walked)


# -- What a reader sees of memories whose bytes have moved or are about to -------------------------


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_iterating_survives_a_compaction_between_two_steps(store_path: Path, mode: Any) -> None:
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}", event_time=START + timedelta(hours=n)) for n in range(30)]
        with open_tiny(str(store_path), mode="r") as reader:
            walk = iter(reader if mode == "r" else memory)
            assert next(walk).id == ids[0]
            memory.forget(ids[1::3])
            memory.compact()
            assert [r.id for r in walk] == [i for i in ids[1:] if i not in ids[1::3]]


def test_get_beside_a_compaction_that_commits_in_between_finds_the_new_place(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}") for n in range(4)]
        find = memory._parts.finder.find

        def find_then_compact(*of: Any) -> Any:
            found = find(*of)
            monkeypatch.undo()
            memory.forget(ids[0])
            memory.compact()
            return found

        monkeypatch.setattr(memory._parts.finder, "find", find_then_compact)
        assert memory.get(ids[2]).text == "m2"


def test_recall_beside_a_compaction_that_commits_in_between_mixes_no_two_memories(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"word{n}", metadata={"n": n}) for n in range(4)]
        channel: Any = memory._parts.searcher._lexical
        words = channel.at

        def compact_first(*args: Any) -> Any:
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as other:  # this thread is in a snapshot of the catalog
                other.submit(memory.forget, ids[0]).result()
                other.submit(memory.compact).result()
            return words(*args)

        monkeypatch.setattr(channel, "at", compact_first)
        hits = memory.recall("word2", vector=vector_of("word2"), k=3)
        assert (hits[0].id, hits[0].text) == (ids[2], "word2")
        assert {h.id: h.text for h in hits} == {i: f"word{n}" for n, i in enumerate(ids) if n}


def test_reader_that_met_a_lagging_partition_does_not_keep_the_old_bytes(store_path: Path) -> None:
    """The journal rows it had laid over the file may be gone when it looks again."""
    with open_tiny(str(store_path)) as memory:
        record_id = put(memory, "m")
        memory.checkpoint()
        with open_tiny(str(store_path), mode="r") as reader:
            store: Any = reader._parts.store
            (segment_id,) = store.segments
            store._pending.add(segment_id)  # as if it had looked between commit and copy
            memory.reinforce(record_id)
            memory.checkpoint()
            assert reader.get(record_id).access_count == memory.get(record_id).access_count


def test_forgotten_during_a_walk_is_passed_over(store_path: Path) -> None:
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}") for n in range(4)]
        walk = iter(memory)
        next(walk)
        memory.forget(ids[2])
        assert [r.id for r in walk] == [ids[1], ids[3]]
        with pytest.raises(UnknownRecordError):
            memory.get(ids[2])


def test_file_that_a_compaction_unlinks_before_a_reader_opens_it_is_looked_up_again(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}") for n in range(3)]
        with open_tiny(str(store_path), mode="r") as reader:
            store: Any = reader._parts.store
            opening = store.files.glance

            def too_late(name: str, *args: Any, **more: Any) -> Any:
                if name.endswith(".g1.mem"):
                    monkeypatch.undo()
                    memory.forget(ids[1])
                    memory.compact()
                return opening(name, *args, **more)

            monkeypatch.setattr(store.files, "glance", too_late)
            memory.forget(ids[0])
            memory.compact()
            assert reader.get(ids[2]).text == "m2"
            assert len(reader) == 1
