"""Mechanism: a strict writer syncs each commit before it begins the next, so a crash tears one.

Damage without the guard: a flip in the middle of a log takes back all commits behind it, silently.
Damage with a wrong guard: a store that a power cut left in a legal state is refused. So logs are
made by SQLite itself, torn in every way that is legal, gone on with and torn again; none of these
may look damaged, and a flip in front of two commits must.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spector.store.files.disk import DiskFiles
from spector.store.sqlite.wal_frames import Broken, broken_at
from tests.proof import seed
from tests.store.damage import ram

PAGE = 4096
FRAME = 24 + PAGE


def _found(root: Path) -> Broken | None:
    file = DiskFiles(str(root)).open("a.db-wal", writable=False)
    try:
        return broken_at(file, PAGE)
    finally:
        file.close()


@pytest.fixture
def ram_path() -> Iterator[Path]:
    """A directory where a sync costs nothing."""
    root = Path(tempfile.mkdtemp(dir=ram()))
    yield root
    shutil.rmtree(root)


class Life:
    """A catalog's log through commits and crashes. SQLite writes, we lose what may be lost."""

    def __init__(self, root: Path, rng: np.random.Generator) -> None:
        self.root, self.rng = root, rng
        self.path = root / "a.db"
        with self._open() as db:
            db.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
            db.executemany("INSERT INTO t VALUES (?, ?)", [(n, bytes(3000)) for n in range(20)])
        db.close()
        self.log = b""

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"):
            db.execute(f"PRAGMA {pragma}")
        return db

    def run(self, commits: int) -> list[bytes]:
        """Some commits, perhaps a copy of the log in between; the log after each of them."""
        db = self._open()
        logs = []
        for _ in range(commits):
            if self.rng.random() < 0.15:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            ids = self.rng.integers(0, 20, self.rng.integers(1, 9)).tolist()
            db.execute("BEGIN")
            db.executemany(
                "UPDATE t SET b = ? WHERE a = ?", [(self.rng.bytes(3000), i) for i in ids]
            )
            db.execute("COMMIT")
            logs.append(self._wal())
        main = self.path.read_bytes()
        db.close()
        self.path.write_bytes(main)
        return logs

    def _wal(self) -> bytes:
        return self.path.with_name("a.db-wal").read_bytes()

    def put(self, log: bytes) -> None:
        self.path.with_name("a.db-shm").unlink(missing_ok=True)
        self.path.with_name("a.db-wal").write_bytes(log)

    def torn(self, before: bytes, after: bytes) -> bytes:
        """The last commit with any of its blocks written, or not."""
        block = int(self.rng.choice([512, 4096]))
        size = int(self.rng.choice([len(before), len(after)]))
        out = bytearray(before.ljust(len(after), b"\0"))
        for start in range(0, len(after), block):
            if self.rng.random() < 0.5:
                out[start : start + block] = after[start : start + block]
        if after[:32] != before[:32]:  # the head of a log that begins anew is synced first
            out[:32] = after[:32]
        return bytes(out[: max(size, len(before))])


@pytest.mark.parametrize(
    "full",
    [
        pytest.param(False, id="some"),
        pytest.param(True, marks=pytest.mark.slow, id="all"),
    ],
)
def test_no_log_that_a_power_cut_may_leave_looks_damaged(ram_path: Path, full: bool) -> None:
    rng = np.random.default_rng(seed(31))
    found = 0
    for n in range(300 if full else 12):
        root = ram_path / str(n)
        root.mkdir()
        life = Life(root, rng)
        for _ in range(int(rng.integers(1, 5))):
            logs = life.run(int(rng.integers(2, 9)))
            life.put(logs[-1])
            assert _found(root) is None
            for _ in range(8):
                life.put(life.torn(logs[-2], logs[-1]))
                assert _found(root) is None, f"SPECTOR_SEED={seed(31)}"
            if len(logs) > 3 and logs[-1][:32] == logs[-4][:32]:
                at = len(logs[-4]) + 24 + int(rng.integers(PAGE))
                if len(logs[-3]) > len(logs[-4]):  # not in a longer log's file
                    whole = bytearray(logs[-1])
                    whole[at] ^= 1
                    life.put(bytes(whole))
                    hit = _found(root)
                    found += 1
                    assert hit is not None
                    assert hit.offset == len(logs[-4])
                    assert hit.commits >= 2
            life.put(life.torn(logs[-2], logs[-1]))
    assert found


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 32 + FRAME - 1])
def test_log_without_a_whole_frame_is_no_damage(ram_path: Path, size: int) -> None:
    life = Life(ram_path, np.random.default_rng(5))
    whole = life.run(3)[-1]
    life.put(whole[:size])
    assert _found(ram_path) is None
    life.put(bytes(size))
    assert _found(ram_path) is None
