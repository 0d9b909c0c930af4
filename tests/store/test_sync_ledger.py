"""Whatever a store relies on after a power cut has been synced, byte by byte and name by name.

Mechanism: of every sync the system is asked for, the ledger keeps which bytes and which names it
made durable, and compares them with those of now: when a commit names new files, when the journal
is emptied, and when a verb returns that promises so. Damage: one sync that is left out, or made too
early, is one that no test without a power cut would ever miss. Guard: nothing of ours is hooked, so
a sync may move to any function, as long as it comes in time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.store.backup import directories as trees
from spector.store.core import partition_set, transaction
from tests.crash.workload import DIM, START, open_tiny, vector_of
from tests.fakes import FakeEmbedder

#: what is derived, or a courtesy, may be lost
_DERIVED = (".idx", ".lex", ".tmp", "-shm", "-wal", "LOCK", "words.lst")


class Ledger:
    """What has been synced of which file and of which folder."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.writes: dict[int, int] = {}
        self._bytes: dict[int, tuple[int, int]] = {}
        self._names: dict[int, set[tuple[str, int]]] = {}
        #: at a commit, and when the journal is emptied: what was not durable
        self.late: list[str] = []
        self.commits = self.emptied = 0
        self.root: Path | None = None
        self._known: set[int] = set()
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, self._syncing(getattr(os, name)))
        pwrite, connect = os.pwrite, sqlite3.connect

        def noted(fd: int, data: Any, offset: int) -> int:
            inode = os.fstat(fd).st_ino
            self.writes[inode] = self.writes.get(inode, 0) + 1
            return pwrite(fd, data, offset)

        def traced(*given: Any, **more: Any) -> sqlite3.Connection:
            db = connect(*given, **more)
            db.set_trace_callback(self._statement)
            return db

        patch.setattr(os, "pwrite", noted)
        patch.setattr(sqlite3, "connect", traced)

    def _syncing(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            real(fd)
            status = os.fstat(fd)
            if stat.S_ISDIR(status.st_mode):
                self._names[status.st_ino] = _names_in(fd)
            else:
                self._bytes[status.st_ino] = self._state(status)

        return sync

    def _state(self, status: os.stat_result) -> tuple[int, int]:
        return status.st_size, self.writes.get(status.st_ino, 0)

    def follow(self, root: Path) -> None:
        """From now on look at this store; what there is counts as durable."""
        self.root = root
        self.late.clear()
        self.commits = self.emptied = 0
        for path in [root.parent, root, *root.rglob("*")]:
            if path.is_dir():
                self._names[path.stat().st_ino] = _names_in(path)
            elif path.exists():
                self._bytes[path.stat().st_ino] = self._state(path.stat())
        self._known = {path.stat().st_ino for path in root.rglob("*.mem")}

    def owed(
        self, root: Path, *, names: bool = True, only: Callable[[Path], bool] | None = None
    ) -> list[str]:
        """Files and folders of which something is not durable."""
        out = []
        for path in [root.parent, root, *root.rglob("*")]:
            status = path.stat()
            if path.is_dir():
                changed = _names_in(path) ^ self._names.get(status.st_ino, set())
                lost = {name for name, _ in changed if not name.endswith(_DERIVED)}
                if path == root.parent:  # what else is beside it is none of ours
                    lost &= {root.name}
                if names and lost:
                    out.append(f"names in {path.name}: {sorted(lost)}")
                continue
            is_due = path.suffix == ".mem" and (only is None or only(path))
            if is_due and self._bytes.get(status.st_ino) != self._state(status):
                out.append(f"bytes of {path.name}")
        return out

    def _statement(self, sql: str) -> None:
        if self.root is None or not self.root.exists():
            return
        words = sql.split()
        if words[:1] == ["COMMIT"]:
            self.commits += 1
            fresh = {
                path for path in self.root.rglob("*.mem") if path.stat().st_ino not in self._known
            }
            self.late += self.owed(self.root, names=False, only=fresh.__contains__)
            for folder in {path.parent for path in fresh}:
                have = self._names.get(folder.stat().st_ino, set())
                self.late += [
                    f"name of {p.name}"
                    for p in fresh
                    if p.parent == folder and (p.name, p.stat().st_ino) not in have
                ]
            self._known |= {path.stat().st_ino for path in fresh}
        elif words[:3] == ["DELETE", "FROM", "journal"] and "segment_id" not in words:
            self.emptied += 1
            self.late += self.owed(self.root, names=False)


def _names_in(folder: Path | int) -> set[tuple[str, int]]:
    """Names, each with the number of what it leads to."""
    with os.scandir(folder) as entries:
        return {(entry.name, entry.inode()) for entry in entries}


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    return Ledger(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "in" / "mind"


def _day(n: int) -> Any:
    return START - timedelta(days=n)


def _fill(memory: spector.Memory, count: int, *, tier: str = "semantic") -> list[int]:
    return [
        memory.remember(f"{tier} {n}", vector=vector_of(f"{tier} {n}"), tier=tier).id
        for n in range(count)
    ]


def _killed(live: Path, root: Path) -> None:
    """What a process that is killed now leaves, all of it in the cache only."""
    shutil.copytree(live, root, ignore=shutil.ignore_patterns("LOCK", "*-shm"))


def _open_files() -> list[str]:
    out = []
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            out.append(os.readlink(f"/proc/self/fd/{fd}"))
    return out


DURABLE = pytest.mark.parametrize(
    "durability", ["strict", pytest.param("relaxed", marks=pytest.mark.slow)]
)


@DURABLE
def test_a_life_of_a_store_owes_nothing_when_it_is_closed(
    root: Path, ledger: Ledger, durability: Any
) -> None:
    ledger.root = root
    with open_tiny(str(root), durability=durability) as memory:
        made = _fill(memory, 9)
        _fill(memory, 5, tier="episodic")
        memory.remember_many(
            {"text": f"bulk {n}", "vector": vector_of(f"bulk {n}"), "tier": "procedural"}
            for n in range(transaction.WRITE_AHEAD_RECORDS * 3)
        )
        memory.checkpoint()
        memory.update(made[0], text="other words", vector=vector_of("other words"))
        memory.forget(made[1:6])
        memory.compact()
        memory.forget(made[6], purge=True)
        memory.reflect()
    assert (ledger.late, ledger.owed(root)) == ([], [])
    assert ledger.emptied >= 2
    assert ledger.commits > 20


@DURABLE
def test_an_opening_after_a_kill_owes_nothing_when_it_returns(
    root: Path, tmp_path: Path, ledger: Ledger, durability: Any
) -> None:
    live = tmp_path / "live"
    with open_tiny(str(live), durability=durability) as memory:
        made = _fill(memory, 6)
        memory.checkpoint()
        memory.update(made[0], importance=0.9)
        memory.forget(made[1])
        _fill(memory, 3, tier="episodic")
        root.parent.mkdir()
        _killed(live, root)
    if durability == "relaxed":  # of a commit that a power cut has taken back
        shutil.copy(next(root.glob("episodic/*.mem")), root / "episodic/2026-01-01-000.mem")
    ledger.follow(root)
    written = sum(ledger.writes.values())
    with open_tiny(str(root)):
        assert sum(ledger.writes.values()) > written, "nothing was left to do: this shows nothing"
        assert ledger.emptied
        if os.path.isdir("/proc/self/fd"):
            assert not [name for name in _open_files() if name.endswith(".mem")]
        assert not (root / "episodic/2026-01-01-000.mem").exists()
        assert (ledger.late, ledger.owed(root)) == ([], [])


def test_a_store_of_many_partitions_owes_nothing_for_those_it_has_let_go_of(
    root: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_set, "OPEN_FILES", 3)
    monkeypatch.setattr(transaction, "_TRIM_EVERY", 2)
    monkeypatch.setattr(transaction, "_OPENED_BEFORE_COMMIT", 2)
    ledger.root = root
    with open_tiny(str(root)) as memory:
        memory.remember_many(
            {"text": f"m{n}", "vector": vector_of(f"m{n}"), "event_time": _day(n)}
            for n in range(12)
        )
        memory.forget([record.id for record in memory][::2])
    assert (ledger.late, ledger.owed(root)) == ([], [])


@DURABLE
def test_another_model_is_durable_before_the_catalog_names_its_vectors(
    root: Path, ledger: Ledger, durability: Any
) -> None:
    embedder = FakeEmbedder(DIM)
    with spector.open(root, embedder=embedder, durability=durability) as memory:
        memory.remember_many([f"note {n}" for n in range(9)])
        memory.remember("a rule", tier="procedural")
    ledger.follow(root)
    spector.reembed(root, FakeEmbedder(2 * DIM))
    assert (ledger.late, ledger.owed(root)) == ([], [])
    assert ledger.commits


@pytest.mark.parametrize(
    ("way", "again"),
    [
        ("backup", ""),
        ("backup", "swapped"),
        ("backup", "one name after the other"),
        ("restore", ""),
        ("restore", "into a folder"),
        ("repair", ""),
    ],
)
def test_a_copy_owes_nothing_when_it_is_announced(
    root: Path,
    tmp_path: Path,
    ledger: Ledger,
    way: str,
    again: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if again == "one name after the other":  # as on systems that cannot swap two names
        monkeypatch.setattr(trees, "_exchange", lambda one, other: False)
    dest = tmp_path / "there" / "copy"
    with open_tiny(str(root)) as memory:
        made = _fill(memory, 6)
        _fill(memory, 3, tier="episodic")
        if way == "backup":
            if again:
                memory.backup(dest)
                memory.update(made[0], importance=0.9)
            memory.backup(dest)
    if way == "restore":
        if again:
            dest.mkdir(parents=True)  # an empty folder may be restored to
        spector.restore(root, dest)
    elif way == "repair":
        spector.repair(root, dest)
    assert ledger.owed(dest) == []
    if way != "repair":  # SQLite makes that one, and syncs it
        status = (dest / "catalog.db").stat()
        assert ledger._bytes[status.st_ino][0] == status.st_size
    there = (dest.parent.name, dest.parent.stat().st_ino)
    assert there in ledger._names[tmp_path.stat().st_ino]


def test_an_export_is_durable_with_its_last_line_and_its_name(
    root: Path, tmp_path: Path, ledger: Ledger
) -> None:
    out = tmp_path / "out.jsonl"
    with open_tiny(str(root)) as memory:
        _fill(memory, 6)
        memory.export(out)
    status = out.stat()
    assert status.st_size > 0
    assert ledger._bytes[status.st_ino] == ledger._state(status)
    assert ("out.jsonl", status.st_ino) in ledger._names[tmp_path.stat().st_ino]
