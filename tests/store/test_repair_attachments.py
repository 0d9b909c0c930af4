"""A repair takes attachments one by one, so a store with more of them than memory is mended.

Mechanism: they go through a file without a name. Damage without it: the repair of a store with many
large attachments needs as much memory as they are large, and ends where there is less. Guard: the
memory that a repair takes with large ones and with small ones, and one under a limit.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import pytest

import spector
from spector import ManualClock
from spector.store.files import disk
from tests.api.helpers import vector
from tests.conftest import NOW, REPO

_MIB = 1 << 20


def content(n: int, size: int) -> bytes:
    return hashlib.blake2b(bytes([n % 256, n // 256])).digest() * (size // 64)


def filled(path: Path, count: int, size: int) -> None:
    with spector.open(path, embedder=None, dim=32, clock=ManualClock(NOW)) as memory:
        for first in range(0, count, 8):
            memory.remember_many(
                [
                    {
                        "text": f"note {n}",
                        "vector": vector(n),
                        "key": f"k{n}",
                        "attachment": content(n, size),
                    }
                    for n in range(first, min(first + 8, count))
                ]
            )


def assert_all_there(path: Path, count: int, size: int) -> None:
    with spector.open(path, embedder=None, dim=32, mode="r") as memory:
        assert len(memory) == count
        for n in range(count):
            assert memory.get(key=f"k{n}").attachment() == content(n, size), n
        assert memory.check().ok


def peak_of_repair(source: Path, dest: Path) -> int:
    tracemalloc.start()
    try:
        report = spector.repair(source, dest)
        assert report.complete
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_repair_holds_no_more_than_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_COPIED_AT_ONCE", 1 << 14)
    count, size = 8, _MIB // 4
    peaks = {}
    for each in (64, size):
        filled(tmp_path / f"mind {each}", count, each)
        peaks[each] = peak_of_repair(tmp_path / f"mind {each}", tmp_path / f"mended {each}")
    assert peaks[size] - peaks[64] < 3 * size, peaks
    assert_all_there(tmp_path / f"mended {size}", count, size)
    assert not list((tmp_path / f"mended {size}").rglob("attachments*"))


def test_those_on_pages_without_a_tree_come_too(tmp_path: Path) -> None:
    filled(tmp_path / "mind", 6, 9 * 1024)
    catalog = tmp_path / "mind" / "catalog.db"
    raw = bytearray(catalog.read_bytes())
    raw[100:4096] = bytes(3996)  # the schema
    catalog.write_bytes(raw)
    before = len(os.listdir("/proc/self/fd"))
    report = spector.repair(tmp_path / "mind", tmp_path / "mended")
    assert len(os.listdir("/proc/self/fd")) == before
    assert report.kept == 6
    with spector.open(tmp_path / "mended", embedder=None, dim=32) as memory:
        assert [each.attachment() for each in memory.records()] == [
            content(n, 9 * 1024) for n in range(6)
        ]
        assert memory.check().ok


def test_a_damaged_one_is_listed_and_the_others_are_kept(tmp_path: Path) -> None:
    filled(tmp_path / "mind", 6, 9 * 1024)
    catalog = tmp_path / "mind" / "catalog.db"
    raw = bytearray(catalog.read_bytes())
    at = raw.index(content(3, 64)) + 5
    raw[at] ^= 1
    catalog.write_bytes(raw)
    report = spector.repair(tmp_path / "mind", tmp_path / "mended")
    [lost] = report.lost
    assert "attachment" in lost.reason
    with spector.open(tmp_path / "mended", embedder=None, dim=32) as memory:
        found = [each.attachment() for each in memory.records()]
        assert memory.get(key="k3").id == lost.id
        assert found == [None if n == 3 else content(n, 9 * 1024) for n in range(6)]
        assert memory.check().ok


_UNDER_A_LIMIT = textwrap.dedent("""
    import resource, sys
    import spector
    with open("/proc/self/status") as lines:
        [now_kib] = [int(line.split()[1]) for line in lines if line.startswith("VmData")]
    limit = now_kib * 1024 + (256 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(spector.repair(sys.argv[1], sys.argv[2]).complete)
""")


@pytest.mark.slow
def test_more_than_there_is_memory_for(tmp_path: Path) -> None:
    count, size = 300, 4 * _MIB
    filled(tmp_path / "mind", count, size)
    done = subprocess.run(
        [sys.executable, "-c", _UNDER_A_LIMIT, str(tmp_path / "mind"), str(tmp_path / "mended")],
        cwd=REPO,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
    assert_all_there(tmp_path / "mended", count, size)
