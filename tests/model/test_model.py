"""spector does what a dictionary and NumPy say it does, whatever is done to it in whatever order.

Mechanism: random sequences of everything that a user can do, on stores so small that every
partition rolls, every journal is emptied and every ring goes round within a few operations; the
process "dies" within operations, readers look on, clocks jump. After each operation every field of
every memory is compared with the model, and rankings with scores in float64.
A failure prints a short script: ``tests.model.runs.repeat`` runs it again.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from spector.errors import KernelUnavailableError
from spector.kernel.dispatch import load_kernel
from spector.search.view.request import Selection
from spector.store.opening import recovery as recover
from spector.tiers.working import _Slab
from spector.write.writer import Writer
from tests.model.machine import machine
from tests.model.runs import Tally, bulk, repeat
from tests.model.world import Setup
from tests.proof import Proof, seed

#: kernel, store, indexed, steps in the whole proof. In memory nothing crashes and nobody reads
#: beside: most are on disk, though a step there takes twice as long. Hypothesis adds some 14,000.
SWEEP = [
    ("native", "strict", False, 58_000),
    ("native", "relaxed", True, 52_000),
    ("native", "memory", True, 36_000),
    ("native", "memory", False, 35_000),
    ("numba", "memory", True, 6_000),
    ("reference", "memory", False, 2_500),
    ("reference", "relaxed", True, 2_000),
]
_QUICK = {
    ("native", "strict"): 140,
    ("native", "relaxed"): 120,
    ("native", "memory"): 180,
    ("numba", "memory"): 120,
    ("reference", "memory"): 80,
    ("reference", "relaxed"): 80,
}
_IDS = [f"{kernel}-{store}{'-indexed' * indexed}" for kernel, store, indexed, _ in SWEEP]
#: of an estimate's hits at most this share may be missing (2.5 standard errors, 16 dimensions)
_MISSED = 0.005


def _run(setup: Setup, steps: int, proof: Proof, default_seed: int) -> Tally:
    start = seed(default_seed)
    print(f"SPECTOR_SEED={start}")
    tally = bulk(setup, seed=start, steps=steps)
    counts = {
        "steps": tally.steps,
        _where(setup): tally.steps,
        "machines": tally.machines,
        "crashes": tally.crashes,
        "recalls": tally.recalls,
        "counter_examples": len(tally.wrong) and 1,
    }
    proof("T24", **counts, seeds=str(start))
    name = f"{setup.kernel} {setup.store}{' indexed' * setup.indexed}"
    proof("T35", configurations=1, failures=counts["counter_examples"], lived=name)
    proof("T26", recalls=tally.recalls, hits=tally.hits, hits_missed_by_estimates=tally.missed)
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.missed <= max(3, _MISSED * tally.hits)
    assert setup.indexed or not tally.missed
    return tally


def _where(setup: Setup) -> str:
    return "steps_in_memory" if setup.store == "memory" else "steps_on_disk"


def _skip_without(kernel: str) -> None:
    try:
        load_kernel(kernel)
    except KernelUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.sampled
@pytest.mark.parametrize(("kernel", "store", "indexed", "steps"), SWEEP, ids=_IDS)
def test_a_short_life_is_as_the_model_says(
    kernel: str, store: str, indexed: bool, steps: int, proof: Proof
) -> None:
    _skip_without(kernel)
    tally = _run(Setup(kernel, store, indexed), _QUICK[kernel, store], proof, 24)
    assert tally.recalls > 10
    assert store == "memory" or tally.crashes


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("kernel", "store", "indexed", "steps"), SWEEP, ids=_IDS)
def test_a_long_life_is_as_the_model_says(
    kernel: str, store: str, indexed: bool, steps: int, proof: Proof
) -> None:
    _skip_without(kernel)
    tally = _run(Setup(kernel, store, indexed), steps, proof, 1)
    assert tally.steps >= steps


# -- the same operations, chosen and shrunk by Hypothesis ---------------------------------------


def _explore(setup: Setup, examples: int, steps: int, proof: Proof) -> None:
    count = {"machines": 0, "steps": 0, "crashes": 0}
    chosen = settings(max_examples=examples, stateful_step_count=steps)
    failed = 1
    try:
        with setup.installed():
            run_state_machine_as_test(machine(setup, count), settings=chosen)
        failed = 0
    finally:
        count[_where(setup)] = count["steps"]
        proof("T24", **count, counter_examples=failed)


@pytest.mark.parametrize("store", ["strict", "memory"])
def test_hypothesis_finds_no_difference(store: str, proof: Proof) -> None:
    _explore(Setup(store=store), 3, 30, proof)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("store", ["strict", "relaxed", "memory"])
def test_hypothesis_searches_long_and_finds_no_difference(store: str, proof: Proof) -> None:
    _explore(Setup(store=store, indexed=store != "strict"), 60, 100, proof)


# -- the model bites ----------------------------------------------------------------------------


def _no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "_replay", lambda *a, **k: None)


def _never_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Selection.exact
    monkeypatch.setattr(
        Selection,
        "exact",
        lambda self, **how: exact(self, **{**how, "now_ms": None}),
    )


def _ids_by_clock_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def claim(self: Any, tx: Any, count: int, now_ms: int) -> list[int]:
        first = max(1, now_ms << 10, tx.last_id + 1)  # forgets the other store
        tx.note_id(first + count - 1)
        return list(range(first, first + count))

    monkeypatch.setattr(Writer, "claim_ids", claim)


def _ring_overwrites_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _Slab._release

    def newest(self: Any, ring: list[Any]) -> None:
        ring.insert(0, ring.pop())
        release(self, ring)

    monkeypatch.setattr(_Slab, "_release", newest)


@pytest.mark.parametrize(
    ("plant", "store"),
    [
        pytest.param(_no_replay, "strict", marks=pytest.mark.slow),
        (_never_invalid, "memory"),
        pytest.param(_ids_by_clock_only, "relaxed", marks=pytest.mark.slow),
        pytest.param(_ring_overwrites_the_newest, "memory", marks=pytest.mark.slow),
    ],
)
def test_a_planted_bug_is_found_and_cut_down_to_a_short_script(
    plant: Any, store: str, monkeypatch: pytest.MonkeyPatch, proof: Proof
) -> None:
    with monkeypatch.context() as patched:
        plant(patched)
        tally = bulk(Setup(store=store), seed=7, steps=3000)
        assert tally.wrong, "3000 steps did not notice"
        script = tally.script
        assert 0 < len(script) <= 12, script
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it broke
            repeat(Setup(store=store), script)
    repeat(Setup(store=store), script)
    proof("T24", planted_bugs_found=1)
