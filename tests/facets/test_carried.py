"""Whatever copies or rewrites a store carries what it knows, and repair lists what it cannot.

Mechanism: rows keep the ids of their memories; repair takes over rows whose seal fits. Damage
without it: a copy that has forgotten its facts, a repaired store with a row that says something
else. Guard: equal facets after each of them, a flipped value in each table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory
from spector.arguments import SORTS
from spector.store.payloads import PAYLOAD_TABLES
from tests.conftest import NOW
from tests.facets.test_erasure import mention
from tests.fakes import FakeEmbedder


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


def seen(memory: Memory) -> list[Any]:
    """What the facets answer."""
    facts = memory.facts.query(user_id="u")
    return [
        [(each.id, each.key, each.text, each.confidence, each.sources) for each in facts],
        [memory.graph.edges(each.id) for each in facts],
        memory.graph.kinds(),
        [each.id for each in memory.history(facts[-1].id)],
    ]


def _compact(path: Path) -> Path:
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        memory.compact()
    return path


def _reembed(path: Path) -> Path:
    spector.reembed(path, FakeEmbedder())
    return path


def _backup(path: Path) -> Path:
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        memory.backup(path.parent / "copy")
    return path.parent / "copy"


def _restore(path: Path) -> Path:
    spector.restore(_backup(path), path.parent / "restored")
    return path.parent / "restored"


def _repair(path: Path) -> Path:
    report = spector.repair(path, path.parent / "mended")
    assert report.complete, report
    return path.parent / "mended"


@pytest.mark.parametrize("way", [_compact, _reembed, _backup, _restore, _repair])
def test_copies_carry_every_row(tmp_path: Path, way: Callable[[Path], Path]) -> None:
    path = tmp_path / "mind"
    fill(path)
    before = rows_in(path)
    assert all(before.values()), before
    with spector.open(path, embedder=FakeEmbedder(), mode="r") as memory:
        known = seen(memory)
    made = way(path)
    assert rows_in(made) == before
    assert spector.check(made).ok
    with spector.open(made, embedder=FakeEmbedder()) as memory:
        assert seen(memory) == known
        last = max(row[0] for rows in before.values() for row in rows if type(row[0]) is int)
        assert memory.remember("next").id > last


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
