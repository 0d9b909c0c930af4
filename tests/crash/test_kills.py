"""kill -9 at random moments, over and over on one store, loses nothing that was acknowledged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import seed

pytestmark = pytest.mark.crash

Proof = Callable[..., None]


def _kill(proof: Proof, kills: int, default_seed: int, timeout_s: float) -> None:
    chosen = seed(default_seed)
    print(f"SPECTOR_SEED={chosen}")
    found = in_fresh_process(
        "tests.crash.kills:random_kills", kills=kills, seed=chosen, timeout_s=timeout_s
    )
    assert found["wrong"] == [], found
    proof("T1", random_kills=kills, acknowledged=found["acked"], seeds=str(chosen))
    assert found["acked"] > kills / 2, "the writers were killed before they wrote anything"


def test_kill_at_random_moments_loses_nothing_acknowledged(proof: Proof) -> None:
    _kill(proof, 10, 1, 290)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_at_200_random_moments_loses_nothing_acknowledged(proof: Proof) -> None:
    _kill(proof, 200, 2, 590)
