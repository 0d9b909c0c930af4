"""Blocks of the full-text index whose sizes lie: SQLite says that there is no memory."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import spector
from spector import CatalogCorruptError
from spector.store.sqlite import connections as fulltext
from spector.store.sqlite.connections import typed_sql_errors
from tests.store.spoil import sql

#: FTS5's record of its own structure
STRUCTURE = 10
#: the greatest number of nine bytes
ENDLESS = bytes([0x9F] * 8 + [0xFF])
#: over a row of the schema: sizes of values that no page has, where its text was
HUGE: Final = bytes([1, *[0] * 6, *[255] * 14, 0, 232, 7, 7, 16, 43])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path / "mind") as memory:
        for n in range(3):
            memory.remember(f"word{n} of many", vector=vector(n))
    return tmp_path / "mind"


def opened(path: Path, mode: Any = "rw") -> spector.Memory:
    return spector.open(path, embedder=None, dim=8, mode=mode)


def vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(8).astype(np.float32)


def blocks(path: Path) -> dict[int, bytes]:
    return dict(sql(path, "SELECT id, block FROM fulltext_data"))


def put_block(path: Path, block_id: int, block: bytes) -> None:
    sql(path, "UPDATE fulltext_data SET block = ? WHERE id = ?", given=(block, block_id))


def test_a_catalog_that_may_be_anybodys_is_looked_at_through_a_confined_connection(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    inner = fulltext.problem_of_schema

    def look(db: sqlite3.Connection) -> str | None:
        limits = (sqlite3.SQLITE_LIMIT_ATTACHED, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH)
        seen.append((db.getlimit(limits[0]), db.getlimit(limits[1])))
        return inner(db)

    monkeypatch.setattr(fulltext, "problem_of_schema", look)
    assert fulltext.what_seems_damaged(str(path / "catalog.db")) is None
    assert seen == [(0, 0)]


VERBS: dict[str, Callable[[spector.Memory], object]] = {
    "recall": lambda m: m.recall("word1 of many", vector=vector(1)),
    "remember": lambda m: m.remember("one more word", vector=vector(9)),
    "forget": lambda m: m.forget(next(iter(m)).id),
}


@pytest.mark.slow
def test_full_text_damage_that_looks_like_no_memory_is_told_as_damage(
    path: Path, tmp_path: Path
) -> None:
    """A number without end at each place of the structure, and of the other blocks in turn."""
    raw: list[str] = []
    refused = missed = like_memory = 0
    for block_id, block in blocks(path).items():
        places = range(len(block)) if block_id == STRUCTURE else range(4, len(block), 17)
        for at in places:
            case = shutil.copytree(path, tmp_path / f"{block_id}-{at}")
            put_block(case, block_id, block[:at] + ENDLESS + block[at + 9 :])
            told = False
            for name, verb in VERBS.items():
                if name != "recall" and block_id != STRUCTURE:
                    continue
                memory = opened(case)
                try:
                    verb(memory)
                except CatalogCorruptError as error:
                    told = True
                    like_memory += isinstance(error.__cause__, MemoryError)
                except spector.SpectorError:
                    told = True
                except Exception as error:
                    raw.append(f"{name}, block {block_id}, byte {at}: {error!r}")
                memory.close()
            refused += told
            if told:
                with spector.open(case, embedder=None, dim=8, mode="r") as reader:
                    missed += reader.check().ok
            shutil.rmtree(case)
    assert raw == []
    assert missed == 0
    assert refused > 10
    assert like_memory > 0


def is_like_no_memory(path: Path, sql: str) -> bool:
    """Whether SQLite says of a statement that there is no memory for it."""
    with closing(sqlite3.connect(path / "catalog.db")) as db:
        try:
            db.execute(sql).fetchone()
        except MemoryError:
            return True
        except sqlite3.Error:
            pass
    return False


def damaged_like_no_memory(path: Path) -> None:
    block = blocks(path)[STRUCTURE]
    for at in range(len(block)):
        put_block(path, STRUCTURE, block[:at] + ENDLESS)
        if is_like_no_memory(path, "SELECT rowid FROM fulltext('word')"):
            return
    pytest.skip("this SQLite takes no damage of the structure for a lack of memory")


def test_index_that_asks_for_too_much_is_made_anew_by_a_repair(path: Path, tmp_path: Path) -> None:
    damaged_like_no_memory(path)
    with opened(path) as memory:  # recall has an index of words of its own, made from the texts
        assert memory.recall("word1", vector=vector(1), k=1)[0].text == "word1 of many"
        assert any("full" in str(problem) for problem in memory.check().problems)
    spector.repair(path, tmp_path / "sound")
    with opened(tmp_path / "sound") as memory:
        assert [hit.text for hit in memory.recall("word1", vector=vector(1), k=1)] == [
            "word1 of many"
        ]
        assert memory.check().ok


def test_process_without_memory_is_not_told_of_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when the store is sound, nor when there is no room to find out."""
    where = str(path / "catalog.db")
    with pytest.raises(MemoryError), typed_sql_errors(where):
        raise MemoryError
    damaged_like_no_memory(path)
    monkeypatch.setattr(fulltext, "has_room", lambda: False)
    with pytest.raises(MemoryError), typed_sql_errors(where):
        raise MemoryError


def damaged_schema(path: Path) -> None:
    """A row of the schema that SQLite takes for a lack of memory: no statement runs any more."""
    whole = (path / "catalog.db").read_bytes()
    for at in range(1000, 4000, 7):
        (path / "catalog.db").write_bytes(whole[:at] + HUGE + whole[at + len(HUGE) :])
        if is_like_no_memory(path, "SELECT count(*) FROM sqlite_schema"):
            return
    pytest.skip("this SQLite takes no damage of the schema for a lack of memory")


def test_schema_that_asks_for_too_much_is_damage_and_all_is_salvaged(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as memory:
        texts = {record.id: record.text for record in memory}
    assert len(texts) == 3
    damaged_schema(path)
    for mode in ("r", "rw"):
        with pytest.raises(CatalogCorruptError, match="the schema is damaged"):
            opened(path, mode=mode)
    assert any("schema" in problem.message for problem in spector.check(path).problems)
    report = spector.repair(path, tmp_path / "sound")
    assert (report.kept, report.lost) == (len(texts), ())
    assert any("cannot be read" in note.reason for note in report.notes)
    with opened(tmp_path / "sound") as memory:
        assert {record.id: record.text for record in memory} == texts
        assert memory.check().ok
    monkeypatch.setattr(fulltext, "has_room", lambda: False)
    with pytest.raises(MemoryError):
        opened(path)


_LIMITED = """
import sqlite3, sys
from spector.store.sqlite.connections import what_seems_damaged
limiting = sqlite3.connect(":memory:")
told = []
for limit in range(400_000, 50_000, -20_000):  # it can be lowered only
    limiting.execute(f"PRAGMA hard_heap_limit={limit}").fetchone()
    told.append(what_seems_damaged(sys.argv[1]))
print(len(told), set(told))
"""


def test_limit_of_sqlites_own_memory_is_no_damage(path: Path) -> None:
    """Any library of the process may have set one, for all connections."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path / "catalog.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("18 {None}\n", 0), done.stderr
