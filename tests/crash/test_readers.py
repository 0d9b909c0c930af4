"""Readers beside a writer see old or new, whole, and never miss a live memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import TIMEOUT_S, in_fresh_process
from tests.crash.readers import ENOUGH

pytestmark = pytest.mark.crash


def _run(kind: str, seconds: float, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = in_fresh_process(
        f"tests.crash.readers:{kind}", seconds=seconds, timeout_s=seconds + TIMEOUT_S, **more
    )
    assert found["wrong"] == [], found
    assert found["operations"] >= ENOUGH, "the writer hardly wrote"
    assert found["looks"] >= ENOUGH, "the readers hardly read"
    return found


def test_four_reading_processes_beside_a_writer_see_only_what_was_committed() -> None:
    _run("processes", 6)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_four_reading_processes_beside_a_writer_for_a_minute() -> None:
    _run("processes", 60, seed=7)


def test_reading_threads_and_the_daemon_beside_a_writer_see_only_what_was_committed() -> None:
    assert _run("threads", 4)["cycles"] > 0


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_reading_threads_and_the_daemon_for_a_minute() -> None:
    assert _run("threads", 60, seed=7)["cycles"] > 10
