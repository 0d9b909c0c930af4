"""A store that lives for a while neither grows, nor slows down, nor says what is not so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.crash.harness import in_fresh_process
from tests.proof import Proof
from tests.proof import seed as seed_or
from tests.soak.measure import Process, slope
from tests.soak.run import NOISE_MIB, Sample, _growth

#: the rest of what a soak reports goes to the row of long runs
_BESIDE_A_WRITER = ("violations", "reader_seconds", "looks")


def _soak(seconds: float, proof: Proof, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        "tests.soak.run:soak", seconds=seconds, seed=seed_or(1), timeout_s=seconds + 400, **more
    )
    wrong = found.pop("wrong")
    texts = {k: str(v) for k, v in found.items() if "_ms" in k or "per_hour" in k or "max" in k}
    counts = {k: v for k, v in found.items() if k not in texts and not k.endswith("recalls")}
    proof("T31", **counts, **texts)
    p99 = {f"p99_ms_{who}_writer": str(found[f"{way}_p99_ms"])
           for who, way in (("with", "beside"), ("without", "alone"))}  # fmt: skip
    proof("T13", **{name: found.get(name, 0) for name in _BESIDE_A_WRITER}, **p99)
    assert wrong == [], f"SPECTOR_SEED={seed_or(1)}"
    assert found["violations"] == 0
    return found


def test_a_soak_of_seconds_finds_nothing_wrong(proof: Proof) -> None:
    found = _soak(8, proof, memories=500)
    assert found["changes"] >= 50
    assert found["looks"] >= 50
    assert 60 * found["minutes"] >= 7.5, "the page counts these"


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.timeout(0)
def test_a_soak_finds_neither_growth_nor_violations(proof: Proof, tmp_path: Path) -> None:
    minutes = float(os.environ.get("SPECTOR_SOAK_MINUTES", "30"))
    table = os.environ.get("SPECTOR_SOAK_CSV", str(tmp_path / "soak.csv"))
    found = _soak(60 * minutes, proof, table=table, nice=10)
    assert found["daemon_cycles"] > 0
    assert len(Path(table).read_text().splitlines()) > 20


# -- the judge itself ---------------------------------------------------------------------------

MIB = 1 << 20
#: the second half of a soak of half an hour
SECONDS = np.arange(900, 1800, 7.5)


def _heap(seed: int) -> NDArray[np.float64]:
    """Bytes of a heap that does not grow: it wanders, and neighbours are alike."""
    rng, at, out = np.random.default_rng(seed), 0.0, []
    for _ in SECONDS:
        at = 0.8 * at + 0.06 * rng.standard_normal()
        out.append(40 + at + 2 * (rng.random() < 0.03))
    return np.array(out) * MIB


@pytest.mark.parametrize("seed", range(4))
def test_a_heap_that_wanders_is_no_leak(seed: int) -> None:
    assert not slope(SECONDS, _heap(seed)).grows(NOISE_MIB * MIB)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leak", [3.0, 5.0])
def test_a_leak_is_told_with_an_interval_that_leaves_nought_out(seed: int, leak: float) -> None:
    found = slope(SECONDS, _heap(seed) + leak * MIB * SECONDS / 3600)
    assert found.grows(0)
    assert found.low <= found.per_hour <= found.high
    assert abs(found.per_hour - leak * MIB) < 2 * MIB
    assert found.grows(NOISE_MIB * MIB) == (leak > NOISE_MIB)


def test_a_cache_that_has_filled_is_no_leak() -> None:
    filled = np.minimum(SECONDS - 900, 150) / 150 * MIB
    assert not slope(SECONDS, _heap(1) + filled).grows(NOISE_MIB * MIB)


def test_a_few_samples_prove_no_growth() -> None:
    assert not slope([0, 1], [0, 1e12]).grows(1)
    assert not slope([1] * 20, range(20)).grows(1)


@pytest.mark.parametrize("leak", [0, 40])
def test_a_soak_fails_by_own_memory_and_not_by_mapped_files(leak: int) -> None:
    """Mechanism: what was resident was noted and judged against nothing."""
    samples = []
    for seconds, own in zip(SECONDS, _heap(3), strict=True):
        grown = Process(
            rss=int(own + 900 * MIB * seconds / 3600), own=int(own + leak * MIB * seconds / 3600),
            descriptors=11, maps=370,
        )  # fmt: skip
        still = Process(rss=int(own), own=int(own), descriptors=11, maps=370)
        samples.append(Sample(seconds, still, [still, grown], {"total": 1 << 20}, 1, 1, 1))
    out: dict[str, Any] = {}
    wrong = _growth(samples, samples, out)
    assert [line.split(" by ")[0] for line in wrong] == ["own of the reader 1 grows"] * bool(leak)
    assert out["reader_own_per_hour"].count(" to ") == 1
