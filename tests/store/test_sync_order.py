"""What must be on the medium is synced before what relies on it is done.

Mechanism: a power cut keeps what was synced, and of the rest whatever it likes. Damage: an old file
is gone and the commit that let it go is as well, or the journal is empty and the partition has not
what was in it. Guard: every sync, removal and statement is noted as the system and SQLite are asked
for it, and the order of those two is compared. The names of our own functions play no part.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spector
from spector.errors import StoreError
from spector.store.catalog.catalog import Catalog
from spector.store.files import syncing as sync
from spector.store.files.disk import DiskFiles
from spector.store.files.lock import read_durable_mark
from spector.store.rewriting import rewrite_all
from tests.crash.workload import open_tiny, vector_of

LOG = "catalog.db-wal"
NAMED_DESCRIPTORS = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="this system does not say what a descriptor is of"
)
Event = tuple[str, str]


class Diary:
    """What the system and SQLite were asked for, in order: (what, name of the file)."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def note(self, what: str, path: str) -> None:
        self.events.append((what, os.path.basename(path)))

    def first(self, what: str, *ends: str, after: int = -1) -> int:
        """Where the first such event behind another one is; fails where there is none."""
        for n, (kind, name) in enumerate(self.events):
            if n > after and kind == what and name.endswith(ends):
                return n
        raise AssertionError(f"no {what} of {ends} behind event {after} of {self.events}")

    def last(self, what: str, *ends: str) -> int:
        return max(
            n for n, (kind, name) in enumerate(self.events) if kind == what and name.endswith(ends)
        )


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> Diary:
    found = Diary()

    def by_descriptor(name: str, what: str) -> None:
        real = getattr(os, name)

        def noted(fd: int, *given: Any) -> Any:
            done = real(fd, *given)
            found.note(what, os.readlink(f"/proc/self/fd/{fd}"))
            return done

        monkeypatch.setattr(os, name, noted)

    def by_path(name: str) -> None:
        real = getattr(os, name)

        def noted(path: Any, *given: Any, **more: Any) -> Any:
            done = real(path, *given, **more)
            found.note("unlink", os.fsdecode(path))
            return done

        monkeypatch.setattr(os, name, noted)

    by_descriptor("fsync", "sync")
    by_descriptor("fdatasync", "sync")
    by_descriptor("pwrite", "write")
    by_path("unlink")
    by_path("remove")
    connect = sqlite3.connect

    def traced(*given: Any, **more: Any) -> sqlite3.Connection:
        db = connect(*given, **more)
        db.set_trace_callback(lambda sql: found.events.append(("sql", sql.strip())))
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    return found


def _put(memory: Any, *texts: str) -> list[int]:
    return [memory.remember(text, vector=vector_of(text), tier="semantic").id for text in texts]


@NAMED_DESCRIPTORS
def test_the_name_of_a_new_catalog_is_synced_before_the_store_is_open(
    tmp_path: Path, diary: Diary
) -> None:
    """Or a power cut leaves a directory without a catalog, and a new store begins in it."""
    open_tiny(str(tmp_path / "mind")).close()
    made = diary.first(
        "sql",
        *(
            sql
            for what, sql in diary.events
            if what == "sql" and sql.startswith("CREATE TABLE record(")
        ),
    )
    diary.first("sync", "mind", after=made)


@NAMED_DESCRIPTORS
def test_a_checkpoint_syncs_what_a_relaxed_writer_has_only_written(
    tmp_path: Path, diary: Diary
) -> None:
    """Or a power cut takes commits back that were said to be safe from it by now."""
    with open_tiny(str(tmp_path / "mind"), durability="relaxed") as memory:
        _put(memory, "a", "b")
        diary.events.clear()
        memory.checkpoint()
        log = diary.first("sync", LOG)
        assert log < diary.first("sync", ".mem"), "a partition has what its catalog may lose"


@NAMED_DESCRIPTORS
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_partitions_are_synced_before_the_journal_that_has_their_bytes_is_emptied(
    tmp_path: Path, diary: Diary, durability: Any
) -> None:
    with open_tiny(str(tmp_path / "mind"), durability=durability) as memory:
        first, *_ = _put(memory, "a", "b")
        memory.checkpoint()
        memory.update(first, importance=0.9)
        diary.events.clear()
        memory.checkpoint()
        emptied = diary.first(
            "sql",
            *(
                sql
                for what, sql in diary.events
                if what == "sql" and sql.startswith("DELETE FROM journal")
            ),
        )
        assert diary.last("sync", ".mem") < emptied


@NAMED_DESCRIPTORS
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_a_replaced_partition_is_removed_when_the_commit_that_replaces_it_is_safe(
    tmp_path: Path, diary: Diary, durability: Any
) -> None:
    with open_tiny(str(tmp_path / "mind"), durability=durability) as memory:
        made = _put(memory, *"abcdefgh")
        memory.forget(made[:3])
        diary.events.clear()
        assert memory.compact().partitions
    gone = diary.first("unlink", ".mem")
    synced = diary.first("sync", ".mem")
    commit = max(n for n in range(gone) if diary.events[n] == ("sql", "COMMIT"))
    assert synced < commit, "the catalog names a file that may be empty"
    if durability == "relaxed":  # a strict commit is synced by SQLite
        assert commit < diary.first("sync", LOG, after=commit) < gone


