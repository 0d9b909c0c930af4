"""Mechanism: a page of a map that cannot be read ends the process when it is touched, by SIGBUS.

Damage without the guard: one bad sector, or a file that somebody has cut off, and the host is gone,
mostly in a compaction or a backup, which look at everything. Guard: the system is asked to read the
pages first; it says that it cannot, and that is an error. What recalls touch is guarded for those
who ask for it (``Config.guard_reads``). A file that is cut under its map stands for the bad sector
here: the system treats both alike.
"""

from __future__ import annotations

import errno
import faulthandler
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import PartitionCorruptError
from spector.store.files.disk import DiskFiles, populate
from spector.store.files.protocol import Bytes
from spector.store.partitions import segment as readable
from tests.crash.harness import in_fork
from tests.crash.workload import DIM, vector_of

PAGE = 4096
_MANY = 400
_CONFIG = spector.Config(semantic_capacity=_MANY, min_extent_bytes=64 * 1024)
_GUARDED = spector.Config(semantic_capacity=_MANY, min_extent_bytes=64 * 1024, guard_reads=True)


@pytest.fixture(autouse=True)
def _only_where_the_system_says_so() -> None:
    if not populate(np.zeros(1, np.uint8)):
        pytest.skip("this system cannot be asked to read pages beforehand (Linux 5.14)")


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM, config=_CONFIG) as memory:
        made = memory.remember_many(
            {"text": f"w{n}", "vector": vector_of(str(n)), "tier": "semantic"} for n in range(_MANY)
        )
        memory.forget([record.id for record in made[:10]])
    return tmp_path / "mind"


def _part(mind: Path) -> Path:
    (part,) = mind.glob("semantic/*.mem")
    return part


def _in_child(work: Callable[[], object]) -> int:
    """0 when the work returned, -SIGBUS when that ended it."""

    def quiet() -> None:
        faulthandler.disable()  # what may be about to happen is meant to
        work()

    return in_fork(quiet)


def _cut_while_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever maps a partition has it cut off under the map at once."""
    real = DiskFiles.glance

    def glance(self: DiskFiles, name: str, head: int, **more: Any) -> tuple[bytes, Bytes]:
        found = real(self, name, head, **more)
        os.truncate(self._path(name), PAGE)
        return found

    monkeypatch.setattr(DiskFiles, "glance", glance)


def test_pages_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(4 * PAGE))
    files = DiskFiles(str(tmp_path))
    file = files.open("file")
    mapped = file.map(4 * PAGE)
    assert populate(mapped)
    assert populate(mapped[PAGE + 5 : 2 * PAGE + 7])
    assert populate(mapped[:0])
    os.truncate(tmp_path / "file", PAGE + 1)
    assert populate(mapped[: 2 * PAGE])
    for view in (mapped, mapped[2 * PAGE :], mapped[3 * PAGE + 5 : 3 * PAGE + 6]):
        with pytest.raises(OSError, match="error") as caught:
            populate(view)
        assert caught.value.errno == errno.EIO
    file.close()


@pytest.mark.parametrize("guarded", [False, True])
def test_an_opening_that_reads_first_gets_an_error_instead_of_a_signal(
    mind: Path, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> None:
        config = _GUARDED if guarded else _CONFIG
        with spector.open(mind, embedder=None, dim=DIM, config=config) as memory:
            memory.recall(vector=vector_of("1"), k=_MANY, exact=True)

    def work() -> None:
        _cut_while_it_is_opened(monkeypatch)
        if not guarded:
            look()
            return
        with pytest.raises(PartitionCorruptError, match="cannot read some of it") as caught:
            look()
        assert caught.value.errno == errno.EIO
        assert "--repair" in caught.value.hint

    code = _in_child(work)
    assert code == (0 if guarded else -signal.SIGBUS)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_guarded_store_works_as_any_other(mind: Path, mode: Any) -> None:
    with spector.open(mind, embedder=None, dim=DIM, mode=mode, config=_GUARDED) as memory:
        assert len(memory.recall(vector=vector_of("20"), k=5)) == 5
        if mode == "rw":
            for n in range(30):
                memory.remember(f"more {n}", vector=vector_of(f"more {n}"), tier="semantic")
        assert memory.check().ok


# -- whoever looks at everything asks first, whatever the configuration ---------------------------


def _compact(memory: spector.Memory, mind: Path) -> None:
    (failed,) = memory.compact().failed
    assert "cannot read some of it" in failed["message"]


def _backup(memory: spector.Memory, mind: Path) -> None:
    with pytest.raises(PartitionCorruptError, match="damaged and was not copied"):
        memory.backup(mind.parent / "copy")
    assert not (mind.parent / "copy").exists()


@pytest.mark.parametrize("look", [_compact, _backup])
def test_a_page_that_cannot_be_read_fails_the_job_and_not_the_process(
    mind: Path, look: Callable[[spector.Memory, Path], None]
) -> None:
    def work() -> None:
        with spector.open(mind, embedder=None, dim=DIM, config=_CONFIG) as memory:
            os.truncate(_part(mind), PAGE)
            look(memory, mind)

    assert _in_child(work) == 0


def test_an_index_that_cannot_be_read_is_built_anew(
    mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spector.open(mind, embedder=None, dim=DIM, config=_CONFIG) as memory:
        memory.recall(vector=vector_of("1"), k=3)
    assert list(mind.glob("semantic/*.idx"))

    def fail(view: Bytes) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("spector.store.files.disk.populate", fail)
    with spector.open(mind, embedder=None, dim=DIM, mode="r", config=_CONFIG) as memory:
        assert len(memory.recall(vector=vector_of("50"), k=3)) == 3


def test_a_system_that_cannot_be_asked_has_the_file_read_through_calls(
    mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readable, "populate", lambda view: False)
    spector.open(mind, embedder=None, dim=DIM, mode="r", config=_GUARDED).close()
    real, victim = os.pread, os.stat(_part(mind)).st_ino

    def pread(fd: int, length: int, offset: int) -> bytes:
        if os.fstat(fd).st_ino == victim and length > PAGE:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    spector.open(mind, embedder=None, dim=DIM, mode="r", config=_CONFIG).close()
    with pytest.raises(PartitionCorruptError, match="cannot read some of it") as caught:
        spector.open(mind, embedder=None, dim=DIM, mode="r", config=_GUARDED)
    assert caught.value.errno == errno.EIO
