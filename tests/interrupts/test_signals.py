"""Real SIGINT and SIGTERM, from another process, at random moments of every verb.

Mechanism: a handler raises KeyboardInterrupt or SystemExit wherever Python handles the signal, also
between the steps that ``tests/interrupts/sweep.py`` knows. Damage and guard: as there.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import spector
from spector.store.files.protocol import typed_os_error
from tests.crash.harness import in_fresh_process
from tests.fakes import FakeEmbedder
from tests.proof import Proof, seed

QUICK = 6
#: per test; five tests make 5,000
MANY = 1000


def told(found: dict[str, int], proof: Proof, seeds: str) -> None:
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))  # type: ignore[call-overload]
    proof(
        "T36",
        interrupts=found["hits"],
        sigint=found["SIGINT"],
        sigterm=found["SIGTERM"],
        swallowed=found["swallowed"],
        harmed=0,
        seeds=seeds,
    )


def test_signals_at_random_moments_cost_nothing(proof: Proof) -> None:
    first = seed(36)
    found = in_fresh_process("tests.interrupts.signals:lives", hits=QUICK, seed=first)
    told(found, proof, str(first))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_signals_while_observing_leave_whole_messages_or_none(proof: Proof) -> None:
    first = seed(361)
    found = in_fresh_process(
        "tests.interrupts.signals:lives",
        timeout_s=1400,
        hits=200,
        seed=first,
        names=["observe", "observe_many"],
    )
    told(found, proof, str(first))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("turn", range(5))
def test_many_signals_at_random_moments_cost_nothing(turn: int, proof: Proof) -> None:
    first = seed(3600) + turn
    found = in_fresh_process(
        "tests.interrupts.signals:lives", timeout_s=1400, hits=MANY, seed=first
    )
    told(found, proof, str(first))


def test_commands_that_are_interrupted_cost_nothing(proof: Proof) -> None:
    first = seed(6)
    found = in_fresh_process("tests.interrupts.commands:commands", hits=2, seed=first)
    told_of_commands(found, proof, first)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("turn", range(3))
def test_many_commands_that_are_interrupted_cost_nothing(turn: int, proof: Proof) -> None:
    first = seed(60) + turn
    found = in_fresh_process(
        "tests.interrupts.commands:commands", timeout_s=1400, hits=100, seed=first
    )
    told_of_commands(found, proof, first)


def told_of_commands(found: dict[str, int], proof: Proof, first: int) -> None:
    assert found["faulty"] == 0, "\n".join(map(str, found["faults"]))  # type: ignore[call-overload]
    proof("T36", commands_interrupted=found["hits"], exits=found["exits"], seeds=str(first))


# -- A time limit that a signal handler raises is told as such, not as a fault of the disk ---------
#
# Mechanism: ``TimeoutError`` is an ``OSError``, and errors of the system are turned into typed
# ones with a hint. Damage: a soft time limit ended as "cannot write ...: run: spector check PATH",
# or as a partition that the disk cannot read, and never came to the ``except`` that waited for it.
# Guard: one that the system did not raise, which has no number, stays what it is.


class _Limit:
    """Raises at the return of the nth call of a function of ``posix``."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "c_return" or "/spector/" not in frame.f_code.co_filename:
            return
        if getattr(arg, "__module__", None) != "posix":
            return
        self._left -= 1
        if not self._left:
            sys.setprofile(None)
            raise TimeoutError("the answer took too long")


def _limited(nth: int, job: Callable[[], object]) -> BaseException | None:
    try:
        sys.setprofile(_Limit(nth))
        try:
            job()
        finally:
            sys.setprofile(None)
    except Exception as error:
        return error
    return None


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
        seen = [_limited(nth, job) for job in jobs for nth in range(1, 40, 3)]
    raised = [each for each in seen if each is not None]
    assert {type(each) for each in raised} == {TimeoutError}
    assert len(raised) > len(jobs)


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.EIO])
def test_what_the_system_says_is_a_typed_error(number: int) -> None:
    found = typed_os_error(OSError(number, "of a network disk"), "read", "mind/LOCK")
    assert isinstance(found, spector.StoreError)
    assert found.errno == number
