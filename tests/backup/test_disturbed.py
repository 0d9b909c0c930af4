"""A backup made while the store changes shows one moment of it, whoever makes it."""

from __future__ import annotations

import resource
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from tests.cases import slow
from tests.crash.harness import in_fork, in_fresh_process
from tests.crash.workload import START, Worker, open_tiny, texts_of, vector_of, wrong_in
from tests.proof import seed

pytestmark = pytest.mark.crash


def _run(name: str, proof: Any, *, default_seed: int, **more: Any) -> dict[str, Any]:
    number = seed(default_seed)
    print(f"SPECTOR_SEED={number}")
    found: dict[str, Any] = in_fresh_process(
        f"tests.backup.live:{name}", seed=number, timeout_s=890, **more
    )
    proof(
        "T33",
        backups_of_live_stores=found["backups"],
        seeds=str(number),
        wrong=len(found["wrong"]),
    )
    assert found["wrong"] == [], found
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("reader", [False, True])
@pytest.mark.parametrize("backups", [2, slow(25, timeout_s=900)])
def test_what_is_written_between_the_steps_of_a_backup_is_not_in_it(
    backups: int, reader: bool, proof: Any
) -> None:
    found = _run("at_every_step", proof, default_seed=3, backups=backups, reader=reader)
    assert found["steps_between"] > 20


@pytest.mark.parametrize(
    ("name", "backups"),
    [
        ("beside_process", 5),
        slow("beside_process", 80, timeout_s=900),
        slow("beside_threads", 80, timeout_s=900),
    ],
)
def test_a_backup_beside_a_writer_is_one_moment(name: str, backups: int, proof: Any) -> None:
    found = _run(name, proof, default_seed=5, backups=backups)
    assert found["lines"] > 20, "the writer had no time"


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


# -- copies that nobody asked spector for: of a closed store, of one in use, over a killed one -----


_OUTCOMES = ("refused", "found_by_check", "sound")


def test_a_plain_copy_of_a_closed_store_is_a_store(tmp_path: Path, proof: Any) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        worker = Worker(memory, {}, 1, lambda line: None)
        for _ in range(60):
            worker.step()
        texts = texts_of(memory)
    shutil.copytree(tmp_path / "mind", tmp_path / "copy")
    with open_tiny(str(tmp_path / "copy"), mode="r") as copy:
        assert texts_of(copy) == texts
    with open_tiny(str(tmp_path / "copy")) as copy:
        assert wrong_in(copy) == []
    proof("T33", plain_copies_of_closed_stores=1)


@pytest.mark.parametrize(
    ("name", "runs", "copies"),
    [
        ("killed", 1, 6),
        slow("in_use", 6, 40, timeout_s=900),
        slow("killed", 3, 40, timeout_s=900),
    ],
)
def test_a_plain_copy_of_a_store_in_use_or_killed_is_refused_or_found_or_sound(
    name: str, runs: int, copies: int, proof: Any
) -> None:
    found: Counter[str] = Counter()
    first, logs = seed(12), 0
    for number in range(first, first + runs):
        done = in_fresh_process(
            f"tests.backup.copies:{name}", seed=number, copies=copies, timeout_s=600
        )
        assert not done["wrong"], f"SPECTOR_SEED={number}: {done['wrong']}"
        found.update(done["outcomes"])
        logs += done.get("logs", 0)
    proof("T33", plain_copies=found.total(), **found)
    if name == "killed":
        assert logs == found.total(), "no log was left"
    if copies > 6:
        assert all(found[each] for each in _OUTCOMES), f"one of the outcomes was never met: {found}"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_backup_copied_over_a_killed_store_is_no_silent_mixture(proof: Any) -> None:
    """Mechanism: SQLite applies the log that it finds, whichever catalog that was written for."""
    done = in_fresh_process(
        "tests.backup.copies:over_killed", first=1000 * seed(13), count=120, timeout_s=900
    )
    print(f"opened for writing: {done['opened']}")
    proof("T33", backups_over_killed_stores=120, **done["outcomes"])
    assert not done["wrong"], f"mixtures that nobody notices, by seed: {done['wrong']}"
    assert done["logs"] == 120, "a killed writer left no log"
    assert done["outcomes"]["refused"] > 60
