"""A planted catalog runs nothing by way of the tables of knowledge either.

Mechanism: the whole schema is read before it is used. Damage without it: a trigger on a table that
came later keeps copies of what was forgotten, or makes it impossible to forget. Guard: each kind of
planted code on each table, with a witness that tells whether it ran.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import CatalogCorruptError, SpectorError
from spector.store.payloads import PAYLOAD_TABLES
from tests.knowing import Vectors, deeds

PLANTED = {
    "trigger on insert": "CREATE TRIGGER evil AFTER INSERT ON {0} BEGIN"
    " INSERT INTO witness VALUES (new.{1}); END",
    "trigger on update": "CREATE TRIGGER evil BEFORE UPDATE ON {0} BEGIN"
    " INSERT INTO witness VALUES (old.{1}); END",
    "trigger that forbids forgetting": "CREATE TRIGGER evil BEFORE DELETE ON {0} BEGIN"
    " SELECT raise(IGNORE); END",
    "view in the place of a table": "ALTER TABLE {0} RENAME TO other;"
    "CREATE VIEW {0} AS SELECT * FROM other",
    "computed column": "ALTER TABLE {0} ADD COLUMN evil AS (zeroblob(100000000))",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "mind"
    with spector.open(path, embedder=Vectors()) as memory:
        for name, do in deeds(memory):
            if name == "graph.unlink":
                break
            do()
    return (path / "catalog.db").read_bytes()


@pytest.fixture
def store(tmp_path: Path, model: bytes) -> Path:
    """The catalog alone: what is planted in it is refused before a partition is looked at."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=Vectors()):
        pass
    (path / "catalog.db").write_bytes(model)
    return path


def planted(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS witness(x)")
        db.executescript(sql)
        db.commit()


def witnesses(path: Path) -> int:
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        return int(db.execute("SELECT count(*) FROM witness").fetchone()[0])


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_code_planted_on_a_table_of_knowledge_is_refused_and_never_runs(
    store: Path, table: Any, what: str, proof: Any
) -> None:
    with closing(sqlite3.connect(store / "catalog.db")) as db:
        there = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table.name,)).fetchone()
    assert there is not None
    planted(store, PLANTED[what].format(table.name, table.names[0]))
    for mode in ("rw", "r"):
        with pytest.raises(CatalogCorruptError, match="which spector did not make"):
            spector.open(store, mode=mode, embedder=Vectors())  # type: ignore[arg-type]
    assert {each.code for each in spector.check(store).problems} == {"I15"}
    assert witnesses(store) == 0
    proof("hostile catalog", planted=1, ran=0)


@pytest.mark.parametrize("table", ["payload", "fact", "name", "edge", "link"])
def test_a_trigger_planted_beside_an_open_store_does_not_run(tmp_path: Path, table: str) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=Vectors()) as memory:
        source = memory.remember("something", user_id="u")
        memory.facts.add("Ada", "lives_in", "Kars", source=source)
        column = next(each for each in PAYLOAD_TABLES if each.name == table).names[0]
        planted(path, PLANTED["trigger on insert"].format(table, column))
        with pytest.raises(SpectorError):
            _use(memory, source.id)
    assert witnesses(path) == 0


def _use(memory: spector.Memory, source: int) -> None:
    """Write a row of each table."""
    memory.facts.add("Eve", "lives_in", "Rome", source=source)
    memory.concepts.find_or_create("new", user_id="u")


def _open_and_use(path: Path, kept: int) -> None:
    with spector.open(path, embedder=Vectors()) as memory:
        assert memory.get(kept).text == "kept"
        _use(memory, kept)
        memory.graph.link(kept, memory.remember("other"), "causes")
        memory.forget(memory.remember("with a key", key="k"))
        memory.reflect()


@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_a_table_of_another_shape_is_an_error_with_a_type(tmp_path: Path, table: Any) -> None:
    """It carries a name of ours, and holds what no version of ours has written."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=Vectors()) as memory:
        kept = memory.remember("kept").id
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        db.execute(f"CREATE TABLE {table.name}(x)")
        db.execute(f"INSERT INTO {table.name} VALUES ('y')")
        db.commit()
    with pytest.raises(SpectorError) as caught:
        _open_and_use(path, kept)
    assert caught.value.hint
    assert not spector.check(path).ok
