"""One descriptor of a catalog is shared by all who read its bytes, and closed with the last.

Mechanism: closing any descriptor of a file drops every lock that the process has on it, SQLite's
too. Damage without the guard: a second process deletes the log of a store that is open here. Cost
of a guard that shares nothing: each check of a store that is open leaves a descriptor behind.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

import spector
from spector.store.catalog.schema import CATALOG_NAME
from spector.store.files.disk import DiskFiles
from spector.store.integrity.check_disk import check_unopened
from spector.store.sqlite import shared_descriptors as raw
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, texts_of, vector_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="descriptors and locks are counted in /proc"
)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _of(path: Path) -> int:
    """Descriptors of this process on one file."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.path.samestat(os.stat(f"/proc/self/fd/{name}"), os.stat(path))
        except FileNotFoundError:
            continue
    return count


def _locks(path: Path) -> int:
    """Locks of POSIX that this process has on a file."""
    wanted = (str(os.getpid()), str(path.stat().st_ino))
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum(
        "POSIX" in words and words[4] == wanted[0] and words[5].split(":")[2] == wanted[1]
        for words in lines
    )


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with open_tiny(str(tmp_path / "mind")) as memory:
        memory.remember("platypus", vector=vector_of("platypus"))
    return tmp_path / "mind"


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_checks_of_an_open_store_keep_no_descriptor_each(mind: Path, mode: str) -> None:
    before = _descriptors()
    with open_tiny(str(mind), mode=mode) as memory:
        counts = []
        for _ in range(20):
            assert spector.check(mind).ok
            counts.append(_descriptors())
        assert counts[1] == counts[19]
        assert len(texts_of(memory)) == 1
    assert _descriptors() == before


def test_checks_that_cannot_open_the_catalog_keep_no_descriptor_each(mind: Path) -> None:
    with open_tiny(str(mind)) as memory:
        counts = []
        for _ in range(5):
            assert check_unopened(DiskFiles(str(mind))) is None
            counts.append(_of(mind / CATALOG_NAME))
        assert counts[0] == counts[4]
        assert _locks(mind / CATALOG_NAME)
        assert len(memory) == 1


def test_checks_keep_the_locks_of_an_open_store(mind: Path) -> None:
    catalog = mind / CATALOG_NAME
    with open_tiny(str(mind), mode="r") as first:
        assert len(texts_of(first)) == 1
        locks = _locks(catalog)
        assert locks
        with open_tiny(str(mind), mode="r") as second:
            assert len(texts_of(second)) == 1
            assert spector.check(mind).ok
        assert spector.check(mind).ok
        assert _locks(catalog) == locks
    assert not _locks(catalog)
    assert not _of(catalog)


def test_file_in_the_place_of_an_open_catalog_is_opened_once(mind: Path, tmp_path: Path) -> None:
    path = str(mind / CATALOG_NAME)
    files = DiskFiles(str(mind))
    with raw.keep_open(path):
        before = raw.raw_file(files, CATALOG_NAME, path)
        (mind / "other").write_bytes(b"another one")
        os.replace(mind / "other", path)
        after = raw.raw_file(files, CATALOG_NAME, path)
        assert after is not before
        assert after is raw.raw_file(files, CATALOG_NAME, path)
        assert after.read_at(0, 20) == b"another one"
        assert before.size() > 20
    assert not _of(mind / CATALOG_NAME)


def test_checks_and_openings_in_many_threads_keep_nothing(mind: Path) -> None:
    failed: list[BaseException] = []

    def check() -> None:
        try:
            for _ in range(4):
                assert spector.check(mind).ok
                with open_tiny(str(mind), mode="r") as memory:
                    assert len(memory) == 1
        except BaseException as error:
            failed.append(error)

    before = _descriptors()
    with open_tiny(str(mind)):
        threads = [threading.Thread(target=check) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert _locks(mind / CATALOG_NAME)
    assert not failed
    assert _descriptors() == before


def test_child_of_a_process_that_was_opening_a_catalog_is_not_stuck(tmp_path: Path) -> None:
    """The lock may be somebody's just then, who does not live in the child."""

    def child() -> None:
        with open_tiny(str(tmp_path / "new")) as memory:
            memory.remember("platypus", vector=vector_of("platypus"))
        assert spector.check(tmp_path / "new").ok

    with raw._lock:
        assert in_fork(child) == 0
