"""A file that somebody has made longer, by bytes that take no room, is not read whole.

Mechanism: a hole of terabytes is made in no time, and whoever reads it, maps it or makes room for
it has no memory or no time left. Damage: MemoryError or a hang in opening, check, purge, repair,
inspection. Guard: what a file must have is known before it is read (rows and capacity, a header, a
list), and what nobody has written is passed over. Under a limit of address space, with clocks.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import spector
from spector import Memory
from spector.store.files.bad_sectors import written_ranges
from spector.store.files.disk import DiskFiles
from spector.store.repair.inspect import RawStore
from tests.crash.harness import in_fork

_GROWN = 3 << 40
_LIMIT = 4 << 30
_SECONDS = 30
_COUNT = 700


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "mind"
    with _open(path) as memory:
        memory.remember_many(
            {"text": f"word{n} of many", "vector": _vector(n)} for n in range(_COUNT)
        )
        memory.recall("word3", vector=_vector(3))
    return path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a killed process leaves: a log, and its memory shared with readers."""
    path = tmp_path_factory.mktemp("left") / "mind"

    def killed() -> None:
        memory = _open(path)
        for n in range(40):
            memory.remember(f"word{n} of many", vector=_vector(n))
        os._exit(0)

    assert in_fork(killed) == 0
    return path


def _open(path: Path, mode: Literal["rw", "r"] = "rw") -> Memory:
    return spector.open(path, embedder=None, dim=16, mode=mode)


def _vector(n: int) -> list[float]:
    return np.random.default_rng(n).standard_normal(16).tolist()


def _grow(path: Path) -> None:
    size = path.stat().st_size
    for by in (_GROWN, 1 << 40, 1 << 36):  # file systems differ in how long a file may be
        try:
            os.truncate(path, size + by)
            return
        except OSError:
            continue
    pytest.skip("this file system has no long files")


def _typed(work: Callable[[], object]) -> None:
    with contextlib.suppress(spector.SpectorError):
        work()


def _verbs(memory: Memory, path: Path) -> Iterator[Callable[[], object]]:
    yield lambda: memory.recall("word5", vector=_vector(5))
    yield memory.check
    yield memory.stats
    yield memory.reflect
    yield lambda: memory.backup(path.with_name("backup"))
    yield lambda: memory.forget(next(memory.records()).id, purge=True, verify=True)
    yield memory.compact


def _all_of_it(path: Path, mode: Literal["rw", "r"]) -> None:
    """Every reader of files; each ends in time, with an answer or a typed error."""
    signal.alarm(_SECONDS)  # ends a child that does not end by itself
    resource.setrlimit(resource.RLIMIT_AS, (_LIMIT, _LIMIT))
    _typed(lambda: spector.check(path))
    with RawStore(path) as raw:
        assert raw.partitions()
        raw.find(1)
    _typed(lambda: spector.repair(path, path.with_name("saved")))
    _typed(lambda: spector.restore(path, path.with_name("restored")))
    try:
        memory = _open(path, mode)
    except spector.SpectorError:
        memory = None
    if memory is not None:
        for verb in _verbs(memory, path):
            _typed(verb)
        _typed(memory.close)
    signal.alarm(0)


def _grown(source: Path, tmp_path: Path, pattern: str) -> Iterator[Path]:
    names = sorted(each.relative_to(source) for each in source.rglob(pattern) if each.is_file())
    assert names, pattern
    for n, name in enumerate(names):
        path = tmp_path / str(n) / "mind"
        path.parent.mkdir()
        shutil.copytree(source, path)
        _grow(path / name)
        yield path


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["rw", "r"])
@pytest.mark.parametrize("pattern", ["*.mem", "*.idx", "*.lex", "LOCK"])
def test_a_grown_file_costs_neither_memory_nor_time(
    whole: Path, tmp_path: Path, pattern: str, mode: Literal["rw", "r"]
) -> None:
    for path in _grown(whole, tmp_path, pattern):
        assert in_fork(lambda path=path: _all_of_it(path, mode)) == 0  # type: ignore[misc]


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_grown_log_costs_neither_memory_nor_time(left: Path, tmp_path: Path, end: str) -> None:
    for path in _grown(left, tmp_path, f"catalog.db{end}"):
        assert in_fork(lambda path=path: _all_of_it(path, "rw")) == 0  # type: ignore[misc]


@pytest.mark.parametrize("pattern", ["*.mem", "*.idx", "*.lex"])
def test_a_grown_file_costs_no_memory_of_the_store(
    whole: Path, tmp_path: Path, pattern: str
) -> None:
    """The partition is as long as it has to be, and more; the rest is derived."""
    for path in _grown(whole, tmp_path, pattern):
        report = spector.repair(path, path.with_name("saved"))
        assert (report.kept, report.complete) == (_COUNT, True)
        if pattern != "*.mem":
            assert spector.check(path).ok
            assert any(note.where.endswith(pattern[1:]) for note in spector.check(path).notes)
        with _open(path) as memory:
            assert memory.recall("word5", vector=_vector(5), k=1)[0].text == "word5 of many"
            assert len(list(memory)) == _COUNT
            memory.remember("one more", vector=_vector(9999))
        with _open(path) as memory:
            assert len(list(memory)) == _COUNT + 1


def test_a_word_that_ends_where_nobody_wrote_is_found(tmp_path: Path) -> None:
    """A search passes long holes over, and finds what lies on both of their sides."""
    path = tmp_path / "mind"
    with _open(path) as memory:
        made = memory.remember("Zebulon met Xanthippe", vector=_vector(1))
        with open(path / "episodic" / "notes.txt", "wb") as stray:
            stray.write(b"Zebulon")
            stray.seek(1 << 33)
            stray.write(b"and Xanthippe")
            stray.truncate(1 << 34)
        receipt = memory.forget(made.id, purge=True, verify=True).receipt
        assert receipt is not None
        assert receipt.verification is not None
    (path / "grown").write_bytes(b"Zebulon")
    os.truncate(path / "grown", 1 << 35)
    files = DiskFiles(str(path))
    file = files.open("episodic/notes.txt", writable=False)
    pieces = list(written_ranges(file))
    file.close()
    assert len(pieces) == 2
    assert pieces[0][0] == 0
    assert pieces[1][0] <= 1 << 33 < pieces[1][1] < (1 << 33) + (1 << 20)
    with _open(path) as memory:
        found = memory.compact(verify=["Zebulon", "Xanthippe"]).receipt
        assert found is not None
        assert found.verification is not None
        assert {each.where for each in found.verification.residue} >= {
            "episodic/notes.txt",
            "grown",
        }
