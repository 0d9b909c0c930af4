"""A copy killed or failing at any step: the destination is as it was, or complete."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import in_fresh_process

pytestmark = pytest.mark.crash

CASES = ["new", "again", "again in two steps", "restore"]


def _sweep(proof: Any, case: str, kind: str, **more: Any) -> None:
    found = in_fresh_process("tests.backup.broken:sweep", case=case, kind=kind, **more)
    counts = {"kill_points" if kind == "kill" else "errors": found["tried"]}
    proof("backup", wrong=len(found["wrong"]) + len(found["untyped"]), **counts)
    assert found["wrong"] == {}, found
    assert found["untyped"] == [], found
    assert found["tried"] > 3


@pytest.mark.parametrize("case", CASES)
def test_killed_at_a_sample_of_steps(case: str, proof: Any) -> None:
    _sweep(proof, case, "kill", start=1 + len(case) % 3, step=9)


@pytest.mark.parametrize(("case", "kind"), [("new", "ENOSPC"), ("again in two steps", "EIO")])
def test_errors_at_a_sample_of_steps(case: str, kind: str, proof: Any) -> None:
    _sweep(proof, case, kind, step=9)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_step(case: str, proof: Any) -> None:
    _sweep(proof, case, "kill", timeout_s=590)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("case", "kind"),
    [("new", "ENOSPC"), ("again", "EMFILE"), ("again in two steps", "EIO"), ("restore", "EACCES")],
)
def test_errors_at_every_step(case: str, kind: str, proof: Any) -> None:
    _sweep(proof, case, kind, timeout_s=590)
