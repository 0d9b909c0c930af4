"""What is closed or dropped is freed at once, by its reference counts alone.

Mechanism: the cycle collector is off while a memory is used in every way and closed, dropped, left
by an error, or kept after its end; then weak references, the lock, the maps and the descriptors of
the process say what is left. Damage without it: a service that opens a store per request grows by
megabytes with each, and a function that raised keeps the lock until the collector comes by. Guard:
a single strong reference back, from an index to its store or from an error to its frames, is enough
to fail these.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, Memory
from spector.store.partitions.segment import Segment
from tests.api.helpers import DIM, vector, vectors
from tests.crash.harness import in_fork
from tests.fakes import FakeEmbedder

#: days with partitions of their own, each large enough for an index
_CONFIG = Config(episodic_capacity=64, index_min_rows=32, working_capacity=64)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def opened(path: Any, **more: Any) -> Memory:
    return spector.open(path, **{"embedder": None, "dim": DIM, "config": _CONFIG, **more})


def fill(memory: Memory, count: int = 200) -> None:
    memory.remember_many(
        {
            "text": f"Ann saw {n} lamps on pier {n % 9}",
            "vector": each,
            "tags": [f"t{n % 3}"],
            "session_id": f"s{n % 7}",
            "role": "user",
            "metadata": {"speaker": "Ann"},
        }
        for n, each in enumerate(vectors(count))
    )


def use(memory: Memory) -> None:
    """Everything that builds something: indexes, words, samples, caches, connections."""
    for cue in ("which lamps did Ann see?", "What did Ann see last week?", "Ann"):
        memory.recall(cue, vector=vector(3))
    memory.recall(vector=vector(4), tags=["t1"], mmr=0.5)
    memory.recall(vector=vector(4), where={"speaker": "Ann"}, per_session=1)
    memory.context("lamps", vector=vector(5))
    memory.check()
    memory.stats()
    assert len(list(memory.records(tags=["t1"]))) > 0


def change(memory: Memory) -> None:
    fill(memory)
    made = memory.remember("for now", vector=vector(1), tier="working")
    memory.update(made.id, text="for a while", vector=vector(2))
    memory.forget(made.id)
    memory.reflect("upkeep")
    memory.compact()


def parts_of(memory: Memory) -> dict[str, weakref.ref[Any]]:
    """What a memory is made of, by name, with the arrays of its indexes and words."""
    parts = memory._parts
    found: dict[str, Any] = {"memory": memory, "reader": parts.searcher, "writer": parts.writer}
    for n, each in enumerate(memory._parts.access.opened):
        store, words = each.store, memory._parts.searcher._lexical._words[n]
        found |= {
            f"store {n}": store,
            f"catalog {n}": store.catalog,
            f"words {n}": words._index,
            f"indexes {n}": store.partitions.indexes,
        }
        if words._index._recent:
            found[f"column {n}"] = words._index._recent[0][1].columns["id"]
        for segment in store.segments.values():
            found[f"segment {n}/{segment.row.id}"] = segment
            found[f"records {n}/{segment.row.id}"] = segment.records().base
            if segment.scan.index is not None:
                found[f"index {n}/{segment.row.id}"] = segment.scan.index.image
    return {name: weakref.ref(thing) for name, thing in found.items() if thing is not None}


def left_of(parts: dict[str, weakref.ref[Any]]) -> list[str]:
    return [name for name, part in parts.items() if part() is not None]


def maps_of(path: Path) -> list[str]:
    if not os.path.exists("/proc/self/maps"):
        return []
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line.split()[-1] for line in lines if f"{path}/" in line]


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def may_be_opened(path: Path) -> bool:
    opened(path).close()
    return True


@pytest.mark.parametrize("mode", ["rw", "r", ":memory:"])
@pytest.mark.parametrize("closes", [True, False], ids=["closed", "dropped"])
@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_nothing_is_left_of_a_memory_that_is_gone(
    store_path: Path, mode: str, closes: bool
) -> None:
    place: Any = ":memory:" if mode == ":memory:" else store_path
    if mode == "r":
        with opened(place) as memory:
            change(memory)
    before = descriptors()
    memory = opened(place, mode="r" if mode == "r" else "rw")
    if mode != "r":
        change(memory)
    use(memory)
    parts = parts_of(memory)
    assert any(name.startswith("index ") for name in parts)
    assert any(name.startswith("column ") for name in parts)
    if closes:
        memory.close()
    del memory
    assert left_of(parts) == []
    assert maps_of(store_path) == []
    assert descriptors() == before
    if mode != ":memory:":
        assert may_be_opened(store_path)


@pytest.mark.parametrize("place", ["disk", ":memory:"])
def test_a_closed_memory_that_is_kept_keeps_nothing_else(store_path: Path, place: str) -> None:
    memory = opened(store_path if place == "disk" else ":memory:")
    change(memory)
    use(memory)
    parts = {
        name: part
        for name, part in parts_of(memory).items()
        if name.startswith(("words", "column", "segment", "records", "index "))
    }
    assert maps_of(store_path) or place != "disk" or not os.path.exists("/proc/self/maps")
    memory.close()
    assert left_of(parts) == []
    assert maps_of(store_path) == []


def test_hits_and_records_that_are_kept_hold_no_file(store_path: Path) -> None:
    memory = opened(store_path)
    change(memory)
    hits, records = memory.recall("lamps", vector=vector(3)), list(memory)
    before = [hit.explain() for hit in hits]
    memory.close()
    assert maps_of(store_path) == []
    assert [hit.explain() for hit in hits] == before
    assert len(records) == 200


# -- errors ----------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[Memory], object]] = {
    "raised by the caller": lambda m: 1 // 0,
    "an unknown id": lambda m: m.get(1),
    "an unknown id to forget": lambda m: m.forget([1, 2]),
    "an unknown keyword": lambda m: m.recall("x", colour="red"),
    "a valence that is no range": lambda m: m.recall(vector=vector(), valence="sad"),
    "a valence of three": lambda m: m.recall(vector=vector(), valence=(1, 2, 3)),
    "a filter that is none": lambda m: m.recall(vector=vector(), where={"$near": 1}),
    "a vector of another length": lambda m: m.recall(vector=[1.0]),
    "a vector that is none": lambda m: m.remember("x", vector="x"),
    "no vector": lambda m: m.remember("x"),
    "an unknown tier": lambda m: m.remember("x", vector=vector(), tier="dream"),
    "a bad item among many": lambda m: m.remember_many(
        [{"text": "x", "vector": vector()}, {"text": ""}]
    ),
    "a superseded one twice": lambda m: m.remember("x", vector=vector(), supersedes=[7, 7]),
    "an update of nothing": lambda m: m.update(1),
    "no file to import": lambda m: m.import_("/nonexistent/x.jsonl"),
    "an export into the store": lambda m: m.export(Path(m.path) / "catalog.db"),
    "a backup into the store": lambda m: m.backup(Path(m.path) / "within"),
    "a compaction that proves too little": lambda m: m.compact(verify=["x"]),
    "a walk that is not finished": lambda m: next(iter(m)),
    "a second opening": lambda m: opened(m.path),
    "a copy": lambda m: m.__reduce_ex__(4),
}


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
@pytest.mark.sampled
@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_function_that_is_left_by_an_error_gives_the_lock_back(
    store_path: Path, call: Callable[[Memory], object]
) -> None:
    parts: dict[str, weakref.ref[Any]] = {}

    def work() -> None:
        memory = opened(store_path)
        fill(memory, 40)
        parts.update(parts_of(memory))
        call(memory)

    with contextlib.suppress(Exception):
        work()
    assert left_of(parts) == []
    assert may_be_opened(store_path)


# -- threads, forks, the daemon --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_daemon_that_sleeps_does_not_keep_its_memory(store_path: Path) -> None:
    memory = opened(store_path)
    fill(memory, 40)
    memory.daemon.start()
    thread = memory.daemon._thread
    parts = parts_of(memory)
    del memory
    assert left_of(parts) == []
    assert not thread.is_alive()
    assert may_be_opened(store_path)


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_memory_may_be_dropped_by_another_thread(store_path: Path) -> None:
    box = [opened(store_path)]
    fill(box[0], 40)
    parts = parts_of(box[0])
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert left_of(parts) == []
    assert may_be_opened(store_path)


def test_a_memory_that_a_child_drops_is_its_parent_s_as_before(store_path: Path) -> None:
    box = [opened(store_path)]
    fill(box[0], 40)

    def child() -> None:
        parts = parts_of(box[0])
        box.clear()
        assert left_of(parts) == []
        # SQLite's own are not closed in a child: see Catalog.abandon
        assert [each for each in maps_of(store_path) if not each.endswith("-shm")] == []

    assert in_fork(child) == 0
    box[0].remember("later", vector=vector())
    box[0].close()
    with opened(store_path) as again:
        assert len(again) == 41
        assert again.check().ok


# -- dropped in a cycle ----------------------------------------------------------------------------


class _Agent:
    def __init__(self, memory: Memory) -> None:
        self.memory, self.me = memory, self
        self.walk: Any = None


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", found.append)
    return found


@pytest.mark.filterwarnings("error:.*closed properly:RuntimeWarning")
@pytest.mark.parametrize("place", ["disk", ":memory:"])
@pytest.mark.parametrize("walks", [False, True], ids=["at rest", "in a walk"])
def test_a_cycle_of_the_user_s_is_collected_without_an_error(
    store_path: Path, place: str, walks: bool, unraisable: list[Any]
) -> None:
    agent = _Agent(opened(store_path if place == "disk" else ":memory:"))
    fill(agent.memory, 300)
    use(agent.memory)
    if walks:
        agent.walk = iter(agent.memory)
        next(agent.walk)
    part = weakref.ref(agent.memory)
    del agent
    with pytest.warns(ResourceWarning, match="was not closed"):
        gc.collect()
    assert part() is None
    assert unraisable == []
    if place == "disk":
        assert list(store_path.glob("lexical/*.lex")), "it was closed like any other"
        assert may_be_opened(store_path)


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_store_that_cannot_be_closed_properly_is_told_of_and_gives_its_lock_back(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, unraisable: list[Any]
) -> None:
    box = [opened(store_path)]
    fill(box[0], 40)
    with monkeypatch.context() as patch:
        patch.setattr(Segment, "sync", _refuse)
        with pytest.warns(RuntimeWarning, match="closed properly"):
            box.clear()
    assert unraisable == []
    with opened(store_path) as again:
        assert len(again) == 40


def _refuse(_: Segment) -> None:
    raise spector.StoreError("the disk is gone", hint="look at the disk")


def test_where_warnings_are_errors_a_dropped_memory_is_closed_all_the_same(
    store_path: Path, unraisable: list[Any]
) -> None:
    import warnings

    memory = opened(store_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del memory
    assert [type(each.exc_value) for each in unraisable] == [ResourceWarning]
    unraisable.clear()
    assert may_be_opened(store_path)


# -- a custom tier and embedder --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_what_the_user_brought_does_not_keep_the_memory(store_path: Path) -> None:
    embedder = FakeEmbedder(dim=DIM)
    memory = spector.open(store_path, embedder=embedder, config=_CONFIG)
    memory.remember_many(f"lamp {n}" for n in range(50))
    memory.recall("lamp 7")
    hits = memory.recall("can you recommend a lamp?")
    parts = parts_of(memory)
    del memory
    assert left_of(parts) == []
    assert len(hits) > 0
    assert np.isfinite(embedder.embed(["x"])).all()
