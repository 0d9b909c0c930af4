"""The number of a partition is a key of the catalog, and a damaged key may be any number.

Mechanism: a recall made a table with an entry for each number up to the greatest. Damage: one bit
of one key, and every recall ended in a MemoryError, or an OverflowError where a column has 32 bits.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.errors import CatalogCorruptError, SpectorError
from spector.search.view.snapshot import _Seats
from spector.store.catalog.row_codec import MOST_SEGMENTS
from tests.crash.workload import open_tiny, vector_of

FAR = (
    5000,
    1 << 24,
    MOST_SEGMENTS - 1,
    MOST_SEGMENTS,
    MOST_SEGMENTS + 1,
    1 << 31,
    1 << 33,
    1 << 61,
)


@pytest.fixture
def ids(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        return [memory.remember(f"river {n}", vector=vector_of(f"{n}")).id for n in range(9)]


def _renumber(path: str, number: int, *, rows: bool) -> None:
    with sqlite3.connect(f"{path}/catalog.db") as db:
        db.execute("UPDATE segment SET id = ? WHERE id = 2", (number,))
        if rows:
            db.execute("UPDATE record SET segment_id = ? WHERE segment_id = 2", (number,))
    db.close()


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("number", FAR)
def test_a_partition_of_a_far_number_is_damage_or_none_and_costs_no_memory(
    tmp_path: Path, ids: list[int], number: int, mode: str
) -> None:
    path = str(tmp_path / "mind")
    _renumber(path, number, rows=False)
    for ask in (
        lambda memory: memory.recall("river", vector=vector_of("1"), k=20),
        lambda memory: memory.recall("river"),
        lambda memory: list(memory),
        lambda memory: mode == "r" or memory.remember("w", vector=vector_of("w"), tier="semantic"),
        lambda memory: mode == "r" or memory.compact(),
    ):
        tracemalloc.start()
        with contextlib.suppress(SpectorError), open_tiny(path, mode=mode) as memory:
            ask(memory)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 28
    assert not spector.check(path).ok


@pytest.mark.parametrize("number", [number for number in FAR if number <= MOST_SEGMENTS])
def test_a_store_that_has_counted_far_answers_as_before(
    tmp_path: Path, ids: list[int], number: int
) -> None:
    """Its rows agree, so nothing is damaged: somebody has compacted for a very long time."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        asked = [memory.recall("river", vector=vector_of(f"{n}"), k=20) for n in range(9)]
    _renumber(path, number, rows=True)
    for _ in range(2):  # the second time with the words that the first has saved
        with open_tiny(path) as memory:
            for n, hits in enumerate(asked):
                found = memory.recall("river", vector=vector_of(f"{n}"), k=20)
                assert [(hit.id, hit.score) for hit in found] == [(h.id, h.score) for h in hits]


def test_no_partition_is_made_when_there_is_no_number_left(tmp_path: Path, ids: list[int]) -> None:
    path = str(tmp_path / "mind")
    _renumber(path, MOST_SEGMENTS, rows=True)
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError, match=str(MOST_SEGMENTS)):
            memory.remember("w", vector=vector_of("w"), tier="semantic")
        assert len(memory) == 9
    with open_tiny(path, mode="r") as memory:
        assert memory.get(ids[0]).id == ids[0]


@pytest.mark.parametrize("ids", [[], [1], [3, 1, 2], [7, 900_000], [5, 1 << 30, 9], [1 << 30]])
def test_seats_are_found_by_a_table_or_by_a_search(ids: list[int]) -> None:
    seats = _Seats.of(ids, [10 + n for n in range(len(ids))], [20 + n for n in range(len(ids))])
    asked = np.array([0, 1, 2, 3, 4, 7, 9, 899_999, (1 << 30) - 1, *ids, (1 << 31) - 1], np.int32)
    position, room = seats.find(asked)
    there = {number: (10 + n, 20 + n) for n, number in enumerate(ids)}
    wanted = [there.get(number, (0, 0)) for number in asked.tolist()]
    assert list(zip(position.tolist(), room.tolist(), strict=True)) == wanted
    assert len(seats.room) < 1 << 21
