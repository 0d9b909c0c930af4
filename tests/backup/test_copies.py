"""Copies that nobody asked spector for: of a closed store, and of one in use."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from tests.crash.workload import Model, Worker, open_tiny, texts_of, vector_of, warm_up, wrong_in
from tests.proof import seed


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


#: in which order the files of a directory are copied; every tool has its own
ORDERS: dict[str, Callable[[Path], Any]] = {
    "by name": lambda path: path.as_posix(),
    "catalog first": lambda path: (not path.name.startswith("catalog"), path.as_posix()),
    "catalog last": lambda path: (path.name.startswith("catalog"), path.as_posix()),
}


def _copy_in_use(worker: Worker, source: Path, target: Path, rng: np.random.Generator) -> None:
    """What a tool does while the store is written to: file by file, each at its own moment.

    In some copies every file has another moment, in most two moments meet, and some are of one:
    then it is what a killed process leaves.
    """
    files = sorted(p for p in source.rglob("*") if p.is_file())
    order = rng.choice([*ORDERS, "any"])
    if order in ORDERS:
        files.sort(key=ORDERS[order])
    else:
        rng.shuffle(files)  # type: ignore[arg-type]
    pauses = rng.permutation(len(files))[: int(rng.choice([0, 1, 1, 1, 2, len(files)]))]
    if rng.random() < 0.5:
        worker.memory.checkpoint()
    for n, path in enumerate(files):
        for _ in range(int(rng.integers(1, 4)) if n in pauses else 0):
            worker.step()
        if n in pauses and rng.random() < 0.5:
            worker.memory.checkpoint()
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            shutil.copyfile(path, place)


def _outcome(path: Path, ever: dict[int, set[str]]) -> str:
    """"refused", "found_by_check" or "sound"; anything else fails."""
    try:
        memory = open_tiny(str(path))
    except spector.SpectorError:
        return "refused"
    with memory:
        problems = memory.check().problems
        for record_id in [r for (r,) in memory._opened[0].store.catalog.main.execute(
            "SELECT id FROM record"
        )]:
            try:
                record = memory.get(record_id)
            except spector.SpectorError:
                assert problems, f"{record_id} cannot be read, and check finds nothing"
                continue
            # whatever is shown is something that was remembered under this id
            assert record.text in ever[record_id], (record_id, record.text)
            if not problems and not record.superseded:
                hits = memory.recall(
                    vector=vector_of(record.text), k=1, lexical=False, profile="similarity"
                )
                assert [hit.id for hit in hits] == [record_id]
        return "found_by_check" if problems else "sound"


def _sample(tmp_path: Path, copies: int, number: int) -> Counter[str]:
    warm_up()
    rng = np.random.default_rng(number)
    outcomes: Counter[str] = Counter()
    ever: dict[int, set[str]] = {}

    def note(line: dict[str, Any]) -> None:
        for record_id, text in line.get("put", ()):
            ever.setdefault(record_id, set()).add(text)

    with open_tiny(str(tmp_path / "mind")) as memory:
        worker = Worker(memory, {}, number, note)
        for _ in range(60):
            worker.step()
        for n in range(copies):
            target = tmp_path / f"copy{n}"
            _copy_in_use(worker, tmp_path / "mind", target, rng)
            if (target / "catalog.db").exists():
                outcomes[_outcome(target, ever)] += 1
            shutil.rmtree(target)
    return outcomes


def _told(outcomes: Counter[str], what: str) -> dict[str, int]:
    return {
        what: outcomes.total(), "silently_wrong": 0,
        **{name: outcomes[name] for name in ("refused", "found_by_check", "sound")},
    }


def test_a_plain_copy_of_a_store_in_use_is_refused_or_found_or_sound(
    tmp_path: Path, proof: Any
) -> None:
    number = seed(11)
    print(f"SPECTOR_SEED={number}")
    found = _sample(tmp_path, 12, number)
    assert found["refused"] + found["found_by_check"] > 0, "the copies were not of several moments"
    proof("T33", **_told(found, "plain_copies_of_live_stores"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_plain_copies_of_stores_in_use(tmp_path: Path, proof: Any) -> None:
    found: Counter[str] = Counter()
    for number in range(20, 26):
        found += _sample(tmp_path / str(number), 40, number)
    assert len(found) == 3, f"one of the outcomes was never met: {found}"
    proof("T33", **_told(found, "plain_copies_of_live_stores"))


# -- a backup copied over a store ------------------------------------------------------------------


def _over_a_killed_one(root: Path, number: int) -> str:
    """Copy a backup over what a killed writer has left: its log is still there.

    "refused", "found_by_check", or "sound": exactly the backup or exactly the killed store.
    """
    rng = np.random.default_rng(number)
    mind, saved, dead = (str(root / name) for name in ("mind", "saved", "dead"))
    with open_tiny(mind) as memory:
        worker = Worker(memory, {}, number, lambda line: None)

        def work(least: int) -> None:
            for _ in range(int(rng.integers(least, 60))):
                worker.step()

        work(20)
        memory.backup(saved)
        work(1)
        if rng.random() < 0.5:
            memory.checkpoint()
            work(1)
        shutil.copytree(mind, dead)  # nothing is written meanwhile: what a kill would leave
    states = []
    for n, path in enumerate((saved, dead)):
        shutil.copytree(path, root / f"copy{n}")
        with open_tiny(str(root / f"copy{n}")) as memory:
            states.append(texts_of(memory))
    shutil.copytree(saved, dead, dirs_exist_ok=True)
    try:
        memory = open_tiny(dead)
    except spector.SpectorError:
        return "refused"
    with memory:
        if not memory.check().ok:
            return "found_by_check"
        assert texts_of(memory) in states, f"SPECTOR_SEED={number}: a mixture that nobody notices"
    return "sound"


def test_a_backup_copied_over_a_killed_store_is_no_silent_mixture(
    tmp_path: Path, proof: Any
) -> None:
    """Mechanism: SQLite applies the log that it finds, whichever catalog that was written for."""
    first = 1000 * seed(12)
    found = Counter(_over_a_killed_one(tmp_path / str(n), first + n) for n in range(6))
    assert found["refused"], "no log met a catalog that it was not written for"
    proof("T33", **_told(found, "backups_over_killed_stores"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_backups_copied_over_killed_stores_are_no_silent_mixtures(
    tmp_path: Path, proof: Any
) -> None:
    first = 1000 * seed(13)
    found: Counter[str] = Counter()
    for n in range(first, first + 120):
        found[_over_a_killed_one(tmp_path / str(n), n)] += 1
        shutil.rmtree(tmp_path / str(n))
    assert found["refused"] > 60
    proof("T33", **_told(found, "backups_over_killed_stores"))
