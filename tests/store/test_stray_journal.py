"""What lies beside a catalog does not harm it.

Mechanism: SQLite rolls a database back with whatever journal lies beside it, and deletes the log of
one without a page, even when it only reads. Damage: a journal that came with an older copy puts old
pages into a complete catalog; a catalog that was cut off to nothing loses the commits in its log to
a mere ``check``. Guard: both are refused before SQLite opens anything; a creation that was killed
is still finished.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import spector
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, vector_of


def _filled(path: Path, names: str = "abc") -> None:
    with open_tiny(str(path)) as memory:
        for name in names:
            memory.remember(f"the word {name}", vector=vector_of(name))


def _texts(path: Path) -> set[str]:
    with open_tiny(str(path)) as memory:
        assert memory.check().ok
        return {record.text for record in memory}


def _journal_of(source: Path, folder: Path) -> bytes:
    """What a program that died in a transaction leaves beside a copy of a catalog."""
    copy = folder / "copy.db"
    shutil.copy(source, copy)
    db = sqlite3.connect(copy, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode=DELETE",
        "PRAGMA cache_size=2",
        "BEGIN IMMEDIATE",
        "UPDATE content SET source = 'x'",
        "UPDATE record SET slot = slot + 1000",
        "CREATE TABLE filler AS SELECT zeroblob(200000) AS b",
    ):
        db.execute(statement)
    journal = Path(f"{copy}-journal").read_bytes()
    db.close()
    assert journal.startswith(bytes.fromhex("d9d505f9"))
    return journal


OPENERS: dict[str, Callable[[Path], object]] = {
    "rw": lambda path: open_tiny(str(path)).close(),
    "r": lambda path: open_tiny(str(path), mode="r").close(),
    "reembed": lambda path: spector.reembed(path, "default"),
    "restore": lambda path: spector.restore(path, path.with_name("restored")),
}


@pytest.mark.parametrize("how", OPENERS)
def test_a_journal_of_an_older_copy_is_refused_and_nothing_is_changed(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "mind"
    _filled(path)
    journal = _journal_of(path / "catalog.db", tmp_path)
    _filled(path, "defgh")
    before = (path / "catalog.db").read_bytes()
    stray = path / "catalog.db-journal"
    stray.write_bytes(journal)
    with pytest.raises(spector.CatalogCorruptError, match="journal") as caught:
        OPENERS[how](path)
    assert 'mode="rw"' not in caught.value.hint
    assert "keep it" in caught.value.hint
    assert (path / "catalog.db").read_bytes() == before
    (problem,) = spector.check(path).problems
    assert (problem.code, problem.where) == ("I15", "catalog.db")
    assert spector.repair(path, tmp_path / "saved").complete
    stray.unlink()
    assert _texts(path) == _texts(tmp_path / "saved") == {f"the word {name}" for name in "abcdefgh"}


def test_a_journal_that_no_database_would_take_is_left_alone(tmp_path: Path) -> None:
    """One that is empty, or begins with zeros, rolls nothing back."""
    path = tmp_path / "mind"
    for content in (b"", bytes(512), bytes(8) + b"rest"):
        _filled(path, "a")
        (path / "catalog.db-journal").write_bytes(content)
        with open_tiny(str(path)) as memory:
            assert "the word a" in {record.text for record in memory}
            assert all(p.where == "catalog.db-journal" for p in memory.check().problems)


def test_a_journal_beside_commits_that_are_only_in_the_log_is_refused(tmp_path: Path) -> None:
    """The catalog has one page then, as in a creation; that it is no creation, partitions tell."""
    path = tmp_path / "mind"

    def killed() -> None:
        memory = open_tiny(str(path))
        memory.remember("the word x", vector=vector_of("x"))
        os._exit(0)

    assert in_fork(killed) == 0
    assert (path / "catalog.db").stat().st_size <= 4096 < (path / "catalog.db-wal").stat().st_size
    db = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    for statement in ("PRAGMA cache_size=1", "BEGIN", "CREATE TABLE t(a)"):
        db.execute(statement)
    db.executemany("INSERT INTO t VALUES (?)", [("x" * 2000,)] * 50)
    journal = (tmp_path / "new.db-journal").read_bytes()
    assert not any(journal[16:20]), "of a database that had no pages"
    db.close()
    (path / "catalog.db-journal").write_bytes(journal)
    for mode in ("rw", "r"):
        with pytest.raises(spector.CatalogCorruptError, match="journal"):
            open_tiny(str(path), mode=mode)
    (path / "catalog.db-journal").unlink()
    assert _texts(path) == {"the word x"}


@pytest.mark.parametrize("how", ["rw", "r", "restore", "check"])
def test_the_log_of_a_catalog_that_was_cut_off_to_nothing_stays(tmp_path: Path, how: str) -> None:
    path = tmp_path / "mind"

    def killed() -> None:
        memory = open_tiny(str(path))
        for name in "abc":
            memory.remember(f"the word {name}", vector=vector_of(name))
        os._exit(0)

    assert in_fork(killed) == 0
    log = (path / "catalog.db-wal").read_bytes()
    os.truncate(path / "catalog.db", 0)
    if how == "check":
        (problem,) = spector.check(path).problems
        assert "salvage" in problem.message
    else:
        with pytest.raises(spector.CatalogCorruptError, match="is empty") as caught:
            OPENERS[how](path)
        assert "salvage" in caught.value.hint
    assert (path / "catalog.db-wal").read_bytes() == log
    report = spector.repair(path, tmp_path / "saved")
    assert report.kept == 3
    assert _texts(tmp_path / "saved") == {f"the word {name}" for name in "abc"}
