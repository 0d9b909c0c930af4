"""Rows of knowledge on pages that no tree leads to are found, and a check says whose rows are lost.

Mechanism: a repair reads every page of the catalog that looks like rows, and believes those whose
seal fits. Damage without it: a flipped root page costs a store all its facts and edges. Guard: the
root of each table, the first page and a page in the middle are overwritten; deleted rows stay gone.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.store.integrity import check_disk
from spector.store.payloads import PAYLOAD_TABLES
from tests.facets.test_carried import rows_in
from tests.fakes import FakeEmbedder

COUNT = 120


def fill(path: Path) -> None:
    """Rows of each table on several pages."""
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        records = [memory.remember(f"memory {n}", user_id="u") for n in range(COUNT)]
        for n in range(COUNT - 1):
            memory.graph.link(
                records[n],
                records[n + 1],
                "causes",
                weight=1.0 if n % 2 else 0.3,
                note={"why": "x" * 200},
            )
            memory.facts.add(f"subject {n}", "likes", "tea " + "y" * 150, source=records[n])
        for n in range(30):
            tags = [f"tag {n} {m} {'w' * 60}" for m in range(4)]
            memory.procedures.add(f"way {n}", ["go " + "z" * 150], triggers=tags)
        memory.facts.declare("likes_most", single_valued=True)
        memory.graph.register("mentors")
        for n in range(40):
            memory.graph.register(f"kind_{n}", inverse=f"inverse_{n}_{'k' * 30}")
        for n in range(COUNT):
            memory.remember(f"kept {n}", user_id="u", key=f"key {n} {'k' * 80}")
            memory.forget(memory.remember("gone too", user_id="u", key=f"gone {n}"))
        gone = memory.remember("gone", user_id="u")
        memory.graph.link(gone, records[0], "causes", note={"gone": "quicksilver"})
        memory.forget(gone, purge=True)
        assert memory.check().ok


def root_of(path: Path, table: str) -> tuple[int, int]:
    """The first page of a table, and the size of a page."""
    with contextlib.closing(sqlite3.connect(path / "catalog.db")) as db:
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    return root, size


def overwritten(path: Path, page: int, size: int) -> None:
    data = bytearray((path / "catalog.db").read_bytes())
    data[(page - 1) * size : (page - 1) * size + 64] = b"\xff" * 64
    (path / "catalog.db").write_bytes(data)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "mind"
    fill(path)
    return path


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    spector.restore(sound, tmp_path / "mind")
    return tmp_path / "mind"


@pytest.mark.sampled
@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_rows_behind_a_damaged_root_are_found(store: Path, tmp_path: Path, table: Any) -> None:
    before = rows_in(store)
    page, size = root_of(store, table.name)
    overwritten(store, page, size)
    assert not spector.check(store).ok
    report = spector.repair(store, tmp_path / "mended")
    assert report.kept == 3 * COUNT - 1 + 30
    after = rows_in(tmp_path / "mended")
    for name, rows in after.items():
        assert set(rows) <= set(before[name]), name
    lost = len(before[table.name]) - len(after[table.name])
    # rows on the damaged page itself are lost: separators of a tree, or all of a table of one page
    assert lost <= max(3, len(before[table.name]) // 10) or before[table.name] == after[table.name]
    others = [name for name in after if name != table.name and table.name not in ("item",)]
    assert all(after[name] == before[name] for name in others)
    assert spector.check(tmp_path / "mended").ok


def test_rows_are_found_without_the_first_page(store: Path, tmp_path: Path) -> None:
    before = rows_in(store)
    _, size = root_of(store, "edge")
    overwritten(store, 1, size)
    report = spector.repair(store, tmp_path / "mended")
    assert report.kept == 3 * COUNT - 1 + 30
    assert rows_in(tmp_path / "mended") == before
    with spector.open(tmp_path / "mended", embedder=FakeEmbedder(), mode="r") as memory:
        [fact] = memory.facts.query(subject="subject 7")
        assert memory.get(fact.sources[0]).text == "memory 7"
        assert len(memory.procedures.all()) == 30


def test_a_check_names_the_memories_whose_rows_are_lost(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spector.open(store, embedder=FakeEmbedder(), mode="r") as memory:
        facts = [each.id for each in memory.facts.query()]
        read = check_disk.read_table

        def nothing(db: Any, table: str, lost: list[Any], **how: Any) -> Any:
            if table != "fact":
                return read(db, table, lost, **how)
            lost.append(check_disk.LostTable(table, facts[3], facts[9], "the disk cannot read it"))
            return iter(())

        monkeypatch.setattr(check_disk, "read_table", nothing)
        behind = check_disk.memories_behind(memory._parts.store.catalog)
        assert behind == tuple(facts[3:10])
