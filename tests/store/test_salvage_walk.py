"""Rows around damage in the catalog are read one by one, each once, and in a number of steps that
depends on how many there are and not on how large their keys are.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from spector.store.sqlite.tables import LostTable, read_table

FIRST = 1_838_297_088_000_000
ROWS = 6
PAGE = 4096


class _Few(list[LostTable]):
    """A walk that gets nowhere notes a loss at each step."""

    def append(self, each: LostTable) -> None:
        assert len(self) < 100, "the walk does not come to an end"
        super().append(each)


def _table_with_damaged_row(path: Path, number: int) -> None:
    """Rows of five pages each; the words of one go on in a page that does not exist."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA page_size={PAGE}")
        db.execute("CREATE TABLE content (id INTEGER PRIMARY KEY, text TEXT)")
        db.executemany(
            "INSERT INTO content VALUES (?, ?)",
            [(FIRST + n, f"row {n} " + chr(65 + n) * 20_000) for n in range(ROWS)],
        )
    raw = bytearray(path.read_bytes())
    mine = bytes([65 + number]) * 1000
    pages = [at for at in range(0, len(raw), PAGE) if raw[at + 4 : at + 1004] == mine]
    assert len(pages) >= 3
    raw[pages[0] : pages[0] + 4] = b"\x7f\xff\xff\xff"
    path.write_bytes(raw)


@pytest.mark.parametrize("number", range(ROWS))
def test_row_before_a_damaged_one_is_read_and_the_walk_goes_on(tmp_path: Path, number: int) -> None:
    _table_with_damaged_row(tmp_path / "t.db", number)
    lost = _Few()
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as db:
        found = [row["id"] - FIRST for row in read_table(db, "content", lost)]
    assert found == [n for n in range(ROWS) if n != number]
    assert [each for each in lost if each.low <= FIRST + number <= each.high]


def test_tree_that_leads_back_to_the_same_row_ends_the_walk(tmp_path: Path) -> None:
    """A row with a smaller key than its place says, whatever is searched for."""
    path = tmp_path / "t.db"
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(f"PRAGMA page_size={PAGE}")
        db.execute("CREATE TABLE content (id INTEGER PRIMARY KEY, text TEXT)")
        db.executemany(
            "INSERT INTO content VALUES (?, ?)", [(FIRST + n, "x" * 900) for n in range(40)]
        )
    raw = bytearray(path.read_bytes())
    right, wrong = _varint(FIRST + 39), _varint(FIRST - (1 << 45))
    assert len(right) == len(wrong)
    at = raw.rindex(right)
    raw[at : at + len(right)] = wrong
    path.write_bytes(raw)
    lost = _Few()
    with contextlib.closing(sqlite3.connect(path)) as db:
        found = [row["id"] - FIRST for row in read_table(db, "content", lost)]
    assert set(found) >= set(range(39))
    assert len(found) == len(set(found))


def _varint(number: int) -> bytes:
    """SQLite's: seven bits a byte, high first."""
    out = [number & 127]
    while number := number >> 7:
        out.append(number & 127 | 128)
    return bytes(reversed(out))
