"""A damaged key in a table of the catalog leads searches astray: what it hides is not "unknown".

Mechanism: one bit of the key of a row, in the leaf of the table of memories or of their texts. The
row is there and whole, only the search for it goes elsewhere. Damage: an agent is told that a
memory never was, a recall leaves it out, and only ``check`` knows better.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, UnknownRecordError
from tests.crash.workload import open_tiny, vector_of
from tests.store.spoil import flip, root_of, sql

TABLES = pytest.mark.parametrize("table", ["record", "content"])


MADE = [
    {
        "text": f"text {n}",
        "vector": vector_of(f"{n}"),
        "user_id": "ada",
        "session_id": "sess",
        "tags": ["heal"],
        "metadata": {"n": n},
    }
    for n in range(9)
]


@pytest.fixture
def ids(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        return [memory.remember(**each).id for each in MADE]


@pytest.fixture
def neighbours(tmp_path: Path) -> list[int]:
    """The ids of a batch follow one another."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        return [record.id for record in memory.remember_many(MADE)]


def _varint(data: bytes, at: int) -> int:
    """Where the one that begins at ``at`` ends."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def _spoil_key(path: str, table: str, nth: int, *, byte: int = 0, bit: int = 0x20) -> None:
    """Flip a bit in the key of the n-th row: https://www.sqlite.org/fileformat2.html, section 1.6.

    The bit is so high that the key is out of order, as a search notices or does not; those of its
    last ``byte`` (-1) make it the key of a neighbour.
    """
    start, size = root_of(path, table)
    with open(f"{path}/catalog.db", "r+b") as out:
        page = os.pread(out.fileno(), size, start)
        assert page[0] == 0x0D, "the table has grown beyond one leaf"
        cell = int.from_bytes(page[8 + 2 * nth : 10 + 2 * nth], "big")
        key = _varint(page, cell)  # behind the length of the row
        key += byte if byte >= 0 else _varint(page, key) - key + byte
        out.seek(start + key)
        out.write(bytes([page[key] ^ bit]))


VERBS: dict[str, Callable[[spector.Memory, int, Path], object]] = {
    "get": lambda memory, hidden, out: memory.get(hidden),
    "in": lambda memory, hidden, out: hidden in memory,
    "recall": lambda memory, hidden, out: memory.recall(vector=vector_of("1"), k=20),
    "records": lambda memory, hidden, out: list(memory.records()),
    "records of a user": lambda memory, hidden, out: list(memory.records(user_id="ada")),
    "records of a time": lambda memory, hidden, out: list(
        memory.records(time_range=("2000-01-01", None))
    ),
    "export": lambda memory, hidden, out: memory.export(out),
    "export of a user": lambda memory, hidden, out: memory.export(out, user_id="ada"),
    "forget one": lambda memory, hidden, out: memory.forget(hidden),
    "forget": lambda memory, hidden, out: memory.forget(user_id="ada"),
    "forget by metadata": lambda memory, hidden, out: memory.forget({"n": {"lt": 5}}),
    "erase": lambda memory, hidden, out: memory.forget(user_id="ada", purge=True, verify=True),
}


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize(
    ("mode", "verb"),
    [*(("rw", verb) for verb in VERBS), *(("r", verb) for verb in ("get", "in", "recall"))],
)
def test_a_memory_that_a_search_misses_is_damaged_not_unknown(
    tmp_path: Path, ids: list[int], table: str, mode: str, verb: str
) -> None:
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_key(path, table, 3)
    with open_tiny(path, mode=mode) as memory:
        with pytest.raises(CatalogCorruptError) as caught:
            VERBS[verb](memory, ids[3], out)
        assert "check" in str(caught.value.hint)
        assert not out.exists()
        assert len(memory) == 9, "something was forgotten"
    assert not spector.check(path).ok


def test_what_is_unknown_stays_unknown(tmp_path: Path, ids: list[int]) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        memory.forget(ids[4])
        for absent in (ids[4], ids[0] - 1, 5, 0):
            assert absent not in memory
            with pytest.raises(UnknownRecordError):
                memory.get(absent)
            with pytest.raises(UnknownRecordError):
                memory.forget(absent)
        assert {hit.id for hit in memory.recall(vector=vector_of("1"), k=20)} == {*ids} - {ids[4]}


@TABLES
def test_an_export_of_what_is_left_names_what_is_hidden(
    tmp_path: Path, ids: list[int], table: str
) -> None:
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_key(path, table, 3)
    warned = pytest.warns(RuntimeWarning, match=str(ids[3]))
    with open_tiny(path, mode="r") as memory, warned:
        assert memory.export(out, skip_damaged=True) == 8
    assert '"text 3"' not in out.read_text()


@pytest.mark.parametrize("given", [["text 3"], ["text 3", "of nobody"]])
def test_a_text_without_its_memory_is_not_one_that_a_living_memory_says(
    tmp_path: Path, ids: list[int], given: list[str]
) -> None:
    """Only the text is still there, and no search by id would ever find it."""
    path = str(tmp_path / "mind")
    _spoil_key(path, "content", 3)
    with open_tiny(path) as memory:
        receipt = memory.compact(verify=given).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert not receipt.complete
    assert [each.kind for each in receipt.verification.residue if each.where == "catalog.db"]


def test_the_user_of_a_memory_that_damage_has_changed_does_not_hide_it_from_erasure(
    tmp_path: Path, ids: list[int]
) -> None:
    """The filter asks for a user whose name one memory has lost: only its seal knows."""
    path = str(tmp_path / "mind")
    sql(path, "UPDATE record SET user_id = 'adb' WHERE id = ?", given=(ids[3],))
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError, match="not what was written"):
            memory.forget(user_id="ada", purge=True, verify=True)
        assert len(memory) == 9


@TABLES
@pytest.mark.parametrize("bit", [1, 2, 4, 8])
def test_a_key_that_becomes_that_of_a_neighbour_does_not_hide_its_memory(
    tmp_path: Path, neighbours: list[int], table: str, bit: int
) -> None:
    """Mechanism: ids of a batch are neighbours, so all counts agree and one is walked twice."""
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3, byte=-1, bit=bit)
    with open_tiny(path, mode="r") as memory:
        with pytest.raises(CatalogCorruptError):
            list(memory)
        with pytest.raises(CatalogCorruptError):
            memory.export(tmp_path / "out.jsonl")
    with contextlib.suppress(CatalogCorruptError), open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget({"n": {"lt": 5}}, purge=True)
        assert len(memory) == 9


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize(("byte", "bit"), [(0, 0x20), (-1, 1), (-1, 2), (-1, 4)])
def test_whatever_is_forgotten_beside_a_damaged_key_is_forgotten_or_the_catalog_is_damaged(
    tmp_path: Path, neighbours: list[int], table: str, byte: int, bit: int
) -> None:
    """Mechanism: SQLite met the same place twice, and called it a constraint that failed."""
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3, byte=byte, bit=bit)
    with contextlib.suppress(CatalogCorruptError, PartitionCorruptError), open_tiny(path) as memory:
        for each in neighbours:
            with contextlib.suppress(CatalogCorruptError, PartitionCorruptError):
                memory.forget(each, purge=True)


def _spoil_way(path: str, ids: list[int], batch: int) -> None:
    """Flip a bit in an inner page of the table of memories, so that the way to a place where a page
    of a walk ends leads into the next leaf; every leaf is as it was."""
    file = Path(path) / "catalog.db"
    start, size = root_of(path, "record")
    raw = bytearray(file.read_bytes())
    page = raw[start : start + size]
    assert page[0] == 0x05, "the table has one leaf only"
    ends, before = ids[batch - 1 :: batch], 0
    for n in range(int.from_bytes(page[3:5], "big")):
        cell = int.from_bytes(page[12 + 2 * n : 14 + 2 * n], "big")
        stop = _varint(page, cell + 4)
        key = 0
        for byte in page[cell + 4 : stop]:
            key = key << 7 | byte & 0x7F
        for back in (1, 2):
            for bit in range(7):
                less = key - (1 << (bit + 7 * (back - 1)))
                set_there = page[stop - back] >> bit & 1
                if set_there and any(before < less <= end < key for end in ends):
                    raw[start + stop - back] ^= 1 << bit
                    file.write_bytes(raw)
                    return
        before = key
    raise AssertionError("no bit of this page leads astray")


@pytest.fixture
def of_many(tmp_path: Path) -> list[int]:
    made: list[int] = []
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        for start in range(0, 3000, 1000):
            made += [
                record.id
                for record in memory.remember_many(
                    {
                        "text": f"text {n}",
                        "vector": np.ones(8, np.float32),
                        "metadata": {"who": "maya"},
                    }
                    for n in range(start, start + 1000)
                )
            ]
    return made


@pytest.mark.parametrize("ask", ["records", "export", "erase"])
def test_a_damaged_key_on_the_way_to_a_page_hides_none_of_its_memories(
    tmp_path: Path, of_many: list[int], ask: str
) -> None:
    """Mechanism: every leaf and every index agreed, so the proof before a walk found nothing; but
    the walk asked for its next page by key, and was led fifty memories too far."""
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_way(path, of_many, 256)
    with spector.open(path, embedder=None, dim=8) as memory:
        with pytest.raises(CatalogCorruptError):
            {
                "records": lambda: list(memory.records()),
                "export": lambda: memory.export(out),
                "erase": lambda: memory.forget({"who": "maya"}, purge=True),
            }[ask]()
        assert not out.exists()
        assert len(memory) == 3000


@pytest.mark.parametrize(
    ("index", "word", "chosen"),
    [
        ("record_user", b"ada", {"user_id": "ada"}),
        ("record_session", b"sess", {"session_id": "sess"}),
        ("record_tag", b"heal", {"tags": ["heal"]}),
    ],
)
def test_an_index_that_leads_past_a_memory_does_not_save_it_from_a_purge(
    tmp_path: Path, ids: list[int], index: str, word: bytes, chosen: dict[str, Any]
) -> None:
    path = str(tmp_path / "mind")
    start, size = root_of(path, index)
    file = Path(path) / "catalog.db"
    flip(file, file.read_bytes().index(word, start, start + size) + 2)
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget(**chosen, purge=True)
        assert len(memory) == 9
