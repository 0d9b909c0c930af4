"""Keys equal a dictionary, whatever is killed and however many look on.

Mechanism: an upsert is one commit, and a unique index over user, agent, namespace and key. Damage
without it: two memories of one key after a crash, or none. Guard: random operations of processes
that are killed at random, compared with a dictionary after each kill; readers beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import seed

pytestmark = pytest.mark.crash
Proof = Callable[..., None]


def _lived(proof: Proof, operations: int, timeout_s: float = 290) -> None:
    found: dict[str, Any] = in_fresh_process(
        "tests.model.keyed:run", operations=operations, seed=seed(7), timeout_s=timeout_s
    )
    assert found["wrong"] == [], (seed(7), found)
    assert found["operations"] >= operations
    assert found["looks"] > found["kills"] > 0
    proof("keys", operations=found["operations"], kills=found["kills"], seeds=str(seed(7)))


def test_keys_equal_a_dictionary_through_some_kills(proof: Proof) -> None:
    _lived(proof, 120)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_keys_equal_a_dictionary_through_many_kills(proof: Proof) -> None:
    _lived(proof, 20_000, timeout_s=2900)
