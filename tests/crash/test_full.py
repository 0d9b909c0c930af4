"""A disk that is full, and limits of the process: typed errors, nothing lost, work resumes."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.config import Config
from spector.errors import StoreClosedError, StoreError, StoreFailedError, StoreFullError
from spector.store.core.store import Store
from tests.crash.harness import in_fork
from tests.crash.shim import in_shimmed_process
from tests.crash.workload import DIM, TINY, open_tiny, texts_of, vector_of
from tests.proof import seed

pytestmark = pytest.mark.crash


Proof = Callable[..., None]


def _tight(proof: Proof, kind: str, step: int, **kwargs: Any) -> dict[str, Any]:
    start = seed(7) * 4096 % step
    print(f"SPECTOR_SEED={seed(7)}")
    found: dict[str, Any] = in_shimmed_process(
        "tests.crash.erring:tight", kind=kind, start=start, step=step, timeout_s=1700, **kwargs
    )
    outcomes, wrong = found["outcomes"], found["wrong"]
    if kind == "disk":
        proof(
            "T7",
            sizes=found["cases"],
            full=outcomes.get("StoreFullError", 0),
            failed_stores=sum(n for name, n in outcomes.items() if "failed" in name),
            harmed=len(wrong),
            seeds=str(seed(7)),
        )
    else:
        proof(
            "T8",
            sizes=found["cases"],
            memory_errors=outcomes.get("MemoryError", 0),
            crashes=outcomes.get("crash", 0),
            harmed=len(wrong),
            seeds=str(seed(7)),
        )
    assert wrong == {}
    return found


# -- a disk with so much room and no more -------------------------------------------------------


def test_disk_that_is_full_at_some_point_of_a_life(proof: Proof) -> None:
    _tight(proof, "disk", 110_000, names=["append", "compact", "reflect", "checkpoint", "open"])


@pytest.mark.slow
def test_no_room_for_the_shared_memory_of_the_catalog_is_a_full_disk() -> None:
    """SQLite calls it an I/O error."""
    found = in_shimmed_process(
        "tests.crash.erring:tight", kind="disk", names=["open"], start=3000, step=90_000
    )
    assert found["wrong"] == {}
    assert found["outcomes"] == {"StoreFullError": 1, "no error": 1}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_disk_that_is_full_at_any_point_of_a_life(proof: Proof, durability: str) -> None:
    found = _tight(proof, "disk", 12_288, durability=durability)
    assert found["outcomes"]["StoreFullError"] > 100


@pytest.mark.sampled
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_store_filled_to_the_brim_goes_on_once_there_is_room(proof: Proof, durability: str) -> None:
    """Forgetting needs room as well: for the commit that says so. Without, it says that."""
    found = in_shimmed_process("tests.crash.brim:brim", durability=durability)
    proof("T7", brims=1, harmed=len(found["wrong"]), durability=durability)
    assert (found["code"], found["wrong"]) == (0, [])
    counts = found["counts"]
    assert counts["filled"] > 5
    assert counts["forgotten"] == (counts["filled"] + 1) // 2
    assert counts["resumed"] == 40


# -- a process with so much memory and no more ----------------------------------------------------


@pytest.mark.slow
def test_memory_that_runs_out_at_some_point_of_a_life(proof: Proof) -> None:
    _tight(proof, "memory", 4_000_000, names=["large"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_that_runs_out_at_any_point_of_a_life(proof: Proof) -> None:
    found = _tight(proof, "memory", 524_288, names=["large", "everything", "recover", "reembed"])
    assert found["outcomes"]["MemoryError"] > 20


# -- a disk that is really full ---------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(where)],
        capture_output=True,
        text=True,
        check=False,
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
    with open_tiny(str(small_disk / "mind"), mode="r") as memory:
        assert texts_of(memory) == acked, "closing without room lost something"
    with contextlib.suppress(StoreFullError), open_tiny(str(small_disk / "mind")) as memory:
        assert texts_of(memory) == acked
    subprocess.run(["mount", "-o", "remount,size=9m", str(small_disk)], check=True)
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


@pytest.mark.sampled
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
@pytest.mark.parametrize("left", [0, 4096, 20_000])
def test_closing_on_a_full_disk_is_no_error(small_disk: Path, durability: str, left: int) -> None:
    """Mechanism: a relaxed writer's last commit, the note that all is durable, had no room. Damage:
    `with spector.open(...)` ended in an error although nothing was lost. Guard: the note stays, and
    the next opening reconciles."""
    path = str(small_disk / "mind")
    ballast = small_disk / "ballast"
    memory = open_tiny(path, durability=durability)
    acked = {}
    for n in range(30):
        text = f"m{n} version 0"
        acked[memory.remember(text, vector=vector_of(text)).id] = text
    room = os.statvfs(small_disk)
    ballast.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - left)))
    more, error = _fill(memory, "too late")
    assert isinstance(error, StoreFullError), error
    acked |= more
    memory.close()
    assert not memory._parts.store.failed
    ballast.unlink()
    with open_tiny(path) as memory:
        assert texts_of(memory) == acked
        assert memory.check().ok


@pytest.mark.parametrize(
    ("limit_bytes", "config", "expected"),
    [
        (200_000, TINY, StoreError),  # the catalog's log: SQLite calls that an I/O error
        (4096, TINY, StoreError),
        (
            6_000_000,
            replace(
                TINY, episodic_capacity=200_000, min_extent_bytes=1 << 23, max_extent_bytes=1 << 23
            ),
            StoreFullError,
        ),  # a partition
    ],
)
def test_file_size_limit_is_a_typed_error(
    store_path: Path, limit_bytes: int, config: Config, expected: type[StoreError]
) -> None:
    """EFBIG instead of ENOSPC: RLIMIT_FSIZE, which also holds for SQLite's files."""

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with spector.open(str(store_path), embedder=None, dim=DIM, config=config) as memory:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
            acked, error = _fill(memory, "m")
            assert type(error) is expected, repr(error)
            assert error.message
            assert error.hint
            store = memory._parts.store
            assert store.failed == (expected is StoreError)
            if store.failed:
                with pytest.raises(StoreFailedError):
                    memory.remember("too late", vector=vector_of("too late"))
            resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
            if not store.failed:
                acked |= {memory.remember("room", vector=vector_of("room")).id: "room"}
        with open_tiny(str(store_path)) as memory:
            assert texts_of(memory) == acked
            assert memory.check().ok

    assert in_fork(work) == 0


