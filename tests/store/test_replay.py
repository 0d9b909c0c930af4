"""Journal and checkpoint: replay is idempotent, readers overlay it, states only move forwards."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import PartitionCorruptError, StateTransitionError
from spector.layout import (
    LEGAL_TRANSITIONS,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    PartitionState,
    stride_of,
)
from spector.store.files.disk import DiskFile
from spector.store.opening.recovery import _replay
from spector.store.partitions.segment import check_transition
from tests.crash.workload import DIM, open_tiny, put, texts_of, vector_of
from tests.store.spoil import sql
from tests.store.test_repair import ONE


def _partitions(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.glob("*/*.mem"))}


def _busy(memory: Any) -> None:
    ids = [put(memory, f"m{n}", tier="semantic") for n in range(4)]
    memory.update(ids[0], text="m0 again", vector=vector_of("m0 again"))
    memory.reinforce(ids[1])
    memory.forget(ids[2])


def test_replaying_twice_gives_the_same_bytes_as_once(store_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        _busy(memory)
        shutil.copytree(store_path, copy, ignore=shutil.ignore_patterns("LOCK"))
    with open_tiny(str(copy)) as memory:
        once = _partitions(copy)
        assert once == _partitions(store_path), "replay and checkpoint disagree"
        _replay(memory._parts.store)
        assert _partitions(copy) == once
    with open_tiny(str(copy)):
        assert _partitions(copy) == once


def test_recovery_leaves_no_file_open(
    store_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: a partition that is closed first is opened again for its sync, and stays open.

    Damage: an opening costs a descriptor for each partition that it replays.
    """
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        _busy(memory)
        shutil.copytree(store_path, copy, ignore=shutil.ignore_patterns("LOCK"))
    made, closing, is_open = DiskFile.__init__, DiskFile.close, []

    def opened(file: DiskFile, fd: int, path: str) -> None:
        made(file, fd, path)
        is_open.append(file)

    def closed(file: DiskFile) -> None:
        closing(file)
        if file in is_open:
            is_open.remove(file)

    monkeypatch.setattr(DiskFile, "__init__", opened)
    monkeypatch.setattr(DiskFile, "close", closed)
    with open_tiny(str(copy)) as memory:
        assert len(texts_of(memory)) == 3
    assert is_open == []


def test_what_was_committed_and_never_copied_is_seen_by_readers_and_recovered(
    store_path: Path, tmp_path: Path
) -> None:
    """A writer that died right after its commits: the partitions are those of before them all."""
    dead = tmp_path / "dead"
    with open_tiny(str(store_path)) as memory:
        first = put(memory, "m", tier="semantic")
        memory.checkpoint()
        shutil.copytree(store_path, dead, ignore=shutil.ignore_patterns("LOCK", "catalog*"))
        memory.update(first, importance=0.125)
        put(memory, "n", tier="semantic")
        for path in dead.glob("*/*.mem"):  # it had grown before the commit
            os.truncate(path, (store_path / path.relative_to(dead)).stat().st_size)
        for name in ("catalog.db", "catalog.db-wal"):
            shutil.copy(store_path / name, dead)
    for mode in ("r", "r", "rw"):
        with open_tiny(str(dead), mode=mode) as memory:  # type: ignore[arg-type]
            assert sorted(texts_of(memory).values()) == ["m", "n"]
            assert memory.get(first).importance == 0.125
            assert memory.recall(vector=vector_of("n"), k=1, profile="similarity")[0].text == "n"
            assert memory.check().ok


def test_scan_that_began_before_an_update_finds_the_memory_where_it_was(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path)) as memory:
        record_id = put(memory, "old", tier="semantic")
        reader: Any = memory._parts.searcher
        take, taken = reader._snapshot, []

        def slow(*args: Any) -> Any:
            found = take(*args)
            taken.append(found)
            if len(taken) == 1:  # a checkpoint while this scan is under way
                with ThreadPoolExecutor(1) as other:
                    changes = {"text": "new", "vector": vector_of("new")}
                    other.submit(memory.update, record_id, **changes).result()
                    other.submit(memory.checkpoint).result()
            return found

        monkeypatch.setattr(reader, "_snapshot", slow)
        for text in ("old", "new"):
            hits = memory.recall(vector=vector_of("new"), k=5, lexical=False)
            assert [(hit.id, hit.text) for hit in hits] == [(record_id, text)]
        assert len(taken) == 2


