"""Damage to rows of knowledge is found, by what it damages.

Mechanism: seals, ends that must exist, ranges. Damage without it: a fact that says something else,
an edge to nowhere. Guard: every code, every table, every flipped value.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock
from spector.arguments import SORTS
from spector.store.integrity import check_catalog as check_disk
from spector.store.payloads import KEYS, PAYLOAD_TABLES, table_named
from tests.conftest import NOW
from tests.facets.test_erasure import mention
from tests.fakes import FakeEmbedder


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, int, int]:
    """A closed store with a row in each table, and the ids of a fact and its source."""
    path = tmp_path / "mind"
    entity = 5
    clock = ManualClock(NOW)
    with spector.open(path, embedder=FakeEmbedder(), clock=clock) as memory:
        source = memory.remember("Ada works at Acme")
        fact = memory.facts.add("Ada", "works_at", "Acme", source=source)
        memory.graph.register("mentors")
        memory.graph.link(source, fact.id, "mentors", note={"a": 1})
        memory.remember("Ada has a cat", key="pet", attachment={"cat": 1})
        memory.forget(memory.remember("gone", key="gone"))
        clock.advance(days=3)
        memory.reflect("decay")
        assert memory.check().ok
    put(path, "payload", id=source.id, sort="episode", json="{}")
    put(
        path,
        "item",
        item_id=entity,
        sort="entity",
        scope="",
        json='{"uri":"entity://person/ada","name":"Ada","type":"person"}',
    )
    put(path, "name", scope="", sort="entity", folded="ada", id=entity)
    put(path, "link", a=entity, kind="mention", b=source.id, n=1)
    assert codes(path) == []
    return path, fact.id, source.id


def put(path: Path, table: str, **row: Any) -> None:
    known = table_named(table)
    with sqlite3.connect(path / "catalog.db") as db:
        db.execute(known.insert(), known.sealed(row))
    db.close()


def change(path: Path, sql: str, *values: Any) -> None:
    with sqlite3.connect(path / "catalog.db") as db:
        assert db.execute(sql, values).rowcount > 0
    db.close()


def codes(path: Path) -> list[str]:
    return sorted({each.code for each in spector.check(path).problems})


@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_a_flipped_value_is_found_and_names_its_memory(
    store: tuple[Path, int, int], table: Any, proof: Any
) -> None:
    path, *_ = store
    for column in table.columns:
        if column.name in table.owners or (column.name in table.key and table.name != "key_mark"):
            continue
        value = {
            int: 123456,
            float: 0.123,
            str: '{"flipped":1}' if column.json else "x",
            bytes: b"flipped",
        }
        sql = f"UPDATE {table.name} SET {column.name} = ?"
        with sqlite3.connect(path / "catalog.db") as db:
            before = db.execute(f"SELECT * FROM {table.name}").fetchall()
            db.execute(sql, (value[column.kind],))
        db.close()
        problems = spector.check(path).problems
        codes_now = {each.code for each in problems}
        # a relation that another name is registered for is unknown
        assert codes_now - {"I23" if column.name == "json" else ""} - {
            "I31" if table.group == KEYS else ""
        } == {"I27"}, column.name
        proof("I21-I29", values_changed=1, missed=0)
        # numbers of sleep are no memory's
        named = table.owners and table.name != "cycle_change"
        assert not named or all(each.id is not None for each in problems)
        with sqlite3.connect(path / "catalog.db") as db:
            db.execute(f"DELETE FROM {table.name}")
            marks = ", ".join("?" * len(before[0]))
            db.executemany(f"INSERT INTO {table.name} VALUES ({marks})", before)
        db.close()
    assert codes(path) == []


def test_ends_that_are_gone(store: tuple[Path, int, int]) -> None:
    path, fact, source = store
    put(path, "payload", id=7, sort="episode", json="{}")
    assert codes(path) == ["I21"]
    put(
        path,
        "edge",
        source_id=source,
        kind="causes",
        target_id=8,
        weight=1.0,
        confidence=1.0,
        origin="user",
        created_ms=0,
    )
    put(path, "link", a=9, kind="source", b=source)
    put(path, "name", scope="", sort="entity", folded="x", id=10)
    found = spector.check(path).problems
    assert [each.code for each in found].count("I22") == 3
    assert fact


def test_a_key_that_does_not_fit_its_triple(store: tuple[Path, int, int]) -> None:
    path, fact, _ = store
    with sqlite3.connect(path / "catalog.db") as db:
        names = table_named("fact").names
        row = dict(zip(names, db.execute("SELECT * FROM fact").fetchone(), strict=False))
    db.close()
    said = json.dumps({"subject": "Bob", "predicate": "works_at", "object": "Acme"})
    put(path, "fact", **(row | {"json": said}))
    assert [(each.code, each.id) for each in spector.check(path).problems] == [("I24", fact)]
    put(path, "fact", **(row | {"confidence": 1.5}))
    assert codes(path) == ["I25"]


def test_an_entity_without_mention_and_too_many_references(store: tuple[Path, int, int]) -> None:
    path, fact, source = store
    change(path, "DELETE FROM link WHERE kind = 'mention'")
    assert codes(path) == ["I26"]
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        ids = [each.id for each in memory.remember_many([f"m{n}" for n in range(201)])]
    for n, each in enumerate(ids):
        put(path, "link", a=fact, kind="reference:episodes", b=each, n=n)
    assert codes(path) == ["I26", "I28"]
    assert source


# -- Whatever copies or rewrites a store carries what it knows, and repair lists what it cannot ----
#
# Mechanism: rows keep the ids of their memories; repair takes over rows whose seal fits. Damage
# without it: a copy that has forgotten its facts, a repaired store with a row that says something
# else. Guard: equal facets after each of them, a flipped value in each table.


def fill(path: Path) -> tuple[int, int]:
    """A store with a row in each table; the ids of a fact and of its source."""
    clock = ManualClock(NOW)
    with spector.open(path, embedder=FakeEmbedder(), clock=clock) as memory:
        source = memory.remember("Ada works at Acme", user_id="u")
        fact = memory.facts.add("Ada", "works_at", "Acme", source=source)
        memory.facts.add("Ada", "lives_in", "Paris", user_id="u")
        memory.facts.add("Ada", "lives_in", "Berlin", user_id="u")
        memory.graph.register("mentors")
        memory.graph.link(source, fact.id, "mentors", note={"why": "because"})
        memory.procedures.add("deploy", ["build", "push"])
        memory.forget(memory.remember("gone", user_id="u", key="old"))
        memory.remember("Ada has a cat", user_id="u", key="pet", namespace=("ada", "home"))
        memory.remember("Ada's cat", user_id="u", attachment=bytes(range(256)) * 40)
        mention(memory, source, "Ada", "Acme")
        clock.advance(days=3)
        assert memory.reflect("decay").cycle == 1
        assert memory.check().ok
    return fact.id, source.id


def rows_in(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(path / "catalog.db") as db:
        found = {
            each.name: sorted(db.execute(f"SELECT * FROM {each.name}"), key=repr)
            for each in PAYLOAD_TABLES
        }
    db.close()
    return found


@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_repair_keeps_the_memory_of_a_damaged_row_and_lists_it(tmp_path: Path, table: Any) -> None:
    path, mended = tmp_path / "mind", tmp_path / "mended"
    fill(path)
    with spector.open(path, embedder=FakeEmbedder(), mode="r") as memory:
        count = memory.count(sorts=SORTS)
    with sqlite3.connect(path / "catalog.db") as db:
        [row] = db.execute(f"SELECT {', '.join(table.key)} FROM {table.name} LIMIT 1")
        where = " AND ".join(f"{each} = ?" for each in table.key)
        db.execute(f"UPDATE {table.name} SET seal = seal + 1 WHERE {where}", row)
    db.close()
    before = rows_in(path)
    assert [each.code for each in spector.check(path).problems] == ["I27"]
    report = spector.repair(path, mended)
    assert report.kept == count
    assert any(f"row of {table.name} is damaged" in each.reason for each in report.lost)
    if table.name in ("payload", "fact", "edge"):
        assert {each.id for each in report.lost} <= {row[0]}
    assert spector.check(mended).ok
    after = rows_in(mended)
    for name, rows in after.items():
        if name != "entry":  # it says what is attached, of which one of the two may be lost
            assert set(rows) <= set(before[name])
        others = {
            "item": ("edge", "name", "link"),
            "link": ("item", "name"),
            "attachment": ("entry",),
        }.get(table.name, ())
        if name not in (table.name, *others):
            assert rows == before[name]
    assert len(after[table.name]) < len(before[table.name])


# -- Rows of knowledge on pages that no tree leads to are found, and a check says whose rows are
#    lost
#
# Mechanism: a repair reads every page of the catalog that looks like rows, and believes those
# whose seal fits. Damage without it: a flipped root page costs a store all its facts and edges.
# Guard: the root of each table, the first page and a page in the middle are overwritten; deleted
# rows stay gone.


COUNT = 120


def fill_pages(path: Path) -> None:
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
    fill_pages(path)
    return path


@pytest.fixture
def store_path_of_pages(sound: Path, tmp_path: Path) -> Path:
    spector.restore(sound, tmp_path / "mind")
    return tmp_path / "mind"


@pytest.mark.sampled
@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_rows_behind_a_damaged_root_are_found(
    store_path_of_pages: Path, tmp_path: Path, table: Any
) -> None:
    before = rows_in(store_path_of_pages)
    page, size = root_of(store_path_of_pages, table.name)
    overwritten(store_path_of_pages, page, size)
    assert not spector.check(store_path_of_pages).ok
    report = spector.repair(store_path_of_pages, tmp_path / "mended")
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


def test_rows_are_found_without_the_first_page(store_path_of_pages: Path, tmp_path: Path) -> None:
    before = rows_in(store_path_of_pages)
    _, size = root_of(store_path_of_pages, "edge")
    overwritten(store_path_of_pages, 1, size)
    report = spector.repair(store_path_of_pages, tmp_path / "mended")
    assert report.kept == 3 * COUNT - 1 + 30
    assert rows_in(tmp_path / "mended") == before
    with spector.open(tmp_path / "mended", embedder=FakeEmbedder(), mode="r") as memory:
        [fact] = memory.facts.query(subject="subject 7")
        assert memory.get(fact.sources[0]).text == "memory 7"
        assert len(memory.procedures.all()) == 30


def test_a_check_names_the_memories_whose_rows_are_lost(
    store_path_of_pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spector.open(store_path_of_pages, embedder=FakeEmbedder(), mode="r") as memory:
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
