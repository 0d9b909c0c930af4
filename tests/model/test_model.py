"""spector does what a dictionary and NumPy say it does, whatever is done to it in whatever order.

Mechanism: random sequences of everything that a user can do, in memory, on stores so small that
every partition rolls and every ring goes round within a few operations; clocks jump. After each
operation every field of every memory is compared with the model, and rankings with scores in
float64. The same on disk, beside readers, kills and failing disks, is tests/simulation.
A failure prints a short script: ``tests.model.runs.repeat`` runs it again.
"""

from __future__ import annotations

from typing import Any

import pytest

from spector.errors import KernelUnavailableError
from spector.kernel.dispatch import load_kernel
from spector.search.request import Selection
from spector.tiers.working import _Slab
from tests.model.runs import Tally, bulk, repeat
from tests.model.world import Setup
from tests.proof import Proof, seed

#: kernel, indexed, steps in the quick sample, steps in the whole proof
SWEEP = [
    ("native", True, 180, 36_000),
    ("native", False, 180, 35_000),
    ("numba", True, 120, 6_000),
    ("reference", False, 80, 2_500),
]
_IDS = [f"{kernel}{'-indexed' * indexed}" for kernel, indexed, *_ in SWEEP]
#: of an estimate's hits at most this share may be missing (2.5 standard errors, 16 dimensions)
_MISSED = 0.005


def _run(kernel: str, indexed: bool, steps: int, proof: Proof, default_seed: int) -> Tally:
    try:
        load_kernel(kernel)
    except KernelUnavailableError as error:
        pytest.skip(str(error))
    setup, start = Setup(kernel, "memory", indexed), seed(default_seed)
    print(f"SPECTOR_SEED={start}")
    tally = bulk(setup, seed=start, steps=steps)
    proof("T24", steps=tally.steps, machines=tally.machines, recalls=tally.recalls, seeds=start)
    proof("T26", recalls=tally.recalls, hits=tally.hits, hits_missed_by_estimates=tally.missed)
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.missed <= max(3, _MISSED * tally.hits)
    assert setup.indexed or not tally.missed
    return tally


@pytest.mark.sampled
@pytest.mark.parametrize(("kernel", "indexed", "steps", "_"), SWEEP, ids=_IDS)
def test_a_short_life_is_as_the_model_says(
    kernel: str, indexed: bool, steps: int, _: int, proof: Proof
) -> None:
    assert _run(kernel, indexed, steps, proof, 24).recalls > 10


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("kernel", "indexed", "_", "steps"), SWEEP, ids=_IDS)
def test_a_long_life_is_as_the_model_says(
    kernel: str, indexed: bool, _: int, steps: int, proof: Proof
) -> None:
    assert _run(kernel, indexed, steps, proof, 1).steps >= steps


# -- the model bites ----------------------------------------------------------------------------


def _never_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Selection.exact
    monkeypatch.setattr(
        Selection, "exact", lambda self, **how: exact(self, **{**how, "now_ms": None})
    )


def _ring_overwrites_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _Slab._release

    def newest(self: Any, ring: list[Any]) -> None:
        ring.insert(0, ring.pop())
        release(self, ring)

    monkeypatch.setattr(_Slab, "_release", newest)


@pytest.mark.parametrize(
    "plant", [_never_invalid, pytest.param(_ring_overwrites_the_newest, marks=pytest.mark.slow)]
)
def test_a_planted_bug_is_found_and_cut_down_to_a_short_script(
    plant: Any, monkeypatch: pytest.MonkeyPatch, proof: Proof
) -> None:
    setup = Setup(store="memory")
    with monkeypatch.context() as patched:
        plant(patched)
        tally = bulk(setup, seed=7, steps=3000)
        assert tally.wrong, "3000 steps did not notice"
        script = tally.script
        assert 0 < len(script) <= 12, script
        with pytest.raises(AssertionError):
            repeat(setup, script)
    repeat(setup, script)
    proof("T24", planted_bugs_found=1)
