"""A disk that fails or is full, and limits of the process: typed errors, and nothing is lost."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

from tests.crash.shim import (
    ALLOCATE,
    CHANGING,
    CREATE,
    FOR_EVER,
    MAP,
    MKDIR,
    OPEN,
    READ,
    RENAME,
    SYNC,
    TRUNCATE,
    UNLINK,
    WRITE,
    in_shimmed_process,
)
from tests.proof import seed

pytestmark = pytest.mark.crash


Proved = Callable[..., None]
_NAMES = CREATE | RENAME | UNLINK | MKDIR
_SPACE = CREATE | WRITE | ALLOCATE | TRUNCATE | MKDIR | RENAME | SYNC
#: kind -> errno (0: short writes), the calls it strikes, how often, and every how many-th of them
#: is struck in a full run
TROUBLES: dict[str, tuple[int, int, int, int]] = {
    "EIO once": (errno.EIO, CHANGING | READ | OPEN | MAP, 1, 9),
    "EIO for ever": (errno.EIO, CHANGING | READ | OPEN | MAP, FOR_EVER, 13),
    "EIO of a sync": (errno.EIO, SYNC, 1, 2),
    "EIO of every sync": (errno.EIO, SYNC, FOR_EVER, 5),
    "ENOSPC once": (errno.ENOSPC, _SPACE, 1, 11),
    "ENOSPC for ever": (errno.ENOSPC, _SPACE, FOR_EVER, 17),
    "EDQUOT once": (errno.EDQUOT, _SPACE, 1, 61),
    "EDQUOT for ever": (errno.EDQUOT, _SPACE, FOR_EVER, 31),
    "EMFILE once": (errno.EMFILE, OPEN | CREATE, 1, 5),
    "EMFILE for ever": (errno.EMFILE, OPEN | CREATE, FOR_EVER, 5),
    "EACCES once": (errno.EACCES, OPEN | _NAMES, 1, 14),
    "EACCES for ever": (errno.EACCES, OPEN | _NAMES, FOR_EVER, 7),
    "ENOMEM of maps": (errno.ENOMEM, MAP, FOR_EVER, 1),
    "EINTR thrice": (errno.EINTR, CREATE | OPEN | READ | WRITE | ALLOCATE | TRUNCATE, 3, 31),
    "short writes": (0, WRITE, FOR_EVER, 31),
}
#: kinds that nobody needs to hear of
_TRANSPARENT = {"EINTR thrice", "short writes"}


def _errors(
    proof: Proved | None,
    kind: str,
    step: int,
    names: list[str] | None = None,
    start: int = 0,
    **more: Any,
) -> dict[str, Any]:
    error, classes, times, _ = TROUBLES[kind]
    print(f"SPECTOR_SEED={seed(5)}")
    found: dict[str, Any] = in_shimmed_process(
        "tests.crash.erring:errors",
        error=error,
        classes=classes,
        times=times,
        names=names,
        start=start or 1 + seed(5) % step,
        step=step,
        timeout_s=1700,
        **more,
    )
    outcomes, wrong = found["outcomes"], found["wrong"]
    if proof is not None:
        proof(
            "T6",
            calls_failed=found["cases"],
            untyped_escapes=outcomes.get("untyped", 0),
            retried_syncs_of_files=found["retried"],
            harmed=len(wrong),
            kind=kind,
            seeds=str(seed(5)),
        )
    assert wrong == {}
    if kind in _TRANSPARENT:
        assert set(outcomes) <= {"no error"}, outcomes
    return found


@pytest.mark.parametrize("kind", ["EIO once", "ENOSPC for ever", "EMFILE once"])
def test_error_at_a_sample_of_calls(proof: Proved, kind: str) -> None:
    step = 29 * TROUBLES[kind][3]
    _errors(proof, kind, step, names=["everything", "compact"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", TROUBLES)
def test_error_at_every_few_calls(proof: Proved, kind: str) -> None:
    assert _errors(proof, kind, TROUBLES[kind][3])["cases"] > 50


#: the lives that differ most between the durabilities; every how many-th of their calls is struck
_RELAXED_LIVES = ["append", "checkpoint", "close", "compact", "everything"]
_RELAXED = {
    "EIO once": 60,
    "EIO of a sync": 4,
    "ENOSPC for ever": 60,
    "EDQUOT once": 60,
    "EACCES once": 7,
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", _RELAXED)
def test_error_at_some_calls_of_a_relaxed_writer(proof: Proved, kind: str) -> None:
    found = _errors(proof, kind, _RELAXED[kind], names=_RELAXED_LIVES, durability="relaxed")
    assert found["cases"] >= 12, found["outcomes"]
    assert len(found["outcomes"]) > 1, "no error got anywhere"


# -- what was found this way ----------------------------------------------------------------------


def test_failed_store_does_not_sync_its_log_again_when_it_is_closed() -> None:
    """SQLite does, when the last writing connection closes, and may succeed with bytes lost."""
    found = _errors(None, "EIO of a sync", 1, names=["append"], start=1)
    assert found["retried"] == 0
    assert set(found["outcomes"]) >= {"StoreError, failed"}


def test_failed_sync_of_a_purge_fails_the_store() -> None:
    _errors(None, "EIO of a sync", 2, names=["compact"], start=33)


@pytest.mark.sampled
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_failed_sync_while_a_long_log_is_copied_fails_the_store(durability: str) -> None:
    """SQLite does that by itself after a commit, says nothing of a failure, and tries again."""
    found = _errors(
        None, "EIO of a sync", 1, names=["append"], start=1, durability=durability, long_bytes=0
    )
    assert found["retried"] == 0
    assert set(found["outcomes"]) >= {"StoreFailedError, failed"}


# -- a disk that is full, and limits of the process: typed errors, nothing lost, work resumes -----


def _tight(proof: Proved, kind: str, step: int, **kwargs: Any) -> dict[str, Any]:
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


def test_disk_that_is_full_at_some_point_of_a_life(proof: Proved) -> None:
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
def test_disk_that_is_full_at_any_point_of_a_life(proof: Proved, durability: str) -> None:
    found = _tight(proof, "disk", 12_288, durability=durability)
    assert found["outcomes"]["StoreFullError"] > 100


# -- a process with so much memory and no more ----------------------------------------------------


@pytest.mark.slow
def test_memory_that_runs_out_at_some_point_of_a_life(proof: Proved) -> None:
    _tight(proof, "memory", 4_000_000, names=["large"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_that_runs_out_at_any_point_of_a_life(proof: Proved) -> None:
    found = _tight(proof, "memory", 524_288, names=["large", "everything", "recover", "reembed"])
    assert found["outcomes"]["MemoryError"] > 20
