"""A whole system in one thread: whoever looks, whenever, sees what is committed and nothing else.

Mechanism: a writer, readers that look in the middle of its operations, backups during which it
goes on, restores, a second writer, nights with reflections, a clock that jumps, a disk that fails,
kills and kills of the recovery, all drawn from one number. Damage: what each of them survives alone
and two of them together do not. A failure prints the number, which repeats it to the byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from spector.store.backup import copy as earlier
from spector.store.core.store import Store
from spector.store.opening import recovery as recover
from spector.store.opening.reader import ReadStore
from spector.write.context import WriteContext
from tests.proof import Proof, seed
from tests.simulation.runs import STEPS, Tally, live, simulate

_QUICK_STEPS, _ALL_STEPS = 200, 60_000
_FIRST = 29


def _run(steps: int, proof: Proof) -> Tally:
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
    return tally


def test_a_simulated_system_is_as_the_model_says(proof: Proof) -> None:
    tally = _run(_QUICK_STEPS, proof)
    assert tally.steps >= _QUICK_STEPS


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_many_simulated_systems_are_as_the_model_says(proof: Proof) -> None:
    tally = _run(_ALL_STEPS, proof)
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


# -- the simulation bites -------------------------------------------------------------------------


def _readers_that_trust_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a commit and the copy of its bytes they show the bytes of before."""
    monkeypatch.setattr(ReadStore, "_overlay", lambda *a: None)


def _recovery_that_trusts_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "_replay", lambda *a: None)


def _failures_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed write a store goes on as if nothing had been."""
    monkeypatch.setattr(Store, "fail", lambda *a: None)


def _backups_replace_what_they_never_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only copy of what a restored store has lost is overwritten."""
    monkeypatch.setattr(earlier.Request, "refuse_others", lambda *a: None)


def _ids_by_clock_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes back gives ids out that come before those of another tier."""

    def claim(self: Any, tx: Any, count: int, now_ms: int) -> list[int]:
        first = max(1, now_ms << 10, tx.last_id + 1)  # forgets the other store
        tx.note_id(first + count - 1)
        return list(range(first, first + count))

    monkeypatch.setattr(WriteContext, "claim_ids", claim)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        _readers_that_trust_the_files,
        _recovery_that_trusts_the_files,
        _failures_are_forgotten,
        _backups_replace_what_they_never_were,
        _ids_by_clock_only,
    ],
)
def test_a_planted_bug_is_found_and_repeated_from_its_number(
    plant: Callable[[pytest.MonkeyPatch], Any], monkeypatch: pytest.MonkeyPatch, proof: Proof
) -> None:
    with monkeypatch.context() as patched:
        plant(patched)
        found = simulate(_FIRST, 60 * STEPS)
        assert found.wrong, f"{found.steps} steps did not notice"
        number = int(found.wrong[0].split()[0].partition("=")[2])
        again = Tally()
        live(number, again)
        assert again.wrong[0] == found.wrong[0]
    healthy = Tally()
    live(number, healthy, length=12)
    assert not healthy.wrong, "\n".join(healthy.wrong)
    proof("T29", planted_bugs_found=1)
