"""Copies that nobody asked spector for: of a closed store, and of one in use."""

from __future__ import annotations

import shutil
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


def _copy_in_use(worker: Worker, source: Path, target: Path, rng: np.random.Generator) -> None:
    """What ``cp -r`` does while the store is written to: file by file, each at its own moment."""
    files = [p for p in source.rglob("*") if p.is_file()]
    rng.shuffle(files)  # type: ignore[arg-type]
    for path in files:
        for _ in range(int(rng.integers(3))):
            worker.step()
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            shutil.copyfile(path, place)


def _outcome(path: Path, ever: dict[int, set[str]]) -> str:
    """"refused", "found by check" or "sound"; anything else fails."""
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
            if not problems:
                hits = memory.recall(
                    vector=vector_of(record.text), k=1, lexical=False, profile="similarity"
                )
                assert [hit.id for hit in hits] == [record_id]
        return "found by check" if problems else "sound"


def _sample(tmp_path: Path, copies: int, number: int) -> dict[str, int]:
    warm_up()
    rng = np.random.default_rng(number)
    outcomes: dict[str, int] = {"refused": 0, "found by check": 0, "sound": 0}
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


def test_a_plain_copy_of_a_store_in_use_is_refused_or_found_or_sound(
    tmp_path: Path, proof: Any
) -> None:
    number = seed(11)
    print(f"SPECTOR_SEED={number}")
    found = _sample(tmp_path, 5, number)
    assert found["refused"] + found["found by check"] > 0, "the copies were not of several moments"
    proof("T33", plain_copies_of_live_stores=sum(found.values()), silently_wrong=0,
          refused=found["refused"], found_by_check=found["found by check"])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_plain_copies_of_stores_in_use(tmp_path: Path, proof: Any) -> None:
    found = {"refused": 0, "found by check": 0, "sound": 0}
    for number in range(20, 26):
        for name, count in _sample(tmp_path / str(number), 25, number).items():
            found[name] += count
    proof("T33", plain_copies_of_live_stores=sum(found.values()), silently_wrong=0,
          refused=found["refused"], found_by_check=found["found by check"])
