"""A real file system keeps what the replay of T3 assumes that it keeps (T5).

Mechanism: the replay builds disks from rules. Damage if a rule is kinder than a kernel: a store
that survives every built disk and not the first real power cut. Guard: the disk of a real ext4,
taken again and again while a process writes, is mounted and opened; and a store that does not sync
is found lacking by the same test.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import Proof, seed

pytestmark = pytest.mark.crash

OPTIONS = {
    "ordered": "data=ordered",
    "writeback": "data=writeback",
    "journal": "data=journal",
    "at once": "nodelalloc,commit=1",
}
PATIENCE_S = 3000.0
#: moments at which a store that does not sync is caught, four at a time
_TRIES = 6


def _cut(options: str, moments: int, at: int, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        "tests.crash.real_disk:run",
        options=OPTIONS[options],
        moments=moments,
        seed=at,
        timeout_s=PATIENCE_S,
        **more,
    )
    if "skip" in found:
        pytest.skip(f"no ext4 in a file here: {found['skip']}")
    return found


def _settle(proof: Proof, found: dict[str, Any], moments: int, at: int, how: str) -> None:
    proof(
        "T5",
        images=found["images"],
        distinct_images=found["distinct"],
        copies_taken_again=found["retaken"],
        acknowledged=found["acknowledged"],
        disagreements=found["disagreeing"],
        seeds=str(at),
        mounted=how,
    )
    assert not found["wrong"], "\n\n".join([f"SPECTOR_SEED={at}", *found["wrong"][:5]])
    assert found["images"] == moments
    assert found["distinct"] > moments // 2, "the disk hardly changed"


def test_some_cuts_of_a_real_file_system(proof: Proof) -> None:
    at = seed(5)
    _settle(proof, _cut("ordered", 8, at), 8, at, "ordered")


@pytest.mark.slow
def test_a_store_that_does_not_sync_is_found_lacking(proof: Proof) -> None:
    """The canary: relaxed durability, judged by what strict promises.

    The kernel writes when it likes, and so does everybody who syncs all disks meanwhile: then
    nothing is missing for once.
    """
    for more in range(_TRIES):
        found = _cut("ordered", 4, seed(6) + more, durability="relaxed", judged="strict")
        if found["disagreeing"]:
            break
    proof("T5", canaries=1, canaries_caught=int(found["disagreeing"] > 0))
    assert found["disagreeing"], "cuts of a file system lose nothing, so they prove nothing"
    assert "missing" in "".join(found["wrong"]) or "gone" in "".join(found["wrong"])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
@pytest.mark.parametrize("options", OPTIONS)
def test_many_cuts_of_a_real_file_system(options: str, durability: str, proof: Proof) -> None:
    """In relaxed durability the newest commits may be gone, as far back as the last checkpoint."""
    at, moments = seed(50), 100 if durability == "strict" else 40
    found = _cut(options, moments, at, durability=durability)
    _settle(proof, found, moments, at, f"{options}, {durability}")
