"""A damaged key in a table of the catalog leads searches astray: what it hides is not "unknown".

Mechanism: one bit of the key of a row, in the leaf of the table of memories or of their texts. The
row is there and whole, only the search for it goes elsewhere. Damage: an agent is told that a
memory never was, a recall leaves it out, and only ``check`` knows better.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, UnknownRecordError
from tests.crash.workload import open_tiny, vector_of

TABLES = pytest.mark.parametrize("table", ["record", "content"])


@pytest.fixture
def ids(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        made = [memory.remember(f"text {n}", vector=vector_of(f"{n}")).id for n in range(9)]
        memory.forget(made[4])
    return made


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
    file = f"{path}/catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[
            0
        ]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    with open(file, "r+b") as out:
        page = os.pread(out.fileno(), size, (root - 1) * size)
        assert page[0] == 0x0D, "the table has grown beyond one leaf"
        cell = int.from_bytes(page[8 + 2 * nth : 10 + 2 * nth], "big")
        key = _varint(page, cell)  # behind the length of the row
        key += byte if byte >= 0 else _varint(page, key) - key + byte
        out.seek((root - 1) * size + key)
        out.write(bytes([page[key] ^ bit]))


def _asks(memory: spector.Memory, hidden: int) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: memory.get(hidden),
        "in": lambda: hidden in memory,
        "recall": lambda: memory.recall(vector=vector_of("1"), k=20),
    }


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("ask", ["get", "in", "recall"])
def test_a_memory_that_a_search_misses_is_damaged_not_unknown(
    tmp_path: Path, ids: list[int], table: str, mode: str, ask: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path, mode=mode) as memory:
        with pytest.raises(CatalogCorruptError) as caught:
            _asks(memory, ids[3])[ask]()
        assert "check" in str(caught.value.hint)
    assert not spector.check(path).ok


@TABLES
def test_a_memory_that_a_search_misses_is_not_forgotten_as_unknown(
    tmp_path: Path, ids: list[int], table: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path) as memory, pytest.raises(CatalogCorruptError):
        memory.forget(ids[3])


def test_what_is_unknown_stays_unknown(tmp_path: Path, ids: list[int]) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        for absent in (ids[4], ids[0] - 1, 5, 0):
            assert absent not in memory
            with pytest.raises(UnknownRecordError):
                memory.get(absent)
            with pytest.raises(UnknownRecordError):
                memory.forget(absent)
        assert {hit.id for hit in memory.recall(vector=vector_of("1"), k=20)} == {*ids} - {ids[4]}


def _all(memory: spector.Memory, tmp_path: Path) -> dict[str, Callable[[], object]]:
    return {
        "records": lambda: list(memory.records()),
        "records of a user": lambda: list(memory.records(user_id="ada")),
        "records of a time": lambda: list(memory.records(time_range=("2000-01-01", None))),
        "export": lambda: memory.export(tmp_path / "out.jsonl"),
        "export of a user": lambda: memory.export(tmp_path / "out.jsonl", user_id="ada"),
        "forget": lambda: memory.forget(user_id="ada"),
        "forget by metadata": lambda: memory.forget({"n": {"lt": 5}}),
        "erase": lambda: memory.forget(user_id="ada", purge=True, verify=True),
    }


@pytest.fixture
def of_ada(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        return [
            memory.remember(
                f"text {n}", vector=vector_of(f"{n}"), user_id="ada", metadata={"n": n}
            ).id
            for n in range(9)
        ]


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize(
    "ask",
    [
        "records",
        "records of a user",
        "records of a time",
        "export",
        "export of a user",
        "forget",
        "forget by metadata",
        "erase",
    ],
)
def test_a_walk_does_not_pass_over_a_memory_that_a_search_misses(
    tmp_path: Path, of_ada: list[int], table: str, ask: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            _all(memory, tmp_path)[ask]()
        assert not (tmp_path / "out.jsonl").exists()
        assert len(memory) == 9, "something was forgotten"


@TABLES
def test_an_export_of_what_is_left_names_what_is_hidden(
    tmp_path: Path, of_ada: list[int], table: str
) -> None:
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_key(path, table, 3)
    warned = pytest.warns(RuntimeWarning, match=str(of_ada[3]))
    with open_tiny(path, mode="r") as memory, warned:
        assert memory.export(out, skip_damaged=True) == 8
    assert '"text 3"' not in out.read_text()


@pytest.mark.parametrize("given", [["text 3"], ["text 3", "of nobody"]])
def test_a_text_without_its_memory_is_not_one_that_a_living_memory_says(
    tmp_path: Path, of_ada: list[int], given: list[str]
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
    tmp_path: Path, of_ada: list[int]
) -> None:
    """The filter asks for a user whose name one memory has lost: only its seal knows."""
    path = str(tmp_path / "mind")
    with sqlite3.connect(f"{path}/catalog.db") as db:
        db.execute("UPDATE record SET user_id = 'adb' WHERE id = ?", (of_ada[3],))
    db.close()
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError, match="not what was written"):
            memory.forget(user_id="ada", purge=True, verify=True)
        assert len(memory) == 9


@TABLES
@pytest.mark.parametrize("bit", [1, 2, 4, 8])
def test_a_key_that_becomes_that_of_a_neighbour_does_not_hide_its_memory(
    tmp_path: Path, table: str, bit: int
) -> None:
    """Mechanism: ids of a batch are neighbours, so all counts agree and one is walked twice."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        memory.remember_many(
            {
                "text": f"text {n}",
                "vector": vector_of(f"{n}"),
                "user_id": "ada",
                "metadata": {"n": n},
            }
            for n in range(9)
        )
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
    tmp_path: Path, table: str, byte: int, bit: int
) -> None:
    """Mechanism: SQLite met the same place twice, and called it a constraint that failed."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        made = memory.remember_many(
            {"text": f"text {n}", "vector": vector_of(f"{n}")} for n in range(9)
        )
    _spoil_key(path, table, 3, byte=byte, bit=bit)
    with contextlib.suppress(CatalogCorruptError, PartitionCorruptError), open_tiny(path) as memory:
        for record in made:
            with contextlib.suppress(CatalogCorruptError, PartitionCorruptError):
                memory.forget(record.id, purge=True)


def _spoil_way(path: str, ids: list[int], batch: int) -> None:
    """Flip a bit in an inner page of the table of memories, so that the way to a place where a page
    of a walk ends leads into the next leaf; every leaf is as it was."""
    file = Path(path) / "catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'record'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    raw = bytearray(file.read_bytes())
    page = raw[(root - 1) * size : root * size]
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
                    raw[(root - 1) * size + stop - back] ^= 1 << bit
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


@pytest.mark.parametrize("index", ["record_user", "record_session", "record_tag"])
def test_an_index_that_leads_past_a_memory_does_not_save_it_from_a_purge(
    tmp_path: Path, index: str
) -> None:
    path = str(tmp_path / "mind")
    word = {"record_user": b"maya", "record_session": b"sess", "record_tag": b"heal"}[index]
    with open_tiny(path) as memory:
        for n in range(9):
            memory.remember(
                f"text {n}",
                vector=vector_of(f"{n}"),
                user_id="maya",
                session_id="sess",
                tags=["heal"],
            )
    file = Path(path) / "catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (index,)
        ).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    raw = bytearray(file.read_bytes())
    at = raw.index(word, (root - 1) * size, root * size)
    raw[at + 3] ^= 1
    file.write_bytes(raw)
    chosen: dict[str, Any] = {
        "record_user": {"user_id": "maya"},
        "record_session": {"session_id": "sess"},
        "record_tag": {"tags": ["heal"]},
    }[index]
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget(**chosen, purge=True)
        assert len(memory) == 9
