"""Compaction: what it reclaims, reports, leaves alone, and never holds up.

Mechanism: a partition is rebuilt into a new generation and swapped in; then the catalog is purged.
Damage without it: forgotten words on the disk, lost live records, recalls that wait for a rebuild.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

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


def test_the_most_wasteful_partition_is_rebuilt_first(store_path: Path, clock: ManualClock) -> None:
    """Who interrupts a compaction has most of what it would have given back."""
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = filled(memory, 40)
        memory.forget([*made[:4], *made[10:17], *made[20:24], *made[30:39]])
        foretold = memory.compact(dry_run=True)
        assert [each["reclaimed"] for each in foretold.partitions] == [9, 7, 4, 4]
        done = memory.compact()
        assert [each["reclaimed"] for each in done.partitions] == [9, 7, 4, 4]
        first, second = (each["path"] for each in foretold.partitions[2:])
        assert first < second, "of two alike the older one comes first"


def test_a_dry_run_foretells_which_partitions_will_be_gone(
    store_path: Path, clock: ManualClock
) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = filled(memory, 30)
        memory.forget([*made[:10], *made[10:15]])  # all of one, half of another
        memory.checkpoint()
        for report in (memory.compact(dry_run=True), memory.compact()):
            gone, half = report.partitions
            assert gone["bytes_after"] == 0 < half["bytes_after"] <= half["bytes_before"]


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


def test_a_store_emptied_completely_can_be_filled_again(memory: Memory) -> None:
    memory.forget(filled(memory))
    memory.compact()
    assert len(memory) == 0
    assert memory.check().ok
    assert memory.recall("note") == []
    record = memory.remember("a fresh start")
    assert ids(memory.recall("start")) == [record.id]
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


def test_reflecting_twice_changes_no_byte_the_second_time(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    memory.forget(filled(memory)[:20])
    clock.advance(days=2)
    memory.reflect()
    memory.checkpoint()
    before = fingerprint(store_path)
    memory.reflect()
    assert fingerprint(store_path) == before


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


class _Gate:
    """Stops a compaction in the middle, when the new generation is about to be swapped in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        real = store_compact.move_rows

        def slow(*args: Any) -> None:
            self.reached.set()
            assert self.open.wait(200)
            real(*args)

        monkeypatch.setattr(store_compact, "move_rows", slow)


@pytest.mark.parametrize("who", ["compact", "daemon"])
def test_recalls_go_on_while_a_compaction_is_halfway(
    store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    gate = _Gate(monkeypatch)
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(reflect_interval_s=0.01)
    ) as memory:
        made = filled(memory)
        memory.forget(made[:20])
        if who == "daemon":
            memory.daemon.start()
        else:
            worker = threading.Thread(target=memory.compact)
            worker.start()
        try:
            assert gate.reached.wait(100)
            answers: list[Any] = []
            reading = threading.Thread(
                target=lambda: answers.extend(
                    [
                        memory.recall("note number 33", k=50),
                        memory.get(made[33]),
                        len(memory),
                        memory.recall("note", where={"a": {"exists": False}}, k=50),
                    ]
                )
            )
            reading.start()
            reading.join(100)
            assert not reading.is_alive(), "a recall waited for the compaction"
            assert sorted(ids(answers[0])) == made[20:]
            assert answers[1].text == "note number 33"
            assert answers[2] == 20
            assert len(answers[3]) == 20
        finally:
            gate.open.set()
        if who == "daemon":
            assert memory.daemon.stop()
        else:
            worker.join(100)
        assert memory.check().ok
        assert sorted(ids(memory.recall("note number 33", k=50))) == made[20:]


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
