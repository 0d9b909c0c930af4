"""A disk that is full, and limits of the process: typed errors, nothing lost, work resumes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spector.errors import StoreFailedError, StoreFullError
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, texts_of, vector_of

pytestmark = pytest.mark.crash


# -- a disk that is really full ---------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(where)],
        capture_output=True, text=True, check=False,
    )
    if done.returncode:
        pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


def _fill(memory: Any, prefix: str) -> tuple[dict[int, str], BaseException | None]:
    acked: dict[int, str] = {}
    for n in range(5000):
        text = f"{prefix}{n} version 0 " + "padding " * 20
        try:
            acked[memory.remember(text, vector=vector_of(text)).id] = text
        except Exception as error:
            return acked, error
    return acked, None


def test_full_disk_is_a_typed_error_and_the_store_goes_on_after_space_is_freed(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3_000_000))
    with open_tiny(str(small_disk / "mind")) as memory:
        acked, error = _fill(memory, "first")
        assert isinstance(error, StoreFullError), error
        assert "free" in error.hint
        assert texts_of(memory) == acked, "a failed write left something, or took something"
        assert memory.recall(vector=vector_of(next(iter(acked.values()))), k=1)
        ballast.unlink()
        more, _ = _fill(memory, "second")
        assert len(more) > 10, "not usable after space was freed"
        acked |= more
        assert texts_of(memory) == acked
        assert memory.check().ok
        for record_id in list(acked)[::2]:
            try:
                memory.forget(record_id)
            except StoreFullError:
                break
            del acked[record_id]
    with open_tiny(str(small_disk / "mind")) as memory:
        assert texts_of(memory) == acked
        assert memory.check().ok


def test_compacting_on_a_full_disk_changes_nothing_and_works_later(small_disk: Path) -> None:
    with open_tiny(str(small_disk / "mind")) as memory:
        acked = {}
        for n in range(60):
            text = f"m{n} version 0"
            acked[memory.remember(text, vector=vector_of(text)).id] = text
        for record_id in list(acked)[::2]:
            memory.forget(record_id)
            del acked[record_id]
        memory.checkpoint()
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(512)):
                pass
        with contextlib.suppress(StoreFullError):
            memory.compact()
        assert texts_of(memory) == acked
        ballast.unlink()
        assert memory.compact().erased
        assert texts_of(memory) == acked
        report = memory.check()
        assert report.ok, report.problems
        assert report.tombstones == 0


def test_file_size_limit_is_a_full_disk(store_path: Path) -> None:
    """EFBIG instead of ENOSPC: RLIMIT_FSIZE, which also holds for SQLite's files."""
    import resource
    import signal

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open_tiny(str(store_path)) as memory:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
            acked, error = _fill(memory, "m")
            assert error is not None
            assert isinstance(error, (StoreFullError, StoreFailedError, OSError)), error
            resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        with open_tiny(str(store_path)) as memory:
            assert texts_of(memory).items() >= acked.items()
            assert memory.check().ok

    assert in_fork(work) == 0


def test_more_partitions_than_open_files_are_allowed(store_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from datetime import timedelta\n"
        "from tests.crash.workload import START, open_tiny, vector_of\n"
        "path, mode = sys.argv[1:]\n"
        "if mode == 'fill':\n"
        "    with open_tiny(path) as m:\n"
        "        m.remember_many([{'text': f'm{n}', 'vector': vector_of('m'),\n"
        "            'event_time': START + timedelta(days=n)} for n in range(300)])\n"
        "    sys.exit()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (180, 180))\n"
        "with open_tiny(path, mode=mode) as m:\n"
        "    assert len(list(m)) == len(m) == 300\n"
        "    assert len(m.recall(vector=vector_of('m'), k=300)) == 300\n"
        "    if mode == 'rw':\n"
        "        for r in list(m)[:200]: m.forget(r.id)\n"
        "        m.compact()\n"
        "    assert m.check().ok\n"
    )
    for mode in ("fill", "r", "rw"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(store_path), mode], capture_output=True, text=True,
            cwd=os.getcwd(), check=False,
        )
        assert done.returncode == 0, (mode, done.stderr[-3000:])
