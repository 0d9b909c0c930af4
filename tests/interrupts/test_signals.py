"""Real SIGINT and SIGTERM, from another process, at random moments of every verb.

Mechanism: a handler raises KeyboardInterrupt or SystemExit wherever Python handles the signal, also
between the steps that ``tests/interrupts/sweep.py`` knows. Damage and guard: as there.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

import spector
from spector.store.files.protocol import typed_os_error
from tests.cases import slow
from tests.crash.harness import in_fresh_process
from tests.fakes import FakeEmbedder
from tests.interrupts.sweep import at_return, raising
from tests.proof import Proof, seed

OBSERVING = ["observe", "observe_many"]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("hits", "first", "names"),
    [(6, 36, []), slow(200, 361, OBSERVING), *(slow(1000, 3600 + n, []) for n in range(5))],
)
def test_signals_at_random_moments_cost_nothing(
    hits: int, first: int, names: list[str], proof: Proof
) -> None:
    """While observing: whole messages are kept, or nothing of them."""
    found = in_fresh_process(
        "tests.interrupts.signals:lives", timeout_s=1400, hits=hits, seed=seed(first), names=names
    )
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))
    proof(
        "T36",
        interrupts=found["hits"],
        sigint=found["SIGINT"],
        sigterm=found["SIGTERM"],
        swallowed=found["swallowed"],
        harmed=0,
        seeds=str(seed(first)),
    )


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("hits", "first"), [(2, 6), *(slow(100, 60 + n) for n in range(3))])
def test_commands_that_are_interrupted_cost_nothing(hits: int, first: int, proof: Proof) -> None:
    found = in_fresh_process(
        "tests.interrupts.commands:commands", timeout_s=1400, hits=hits, seed=seed(first)
    )
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))
    proof("T36", commands_interrupted=found["hits"], exits=found["exits"], seeds=str(seed(first)))


# -- A time limit that a signal handler raises is told as such, not as a fault of the disk ---------
#
# Mechanism: ``TimeoutError`` is an ``OSError``, and errors of the system are turned into typed
# ones with a hint. Damage: a soft time limit ended as "cannot write ...: run: spector check PATH",
# or as a partition that the disk cannot read, and never came to the ``except`` that waited for it.
# Guard: one that the system did not raise, which has no number, stays what it is.


@pytest.mark.slow
def test_a_time_limit_of_a_handler_stays_one(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember_many([f"a ruff, number {n}" for n in range(40)])
        jobs: list[Callable[[], object]] = [
            lambda: memory.export(tmp_path / "lines", overwrite=True),
            lambda: memory.backup(tmp_path / "copy"),
            lambda: spector.check(tmp_path / "mind"),
            lambda: spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r").close(),
        ]
        limit = TimeoutError("the answer took too long")
        seen = [
            at_return(nth, raising(limit), job, lambda frame, of: of.__module__ == "posix")
            for job in jobs
            for nth in range(1, 40, 3)
        ]
    raised = [each for each in seen if each is not None]
    assert {type(each) for each in raised} == {TimeoutError}
    assert len(raised) > len(jobs)


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.EIO])
def test_what_the_system_says_is_a_typed_error(number: int) -> None:
    found = typed_os_error(OSError(number, "of a network disk"), "read", "mind/LOCK")
    assert isinstance(found, spector.StoreError)
    assert found.errno == number
