"""A planted catalog runs nothing, and reaches nothing beside itself.

Mechanism: the schema is read before it is used, and whatever in it would run is refused; limits on
every connection stop what is planted later. Damage without it: opening a store from elsewhere runs
somebody's statements, keeps copies of what was forgotten, or fills the memory. Guard: each kind of
planted code, with a witness table that tells whether it ran.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import CatalogCorruptError, ManualClock, SpectorError
from spector.store.payloads import PAYLOAD_TABLES
from spector.store.sqlite import connections as planted
from tests.fakes import FakeEmbedder
from tests.knowing import Vectors, deeds
from tests.store.spoil import sql

SPY = "INSERT INTO witness VALUES (new.rowid)"
PLANTED = {
    "trigger on insert": f"CREATE TRIGGER evil AFTER INSERT ON content BEGIN {SPY}; END",
    "trigger on update": f"CREATE TRIGGER evil AFTER UPDATE ON head BEGIN {SPY}; END",
    "trigger before delete": "CREATE TRIGGER evil BEFORE DELETE ON content BEGIN"
    " INSERT INTO witness VALUES (old.text); END",
    "trigger that forbids forgetting": "CREATE TRIGGER evil BEFORE DELETE ON record BEGIN"
    " SELECT raise(IGNORE); END",
    "view": "CREATE VIEW evil AS SELECT * FROM content",
    "view in the place of a table": "ALTER TABLE journal RENAME TO j;"
    "CREATE VIEW journal AS SELECT * FROM j",
    "fts5 beside ours": "CREATE VIRTUAL TABLE evil USING fts5(x)",
    "fts5 in the place of ours": "DROP TABLE fulltext;"
    "CREATE VIRTUAL TABLE fulltext USING fts5(text, content='meta', tokenize='trigram')",
    "rtree": "CREATE VIRTUAL TABLE evil USING rtree(id, a, b)",
    "dbstat": "CREATE VIRTUAL TABLE evil USING dbstat",
    "computed column": "ALTER TABLE content ADD COLUMN evil AS (zeroblob(100000000))",
    "computed column of what is due": "CREATE TABLE IF NOT EXISTS erasure"
    "(id INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL);"
    "ALTER TABLE erasure ADD COLUMN evil AS (zeroblob(100000000))",
    "computed column, hidden in a comment": "ALTER TABLE meta ADD COLUMN evil /* */ "
    "GENERATED ALWAYS AS (upper(value)) VIRTUAL",
}


@pytest.fixture
def store(store_path: Path, clock: ManualClock) -> Path:
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember_many([f"note {n}" for n in range(9)])
    return store_path


def plant(store: Path, script: str) -> None:
    with closing(sqlite3.connect(store / "catalog.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS witness(x)")
        try:
            db.executescript(script)
        except sqlite3.OperationalError as error:
            pytest.skip(f"this SQLite cannot even make it: {error}")
        db.commit()


def assert_refused(store: Path, embedder: Any) -> None:
    """By every way in; and none has run."""
    for mode in ("rw", "r"):
        with pytest.raises(CatalogCorruptError, match="which spector did not make") as caught:
            spector.open(store, mode=mode, embedder=embedder)  # type: ignore[arg-type]
        assert caught.value.hint
    (problem,) = spector.check(store).problems
    assert problem.code == "I15"
    assert "did not make" in problem.message
    assert witnesses(store) == 0


def witnesses(store: Path) -> int:
    [(count,)] = sql(store, "SELECT count(*) FROM witness")
    return int(count)


def replace_one(memory: spector.Memory, record_id: int) -> None:
    memory.remember("another")
    memory.forget(record_id)


@pytest.mark.parametrize("what", PLANTED)
def test_planted_code_is_refused_by_every_way_in_and_never_runs(store: Path, what: str) -> None:
    plant(store, PLANTED[what])
    assert_refused(store, FakeEmbedder())


@pytest.mark.parametrize("what", [w for w in PLANTED if w.startswith("trigger")])
def test_a_trigger_planted_while_a_store_is_open_does_not_run(
    store: Path, clock: ManualClock, what: str
) -> None:
    with spector.open(store, embedder=FakeEmbedder(), clock=clock) as memory:
        first = next(iter(memory))
        plant(store, PLANTED[what])
        with pytest.raises(SpectorError):
            replace_one(memory, first.id)
    assert witnesses(store) == 0


def test_a_value_of_absurd_size_is_an_error_and_not_a_full_memory(
    store: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted, "MOST_BYTES", 1 << 20)
    [(record_id,)] = sql(store, "SELECT min(id) FROM content")
    sql(store, "UPDATE content SET text = ? WHERE id = ?", given=("x" * (2 << 20), record_id))
    with (
        spector.open(store, embedder=FakeEmbedder(), clock=clock) as memory,
        pytest.raises(SpectorError, match="too big"),
    ):
        memory.get(record_id)


def test_unknown_plain_tables_are_no_reason_to_refuse_a_store(
    store: Path, clock: ManualClock
) -> None:
    """A later format may have some."""
    sql(store, "CREATE TABLE later(x)", "CREATE INDEX later_x ON later(x)")
    with spector.open(store, embedder=FakeEmbedder(), clock=clock) as memory:
        assert len(memory) == 9


HOSTILE_VALUES = tuple(
    (
        "UPDATE segment SET capacity = 1 << 62 | UPDATE segment SET slots = -1 | "
        "UPDATE segment SET slots = 1 << 40 | UPDATE segment SET tier = 'x' | "
        "UPDATE segment SET path = x'00ff' | "
        "UPDATE segment SET path = 'catalog.db' | UPDATE segment SET path = 'LOCK' | "
        "UPDATE head SET last_id = 1 << 62 | UPDATE head SET change_seq = 'x' | "
        "DELETE FROM head | UPDATE record SET slot = slot + 1000 | "
        "UPDATE record SET segment_id = 99 | "
        "UPDATE meta SET value = '99999999999' WHERE key = 'dim' | "
        "UPDATE meta SET value = x'00' WHERE key = 'uuid' | DELETE FROM meta | "
        "INSERT INTO journal VALUES (1, 77, 0, 0, x'00') | "
        "INSERT INTO meta VALUES ('purge_due', 'x') | "
        "INSERT INTO erasure VALUES (-1, 1 << 62) | "
        "UPDATE fulltext_data SET block = zeroblob(50) | "
        "INSERT INTO fulltext_config VALUES ('rank', 'evil()')"
    ).split(" | ")
)


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_hostile_values_end_in_typed_errors_and_touch_no_file_that_is_not_a_partition(
    store: Path, clock: ManualClock, value: str
) -> None:
    lock = (store / "LOCK").read_bytes()
    try:
        sql(store, value)
    except sqlite3.IntegrityError:
        pytest.skip("the schema itself refuses it")
    for mode in ("r", "rw"):
        with (
            suppress(SpectorError),
            spector.open(
                store,
                mode=mode,
                embedder=FakeEmbedder(),
                clock=clock,  # type: ignore[arg-type]
            ) as memory,
        ):
            memory.recall("note", k=20)
            len(list(memory))
            if mode == "rw":
                memory.remember("one more")
                memory.compact()
    with suppress(SpectorError):
        spector.check(store)
    assert (store / "catalog.db").stat().st_size > 4096
    assert (store / "LOCK").exists()
    assert len((store / "LOCK").read_bytes()) <= max(16, len(lock))


# -- A planted catalog runs nothing by way of the tables of knowledge either -----------------------
#
# Mechanism: the whole schema is read before it is used. Damage without it: a trigger on a table
# that came later keeps copies of what was forgotten, or makes it impossible to forget. Guard: each
# kind of planted code on each table, with a witness that tells whether it ran.


PLANTED_ROWS = {
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
def knowing_store(tmp_path: Path, model: bytes) -> Path:
    """The catalog alone: what is planted in it is refused before a partition is looked at."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=Vectors()):
        pass
    (path / "catalog.db").write_bytes(model)
    return path


