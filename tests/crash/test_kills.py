"""kill -9 loses nothing that was acknowledged and shows nothing half-done."""

from __future__ import annotations

import os

import pytest

from tests.crash.harness import in_fresh_process

pytestmark = pytest.mark.crash


def _seed(default: int) -> int:
    seed = int(os.environ.get("SPECTOR_SEED", default))
    print(f"SPECTOR_SEED={seed}")
    return seed


def test_kill_at_random_moments_loses_nothing_acknowledged() -> None:
    found = in_fresh_process("tests.crash.kills:random_kills", kills=30, seed=_seed(1))
    assert found["wrong"] == [], found
    assert found["acked"] > 20, "the writers were killed before they wrote anything"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_at_200_random_moments_loses_nothing_acknowledged() -> None:
    found = in_fresh_process(
        "tests.crash.kills:random_kills", kills=200, seed=_seed(2), timeout_s=590
    )
    assert found["wrong"] == [], found
    assert found["acked"] > 1000


@pytest.mark.parametrize("kind", ["kill", "torn"])
def test_kill_at_a_sample_of_operations_leaves_old_or_new(kind: str) -> None:
    start = 1 + (kind == "torn")
    found = in_fresh_process("tests.crash.kills:sweep", kind=kind, start=start, step=5)
    assert found["wrong"] == {}, found
    assert found["points"] > 150


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["kill", "torn"])
def test_kill_at_every_operation_leaves_old_or_new(kind: str) -> None:
    found = in_fresh_process("tests.crash.kills:sweep", kind=kind, timeout_s=590)
    assert found["wrong"] == {}, found
    assert found["tried"] == found["points"]


def test_kill_during_recovery_is_recovered_from() -> None:
    found = in_fresh_process("tests.crash.kills:sweep_recovery", stride=97)
    assert found["wrong"] == {}, found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_at_every_operation_of_recovery_is_recovered_from() -> None:
    found = in_fresh_process("tests.crash.kills:sweep_recovery", stride=5, timeout_s=890)
    assert found["wrong"] == {}, found
    assert found["longest"] > 3
