"""Sleep puts the records of sealed partitions in order: what changes, and all that must not.

Mechanism: a reflect cycle rewrites each sealed partition once, in blocks by falling importance,
similar records together within each. Damage without care: another answer, a lost memory, a
partition rewritten in every cycle, writers that wait for k-means.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import Config, ManualClock, Memory
from spector.layout import PARTITION_HEADER_BYTES, PartitionState, stride_of
from spector.store.partitions.segment import Segment
from spector.upkeep import compaction as sleep_cluster
from tests.api.helpers import fingerprint, ids, own_vectors, texts, vector, vectors
from tests.fakes import FakeEmbedder

CAPACITY = 60
BLOCK = 16


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition of 60 has four of them: its records change places."""
    monkeypatch.setattr(sleep_cluster, "_BLOCK_RECORDS", BLOCK)


@contextmanager
def mind(path: Path | str = ":memory:", **config: Any) -> Iterator[Memory]:
    """Own vectors; a partition is full at 60 and worth it from 20."""
    given = {"semantic_capacity": CAPACITY, "cluster_min_records": 20, **config}
    clock = ManualClock("2026-11-21T12:00:00Z")
    with own_vectors(path, clock=clock, config=Config(**given)) as memory:
        yield memory


def fill(memory: Memory, count: int = 150, first: int = 0, levels: int = 7) -> list[int]:
    """Semantic memories of five kinds, one after the other, of several levels of importance; every
    ninth vector comes twice."""
    kinds, noise = vectors(5, seed=99), vectors(count + first, seed=3)
    given = []
    for n in range(first, first + count):
        mixed = kinds[n % 5] + 0.4 * noise[n - (n % 9 == 8)]
        given.append(
            {
                "text": f"note {n} of kind {n % 5}",
                "vector": mixed,
                "tags": [f"kind{n % 5}"],
                "importance": (13 * n % levels) / levels,
                "user_id": f"u{n % 3}",
                "tier": "semantic",
            }
        )
    return ids(memory.remember_many(given))


def segments(memory: Memory) -> list[Segment]:
    tier = memory._parts.router["semantic"]
    return [s for s in tier.store.segments.values() if s.row.tier == tier.code]


def headers(memory: Memory) -> list[NDArray[np.void]]:
    return [segment.partition().headers().copy() for segment in segments(memory)]


def answers(memory: Memory) -> list[Any]:
    """What recalls, filters and reading by id say, with scores to the last bit."""
    asked: list[dict[str, Any]] = [
        {},
        {"k": 100},
        {"tags": ["kind3"]},
        {"any_tags": ["kind1", "kind2"]},
        {"profile": "similarity"},
        {"user_id": "u1"},
        {"min_importance": 0.5},
        {"cue": "note 17"},
    ]
    found: list[Any] = []
    for n, more in enumerate(asked * 2):
        hits = memory.recall(**{"vector": vector(n), "k": 12, **more})
        found.append([(hit.id, hit.score) for hit in hits])
    return [*found, [record.to_dict() for record in memory]]


# -- what changes -----------------------------------------------------------------------------


@pytest.mark.usefixtures("_small_blocks")
def test_full_partitions_are_put_in_order_and_the_growing_one_is_not(store_path: Path) -> None:
    with mind(store_path) as memory:
        fill(memory)
        report = memory.reflect()
        assert (report.clustered, report.clustered_records, report.unclustered) == (2, 120, 0)
        *full, growing = headers(memory)
        assert not growing["centroid"].any()
        assert (np.diff(growing["id"].astype(np.int64)) > 0).all()
        for each in full:
            assert each["centroid"].all()
            assert (np.diff(each["id"].astype(np.int64)) < 0).any()
        assert [s.row.state for s in segments(memory)] == [
            PartitionState.REFLECTABLE,
            PartitionState.REFLECTABLE,
            PartitionState.ACTIVE,
        ]
        assert memory.check().ok


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("levels", [7, 400])
def test_blocks_hold_memories_by_falling_importance_similar_ones_together(levels: int) -> None:
    with mind(semantic_capacity=400) as memory:
        made = fill(memory, 400, levels=levels)
        assert memory.reflect().clustered == 1
        (header,) = headers(memory)
        blocks = np.split(header, range(BLOCK, 400, BLOCK))
        for block, later in pairwise(blocks):
            assert block["importance"].min() >= later["importance"].max()
            assert levels < 400 or block["importance"].min() > later["importance"].max()
        for block in blocks:
            assert (np.diff(block["centroid"].astype(int)) >= 0).all()
        for level in np.unique(header["importance"]):
            same = header["centroid"][header["importance"] == level].astype(int)
            assert (np.diff(same) >= 0).all(), "equals do not keep their order"
        assert sorted(header["id"].tolist()) == made


