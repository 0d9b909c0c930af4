"""What the tests of damage share: a store to damage, and where its repair goes."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.workload import warm_up
from tests.store.damage import Patient, ram

PAGE = 4096
Break = Callable[[Path, set[int]], None]


@pytest.fixture(scope="module")
def patient() -> Iterator[Patient]:
    warm_up()
    root = Path(tempfile.mkdtemp(dir=ram()))
    yield Patient(root / "mind")
    shutil.rmtree(root)


@pytest.fixture
def dest(patient: Patient) -> Iterator[Path]:
    yield patient.root.parent / "saved"
    shutil.rmtree(patient.root.parent / "saved", ignore_errors=True)
    patient.restore()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Let pages of a file be unreadable for whoever reads through Python's ``pread``."""
    real, bad = os.pread, dict[int, set[int]]()

    def pread(fd: int, length: int, offset: int) -> bytes:
        pages = bad.get(os.fstat(fd).st_ino, set())
        ahead = [page for page in pages if (page + 1) * PAGE > offset]
        if ahead and min(ahead) * PAGE <= offset:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if ahead:
            length = min(length, min(ahead) * PAGE - offset)
        return real(fd, length, offset)

    def act(path: Path, pages: set[int]) -> None:
        monkeypatch.setattr(os, "pread", pread)
        bad[os.stat(path).st_ino] = pages

    return act