@pytest.mark.parametrize("what", PLANTED_ROWS)
@pytest.mark.parametrize("table", PAYLOAD_TABLES, ids=lambda each: each.name)
def test_code_planted_on_a_table_of_knowledge_is_refused_and_never_runs(
    knowing_store: Path, table: Any, what: str
) -> None:
    assert sql(knowing_store, "SELECT 1 FROM sqlite_master WHERE name = ?", given=(table.name,))
    plant(knowing_store, PLANTED_ROWS[what].format(table.name, table.names[0]))
    assert_refused(knowing_store, Vectors())


@pytest.mark.parametrize("table", ["payload", "fact", "name", "edge", "link"])
def test_a_trigger_planted_beside_an_open_store_does_not_run(tmp_path: Path, table: str) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=Vectors()) as memory:
        source = memory.remember("something", user_id="u")
        memory.facts.add("Ada", "lives_in", "Kars", source=source)
        column = next(each for each in PAYLOAD_TABLES if each.name == table).names[0]
        plant(path, PLANTED_ROWS["trigger on insert"].format(table, column))
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
    sql(path, f"CREATE TABLE {table.name}(x)", f"INSERT INTO {table.name} VALUES ('y')")
    with pytest.raises(SpectorError) as caught:
        _open_and_use(path, kept)
    assert caught.value.hint
    assert not spector.check(path).ok