@NAMED_DESCRIPTORS
def test_files_that_a_rewrite_replaces_are_removed_when_its_commit_is_safe(
    tmp_path: Path, diary: Diary
) -> None:
    """A change of model, or of the format, of a store that is written to in relaxed mode."""
    with open_tiny(str(tmp_path / "mind"), durability="relaxed") as memory:
        _put(memory, *"abcdef")
        store = next(each for each in memory._parts.router.stores() if each.files.durable)
        diary.events.clear()
        rewrite_all(store, lambda images, rows: images, meta={})
        gone = diary.first("unlink", ".mem")
        commit = max(n for n in range(gone) if diary.events[n] == ("sql", "COMMIT"))
        assert commit < diary.first("sync", LOG, after=commit) < gone


@NAMED_DESCRIPTORS
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_an_opening_makes_commits_durable_before_it_writes_them_to_partitions(
    tmp_path: Path, diary: Diary, durability: Any
) -> None:
    """A killed process may have written its last commits, and the log's own name, to the cache
    only: a power cut must not take them back from under their partitions."""
    live, dead = tmp_path / "live", tmp_path / "dead"
    with open_tiny(str(live), durability=durability) as memory:
        first, *_ = _put(memory, "a", "b")
        memory.checkpoint()
        memory.update(first, importance=0.9)
        shutil.copytree(live, dead, ignore=shutil.ignore_patterns("LOCK", "*-shm"))
    diary.events.clear()
    open_tiny(str(dead), durability=durability).close()
    written = min(diary.first("write", ".mem"), diary.first("sync", ".mem"))
    assert diary.first("sync", LOG) < written
    assert diary.first("sync", "dead") < written


@NAMED_DESCRIPTORS
def test_no_word_is_left_of_commits_whose_sync_failed(
    tmp_path: Path, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the next opening takes what the disk never got for commits that somebody has lost."""
    path = tmp_path / "mind"
    memory = open_tiny(str(path), durability="relaxed")
    _put(memory, "a")
    memory.checkpoint()
    before = read_durable_mark(str(path))
    _put(memory, "b")
    real = os.fdatasync

    def failing(fd: int) -> None:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(LOG):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(fd)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", failing)
        with pytest.raises(StoreError, match="Input/output"):
            memory.checkpoint()
    assert read_durable_mark(str(path)) == before
    memory.close()


@NAMED_DESCRIPTORS
@pytest.mark.parametrize("way", ["backup", "restore", "repair"])
def test_every_folder_and_partition_of_a_copy_is_synced_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Or a power cut leaves a copy under its name that has lost files."""
    mind, dest = tmp_path / "mind", tmp_path / "dest"
    with open_tiny(str(mind)) as memory:
        _put(memory, "a", "b")
        memory.remember("c", vector=vector_of("c"), tier="episodic")
    synced: list[tuple[int, bool]] = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def noted(fd: int, real: Any = real) -> None:
            real(fd)
            synced.append((os.fstat(fd).st_ino, dest.exists()))

        monkeypatch.setattr(os, name, noted)
    if way == "backup":
        with open_tiny(str(mind)) as memory:
            synced.clear()
            memory.backup(dest)
    elif way == "restore":
        spector.restore(mind, dest)
    else:
        spector.repair(mind, dest)
    early = {inode for inode, named in synced if not named}
    due = [dest, *(p for p in dest.rglob("*") if p.is_dir() or p.suffix == ".mem")]
    assert len(due) >= 5
    assert [str(p) for p in due if p.stat().st_ino not in early] == []
    assert (tmp_path.stat().st_ino, True) in synced, "the name of the copy itself"


# -- What is synced is on the medium, on systems whose fsync does not mean that as well ------------


FULL = 51


class _Mac:
    """An operating system with F_FULLFSYNC, which answers with ``error`` if there is one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int = 0) -> None:
        self.calls: list[str] = []

        def control(fd: int, command: int) -> int:
            assert command == FULL
            self.calls.append("full")
            if error:
                raise OSError(error, os.strerror(error))
            return 0

        def noted(name: str) -> Callable[[int], None]:
            return lambda fd: self.calls.append(name)

        monkeypatch.setattr(sync, "fcntl", SimpleNamespace(fcntl=control, F_FULLFSYNC=FULL))
        monkeypatch.setattr(os, "fsync", noted("fsync"))
        monkeypatch.setattr(os, "fdatasync", noted("fdatasync"))


def _sync_both(root: Path) -> None:
    files = DiskFiles(str(root))
    file = files.open("a.mem", create=True)
    file.extend(64)
    file.write_at(0, b"x")
    file.sync()
    file.close()
    files.sync_dir("a.mem")


def test_macos_waits_until_files_and_names_are_on_the_medium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch)
    _sync_both(tmp_path)
    assert set(mac.calls) == {"full"}
    assert len(mac.calls) >= 2


def test_file_system_without_a_full_sync_gets_the_plain_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch, errno.ENOTSUP)
    _sync_both(tmp_path)
    assert mac.calls.count("fsync") + mac.calls.count("fdatasync") == mac.calls.count("full") >= 2


def test_full_sync_that_fails_is_not_tried_again_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        sync.sync_data(-1)
    assert mac.calls == ["full"]


def test_catalog_of_a_writer_is_synced_in_full(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), mode="rw", durability="strict")
    try:
        main: sqlite3.Connection = catalog.main
        for pragma in ("fullfsync", "checkpoint_fullfsync"):
            assert main.execute(f"PRAGMA {pragma}").fetchone() == (1,), pragma
    finally:
        catalog.close()
