"""Readers beside a writer see old or new, whole, and never miss a live memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import TIMEOUT_S, in_fresh_process
from tests.crash.readers import ENOUGH
from tests.proof import Proof

pytestmark = pytest.mark.crash


def _run(kind: str, seconds: float, proof: Proof, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        f"tests.crash.readers:{kind}", seconds=seconds, timeout_s=seconds + TIMEOUT_S, **more
    )
    proof(
        "T13",
        changes=found["operations"],
        looks=found["looks"],
        reader_seconds=seconds * (4 if kind == "processes" else 3),
        violations=len(found["wrong"]),
    )
    assert found["wrong"] == [], found
    assert found["operations"] >= ENOUGH, "the writer hardly wrote"
    assert found["looks"] >= ENOUGH, "the readers hardly read"
    return found


def test_four_reading_processes_beside_a_writer_see_only_what_was_committed(proof: Proof) -> None:
    _run("processes", 4, proof)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_four_reading_processes_beside_a_writer_for_a_minute(proof: Proof) -> None:
    _run("processes", 60, proof, seed=7)


@pytest.mark.slow
def test_reading_threads_and_the_daemon_beside_a_writer_see_only_what_was_committed(
    proof: Proof,
) -> None:
    assert _run("threads", 3, proof)["cycles"] > 0


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_reading_threads_and_the_daemon_for_a_minute(proof: Proof) -> None:
    assert _run("threads", 60, proof, seed=7)["cycles"] > 10
