"""Small promises that no other quick test kept: mutants of the product once lived here unnoticed.

Each test says what a change of one line would have cost.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import PartitionCorruptError, StoreFullError, StoreNotFoundError
from spector.layout import MUTABLE_OFFSET, PARTITION_HEADER_BYTES, PartitionState
from spector.store.core import records as hydrate
from spector.store.core import transaction
from spector.store.core.partition_set import PartitionSet
from spector.store.core.store import Store
from spector.store.core.transaction import Transaction
from spector.store.files.disk import DiskFiles
from spector.store.files.slabs import MemoryFiles
from spector.store.opening import reader
from spector.store.partitions.segment import Segment
from spector.store.rewriting import compaction as compact
from spector.store.rewriting.rewriting import rewrite_all
from spector.store.words import files as word_files
from spector.store.words.checks import drop_unused_words
from spector.store.words.files import LIST
from tests.crash.workload import open_tiny, vector_of
from tests.store.headers import with_header


def _store(memory: spector.Memory) -> Store:
    return next(each for each in memory._parts.router.stores() if each.files.durable)


def _fill(memory: spector.Memory, count: int) -> list[int]:
    texts = [f"text {n} of river and tent" for n in range(count)]
    return [memory.remember(text, vector=vector_of(text)).id for text in texts]


def test_an_index_of_a_replaced_partition_is_removed_before_its_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut brings it back, and it lies there until the next opening."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        _fill(memory, 12)
        memory.recall("river", vector=vector_of("river"))
    indexes = {p.relative_to(path).as_posix() for p in Path(path).rglob("*.idx")}
    assert indexes
    log: list[tuple[str, str]] = []
    for name in ("remove", "discard", "sync_dir"):
        real = getattr(DiskFiles, name)

        def noted(files: DiskFiles, file: str, *, real: Any = real, name: str = name) -> None:
            log.append((name, file))
            real(files, file)

        monkeypatch.setattr(DiskFiles, name, noted)
    with open_tiny(path) as memory:
        rewrite_all(_store(memory), lambda images, rows: images, meta={})
    for index in indexes:
        gone = max(n for n, (name, file) in enumerate(log) if file == index and name != "sync_dir")
        folder = os.path.dirname(index)
        assert ("sync_dir", folder) in [
            (name, os.path.dirname(file)) for name, file in log[gone + 1 :]
        ], f"{index} was removed after the last sync of {folder}"


def test_a_transaction_over_many_partitions_lets_go_of_files_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it runs out of descriptors; and not after each, which would open them again and again."""
    monkeypatch.setattr(transaction, "_TRIM_EVERY", 4)
    with open_tiny(str(tmp_path / "mind")) as memory:
        made = _fill(memory, 40)  # four to a partition
        trims: list[int] = []
        monkeypatch.setattr(PartitionSet, "trim_files", lambda self: trims.append(1))
        memory.forget(made[0])
        assert trims == []
        memory.forget(made[3:40:4])
        assert 2 <= len(trims) <= 6


