"""A disk that is full, and limits of the process: typed errors, nothing lost, work resumes."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spector.errors import StoreFullError
from tests.crash.shim import in_shimmed_process
from tests.crash.workload import open_tiny, texts_of, vector_of
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
