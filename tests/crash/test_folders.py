"""A directory that cannot be synced is an error that somebody hears of, and is not synced again.

Mechanism: a name (of a new partition, or of the one that takes an old one's place) is durable once
its directory is synced; after a failed sync a second one may succeed with the name lost. Damage: an
acknowledged memory in a file that is gone after a power cut. Guard: a typed error at once, and a
store that has failed if it was open.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.shim import in_shimmed_process
from tests.proof import Proof

pytestmark = pytest.mark.crash


def _fail(proof: Proof, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_shimmed_process("tests.crash.folders:folders", timeout_s=900, **more)
    proof(
        "T6",
        syncs_of_folders_failed=found["cases"],
        retried_syncs_of_folders=found["retried"],
        harmed=len(found["wrong"]),
        swallowed_by_sqlite=found["swallowed"],
        kind="EIO of a folder",
        durability=more.get("durability", "strict"),
    )
    assert found["wrong"] == {}
    assert found["retried"] == 0
    return found


def test_some_directories_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof, names=["create", "append"])
    assert found["outcomes"]["StoreError"] >= 2
    assert found["outcomes"]["StoreError, failed"] >= 1
    assert found["retried_after_sqlite"] > 0, "the counter of second syncs does not count"


@pytest.mark.slow
def test_product_that_syncs_a_directory_twice_is_found_out() -> None:
    """The canary of the counter."""
    found = in_shimmed_process("tests.crash.folders:folders", names=["append"], mutant=True)
    assert found["retried"] > 0
    assert any("synced again 1 times" in lines for lines in found["wrong"].values())
    assert any("nobody is told" in lines for lines in found["wrong"].values())


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_each_directory_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof)
    assert found["cases"] > 80
    assert found["swallowed"] < found["cases"] // 4


@pytest.mark.slow
def test_directories_of_a_relaxed_writer_that_cannot_be_synced(proof: Proof) -> None:
    found = _fail(proof, durability="relaxed", names=["batch", "reflect", "compact", "import"])
    assert found["outcomes"]["StoreError, failed"] > 15