def test_a_scan_uses_an_index_that_is_current_and_no_other() -> None:
    """A stale one, or one beside patched records, does not know the newest of them."""

    def image(**changes: Any) -> Any:
        scan = SimpleNamespace(index=SimpleNamespace(image="image"), stale=False)
        segment = SimpleNamespace(scan=scan, patched=None)
        for name, value in changes.items():
            setattr(segment if name == "patched" else scan, name, value)
        return Segment._image(segment)  # type: ignore[arg-type]

    assert image() == "image"
    assert image(index=None) is None
    assert image(stale=True) is None
    assert image(patched=np.zeros((1, 80), np.uint8)) is None


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_strength_that_the_catalog_does_not_know_is_damage_whoever_reads_it(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the memory is said to be unknown."""
    monkeypatch.setattr(hydrate, "_ATTEMPTS", 3)
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        made = _fill(memory, 2)
        file = _store(memory).segments[1].row.path
    with open_tiny(path, mode=mode) as memory:
        with open(f"{path}/{file}", "r+b") as out:
            out.seek(PARTITION_HEADER_BYTES + MUTABLE_OFFSET)
            byte = out.read(1)
            out.seek(-1, os.SEEK_CUR)
            out.write(bytes([byte[0] ^ 1]))
        with pytest.raises(PartitionCorruptError):
            memory.get(made[0])
        assert memory.get(made[1]).id == made[1]


def test_strength_that_the_catalog_does_not_know_is_damage_for_a_recall_of_the_writer(
    tmp_path: Path,
) -> None:
    """Or the writer takes it for a change that came in between, and answers with damaged bytes."""
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        _fill(memory, 3)
        file = path / _store(memory).segments[1].row.path
        with file.open("r+b") as out:
            out.seek(PARTITION_HEADER_BYTES + MUTABLE_OFFSET + 4)  # the importance of the first
            byte = out.read(1)
            out.seek(-1, os.SEEK_CUR)
            out.write(bytes([byte[0] ^ 1]))
        with pytest.raises(PartitionCorruptError, match="flags and strength"):
            memory.recall(vector=vector_of("text 0 of river and tent"), k=3)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_strength_that_has_changed_or_gone_since_a_recall_looked_is_no_damage(
    tmp_path: Path, mode: str
) -> None:
    path = str(tmp_path / "mind")
    with open_tiny(path) as writer:
        used, forgotten, moved = _fill(writer, 3)
        rows = _store(writer).catalog.fetch_stored([used, forgotten, moved])
        writer.reinforce(used)
        writer.forget(forgotten)
        writer.update(moved, text="other words", vector=vector_of("other words"))
        with contextlib.nullcontext(writer) if mode == "rw" else open_tiny(path, mode=mode) as seen:
            for row in rows.values():
                hydrate.verify_strength(_store(seen), row)


def test_after_a_damaged_list_of_words_the_next_one_names_only_files_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each opening reads all texts again, for ever."""
    monkeypatch.setattr(word_files, "_WORTH_WRITING", 1)
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        _fill(memory, 9)
        memory.recall("river", vector=vector_of("river"))
    with open_tiny(str(path)) as memory:
        memory.recall("river", vector=vector_of("river"))  # takes up the files
        raw = bytearray((path / LIST).read_bytes())
        raw[0] ^= 0xFF
        (path / LIST).write_bytes(raw)
        drop_unused_words(_store(memory))
        assert not list(path.rglob("*.lex"))
        _fill(memory, 3)
        memory.recall("tent", vector=vector_of("tent"))
    assert list(path.rglob("*.lex"))
    assert [note for note in spector.check(path).notes if ".lex" in str(note)] == []


def test_a_journal_entry_behind_the_records_of_a_reader_is_not_looked_for_in_them() -> None:
    """Or following the writer ends in an IndexError."""
    records = np.arange(3 * 80, dtype=np.uint8).reshape(3, 80)
    there = records[2, :4].tobytes()
    assert not reader._lagging(records, {(3, 0): b"none", (2, 0): there})
    assert reader._lagging(records, {(2, 0): b"none"})


def test_a_partition_walks_through_every_state_before_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in between leaves a state that the next opening knows how to go on from."""
    walked: dict[int, list[int]] = {}
    real = Transaction.set_state

    def noted(self: Transaction, segment_id: int, state: PartitionState) -> None:
        walked.setdefault(segment_id, []).append(int(state))
        real(self, segment_id, state)

    with open_tiny(str(tmp_path / "mind")) as memory:
        made = _fill(memory, 3)
        memory.forget(made[0])
        monkeypatch.setattr(Transaction, "set_state", noted)
        memory.compact()
        (states,) = walked.values()
        assert states[:3] == [int(state) for state in compact._CHAIN[1:]]
        assert states == sorted(states)


def test_a_partition_with_fewer_memories_than_its_catalog_counts_is_not_compacted(
    tmp_path: Path,
) -> None:
    """Or the count of before goes on into the new file, and nobody can tell any more which is so.

    Header and catalog agree, so only who counts the memories themselves can notice.
    """
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        made = _fill(memory, 4)
        memory.forget(made[:3])
        file = _store(memory).segments[1].row.path
    with sqlite3.connect(path / "catalog.db") as db:
        db.execute("UPDATE segment SET live = 2 WHERE path = ?", (file,))
    db.close()
    whole = (path / file).read_bytes()
    (path / file).write_bytes(with_header(whole, count=2, tombstone_count=2))
    with open_tiny(str(path)) as memory:
        (failed,) = memory.compact().failed
    assert "1 live records, but the catalog has 2" in failed["message"]
    assert (path / file).read_bytes()[PARTITION_HEADER_BYTES:] == whole[PARTITION_HEADER_BYTES:]


def test_a_reader_who_saw_a_commit_half_looks_again_before_it_calls_that_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer beside it copies the strength of a memory into its partition after the commit."""
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        _fill(memory, 3)
        file = path / _store(memory).segments[1].row.path
    whole = file.read_bytes()
    half = bytearray(whole)
    half[PARTITION_HEADER_BYTES + MUTABLE_OFFSET + 4] ^= 1  # of the importance of the first
    looks: list[float] = []

    def meanwhile(seconds: float) -> None:
        looks.append(seconds)
        _overwrite(file, whole)

    with open_tiny(str(path), mode="r") as reader:
        _overwrite(file, bytes(half))
        monkeypatch.setattr(time, "sleep", meanwhile)
        assert len(reader.recall(vector=vector_of("text 0 of river and tent"), k=3)) == 3
    assert looks, "nobody looked twice: the test shows nothing"


def _overwrite(file: Path, content: bytes) -> None:
    """In place: who has the file mapped sees it."""
    with file.open("r+b") as out:
        out.write(content)


def test_a_recall_from_memory_is_done_once_when_slots_have_been_retired() -> None:
    """Or the view is of another epoch than the catalog for good, and the recall starts over.

    It ends in "memories kept moving", until something is written.
    """
    with open_tiny(":memory:") as memory:
        store = next(iter(memory._parts.router.stores()))
        (moved, *_) = _fill(memory, 3)
        memory.update(moved, text="other words", vector=vector_of("other words"))
        epoch = store.view().retire_epoch
        store.checkpoint()
        assert store.view().retire_epoch > epoch, "nothing was retired: the test shows nothing"
        assert store.retire_epoch() == store.view().retire_epoch
        hits = memory.recall(vector=vector_of("other words"), k=3)
        assert hits[0].id == moved


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, None])
def test_where_no_room_can_be_allocated_zeros_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    """Or no store can be made on such a file system; or its files are sparse."""

    def refused(fd: int, offset: int, length: int) -> None:
        assert code is not None
        raise OSError(code, os.strerror(code))

    if code is None:  # macOS
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", refused, raising=False)
    written: list[tuple[int, int]] = []
    real = os.pwrite

    def noted(fd: int, data: bytes, offset: int) -> int:
        written.append((offset, len(data)))
        return real(fd, data, offset)

    file = DiskFiles(str(tmp_path)).open("a.mem", create=True)
    try:
        file.extend(64)
        file.write_at(0, b"x" * 64)
        monkeypatch.setattr(os, "pwrite", noted)
        size = (2 << 20) + 7
        file.extend(size)
        file.extend(size)
        file.extend(5)
        assert file.size() == size
        assert written == [(64, 1 << 20), (64 + (1 << 20), size - 64 - (1 << 20))]
        assert file.read_at(0, size) == b"x" * 64 + bytes(size - 64)
    finally:
        file.close()


def test_room_that_the_disk_does_not_have_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the rest of a full disk is filled with zeros first."""

    def full(fd: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    file = DiskFiles(str(tmp_path)).open("a.mem", create=True)
    try:
        with pytest.raises(StoreFullError):
            file.extend(4096)
        assert file.size() == 0
    finally:
        file.close()


def test_a_file_in_memory_that_is_not_there_is_told_as_one_on_disk_is(tmp_path: Path) -> None:
    """Who expects that an index is gone expects a StoreNotFoundError."""
    for files in (MemoryFiles(), DiskFiles(str(tmp_path))):
        for use in (files.open, files.remove):
            with pytest.raises(StoreNotFoundError):
                use("a.idx")
        files.discard("a.idx")
        files.open("a.idx", create=True).close()
        assert files.exists("a.idx")
        files.open("a.idx").close()
        files.remove("a.idx")
        assert not files.exists("a.idx")
