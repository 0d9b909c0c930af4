"""One damaged record: what names it, how to get rid of it, and what goes on beside it.

Mechanism: compaction verifies each record before it moves it, and treats partitions one by one.
Damage without it: one flipped byte and nothing forgotten is ever erased again, from any partition.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import spector
from spector import Config, ManualClock, Memory, PartitionCorruptError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from tests.api.helpers import files_with, ids
from tests.fakes import FakeEmbedder
from tests.sleep.test_daemon import wait_for


@pytest.fixture
def made(memory: Memory) -> list[int]:
    """Ten memories of yesterday, ten of today; each day is a partition."""
    yesterday = "2026-11-20T09:00:00Z"
    old = memory.remember_many([f"yesterday {n}" for n in range(10)], event_time=yesterday)
    return ids(old) + ids(memory.remember_many([f"today {n}" for n in range(10)]))


def damage(memory: Memory, slot: int, day: str = "2026-11-20", offset: int = 70) -> None:
    """Flip a bit of a record (by default in its vector) of an open store."""
    memory.checkpoint()
    (path,) = Path(memory.path).rglob(f"*{day}*.mem")
    at = PARTITION_HEADER_BYTES + slot * stride_of(memory.dim) + offset
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("offset", [70, 9], ids=["vector", "id"])
def test_check_and_get_name_the_damaged_memory_and_the_way_out(
    memory: Memory, made: list[int], offset: int
) -> None:
    damage(memory, 3, offset=offset)
    found = [p.message for p in memory.check().problems if p.code == "I3"]
    assert found == [
        f"the checksum of memory {made[3]} does not match; --repair keeps its words, "
        f"forget({made[3]}) drops it"
    ]
    with pytest.raises(PartitionCorruptError, match=f"memory {made[3]} ") as caught:
        memory.get(made[3])
    hint = caught.value.hint
    assert hint.index("--repair DEST") < hint.index(f"forget({made[3]})"), "what keeps it first"
    if offset == 70:
        with pytest.raises(PartitionCorruptError, match=f"memory {made[3]} ") as caught:
            memory.recall("yesterday 3", k=20)
        assert f"forget({made[3]})" in caught.value.hint
    memory.forget(made[3])
    assert memory.compact().failed == ()
    assert memory.check().ok
    assert ids(memory) == made[:3] + made[4:]


def test_compaction_goes_on_beside_a_damaged_partition_and_purges(
    memory: Memory, made: list[int], store_path: Path
) -> None:
    memory.forget([made[0], made[1], made[10]])
    damage(memory, 3)
    report = memory.compact()
    assert report.partitions_compacted == 1
    assert not report.erased
    (failed,) = report.failed
    assert "2026-11-20" in failed["path"]
    assert f"memory {made[3]} " in failed["message"]
    assert f"forget({made[3]})" in failed["message"]
    assert memory.stats()["tiers"]["episodic"]["tombstones"] == 2
    assert files_with(store_path, "today 0") == []  # the catalog was purged all the same
    memory.forget(made[3])
    again = memory.compact()
    assert again.failed == ()
    assert again.erased
    assert memory.check().ok


def test_reflect_goes_on_beside_a_damaged_partition(memory: Memory, made: list[int]) -> None:
    memory.forget([*made[:2], *made[4:8], *made[10:18]])
    damage(memory, 3)
    report = memory.reflect()
    assert len(report.compaction.failed) == 1
    assert report.compaction.partitions_compacted == 1
    assert report.marked_reflectable == 1


@pytest.fixture
def resting(store_path: Path, clock: ManualClock) -> Iterator[Memory]:
    config = Config(reflect_interval_s=3600)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        yield memory


def test_the_daemon_does_not_repeat_a_failing_cycle_every_second(
    resting: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []

    def cycle() -> spector.ReflectReport:
        calls.append(time.monotonic())
        raise spector.StoreError("the disk hiccuped")

    resting.forget(resting.remember_many(["a", "b"])[0].id)
    monkeypatch.setattr(resting.daemon, "_upkeep", cycle)
    resting.daemon.start()
    wait_for(lambda: resting.daemon.last_error is not None)
    time.sleep(1.3)
    assert len(calls) == 1
    assert resting.stats()["daemon"]["last_error"] == "the disk hiccuped"


def test_an_export_leaves_damaged_memories_out_only_when_asked(
    memory: Memory, made: list[int], tmp_path: Path
) -> None:
    damage(memory, 3)
    damage(memory, 5)
    target = tmp_path / "out.jsonl"
    with pytest.raises(PartitionCorruptError, match=f"memory {made[3]} "):
        memory.export(target)
    assert not target.exists()
    with pytest.warns(RuntimeWarning, match=f"{made[3]}, {made[5]}"):
        assert memory.export(target, skip_damaged=True, vectors=True) == 18
    assert len(target.read_text().splitlines()) == 18
    memory.forget([made[3], made[5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert memory.export(target, overwrite=True, skip_damaged=True) == 18
