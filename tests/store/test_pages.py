"""Mechanism: leaf pages of the catalog are read for what they are, without a tree that leads there.

Damage without it: one bad sector at the root of a table costs the words of a whole store, although
they are whole on other pages. Guard: rows read from pages are those that SQLite reads; hostile
pages end soon and harm nothing; words come back only with a row that their seal fits.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.store.catalog.rows import is_sealed_pair, row_of_words
from spector.store.repair.remnants import COLUMNS, Pages, rows_of
from tests.crash.workload import DIM, open_tiny, vector_of, warm_up
from tests.proof import seed
from tests.store.damage import ram

_PAGE = 4096


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    """Tables of several pages, long texts, every column used by some memory."""
    warm_up()
    root = Path(tempfile.mkdtemp(dir=ram()))
    rng = np.random.default_rng(7)
    with spector.open(root / "mind", embedder=None, dim=DIM) as memory:
        drafts: list[dict[str, Any]] = []
        for n in range(240):
            draft: dict[str, Any] = {
                "text": f"memory {n} " + "x" * int(rng.integers(0, 90)),
                "vector": vector_of(str(n)),
                "tags": [f"t{n % 7}"],
                "tier": ("semantic", "episodic")[n % 2],
            }
            if n % 3:
                draft |= {"user_id": f"u{n % 5}", "session_id": f"s{n}", "role": "user"}
            if n % 40 == 0:
                draft |= {
                    "text": f"long {n} " + "é" * 9000,
                    "metadata": {"n": n, "t": "y" * 5000},
                    "valid_until": "2099-01-01T00:00:00Z",
                    "agent_id": "bot",
                }
            drafts.append(draft)
        made = memory.remember_many(drafts)
        memory.forget(made[5].id)
    yield root / "mind"
    shutil.rmtree(root)


def _truth(store: Path) -> dict[int, dict[str, Any]]:
    with open_tiny(str(store), mode="r") as memory:
        return {record.id: record.to_dict() for record in memory}


def _pages(data: bytes) -> Pages:
    return Pages(lambda n: data[(n - 1) * _PAGE : n * _PAGE], len(data) // _PAGE, _PAGE)


def _sql(store: Path, sql: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(f"file:{store}/catalog.db?immutable=1", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def test_rows_of_the_pages_are_those_of_the_tables(store: Path) -> None:
    data = (store / "catalog.db").read_bytes()
    pages = _pages(data)
    found: dict[str, set[tuple[Any, ...]]] = {table: set() for table in COLUMNS}
    for number in range(1, pages.count + 1):
        for table, row in rows_of(pages.read(number), number, pages):
            found[table].add(tuple(row.values()))
    present = {name for (name,) in _sql(store, "SELECT name FROM sqlite_master")}
    for table, columns in COLUMNS.items():
        if table not in present:  # this store knows nothing beside its memories
            assert found[table] == set(), table
            continue
        assert found[table] == set(_sql(store, f"SELECT {', '.join(columns)} FROM {table}")), table


@pytest.mark.slow
def test_hostile_pages_end_soon(store: Path) -> None:
    """Random pages, and real ones with random bytes; a chain that leads back to itself."""
    data = bytearray((store / "catalog.db").read_bytes())
    rng = np.random.default_rng(seed(3))
    count = len(data) // _PAGE
    reads = 0

    def read(number: int) -> bytes:
        nonlocal reads
        reads += 1
        return bytes(data[(number - 1) * _PAGE : number * _PAGE])

    for run in range(1500):
        pages = Pages(read, count, _PAGE)
        number = int(rng.integers(1, count + 1))
        page = bytearray(read(number))
        if run % 3 == 0:
            page = bytearray(rng.bytes(_PAGE))
            page[0] = (13, 10)[run % 2]
        for _ in range(int(rng.integers(1, 30))):
            page[int(rng.integers(0, _PAGE))] = int(rng.integers(0, 256))
        reads = 0
        for table, row in rows_of(bytes(page), number, pages):
            assert set(row) <= set(COLUMNS[table])
        assert reads <= 4 * count + 64
    assert list(rows_of(b"\x0d" + b"\xff" * (_PAGE - 1), 2, _pages(bytes(data)))) == []
    assert list(rows_of(b"", 1, _pages(b""))) == []


def _roots(store: Path) -> dict[str, int]:
    names = ("record", "content", "segment", "meta", "head")
    return {
        name: root
        for name, root in _sql(store, "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0")
        if name in names
    }


def _repaired(store: Path, tmp_path: Path, pages: list[int]) -> spector.RepairReport:
    """Without these pages; every memory that has words must have its own."""
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    data = bytearray((copy / "catalog.db").read_bytes())
    for page in pages:
        data[(page - 1) * _PAGE : page * _PAGE] = bytes(_PAGE)
    (copy / "catalog.db").write_bytes(data)
    report = spector.repair(copy, tmp_path / "saved")
    truth = _truth(store)
    with open_tiny(str(tmp_path / "saved"), mode="r") as memory:
        assert memory.check().ok
        for record in memory:
            assert not record.text or record.to_dict() == truth[record.id]
    return report


@pytest.mark.sampled
@pytest.mark.parametrize("table", ["page 1", "record", "content", "segment", "meta", "head"])
def test_a_bad_sector_at_a_root_costs_nothing(store: Path, tmp_path: Path, table: str) -> None:
    page = 1 if table == "page 1" else _roots(store)[table]
    report = _repaired(store, tmp_path, [page])
    assert (report.kept, report.wordless, report.lost) == (239, 0, ())


def test_every_root_and_the_first_page_at_once(store: Path, tmp_path: Path) -> None:
    report = _repaired(store, tmp_path, [1, *_roots(store).values()])
    assert (report.kept, report.wordless, report.lost) == (239, 0, ())


def _leaves_of(store: Path, table: str) -> list[int]:
    data = (store / "catalog.db").read_bytes()
    pages = _pages(data)
    return [
        number
        for number in range(2, pages.count + 1)
        if any(name == table for name, _ in rows_of(pages.read(number), number, pages))
    ]


def test_rows_on_a_bad_sector_are_made_anew_for_their_words(store: Path, tmp_path: Path) -> None:
    """Scopes and validity are in indexes; the seal says that nothing else is missing."""
    report = _repaired(store, tmp_path, [_leaves_of(store, "record")[1]])
    assert (report.kept, report.wordless, report.lost) == (239, 0, ())


def test_words_on_a_bad_sector_are_lost_and_no_others(store: Path, tmp_path: Path) -> None:
    page = _leaves_of(store, "content")[1]
    pages = _pages((store / "catalog.db").read_bytes())
    there = [row["id"] for _, row in rows_of(pages.read(page), page, pages)]
    report = _repaired(store, tmp_path, [page])
    assert (report.kept, report.wordless) == (239, len(there))
    assert {note.id for note in report.notes if note.id} == set(there)


def test_a_row_is_only_believed_with_its_seal() -> None:
    row = {"id": 5 << 10, "event_ms": 3, "recorded_ms": 5}
    words: dict[str, Any] = {
        "text": "a",
        "tags": None,
        "metadata": None,
        "role": None,
        "source": None,
        "parents": None,
    }
    assert row_of_words(row["id"], 3, {}, {**words, "seal": None}) is None
    line = f"{row['id']}|3|5|None|None|None|None|None|None|None|None|None|None|a"
    words["seal"] = zlib.crc32(line.encode())
    assert is_sealed_pair(row, words)
    assert row_of_words(row["id"], 3, {}, words) == row
    assert row_of_words(row["id"], 3, {"user_id": "ada"}, words) is None
    assert row_of_words(row["id"], 4, {}, words) is None