# -- what does not ----------------------------------------------------------------------------


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_every_answer_stays_the_same_to_the_last_bit(store_path: Path, where: str) -> None:
    with mind(store_path if where == "disk" else ":memory:") as memory:
        made = fill(memory)
        memory.pin(made[5])
        memory.reinforce(made[6])
        before = answers(memory)
        assert memory.reflect().clustered == 2
        assert answers(memory) == before
        assert memory.check().ok
    if where == "disk":
        with mind(store_path) as memory:
            assert answers(memory) == before


@pytest.mark.usefixtures("_small_blocks")
def test_a_second_cycle_finds_nothing_and_changes_no_byte(store_path: Path) -> None:
    with mind(store_path) as memory:
        fill(memory)
        memory.reflect()
        memory.checkpoint()
        before = fingerprint(store_path)
        assert memory.reflect().clustered == 0
        memory.checkpoint()
        assert fingerprint(store_path) == before
    with mind(store_path) as memory:  # nor does one after opening the store again
        assert memory.reflect().clustered == 0


@pytest.mark.usefixtures("_small_blocks")
def test_what_was_forgotten_meanwhile_stays_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is found while nobody waits; the rewrite takes what lives by then."""
    with mind() as memory:
        made = fill(memory)
        real = sleep_cluster.cluster

        def slow(codes: NDArray[np.int8]) -> Any:
            monkeypatch.setattr(sleep_cluster, "cluster", real)
            memory.forget(made[10:14])
            memory.update(made[20], vector=vector(5))
            return real(codes)

        monkeypatch.setattr(sleep_cluster, "cluster", slow)
        assert memory.reflect().clustered == 2
        assert ids(memory) == made[:10] + made[14:]
        assert [len(h) for h in headers(memory)] == [55, 60, 31]
        assert ids(memory.recall(vector=vector(5), k=1, profile="similarity")) == [made[20]]
        assert memory.check().ok


# -- when something is wrong, or somebody is waiting ----------------------------------------------


def damage(memory: Memory, segment: Segment, slot: int) -> int:
    """Flip a bit of a vector on the disk; returns the memory's id."""
    memory.checkpoint()
    at = PARTITION_HEADER_BYTES + slot * stride_of(memory.dim) + 70
    with (Path(memory.path) / segment.row.path).open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    return int(segment.partition().headers()["id"][slot])


@pytest.mark.usefixtures("_small_blocks")
def test_a_damaged_partition_is_reported_and_the_others_are_put_in_order(
    store_path: Path,
) -> None:
    with mind(store_path) as memory:
        fill(memory)
        damaged = damage(memory, segments(memory)[0], 7)
        report = memory.reflect()
        assert (report.clustered, report.unclustered) == (1, 0)
        (failed,) = report.compaction.failed
        assert failed["path"] == segments(memory)[0].row.path
        assert f"forget({damaged})" in failed["message"]
        memory.forget(damaged)
        again = memory.reflect()
        assert (again.clustered, again.compaction.failed) == (1, ())
        assert memory.check().ok


