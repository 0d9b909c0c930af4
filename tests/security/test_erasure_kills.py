"""An erasure that is killed is finished by the next sleep.

Mechanism: the transaction that deletes a memory also writes down that it must be erased at once.
Damage without it: a process dies between the forgetting and the rewriting, and nobody ever erases
what the user was told is gone. Guard: death at every file operation and statement of an erasure.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import in_fresh_process

pytestmark = pytest.mark.crash


@pytest.mark.parametrize(
    ("step", "finish"),
    [
        (9, "reflect"),
        pytest.param(1, "reflect", marks=pytest.mark.slow),
        pytest.param(1, "compact", marks=pytest.mark.slow),
    ],
)
def test_an_erasure_killed_at_any_moment_is_finished_by_the_next_sleep(
    step: int, finish: str, proof: Any
) -> None:
    found = in_fresh_process(
        "tests.security.erasures:kills", start=1, step=step, finish=finish, timeout_s=280
    )
    proof("erasure", kill_points=found["tried"], unfinished=len(found["wrong"]))
    assert found["wrong"] == []
    assert found["tried"] * step >= found["points"] - step
    assert 0 < found["whole"] < found["tried"], "the kills were all on one side of the commit"
