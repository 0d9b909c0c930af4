"""Details of memories come with one query beside those of the row, and never too late.

Mechanism: payloads and facts in one statement; the writer knows between commits which tables there
are. Damage without it: every get of a store pays for tables that it does not use, or a memory is
shown without what was stored with it. Guard: the statements are counted, and a table that is made
is seen at once, by threads, snapshots and readers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import CatalogCorruptError, Memory
from tests.fakes import FakeEmbedder


@contextmanager
def counted(memory: Memory) -> Iterator[list[str]]:
    """The statements that the reading connections run meanwhile."""
    found: list[str] = []
    catalog = memory._parts.store.catalog
    connections = list(catalog._connections)
    for each in connections:
        each.set_trace_callback(found.append)
    try:
        yield found
    finally:
        for each in connections:
            each.set_trace_callback(None)


def store(path: Path) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), durability="relaxed")


def test_get_asks_once_more_where_there_is_knowledge_and_not_without(tmp_path: Path) -> None:
    with store(tmp_path / "mind") as memory:
        a, b = memory.remember_many(["the river rose", "the brook rose"])
        memory.get(a.id)
        with counted(memory) as without:
            memory.get(a.id)
        memory.graph.link(a, b, "causes")
        memory.get(a.id)
        with counted(memory) as beside:
            memory.get(a.id)
        assert not any("sqlite_master" in each for each in (*without, *beside))
        assert len(beside) == len(without) + 1


def test_tables_that_are_made_are_seen_at_once(tmp_path: Path) -> None:
    with store(tmp_path / "mind") as memory:
        plain = memory.remember("the river rose")
        for _ in range(3):
            assert memory.get(plain.id).payload is None
        fact = memory.facts.add("Ada", "likes", "tea", source=plain)
        assert memory.get(fact.id).payload == "fact"
        concept, _ = memory.concepts.find_or_create("mug")
        assert memory.get(concept.id).payload == "concept"
        keyed = memory.remember("by key", key="k", namespace=("a",))
        assert memory.get(keyed.id).key == "k"
        with spector.open(tmp_path / "mind", mode="r", embedder=FakeEmbedder()) as reader:
            assert reader.get(fact.id).payload == "fact"


def test_a_reader_follows_a_writer_that_makes_the_tables(tmp_path: Path) -> None:
    with store(tmp_path / "mind") as memory:
        plain = memory.remember("the river rose")
        with spector.open(tmp_path / "mind", mode="r", embedder=FakeEmbedder()) as reader:
            assert reader.get(plain.id).payload is None
            fact = memory.facts.add("Ada", "likes", "tea")
            assert reader.get(fact.id).payload == "fact"


def test_many_memories_are_described_in_parts(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=4, durability="relaxed") as memory:
        plain = memory.remember_many(
            [{"text": f"note {n}", "vector": np.eye(4)[n % 4]} for n in range(1000)]
        )
        layer = memory.layers["episodes"]
        some = [
            layer.store(
                {"text": f"saw {n}", "vector": np.eye(4)[0], "episode": {"objects": [f"mug {n}"]}}
            )
            for n in range(3)
        ]
        every = list(memory.records())
        assert len(every) == len(plain) + 3
        assert {each.id for each in every if layer.episode(each.id) is not None} == set(some)


@pytest.mark.parametrize("table", ["fact", "payload"])
def test_a_damaged_row_is_named(tmp_path: Path, table: str) -> None:
    with store(tmp_path / "mind") as memory:
        fact = memory.facts.add("Ada", "likes", "tea")
        concept, _ = memory.concepts.find_or_create("mug")
    with sqlite3.connect(tmp_path / "mind" / "catalog.db") as db:
        db.execute(f"UPDATE {table} SET json = json || ' '")
    with store(tmp_path / "mind") as memory:
        damaged = fact.id if table == "fact" else concept.id
        with pytest.raises(CatalogCorruptError, match=f"{table}.*{damaged}"):
            memory.get(damaged)