@pytest.mark.usefixtures("_small_blocks")
def test_a_rewrite_that_fails_halfway_leaves_everything_readable_and_can_be_repeated(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mind(store_path) as memory:
        fill(memory)
        before = answers(memory)
        with monkeypatch.context() as patch:
            patch.setattr("spector.store.rewriting.move_rows", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                memory.reflect()
        assert answers(memory) == before
        assert memory.check().ok
        assert memory.reflect().clustered == 2
        assert answers(memory) == before
        assert memory.check().ok


class _Gate:
    """Holds up a call until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        real: Callable[..., Any] = getattr(where, name)

        def slow(*args: Any) -> Any:
            self.reached.set()
            assert self.open.wait(30)
            return real(*args)

        monkeypatch.setattr(where, name, slow)


@pytest.mark.usefixtures("_small_blocks")
def test_writers_do_not_wait_while_an_order_is_being_found(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = _Gate(monkeypatch, sleep_cluster, "cluster")
    with mind(store_path) as memory:
        made = fill(memory)
        sleeper = threading.Thread(target=memory.reflect)
        sleeper.start()
        try:
            assert gate.reached.wait(30)
            writer = threading.Thread(
                target=lambda: (fill(memory, 3, first=200), memory.forget(made[0]))
            )
            writer.start()
            writer.join(10)
            assert not writer.is_alive(), "a writer waited for the order"
        finally:
            gate.open.set()
            sleeper.join(30)
        assert len(memory) == 152
        assert headers(memory)[0]["centroid"].all()
        assert memory.check().ok


@pytest.mark.usefixtures("_small_blocks")
def test_a_reader_of_the_old_file_goes_on_and_then_sees_the_new_one(store_path: Path) -> None:
    with mind(store_path) as memory:
        fill(memory)
        before = answers(memory)
        with mind_reader(store_path) as reader:
            assert answers(reader) == before
            held = reader._parts.router["semantic"].store.view()
            assert memory.reflect().clustered == 2
            assert [p.data[:, 8].tolist() for p in held.partitions], "the old maps are readable"
            assert answers(reader) == before
            store = reader._parts.router["semantic"].store
            assert store.view().partitions[0].headers()["centroid"].all()


@contextmanager
def mind_reader(path: Path) -> Iterator[Memory]:
    clock = ManualClock("2026-11-21T12:00:00Z")
    with spector.open(path, mode="r", embedder=None, clock=clock) as reader:
        yield reader


# -- Compaction: what it reclaims, reports, leaves alone, and never holds up -----------------------
#
# Mechanism: a partition is rebuilt into a new generation and swapped in; then the catalog is
# purged. Damage without it: forgotten words on the disk, lost live records, recalls that wait for
# a rebuild.


def filled(memory: Memory, count: int = 40) -> list[int]:
    return ids(memory.remember_many([f"note number {n}" for n in range(count)]))


def test_a_report_counts_what_was_kept_and_reclaimed(memory: Memory, store_path: Path) -> None:
    made = filled(memory)
    memory.forget(made[:15])
    memory.update(made[20], text="note number twenty")
    size = sum(f.stat().st_size for f in store_path.rglob("*.mem"))
    seen: list[tuple[int, int]] = []
    report = memory.compact(progress=lambda *at: seen.append(at))
    assert (report.partitions_seen, report.partitions_compacted) == (1, 1)
    assert (report.records_kept, report.records_reclaimed) == (25, 16)
    assert seen == [(1, 1)]
    assert report.partitions[0]["reclaimed"] == 16
    assert report.bytes_reclaimed == report.bytes_before - report.bytes_after
    assert sum(f.stat().st_size for f in store_path.rglob("*.mem")) <= size
    assert ids(memory) == made[15:]
    assert memory.check().ok
    assert memory.stats()["tiers"]["episodic"]["tombstones"] == 0


def test_a_dry_run_changes_no_byte_and_foretells_the_real_one(
    memory: Memory, store_path: Path
) -> None:
    memory.forget(filled(memory)[:15])
    memory.checkpoint()
    before = fingerprint(store_path)
    foretold = memory.compact(dry_run=True)
    assert fingerprint(store_path) == before
    assert foretold.dry_run
    done = memory.compact()
    for name in ("partitions_seen", "partitions_compacted", "records_kept", "records_reclaimed"):
        assert getattr(foretold, name) == getattr(done, name), name


def test_a_reader_may_ask_what_compaction_would_do_but_not_do_it(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    memory.forget(filled(memory)[:15])
    memory.checkpoint()
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(), clock=clock) as reader:
        assert reader.compact(dry_run=True).records_reclaimed == 15
        with pytest.raises(spector.StoreReadOnlyError):
            reader.compact()


@pytest.fixture
def tens(store_path: Path, clock: ManualClock) -> Iterator[Memory]:
    """Partitions of ten memories."""
    config = Config(episodic_capacity=10)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        yield memory


@pytest.mark.parametrize(("threshold", "compacted"), [(0.0, 2), (0.2, 1), (0.25, 1), (0.5, 0)])
def test_only_partitions_above_the_threshold_are_rebuilt(
    tens: Memory, threshold: float, compacted: int
) -> None:
    made = filled(tens, 30)
    tens.forget([*made[:1], *made[10:15]])  # 10 %, 50 %, none
    assert tens.compact(threshold=threshold).partitions_compacted == compacted
    assert tens.check().ok


def test_a_partition_without_a_survivor_is_removed_and_its_number_not_reused(
    store_path: Path, clock: ManualClock
) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = filled(memory, 20)
        memory.forget(made[:10])
        assert memory.compact().partitions_removed == 1
        assert [p.name for p in store_path.rglob("*.mem")] == ["2026-11-21-001.mem"]
        memory.remember("one more")
        assert sorted(p.name for p in store_path.rglob("*.mem")) == [
            "2026-11-21-001.mem",
            "2026-11-21-002.mem",
        ]
        assert memory.check().ok
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert len(memory) == 11
        assert memory.check().ok


def test_reflect_compacts_only_what_exceeds_the_ratio_of_the_config(tens: Memory) -> None:
    made = filled(tens, 20)
    tens.forget([*made[:3], *made[10:14]])  # 30 % stays, 40 % goes
    assert tens.reflect().compaction.partitions_compacted == 1
    assert tens.stats()["tiers"]["episodic"]["tombstones"] == 3
    assert tens.reflect().compaction.partitions_compacted == 0


def test_compaction_keeps_every_byte_of_what_lives(memory: Memory) -> None:
    made = filled(memory)
    memory.pin(made[30])
    memory.reinforce(made[31])
    memory.forget(made[:25])
    before = [record.to_dict() for record in memory]
    scores = [(h.id, h.score) for h in memory.recall("note number 31", k=20)]
    memory.compact()
    assert [record.to_dict() for record in memory] == before
    assert [(h.id, h.score) for h in memory.recall("note number 31", k=20)] == scores


def test_a_compaction_that_fails_halfway_leaves_everything_readable(
    memory: Memory, store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(memory)
    memory.forget(made[:20])
    with monkeypatch.context() as patch:
        patch.setattr("spector.store.rewriting.move_rows", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.compact()
    assert ids(memory) == made[20:]
    assert memory.check().ok
    assert memory.compact().records_reclaimed == 20
    assert memory.check().ok


def test_recalls_from_threads_never_miss_a_live_memory_while_others_write_and_compact(
    store_path: Path, clock: ManualClock
) -> None:
    given = vectors(300)
    with own_vectors(
        store_path, clock=clock, durability="relaxed", config=Config(episodic_capacity=64)
    ) as memory:
        keep = ids(
            memory.remember_many(
                [{"text": f"keep {n}", "vector": given[n], "tags": ["keep"]} for n in range(100)]
            )
        )
        stop = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not stop.is_set():
                try:
                    found = sorted(ids(memory.recall(vector=given[5], tags=["keep"], k=200)))
                    if found != keep:
                        wrong.append(set(keep) ^ set(found))
                except Exception as error:
                    wrong.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for turn in range(6):
                brief = memory.remember_many(
                    [{"text": f"brief {n}", "vector": given[n]} for n in range(100, 150)]
                )
                for record_id in keep[turn * 5 : turn * 5 + 5]:
                    memory.update(record_id, text=f"kept {turn}", vector=given[200 + turn])
                memory.forget(ids(brief))
                memory.compact() if turn % 2 else memory.reflect("upkeep")
        finally:
            stop.set()
            for reader in readers:
                reader.join(100)
        assert wrong == []
        assert texts(memory)[:5] == ["kept 0"] * 5
        assert memory.check().ok