@pytest.mark.slow
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
            [sys.executable, "-c", code, str(store_path), mode],
            capture_output=True,
            text=True,
            cwd=os.getcwd(),
            check=False,
        )
        assert done.returncode == 0, (mode, done.stderr[-3000:])


def test_opening_that_fails_gives_up_the_lock_even_if_closing_fails_too(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a process could not open its own store again when there is room."""
    with open_tiny(str(store_path)) as memory:
        memory.remember("kept", vector=vector_of("kept"))
    really_close = Store.close

    def no_room(*_: Any) -> Any:
        raise StoreFullError("no room to open", hint="free some space")

    def closes_and_complains(store: Store) -> None:
        really_close(store)
        raise StoreFullError("no room to close", hint="free some space")

    with monkeypatch.context() as full:
        full.setattr("spector.parts.stores.open_memory", no_room)
        full.setattr(Store, "close", closes_and_complains)
        with pytest.raises(StoreFullError, match="no room to open"):
            open_tiny(str(store_path))
    with open_tiny(str(store_path)) as memory:
        assert [*texts_of(memory).values()] == ["kept"]


def test_closing_that_cannot_note_the_last_id_leaves_no_store_open_without_a_lock(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could go on writing beside the process that has the lock next."""
    memory = open_tiny(str(store_path))
    memory.remember("kept", vector=vector_of("kept"))

    def no_room() -> None:
        raise StoreFullError("no room for the last id", hint="free some space")

    monkeypatch.setattr(memory._parts.lifetime, "_keep_last_id", no_room)
    with pytest.raises(StoreFullError, match="last id"):
        memory.close()
    with open_tiny(str(store_path)) as other:
        with pytest.raises(StoreClosedError):
            memory.remember("beside it", vector=vector_of("beside it"))
        assert [*texts_of(other).values()] == ["kept"]
