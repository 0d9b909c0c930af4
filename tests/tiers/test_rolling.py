"""Where records go: by UTC day and capacity, by capacity alone, and back from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.layout import PartitionState
from tests.api.helpers import ids, own_vectors, texts, vector
from tests.fakes import FakeEmbedder

SMALL = Config(episodic_capacity=3, semantic_capacity=3, procedural_capacity=3, working_capacity=4)


@contextmanager
def small(path: Path | str, clock: ManualClock) -> Iterator[Memory]:
    with spector.open(path, embedder=FakeEmbedder(), clock=clock, config=SMALL) as memory:
        yield memory


def mem_files(path: Path) -> list[str]:
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*.mem"))


def states(memory: Memory) -> dict[str, str]:
    """Path -> state of every partition, as the catalog has it."""
    segments = memory._parts.store.segments.values()
    return {s.row.path: PartitionState(s.row.state).name for s in segments}


def header_states(path: Path) -> dict[str, str]:
    """The same as the files themselves say."""
    return {
        name: PartitionState(int.from_bytes((path / name).read_bytes()[20:24], "little")).name
        for name in mem_files(path)
    }


def test_every_utc_day_has_its_file_and_a_full_day_rolls(
    store_path: Path, clock: ManualClock
) -> None:
    with small(store_path, clock) as memory:
        memory.remember_many([f"here {n}" for n in range(7)])
        clock.advance(days=1)
        memory.remember("here again")
        assert mem_files(store_path) == [
            "episodic/2026-11-21-000.mem",
            "episodic/2026-11-21-001.mem",
            "episodic/2026-11-21-002.mem",
            "episodic/2026-11-22-000.mem",
        ]
        assert len(memory.recall("here", k=20)) == 8
        assert memory.check().ok


def test_a_late_event_goes_to_its_own_day_as_a_further_sequence_once_that_is_sealed(
    store_path: Path, clock: ManualClock
) -> None:
    with small(store_path, clock) as memory:
        memory.remember("on time")
        clock.advance(days=2)
        memory.remember("late, day still open", event_time="2026-11-21T18:00:00Z")
        assert mem_files(store_path) == ["episodic/2026-11-21-000.mem"]
        assert memory.reflect().sealed == 1
        late = memory.remember("late, day sealed", event_time="2026-11-21T19:00:00Z")
        assert mem_files(store_path) == [
            "episodic/2026-11-21-000.mem",
            "episodic/2026-11-21-001.mem",
        ]
        found = memory.recall("late", time_range=("2026-11-21", "2026-11-22"))
        assert late.id in ids(found)
        assert len(found) == 3
        assert memory.check().ok


def test_reflect_walks_partitions_through_their_states_and_a_second_cycle_changes_nothing(
    store_path: Path, clock: ManualClock
) -> None:
    with small(store_path, clock) as memory:
        memory.remember_many([f"x {n}" for n in range(4)])  # one full file, one open
        first, second = "episodic/2026-11-21-000.mem", "episodic/2026-11-21-001.mem"
        assert states(memory) == {first: "SEALED", second: "ACTIVE"}  # rolling over seals
        memory.reflect()
        assert states(memory) == {first: "REFLECTABLE", second: "ACTIVE"}
        clock.advance(days=1)
        memory.reflect()
        assert states(memory) == {first: "REFLECTABLE", second: "REFLECTABLE"}
        assert header_states(store_path) == states(memory)
        before = states(memory)
        again = memory.reflect()
        assert (again.sealed, again.marked_reflectable) == (0, 0)
        assert again.compaction.partitions_compacted == 0
        assert states(memory) == before
    with small(store_path, clock) as memory:
        assert states(memory) == before


@pytest.mark.parametrize("tier", ["semantic", "procedural"])
def test_an_undated_tier_rolls_when_full_without_end_and_survives_a_restart(
    store_path: Path, clock: ManualClock, tier: str
) -> None:
    with small(store_path, clock) as memory:
        for n in range(10):
            memory.remember(f"rule {n}", tier=tier, event_time=f"20{10 + n}-01-01")
        assert mem_files(store_path) == [f"{tier}/{tier}-00{n}.mem" for n in range(4)]
    with small(store_path, clock) as memory:
        assert texts(memory) == [f"rule {n}" for n in range(10)]
        memory.remember("rule 10", tier=tier)
        assert mem_files(store_path)[-1] == f"{tier}/{tier}-003.mem"
        assert len(memory.recall("rule", tiers=[tier], k=50, cut=0)) == 11
        assert memory.check().ok


def test_the_working_ring_holds_100_and_overwrites_the_oldest(clock: ManualClock) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        for n in range(130):
            memory.remember(f"thought number {n}", tier="working")
        assert len(memory) == 100
        assert texts(memory) == [f"thought number {n}" for n in range(30, 130)]
        assert ids(memory.recall("thought number 29 xyzzy", where={"a": 1})) == []
        assert "thought number 0" not in texts(memory.recall("thought number 0", k=100))
        assert memory.check().ok


def test_working_memory_is_searchable_by_tag_without_any_vector(clock: ManualClock) -> None:
    with own_vectors(clock=clock) as memory:
        memory.remember("buy milk", tier="working", tags=["errand"])
        call = memory.remember("call Ada", tier="working", tags=["errand", "urgent"])
        assert ids(memory.recall(tags=["urgent"])) == [call.id]
        assert len(memory.recall(tags=["errand"])) == 2
        assert texts(memory.recall("milk", k=1)) == ["buy milk"]
        assert memory.update(call.id, text="call Bea").text == "call Bea"
        assert texts(memory.recall(tags=["urgent"])) == ["call Bea"]
        with_vector = memory.remember("with a vector", tier="working", vector=vector(3))
        assert memory.recall(vector=vector(3), k=1)[0].id == with_vector.id
        assert memory.check().ok


def test_two_stores_in_memory_share_nothing(clock: ManualClock) -> None:
    with small(":memory:", clock) as one, small(":memory:", clock) as other:
        one.remember("only here")
        assert len(other) == 0
        assert len(one) == 1
