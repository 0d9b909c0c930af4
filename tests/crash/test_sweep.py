"""kill -9 at any file call loses nothing that was acknowledged and shows nothing half-done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cases import slow
from tests.crash.lives import KNOWING, LIVES
from tests.crash.shim import in_shimmed_process
from tests.proof import seed

pytestmark = pytest.mark.crash

#: one in six times so many kill points is in the quick sample; which ones, the seed decides
STRIDE = 37
Proof = Callable[..., None]


def _first(step: int) -> int:
    found = 1 + seed(3) % step
    print(f"SPECTOR_SEED={seed(3)}: every {step}th from {found}")
    return found


def _kills(proof: Proof, durability: str, row: str = "", **kwargs: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_shimmed_process(
        "tests.crash.sweep:kills", durability=durability, **kwargs
    )
    points, wrong, unseen = found["points"], found["wrong"], found["unseen"]
    lost = sum(any("missing" in line for line in lines) for lines in wrong.values())
    proof(
        "T1",
        kill_points=sum(points.values()),
        workloads=len(points),
        lost_acknowledged=lost,
        half_visible=len(wrong) - lost,
        durability=durability,
        seeds=str(seed(3)),
    )
    if row:
        proof(row, kill_points=sum(points.values()), half_visible=len(wrong), seeds=str(seed(3)))
    assert wrong == {}
    if row and kwargs.get("step", 1) == 1:  # then each thing that is done was killed in its middle
        assert not any(unseen.values()), unseen
    return points


@pytest.mark.parametrize(
    ("lives", "step", "least"),
    [
        (None, 6 * STRIDE, len(LIVES) + 1),
        (["know"], 12 * STRIDE, 1),
        (["purge", "backup", "backup in two steps", "restore", "repair"], STRIDE, 12),
    ],
)
def test_kill_at_a_sample_of_calls_leaves_old_or_new(
    proof: Proof, lives: list[str] | None, step: int, least: int
) -> None:
    """Of knowledge: a memory without its payload, an edge without its ends would be neither."""
    points = _kills(proof, "strict", names=lives, start=_first(step), step=step, torn=False)
    assert sum(points.values()) >= least, points


@pytest.mark.parametrize(
    ("lives", "step"), [(["observe"], 600), slow(["observe", "merge", "end"], 100)]
)
def test_kill_at_a_few_calls_of_observing_leaves_old_or_new(
    proof: Proof, lives: list[str], step: int
) -> None:
    """What is observed is there with its facts, ties and strengths, or not at all."""
    points = _kills(
        proof,
        "strict",
        "observing",
        names=lives,
        start=_first(step) % 100 + 1,
        step=step,
        torn=False,
    )
    assert min(points.values()) > 0, points


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("life", KNOWING)
@pytest.mark.parametrize(("durability", "step"), [("strict", 1), ("relaxed", 5)])
def test_kill_at_every_call_that_changes_knowledge_leaves_old_or_new(
    proof: Proof, durability: str, step: int, life: str
) -> None:
    row = "" if life == "know" else "observing"
    points = _kills(proof, durability, row, names=[life], step=step, timeout_s=2900)
    assert points[life] > 100


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("life", LIVES)
def test_kill_at_every_call_leaves_old_or_new(proof: Proof, life: str) -> None:
    points = _kills(proof, "strict", names=[life], timeout_s=1700)
    assert points[life] > 10


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kill_of_a_relaxed_writer_leaves_old_or_new(proof: Proof) -> None:
    _kills(proof, "relaxed", start=_first(5), step=5, timeout_s=1700)


@pytest.mark.parametrize(
    ("lives", "durability", "step", "inner"),
    [
        (["recover", "everything"], "strict", 160, 7),
        slow(None, "strict", 97, 1, timeout_s=1800),
        slow(None, "relaxed", 97, 1, timeout_s=1800),
    ],
)
def test_kill_at_every_call_of_recovery_is_recovered_from(
    proof: Proof, lives: list[str] | None, durability: str, step: int, inner: int
) -> None:
    found: dict[str, Any] = in_shimmed_process(
        "tests.crash.sweep:recoveries",
        names=lives,
        durability=durability,
        start=_first(step),
        step=step,
        inner=inner,
        timeout_s=1700,
    )
    proof(
        "T2",
        images=found["images"],
        first_level_kills=found["first"],
        second_level_kills=found["second"],
        other_end_states=len(found["wrong"]),
        seeds=str(seed(3)),
    )
    assert found["wrong"] == {}
    assert found["first"] > found["images"]
    assert found["second"] > 0
