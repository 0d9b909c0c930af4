"""Real SIGINT and SIGTERM, from another process, at random moments of every verb.

Mechanism: a handler raises KeyboardInterrupt or SystemExit wherever Python handles the signal, also
between the steps that ``tests/interrupts/sweep.py`` knows. Damage and guard: as there.
"""

from __future__ import annotations

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import Proof, seed

QUICK = 12
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
    found = in_fresh_process("tests.interrupts.commands:commands", hits=4, seed=first)
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
