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
from tests.crash.harness import in_fork, in_fresh_process
from tests.crash.workload import START, Model, Worker, open_tiny, texts_of, vector_of, wrong_in
from tests.proof import seed

pytestmark = pytest.mark.crash


def _run(name: str, proof: Any, *, default_seed: int, **more: Any) -> dict[str, Any]:
    number = seed(default_seed)
    print(f"SPECTOR_SEED={number}")
    found: dict[str, Any] = in_fresh_process(f"tests.backup.live:{name}", seed=number, **more)
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
def test_what_is_written_between_the_steps_of_a_backup_is_not_in_it(
    reader: bool, proof: Any
) -> None:
    found = _run("at_every_step", proof, default_seed=3, backups=2, reader=reader)
    assert found["steps_between"] > 20


@pytest.mark.slow
def test_a_backup_beside_a_writing_thread_is_one_moment(proof: Any) -> None:
    found = _run("beside_threads", proof, default_seed=4, backups=5)
    assert found["lines"] > 20, "the writer had no time"


def test_a_backup_beside_a_writing_process_is_one_moment(proof: Any) -> None:
    found = _run("beside_process", proof, default_seed=5, backups=5)
    assert found["lines"] > 20, "the writer had no time"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["beside_threads", "beside_process"])
def test_many_backups_beside_a_writer_are_one_moment_each(name: str, proof: Any) -> None:
    _run(name, proof, default_seed=6, backups=80, timeout_s=890)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("reader", [False, True])
def test_many_backups_with_writes_between_their_steps(reader: bool, proof: Any) -> None:
    _run("at_every_step", proof, default_seed=7, backups=25, reader=reader, timeout_s=890)


# -- A copy killed or failing at any step: the destination is as it was, or complete ---------------


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


# -- Copies that nobody asked spector for: of a closed store, of one in use, over a killed one -----


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
        assert wrong_in(copy, Model()) == []
    proof("T33", plain_copies_of_closed_stores=1)


def _plain_copies(name: str, what: str, seeds: range, copies: int, proof: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    logs = 0
    for number in seeds:
        done = in_fresh_process(
            f"tests.backup.copies:{name}", seed=number, copies=copies, timeout_s=600
        )
        found.update(done["outcomes"])
        wrong |= done["wrong"]
        logs += done.get("logs", 0)
    proof(
        "T33",
        **{what: found.total()},
        **{f"{what}_{each}": found[each] for each in _OUTCOMES},
        silently_wrong=len(wrong),
    )
    assert not wrong, f"SPECTOR_SEED={seeds[0]}: {wrong}"
    if name == "killed":
        assert logs == found.total(), "no log was left"
    return found


@pytest.mark.slow
def test_a_plain_copy_of_a_store_in_use_is_refused_or_found_or_sound(proof: Any) -> None:
    number = seed(11)
    found = _plain_copies("in_use", "copies_in_use", range(number, number + 1), 12, proof)
    assert found["refused"] + found["found_by_check"] > 0, "the copies were not of several moments"


def test_a_plain_copy_of_a_killed_store_is_refused_or_found_or_sound(proof: Any) -> None:
    number = seed(12)
    _plain_copies("killed", "copies_across_a_kill", range(number, number + 1), 6, proof)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_plain_copies_of_stores_in_use(proof: Any) -> None:
    first = seed(20)
    found = _plain_copies("in_use", "copies_in_use", range(first, first + 6), 40, proof)
    assert all(found[each] for each in _OUTCOMES), f"one of the outcomes was never met: {found}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_plain_copies_of_killed_stores(proof: Any) -> None:
    first = seed(30)
    found = _plain_copies("killed", "copies_across_a_kill", range(first, first + 3), 40, proof)
    assert all(found[each] for each in _OUTCOMES), f"one of the outcomes was never met: {found}"


def _over_killed(first: int, count: int, proof: Any) -> dict[str, int]:
    """Mechanism: SQLite applies the log that it finds, whichever catalog that was written for."""
    done = in_fresh_process(
        "tests.backup.copies:over_killed", first=first, count=count, timeout_s=900
    )
    found = {name: done["outcomes"].get(name, 0) for name in _OUTCOMES}
    opened = [each for seeds in done["opened"].values() for each in seeds]
    print(f"opened for writing: {done['opened']}")
    proof(
        "T33",
        backups_over_killed_stores=count,
        over_killed_opened_for_writing=len(opened),
        **{f"over_killed_{name}": number for name, number in found.items()},
        over_killed_opened_seeds=",".join(map(str, sorted(opened))) or "none",
        silently_wrong=len(done["wrong"]),
    )
    assert not done["wrong"], f"mixtures that nobody notices, by seed: {done['wrong']}"
    assert done["logs"] == count, "a killed writer left no log"
    return found


@pytest.mark.slow
def test_a_backup_copied_over_a_killed_store_is_no_silent_mixture(proof: Any) -> None:
    found = _over_killed(1000 * seed(12), 6, proof)
    assert found["refused"], "no log met a catalog that it was not written for"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_backups_copied_over_killed_stores_are_no_silent_mixtures(proof: Any) -> None:
    found = _over_killed(1000 * seed(13), 120, proof)
    assert found["refused"] > 60
