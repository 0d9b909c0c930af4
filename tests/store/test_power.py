"""What a power cut may leave: lost room, and in relaxed mode a catalog behind its partitions."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import PartitionCorruptError
from tests.crash.workload import DIM, START, TINY, open_tiny, texts_of, vector_of


def _put(memory: spector.Memory, text: str, **more: Any) -> int:
    return memory.remember(text, vector=vector_of(text), **more).id


def _copy(source: Path, target: Path, *, catalog: bool, partitions: bool) -> None:
    for folder, _, names in os.walk(source):
        for name in names:
            if (catalog and name.startswith("catalog")) or (partitions and name.endswith(".mem")):
                there = target / os.path.relpath(folder, source)
                there.mkdir(parents=True, exist_ok=True)
                shutil.copy(os.path.join(folder, name), there)


def test_growth_that_was_not_synced_is_replayed(store_path: Path, tmp_path: Path) -> None:
    """A file grows before the commit and is synced after it; the journal must bring it back."""
    config = replace(TINY, episodic_capacity=100, checkpoint_bytes=10**6)
    copy = tmp_path / "copy"
    with spector.open(
        store_path, embedder=None, dim=DIM, config=config, clock=ManualClock(START)
    ) as memory:
        _put(memory, "m0")
        (file,) = store_path.glob("episodic/*.mem")
        before = file.stat().st_size
        for n in range(1, 11):
            _put(memory, f"m{n}")
        assert file.stat().st_size > before
        _copy(store_path, copy, catalog=True, partitions=True)
    os.truncate(copy / "episodic" / file.name, before)
    with open_tiny(str(copy)) as memory:
        assert sorted(texts_of(memory).values()) == sorted(f"m{n}" for n in range(11))
        assert memory.check().ok


def test_truncation_below_what_the_journal_holds_is_not_papered_over(
    store_path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m0")
        _put(memory, "m1")
        memory.checkpoint()
        _put(memory, "m2")
        _copy(store_path, copy, catalog=True, partitions=True)
    (file,) = copy.glob("episodic/*.mem")
    os.truncate(file, 64)
    with pytest.raises(PartitionCorruptError, match=r"truncated|begins at"):
        open_tiny(str(copy))


def test_relaxed_store_whose_log_lost_its_newest_commits_opens_as_it_was_before_them(
    store_path: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    with open_tiny(str(store_path), durability="relaxed") as memory:
        ids = [_put(memory, f"m{n}", tier=("semantic", "episodic")[n % 2]) for n in range(9)]
        memory.update(ids[0], text="m0 again", vector=vector_of("m0 again"))
        before = texts_of(memory)
        _copy(store_path, cut, catalog=True, partitions=False)
        memory.forget(ids[1:4])
        memory.update(ids[5], importance=0.9)
        memory.reinforce(ids[6])
        memory.update(ids[7], text="lost", vector=vector_of("lost"))
        for n in range(9):
            _put(memory, f"lost{n}", tier="procedural")
        _copy(store_path, cut, catalog=False, partitions=True)
    with open_tiny(str(cut)) as memory:
        assert texts_of(memory) == before
        report = memory.check()
        assert report.ok, report.problems
        assert memory.recall(vector=vector_of("m2"), k=1, profile="similarity")[0].text == "m2"
        for n in range(9):
            _put(memory, f"new{n}", tier="procedural")
        assert memory.check().ok
    with open_tiny(str(cut)) as memory:
        assert len(memory) == 18


def test_relaxed_compaction_syncs_the_log_before_it_unlinks_the_old_file(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut could leave a catalog that names a file which is gone."""
    steps: list[str] = []
    with open_tiny(str(store_path), durability="relaxed") as memory:
        ids = [_put(memory, f"m{n}", tier="semantic") for n in range(3)]
        memory.forget(ids[0])
        store: Any = memory._opened[0].store
        for owner, name in ((store, "sync_log"), (store.files, "remove")):
            inner = getattr(owner, name)
            monkeypatch.setattr(
                owner, name, lambda *a, n=name, f=inner: (steps.append(" ".join((n, *a))), f(*a))[1]
            )
        memory.compact()
    old = "semantic/semantic-000"
    assert steps == ["sync_log", f"remove {old}.mem", f"remove {old}.idx"]


def test_strict_store_with_partitions_of_another_moment_is_still_refused(
    store_path: Path, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m0")
    _copy(store_path, mixed, catalog=True, partitions=False)
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m1")
    _copy(store_path, mixed, catalog=False, partitions=True)
    with pytest.raises(PartitionCorruptError, match="different moments"):
        open_tiny(str(mixed))
    older = tmp_path / "older"
    _copy(store_path, older, catalog=True, partitions=True)
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m2")
    _copy(store_path, older, catalog=True, partitions=False)
    with pytest.raises(PartitionCorruptError):
        open_tiny(str(older))


def test_relaxed_store_that_was_closed_properly_is_not_reconciled(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path), durability="relaxed") as memory:
        _put(memory, "m")
    from spector.store import recover

    monkeypatch.setattr(recover, "reconcile", lambda store: pytest.fail("reconciled"))
    with open_tiny(str(store_path)) as memory:
        assert len(memory) == 1
