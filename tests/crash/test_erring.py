"""A failing disk gives typed errors, harms nothing acknowledged, and the store reopens."""

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
from tests.proof import Proof, seed

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


# -- openings to read -----------------------------------------------------------------------------

#: kind -> which of its calls are struck in a full run; a reader does not sync
_READING = {
    "EIO once": 13,
    "EDQUOT once": 2,
    "EMFILE for ever": 9,
    "EACCES once": 7,
    "EACCES for ever": 9,
    "ENOMEM of maps": 3,
}


def _reading(proof: Proved, kind: str, step: int) -> dict[str, Any]:
    error, classes, times, _ = TROUBLES[kind]
    print(f"SPECTOR_SEED={seed(5)}")
    found: dict[str, Any] = in_shimmed_process(
        "tests.crash.erring_readers:readers",
        error=error,
        classes=classes,
        times=times,
        start=1 + seed(5) % step,
        step=step,
        timeout_s=600,
    )
    outcomes = found["outcomes"]
    proof(
        "T6",
        calls_of_readers_failed=found["cases"],
        harmed=len(found["wrong"]),
        untyped_escapes=outcomes.get("untyped", 0),
        kind=f"{kind}, to a reader",
        seeds=str(seed(5)),
    )
    assert found["wrong"] == {}
    told = {name.partition(",")[0] for name in outcomes}
    assert told - {"no error"}, "no error got anywhere"
    assert "StoreNotFoundError" not in told, "a store that is there is called missing"
    return found


@pytest.mark.slow
def test_error_at_a_sample_of_calls_of_a_reader(proof: Proved) -> None:
    assert _reading(proof, "EACCES once", 12)["cases"] > 5


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", _READING)
def test_error_at_every_few_calls_of_a_reader(proof: Proved, kind: str) -> None:
    assert _reading(proof, kind, _READING[kind])["cases"] > 5


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


# -- A directory that cannot be synced is an error that somebody hears of, and is not synced
#    again
#
# Mechanism: a name (of a new partition, or of the one that takes an old one's place) is durable
# once its directory is synced; after a failed sync a second one may succeed with the name lost.
# Damage: an acknowledged memory in a file that is gone after a power cut. Guard: a typed error at
# once, and a store that has failed if it was open.


def _fail(proof: Proof, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_shimmed_process("tests.crash.folders:folders", timeout_s=900, **more)
    proof(
        "T6",
        syncs_of_folders_failed=found["cases"],
        retried_syncs_of_folders=found["retried"],
        harmed=len(found["wrong"]),
        swallowed_by_sqlite=found["swallowed"],
        kind="EIO of a folder",
        durability=more.get("durability", "strict"),
    )
    assert found["wrong"] == {}
    assert found["retried"] == 0
    return found


def test_some_directories_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof, names=["create", "append"])
    assert found["outcomes"]["StoreError"] >= 2
    assert found["outcomes"]["StoreError, failed"] >= 1
    assert found["retried_after_sqlite"] > 0, "the counter of second syncs does not count"


@pytest.mark.slow
def test_product_that_syncs_a_directory_twice_is_found_out() -> None:
    """The canary of the counter."""
    found = in_shimmed_process("tests.crash.folders:folders", names=["append"], mutant=True)
    assert found["retried"] > 0
    assert any("synced again 1 times" in lines for lines in found["wrong"].values())
    assert any("nobody is told" in lines for lines in found["wrong"].values())


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_each_directory_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof)
    assert found["cases"] > 80
    assert found["swallowed"] < found["cases"] // 4


@pytest.mark.slow
def test_directories_of_a_relaxed_writer_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof, durability="relaxed", names=["batch", "reflect", "compact", "import"])
    assert found["outcomes"]["StoreError, failed"] > 15
