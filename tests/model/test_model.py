"""spector does what a dictionary and NumPy say it does, whatever is done to it in whatever order.

Lives of one world, drawn from one number: everything that a user can do, on stores so small that
every partition rolls and every ring goes round within a few operations, with clocks that jump. In
memory, with each kernel; and on disk, in one thread with readers that look in the middle of an
operation, backups during which the writer goes on, restores, a second writer, nights, a disk that
fails, kills and kills of the recovery. After each operation every field of every memory is
compared with the model, and rankings with scores in float64. A failure prints its number.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from spector.errors import KernelUnavailableError
from spector.kernel.dispatch import load_kernel
from spector.search.request import Selection
from spector.store.backup import copy as backup
from spector.store.core.store import Store
from spector.store.opening import recovery
from spector.store.opening.reader import ReadStore
from spector.tiers.working import _Slab
from spector.write.context import WriteContext
from tests.cases import slow
from tests.model.life import Setup
from tests.model.runs import STEPS, Tally, live, simulate
from tests.proof import Proof, seed

#: kernel, indexed, steps; what is slow is the whole proof
SWEEP = [
    ("native", True, 180),
    ("native", False, 180),
    ("numba", True, 120),
    ("reference", False, 80),
    slow("native", True, 36_000, timeout_s=3000),
    slow("native", False, 35_000, timeout_s=3000),
    slow("numba", True, 6_000, timeout_s=3000),
    slow("reference", False, 2_500, timeout_s=3000),
]
#: of an estimate's hits at most this share may be missing (2.5 standard errors, 16 dimensions)
_MISSED = 0.005
_FIRST = 29


@pytest.mark.sampled
@pytest.mark.parametrize(("kernel", "indexed", "steps"), SWEEP)
def test_a_life_in_memory_is_as_the_model_says(
    kernel: str, indexed: bool, steps: int, proof: Proof
) -> None:
    try:
        load_kernel(kernel)
    except KernelUnavailableError as error:
        pytest.skip(str(error))
    start = seed(24)
    tally = simulate(start, steps, setup=Setup(kernel, "memory", indexed), length=200)
    proof("T24", steps=tally.steps, machines=tally.seeds, recalls=tally.recalls, seeds=start)
    proof("T26", recalls=tally.recalls, hits=tally.hits, hits_missed_by_estimates=tally.missed)
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.missed <= max(3, _MISSED * tally.hits)
    assert indexed or not tally.missed
    assert tally.recalls > 10
    assert tally.steps >= steps


@pytest.mark.parametrize("steps", [200, slow(60_000, timeout_s=3000)])
def test_a_life_on_disk_is_as_the_model_says(steps: int, proof: Proof) -> None:
    first = seed(_FIRST)
    started = time.perf_counter()
    tally = simulate(first, steps)
    minutes = (time.perf_counter() - started) / 60
    proof(
        "T29",
        seeds=f"{first}..{first + tally.seeds - 1}",
        systems=tally.seeds,
        steps=tally.steps,
        kills=tally.kills,
        **tally.counts,
        simulated_days=round(tally.days),
        simulated_days_per_minute=f"{tally.days / minutes:,.0f}",
        failures=len(tally.wrong) and 1,
    )
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.steps >= steps
    if steps < 1000:
        return
    assert tally.kills > 100
    for what, times in tally.counts.items():
        assert times > 10, f"{what} came about {times} times: the simulation has become tame"


def test_one_number_is_one_life() -> None:
    """Otherwise a failure could not be repeated from it."""
    courses = set()
    for _ in range(2):
        tally = Tally()
        live(7, tally, length=40)
        assert not tally.wrong, "\n".join(tally.wrong)
        courses.add(tally.trace)
    assert len(courses) == 1


# -- the world bites ------------------------------------------------------------------------------


def _exact_at_any_time(self: Selection, **how: Any) -> Any:
    return _exact(self, **{**how, "now_ms": None})


def _release_the_newest(self: _Slab, ring: list[Any]) -> None:
    ring.insert(0, ring.pop())
    _release(self, ring)


def _claim_by_clock_only(self: WriteContext, tx: Any, count: int, now_ms: int) -> list[int]:
    first = max(1, now_ms << 10, tx.last_id + 1)  # forgets the other store
    tx.note_id(first + count - 1)
    return list(range(first, first + count))


def _nothing(*_: Any) -> None:
    pass


_exact, _release = Selection.exact, _Slab._release
_VOLATILE = Setup(store="memory")
#: what is wrong -> where, what stands in its place, and in which world it must be found
PLANTED: dict[str, tuple[Any, str, Any, Setup | None]] = {
    "memories are never invalid": (Selection, "exact", _exact_at_any_time, _VOLATILE),
    "a ring overwrites the newest": (_Slab, "_release", _release_the_newest, _VOLATILE),
    "readers trust the files between a commit and its copy": (
        ReadStore,
        "_overlay",
        _nothing,
        None,
    ),
    "a recovery trusts the files": (recovery, "_replay", _nothing, None),
    "after a failed write a store goes on": (Store, "fail", _nothing, None),
    "backups replace what they never were": (backup.Request, "refuse_others", _nothing, None),
    "ids come by the clock only": (WriteContext, "claim_ids", _claim_by_clock_only, None),
}


@pytest.mark.parametrize(
    "bug",
    [
        bug if setup and bug.startswith("memories") else slow(bug)
        for bug, (*_, setup) in PLANTED.items()
    ],
)
def test_a_planted_bug_is_found_and_repeated_from_its_number(
    bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, wrong, setup = PLANTED[bug]
    with monkeypatch.context() as patched:
        patched.setattr(where, name, wrong)
        found = simulate(_FIRST, 60 * STEPS, setup=setup)
        assert found.wrong, f"{found.steps} steps did not notice"
        number = int(found.wrong[0].split()[0].partition("=")[2])
        again = Tally()
        live(number, again, setup=setup)
        assert again.wrong[0] == found.wrong[0]
    healthy = Tally()
    live(number, healthy, setup=setup, length=12)
    assert not healthy.wrong, "\n".join(healthy.wrong)
