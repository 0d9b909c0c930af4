"""A store that lives for a while neither grows nor slows down (T31)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.crash.harness import in_fresh_process
from tests.crash.soak import NOISE, Process, Sample, judged, slope, slowing
from tests.proof import Proof, seed

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")

MIB = 1 << 20
#: the second half of a soak of half an hour
SECONDS = np.arange(900, 1800, 7.5)


def _soak(seconds: float, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        "tests.crash.soak:soak", seconds=seconds, seed=seed(1), timeout_s=seconds + 400, **more
    )
    assert found["changes"] > 0
    assert found["recalls"] > 0
    return found


def test_a_soak_of_seconds_finds_nothing_wrong() -> None:
    assert _soak(3)["wrong"] == []


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(0)
def test_a_soak_finds_neither_growth_nor_violations(proof: Proof) -> None:
    minutes = float(os.environ.get("SPECTOR_SOAK_MINUTES", "30"))
    found = _soak(60 * minutes, nice=10)
    proof("T31", minutes=minutes, changes=found["changes"], recalls=found["recalls"])
    assert found["wrong"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "told"), [("leak", "own of process 0"), ("slower", "call of process 0")]
)
def test_a_planted_fault_is_found(fault: str, told: str) -> None:
    assert any(told in line for line in _soak(20, fault=fault)["wrong"])


def _heap(seed: int) -> NDArray[np.float64]:
    """Bytes of a heap that does not grow: it wanders, and neighbours are alike."""
    rng, at, out = np.random.default_rng(seed), 0.0, []
    for _ in SECONDS:
        at = 0.8 * at + 0.06 * rng.standard_normal()
        out.append(40 + at + 2 * (rng.random() < 0.03))
    return np.array(out) * MIB


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leak", [0.0, 3.0, 5.0])
def test_a_leak_is_told_from_a_heap_that_wanders(seed: int, leak: float) -> None:
    found = slope(SECONDS, _heap(seed) + leak * MIB * SECONDS / 3600)
    assert found.low <= found.per_hour <= found.high
    assert abs(found.per_hour - leak * MIB) < 2 * MIB
    assert (found.low > NOISE["own"]) == (leak * MIB > NOISE["own"])
    assert leak == 0 or found.low > 0


def test_a_few_samples_and_a_cache_that_has_filled_are_no_leak() -> None:
    filled = np.minimum(SECONDS - 900, 150) / 150 * MIB
    assert slope(SECONDS, _heap(1) + filled).low < NOISE["own"]
    assert slope([0, 1], [0, 1e12]).low < 0
    assert slope([1] * 20, range(20)).low < 0


@pytest.mark.parametrize(("growth", "times"), [(0.0, 1.0), (1.0, 4.2)])
def test_work_that_grows_with_all_that_was_written_is_told(growth: float, times: float) -> None:
    """Beside a neighbour who doubles all work for a fifth of the time."""
    rng = np.random.default_rng(3)
    age = np.linspace(0, 1, 240)
    spent = (1 + 20 * growth * age) * (1 + (rng.random(24) < 0.2).repeat(10))
    work = np.cumsum(np.stack([np.full(240, 400), 400 * spent], axis=1), axis=0).astype(np.int64)
    assert slowing(list(work)) == pytest.approx(times, rel=0.25)


@pytest.mark.parametrize("leak", [0, 40])
def test_a_process_that_leaks_fails_a_soak(leak: int) -> None:
    work = np.arange(1, 121)[:, None] * np.array([400, 4_000_000])
    still, grown = _heap(3), _heap(3) + leak * MIB * SECONDS / 3600
    samples = [
        Sample(second - 900, [Process(int(a)), Process(int(b))], np.stack([done, done]), MIB)
        for second, a, b, done in zip(2 * SECONDS - 900, still, grown, work, strict=True)
    ]
    told = [line.split(" by ")[0] for line in judged(samples)]
    assert told == ["own of process 1 grows"] * bool(leak)