def test_a_partition_may_only_walk_its_chain() -> None:
    legal = {(n, n + 1) for n in range(4)}
    assert {(int(a), int(b)) for a, b in LEGAL_TRANSITIONS} == legal
    for before in PartitionState:
        for after in PartitionState:
            if (int(before), int(after)) in legal:
                check_transition(before, after, "x")
            else:
                with pytest.raises(StateTransitionError):
                    check_transition(before, after, "x")


# -- Mechanism: a redo image is a record, and a record proves itself by its checksum ---------------
#
# Damage without it: one bit rots in the journal, and the next opening (or repair) writes the
# rotten image over the whole record that it was copied to. Guard: an image that fails its checksum
# is laid over nothing; a mutable half, which has none, not over one that already is what the
# catalog says.


STRIDE = stride_of(DIM)


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, list[int]]:
    """A store whose writer died with everything in the journal and in the partitions."""
    live, dead = tmp_path / "live", tmp_path / "dead"
    with open_tiny(str(live)) as memory:
        made = [memory.remember(t, vector=vector_of(t), tier="semantic").id for t in "abc"]
        memory.reinforce(made[1])
        shutil.copytree(live, dead, ignore=shutil.ignore_patterns("LOCK"))
    return dead, made


def _damage(root: Path, where: str, offset: int) -> None:
    """Flip a bit of the one image of the journal that fits."""
    (seq, image), *_ = sql(root, f"SELECT seq, image FROM journal WHERE {where}")
    data = bytearray(image)
    data[offset] ^= 4
    sql(root, "UPDATE journal SET image = ? WHERE seq = ?", given=(bytes(data), seq))


def _record(root: Path, slot: int) -> bytes:
    start = PARTITION_HEADER_BYTES + slot * STRIDE
    return (root / ONE).read_bytes()[start : start + STRIDE]


@pytest.mark.parametrize("offset", [8, 20, 36, 70])
def test_damaged_image_takes_no_whole_record_away(
    killed: tuple[Path, list[int]], offset: int
) -> None:
    root, made = killed
    whole = _record(root, 1)
    _damage(root, "kind = 0 AND slot = 1", offset)
    (problem,) = spector.check(root).problems
    assert (problem.code, problem.slot) == ("I3", 1)
    assert "journal" in problem.message
    with open_tiny(str(root), mode="r") as memory:
        assert memory.get(made[1]).text == "b"
    report = spector.repair(root, root.parent / "saved")
    assert (report.kept, report.complete) == (3, True)
    assert any("journal" in note.reason for note in report.notes)
    with pytest.warns(UserWarning, match="slots 1 were damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert sorted(texts_of(memory).values()) == ["a", "b", "c"]
        assert memory.recall(vector=vector_of("b"), k=1, profile="similarity")[0].text == "b"
        assert memory.check().ok
    assert _record(root, 1) == whole


def test_damaged_image_of_a_record_that_was_never_copied_is_a_damaged_record(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    data = bytearray((root / ONE).read_bytes())
    start = PARTITION_HEADER_BYTES + STRIDE
    data[start : start + STRIDE] = bytes(STRIDE)
    (root / ONE).write_bytes(data)
    _damage(root, "kind = 0 AND slot = 1", 70)
    with pytest.warns(UserWarning, match="damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert memory.get(made[0]).text == "a"
        with pytest.raises(PartitionCorruptError, match=str(made[1])):
            memory.get(made[1])


def test_damaged_image_of_a_record_without_room_is_a_damaged_record(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    os.truncate(root / ONE, PARTITION_HEADER_BYTES + STRIDE + 5)
    _damage(root, "kind = 0 AND slot = 1", 70)
    with pytest.warns(UserWarning, match="damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert [memory.get(made[n]).text for n in (0, 2)] == ["a", "c"]
        with pytest.raises(PartitionCorruptError, match=str(made[1])):
            memory.get(made[1])


def test_damaged_strength_in_the_journal_takes_no_whole_one_away(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    whole = _record(root, 1)
    _damage(root, "kind = 1 AND slot = 1", 48 - MUTABLE_OFFSET + 2)
    with open_tiny(str(root)) as memory:
        memory.get(made[1])
        assert memory.check().ok
    assert _record(root, 1) == whole
