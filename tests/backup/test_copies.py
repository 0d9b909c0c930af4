"""Copies that nobody asked spector for: of a closed store, of one in use, over a killed one."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crash.harness import in_fresh_process
from tests.crash.workload import Model, Worker, open_tiny, texts_of, wrong_in
from tests.proof import seed

pytestmark = pytest.mark.crash

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
