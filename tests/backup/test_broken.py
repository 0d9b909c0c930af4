"""A copy killed or failing at any step: the destination is as it was, or complete."""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from tests.crash.harness import in_fork, in_fresh_process
from tests.crash.workload import START, open_tiny, vector_of

pytestmark = pytest.mark.crash

CASES = ["new", "again", "again in two steps", "restore", "repair"]


def _sweep(proof: Any, case: str, kind: str, **more: Any) -> None:
    found = in_fresh_process("tests.backup.broken:sweep", case=case, kind=kind, **more)
    counts = {"kill_points" if kind == "kill" else "errors": found["tried"]}
    row = "repair" if case == "repair" else "backup"
    proof(row, wrong=len(found["wrong"]) + len(found["untyped"]), **counts)
    assert found["wrong"] == {}, found
    assert found["untyped"] == [], found
    assert found["tried"] > 1


@pytest.mark.parametrize("case", CASES)
def test_killed_at_a_sample_of_steps(case: str, proof: Any) -> None:
    _sweep(proof, case, "kill", start=1 + len(case) % 5, step=37)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("case", "kind"), [("new", "ENOSPC"), ("again in two steps", "EIO"), ("repair", "ENOSPC")]
)
def test_errors_at_a_sample_of_steps(case: str, kind: str, proof: Any) -> None:
    _sweep(proof, case, kind, start=2, step=17)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_step(case: str, proof: Any) -> None:
    _sweep(proof, case, "kill", timeout_s=590)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("new", "ENOSPC"),
        ("again", "EMFILE"),
        ("again in two steps", "EIO"),
        ("restore", "EACCES"),
        ("repair", "ENOSPC"),
    ],
)
def test_errors_at_every_step(case: str, kind: str, proof: Any) -> None:
    _sweep(proof, case, kind, timeout_s=590)


def _with_files_of_at_most(limit: int, path: str, what: str) -> None:
    """In a child: no file may grow beyond ``limit`` bytes, as on a full disk."""
    with open_tiny(f"{path}/mind", mode="r") as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        other = partial(getattr(spector, what, spector.restore), f"{path}/mind")
        copy = memory.backup if what == "backup" else other
        with pytest.raises(spector.StoreError) as caught:
            copy(f"{path}/copy")
    assert caught.value.hint
    assert f"{path}/mind" not in caught.value.message, "it is not the source that is full"


@pytest.mark.sampled
@pytest.mark.parametrize("what", ["backup", "restore", "repair"])
@pytest.mark.parametrize("limit", [100, 5_000, 40_000, 70_000])
def test_a_copy_that_does_not_fit_leaves_nothing(
    limit: int, what: str, tmp_path: Path, proof: Any
) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=16, clock=ManualClock(START)) as memory:
        memory.remember_many(
            [
                {
                    "text": f"w{n} version 0",
                    "vector": vector_of(f"w{n} version 0"),
                    "tags": [f"t{n}"],
                }
                for n in range(900)
            ]
        )  # a partition of 115 kB, which is the last to be written
    assert in_fork(lambda: _with_files_of_at_most(limit, str(tmp_path), what)) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["mind"]
    assert spector.check(tmp_path / "mind").ok
    again = spector.repair if what == "repair" else spector.restore
    again(tmp_path / "mind", tmp_path / "copy")
    assert spector.check(tmp_path / "copy").ok
    proof("repair" if what == "repair" else "backup", full_disks=1)
