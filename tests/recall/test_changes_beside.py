"""A recall beside a writer that supersedes: what always holds is always found, and once.

Mechanism: the flag of a superseded memory is written in place with the commit, for scans in older
snapshots to see, which do not have the newer memory yet. Damage: 57 of 141 recalls of a fact that
was never without a value were empty. Guard: a recall during which something was superseded is done
again, and then asks its own snapshot of the catalog what is superseded; also where a writer
supersedes during every attempt.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Flag, Memory
from spector.language.cues.compound import split_cue
from tests.api.helpers import ids, own_vectors, texts, vector

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


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_many_superseded_ones_do_not_truncate_the_answer_of_the_catalog(
    store_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _town(store_path, mode) as (town, memory):
        for _ in range(300):
            town.move()
        _during(monkeypatch, memory, town.move, 99)
        for recall in FOUND.values():
            assert len(recall(memory)) == 1


@pytest.mark.parametrize("times", [1, 99])
@pytest.mark.parametrize("mode", ["rw", "r"])
def test_a_flag_taken_back_in_place_shows_no_two_that_hold(
    store_path: Path, mode: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _town(store_path, mode) as (town, memory):
        old = town.now
        town.move()
        begins = ["2026-06-01", "2026-09-01"]  # now, and later

        def put_off() -> None:
            begins.reverse()
            town.memory.update(town.now, valid_from=begins[0])

        calls = _during(monkeypatch, memory, put_off, times)
        for recall in FOUND.values():
            calls.clear()
            hits = recall(memory)
            assert len(hits) == 1
            assert hits[0].id in (old, town.now)
            assert not hits[0].record.superseded
        assert town.memory.check().ok


def test_a_flag_that_is_late_in_the_partition_shows_nothing_superseded(store_path: Path) -> None:
    """A snapshot of the catalog knows what is superseded, whatever its partition says."""
    with _town(store_path, "rw") as (town, memory):
        old = town.now
        town.move()
        store: Any = memory._parts.store
        row = store.catalog.fetch([old])[old]
        block = bytearray(row.mutable)
        block[0] &= ~int(Flag.SUPERSEDED)
        store.segments[row.segment_id].write_mutable(row.slot, bytes(block))
        for recall in FOUND.values():
            assert ids(recall(memory)) == [town.now]


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
            while town.count < 40 or sum(found.values()) < 40:
                found[len(memory.recall("Ann lives", vector=vector(1), user_id="ann"))] += 1
        finally:
            stop.set()
            writer.join()
        assert set(found) == {1}, found
        assert Flag.SUPERSEDED not in memory.get(town.now).flags
