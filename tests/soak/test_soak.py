"""A store that lives for a while neither grows, nor slows down, nor says what is not so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import Proof
from tests.proof import seed as seed_or
from tests.soak.measure import slope

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


@pytest.mark.parametrize("leak", [0.0, 2.0])
def test_growth_is_told_from_noise(leak: float) -> None:
    """A leak of 2 MiB a minute beside noise of 20 MiB."""
    rng, mib = np.random.default_rng(3), 1 << 20
    seconds = np.arange(0, 1800, 7.5)
    values = 200 * mib + 20 * mib * rng.standard_normal(len(seconds)) + leak * mib * seconds / 60
    found = slope(seconds, values)
    assert found.low <= leak * 60 * mib <= found.high
    assert found.grows(1800, 8 * mib) == (leak > 0)


def test_a_few_samples_prove_no_growth() -> None:
    assert not slope([0, 1], [0, 1e12]).grows(1, 1)
    assert not slope([1, 1, 1], [1, 2, 3]).grows(1, 1)
