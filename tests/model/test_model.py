"""spector does what a dictionary and NumPy say it does, whatever is done to it in whatever order.

Mechanism: random sequences of everything that a user can do, on stores so small that every
partition rolls, every journal is emptied and every ring goes round within a few operations; the
process "dies" within operations, readers look on, clocks jump. After each operation every field of
every memory is compared with the model, and rankings with scores in float64.
A failure prints a short script: ``tests.model.runs.repeat`` runs it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test

from spector.kernel.choose import load_kernel
from spector.errors import KernelUnavailableError
from tests.crash.harness import scratch
from tests.model.ops import OPERATIONS
from tests.model.runs import Tally, bulk
from tests.model.world import Setup, World
from tests.proof import Proof, seed

#: kernel, store, indexed, steps in the whole proof
SWEEP = [
    ("native", "strict", False, 36_000),
    ("native", "relaxed", True, 20_000),
    ("native", "memory", True, 60_000),
    ("native", "memory", False, 60_000),
    ("numba", "memory", True, 14_000),
    ("reference", "memory", False, 14_000),
    ("reference", "relaxed", True, 3_000),
]
_IDS = [f"{kernel}-{store}{'-indexed' * indexed}" for kernel, store, indexed, _ in SWEEP]
#: of the hits of an estimate, at most this share may be missing (3 standard errors, 16 dimensions)
_MISSED = 0.005


def _run(setup: Setup, steps: int, proof: Proof, default_seed: int) -> Tally:
    start = seed(default_seed)
    print(f"SPECTOR_SEED={start}")
    tally = bulk(setup, seed=start, steps=steps)
    counts = {"steps": tally.steps, "machines": tally.machines, "crashes": tally.crashes,
              "recalls": tally.recalls, "counter_examples": len(tally.wrong) and 1}
    proof("T24", **counts, seeds=str(start))
    proof("T35", steps=tally.steps, configurations=1, failures=counts["counter_examples"])
    proof("T26", recalls=tally.recalls, hits=tally.hits, hits_missed_by_estimates=tally.missed)
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.missed <= max(3, _MISSED * tally.hits)
    assert setup.indexed or not tally.missed
    return tally


def _skip_without(kernel: str) -> None:
    try:
        load_kernel(kernel)
    except KernelUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("kernel", "store", "indexed", "steps"), SWEEP, ids=_IDS)
def test_a_short_life_is_as_the_model_says(
    kernel: str, store: str, indexed: bool, steps: int, proof: Proof
) -> None:
    _skip_without(kernel)
    tally = _run(Setup(kernel, store, indexed), 400 if kernel == "native" else 200, proof, 24)
    assert tally.recalls > 50
    assert store == "memory" or tally.crashes > 3


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("kernel", "store", "indexed", "steps"), SWEEP, ids=_IDS)
def test_a_long_life_is_as_the_model_says(
    kernel: str, store: str, indexed: bool, steps: int, proof: Proof
) -> None:
    _skip_without(kernel)
    tally = _run(Setup(kernel, store, indexed), steps, proof, 1)
    assert tally.steps >= steps
