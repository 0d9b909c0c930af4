"""Compaction: what it reclaims, reports, leaves alone, and never holds up.

Mechanism: a partition is rebuilt into a new generation and swapped in; then the catalog is purged.
Damage without it: forgotten words on the disk, lost live records, recalls that wait for a rebuild.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.store.rewriting import compaction as store_compact
from tests.api.helpers import fingerprint, ids, own_vectors, texts, vectors
from tests.fakes import FakeEmbedder


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


def test_a_second_compaction_finds_nothing_and_changes_no_byte(
    memory: Memory, store_path: Path
) -> None:
    memory.forget(filled(memory)[:15])
    memory.compact()
    before = fingerprint(store_path)
    again = memory.compact()
    assert (again.partitions_compacted, again.records_reclaimed) == (0, 0)
    assert fingerprint(store_path) == before


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


@pytest.mark.parametrize(("threshold", "compacted"), [(0.0, 2), (0.2, 1), (0.25, 1), (0.5, 0)])
def test_only_partitions_above_the_threshold_are_rebuilt(
    store_path: Path, clock: ManualClock, threshold: float, compacted: int
) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = filled(memory, 30)
        memory.forget([*made[:1], *made[10:15]])  # 10 %, 50 %, none
        assert memory.compact(threshold=threshold).partitions_compacted == compacted
        assert memory.check().ok


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


def test_reflect_compacts_only_what_exceeds_the_ratio_of_the_config(
    store_path: Path, clock: ManualClock
) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = filled(memory, 20)
        memory.forget([*made[:3], *made[10:14]])  # 30 % stays, 40 % goes
        assert memory.reflect().compaction.partitions_compacted == 1
        assert memory.stats()["tiers"]["episodic"]["tombstones"] == 3
        assert memory.reflect().compaction.partitions_compacted == 0


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
        patch.setattr(store_compact, "move_rows", lambda *_: 1 / 0)
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
