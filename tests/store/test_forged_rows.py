"""Mechanism: a seal says that a row is what was written, and whoever forges one can forge it, too.

Damage: values of types that nobody writes end a reader, a check or a salvage with an error of
Python's own, which no caller expects. Guard: rows with a seal that fits, and each sort of value;
found by ``tests.fuzz.sealed``.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, SpectorError
from spector.store.catalog.row_codec import ROW_COLUMNS, seal_of
from tests.crash.workload import open_tiny, vector_of

DEEP = "[" * 100_000


@pytest.fixture
def forged(store_path: Path, tmp_path: Path) -> Any:
    """Gives columns of the first of two memories other values, and it a seal that fits them."""
    with open_tiny(str(store_path)) as memory:
        ids = [memory.remember(t, vector=vector_of(t), tier="episodic").id for t in ("one", "two")]

    def forge(table: str, **values: Any) -> tuple[Path, list[int]]:
        db = sqlite3.connect(store_path / "catalog.db", isolation_level=None)
        for name, value in values.items():
            db.execute(f"UPDATE {table} SET {name} = ? WHERE id = ?", (value, ids[0]))
        (
            n,
            _,
            _,
            event,
            recorded,
            begins,
            ends,
            session,
            agent,
            user,
            _,
            text,
            tags,
            metadata,
            role,
            source,
            parents,
        ) = db.execute(
            f"SELECT {ROW_COLUMNS} FROM record JOIN content ON content.id = record.id"
            " WHERE record.id = ?",
            ids[:1],
        ).fetchone()
        seal = seal_of(
            n,
            event,
            recorded,
            begins,
            ends,
            session,
            agent,
            user,
            text,
            tags,
            metadata,
            role,
            source,
            parents,
        )
        db.execute("UPDATE content SET seal = ? WHERE id = ?", (seal, ids[0]))
        db.close()
        return store_path, ids

    return forge


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tags", "[1]"),
        ("tags", '{"a": 1}'),
        ("tags", "[[1]]"),
        ("tags", "7"),
        ("tags", DEEP),
        ("tags", '["\\ud800"]'),
        ("metadata", "[1]"),
        ("metadata", "7"),
        ("metadata", DEEP),
        ("parents", '["x"]'),
        ("parents", "[null]"),
        ("parents", DEEP),
        ("role", b"x"),
        ("source", b"x"),
        ("user_id", b"x"),
        ("session_id", b"x"),
        ("valid_from_ms", "x"),
        ("valid_until_ms", 0.5),
    ],
    ids=lambda value: str(value)[:9],
)
def test_row_of_other_types_is_a_typed_error(
    forged: Any, column: str, value: Any, mode: Any, tmp_path: Path
) -> None:
    table = "record" if column.endswith(("_id", "_ms")) else "content"
    store, (bad, good) = forged(table, **{column: value})
    assert not spector.check(store).ok
    with open_tiny(str(store), mode=mode) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.get(bad)
        assert memory.get(good).text == "two"
    report = spector.repair(store, tmp_path / "saved")
    assert report.lost
    with open_tiny(str(tmp_path / "saved")) as memory:
        assert memory.get(good).text == "two"
        assert memory.check().ok


@pytest.mark.parametrize(("column", "value"), [("slot", 99), ("segment_id", 99)])
def test_row_that_names_a_place_that_is_not_there_changes_nothing(
    forged: Any, column: str, value: int
) -> None:
    """An index that is out of range is no answer: mutation hunting left the error out, and no test
    noticed."""
    store, (bad, good) = forged("record", **{column: value})
    with open_tiny(str(store)) as memory:
        with pytest.raises(PartitionCorruptError, match=r"names slot \d+ of partition \d+"):
            memory.update(bad, importance=0.5)
        memory.update(good, importance=0.5)
        assert memory.get(good).importance == 0.5


@pytest.mark.parametrize("event_ms", [1 << 62, -(1 << 62)])
def test_salvage_gives_up_a_memory_of_a_day_that_no_calendar_has(
    forged: Any, event_ms: int, tmp_path: Path
) -> None:
    store, (bad, good) = forged("record", event_ms=event_ms)
    assert not spector.check(store).ok
    report = spector.repair(store, tmp_path / "saved")
    assert [loss.id for loss in report.lost] == [bad]
    with open_tiny(str(tmp_path / "saved")) as memory:
        assert [record.id for record in memory] == [good]


@pytest.mark.parametrize("entry", ["0, 7", "0, 'x'", "'x', x'00'", "-1, x'00'"])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_entry_of_the_journal_that_is_of_other_types_is_a_typed_error(
    forged: Any, kind: int, entry: str
) -> None:
    store, _ = forged("record")
    db = sqlite3.connect(store / "catalog.db", isolation_level=None)
    db.execute(f"INSERT INTO journal VALUES (999, 1, {kind}, {entry})")
    db.close()
    assert "I18" in [problem.code for problem in spector.check(store).problems]
    with pytest.raises(SpectorError):
        open_tiny(str(store))


@pytest.mark.parametrize("due_ms", ["soon", b"x", 0.5])
def test_erasure_that_is_due_at_no_time_is_due_at_once(forged: Any, due_ms: Any) -> None:
    store, _ = forged("record")
    with open_tiny(str(store)) as memory:
        gone = memory.remember("three", vector=vector_of("three"), tier="episodic").id
        memory.forget(gone)
    db = sqlite3.connect(store / "catalog.db", isolation_level=None)
    assert db.execute("UPDATE erasure SET due_ms = ?", (due_ms,)).rowcount
    db.close()
    with open_tiny(str(store), mode="r") as memory:
        assert memory.stats()
    with open_tiny(str(store)) as memory:
        assert memory.stats()
        memory.reflect()
        assert sorted(record.text for record in memory) == ["one", "two"]
