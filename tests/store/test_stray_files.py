"""Files that end like partitions and that the catalog does not know: told one by one, as they are.

Mechanism: whatever ends in .mem is opened by a check, and may be a link, a pipe or gone by then; or
it is one that a crash has left, which the next writer removes. Damage: the first strange one ended
the walk and was reported as damage to the catalog, and what came behind it was not reported; or the
only file with somebody's memories was told to be about to go. Guard: each kind beside damage that
must still be found.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.errors import StoreNotFoundError
from spector.store.files.disk import DiskFile, DiskFiles
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, vector_of
from tests.store.headers import with_header
from tests.store.spoil import sql

DIM = 8


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "mind"
    with spector.open(path, embedder=None, dim=DIM) as memory:
        for day in (1, 2):
            memory.remember(f"day {day}", vector=np.ones(DIM), event_time=f"2024-01-0{day}")
    return path


def found(path: Path) -> set[tuple[str, str | None]]:
    return {(each.code, each.file) for each in spector.check(path).problems}


STRANGE: dict[str, Callable[[Path], object]] = {
    "link": lambda path: os.symlink("/etc/hostname", path),
    "link to nothing": lambda path: os.symlink("/nowhere/at/all", path),
    "pipe": lambda path: os.mkfifo(path),
    "empty": lambda path: path.touch(),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "words": lambda path: path.write_text("my notes"),
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", ["aa.mem", "episodic/aa.mem", "episodic/2024-02-30-000.mem"])
def test_a_stranger_is_named_and_hides_nothing(store: Path, kind: str, name: str) -> None:
    """Mechanism: a partition whose row is lost is found by the same walk, behind the stranger."""
    sql(store, "DELETE FROM record WHERE segment_id = 2", "DELETE FROM segment WHERE id = 2")
    STRANGE[kind](store / name)
    (store / "zz").touch()
    assert found(store) >= {("I14", name), ("I14", "zz"), ("I18", "episodic/2024-01-02-000.mem")}
    assert not any(code == "I15" for code, _ in found(store))


@pytest.mark.parametrize("kind", STRANGE)
def test_what_has_no_partitions_name_is_not_removed(store: Path, kind: str) -> None:
    """Mechanism: an opening for writing removes what a crash has left, and that is blank at times.

    Damage: an empty file of somebody's was gone.
    """
    for name in ("aa.mem", "episodic/aa.mem"):
        STRANGE[kind](store / name)
    with spector.open(store, embedder=None) as memory:
        assert memory.check().problems
    for name in ("aa.mem", "episodic/aa.mem"):
        assert os.path.lexists(store / name)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_link_in_the_place_of_a_replaced_partition_is_no_note(store: Path, kind: str) -> None:
    """Mechanism: by its name it is what the next checkpoint removes, and no checkpoint does."""
    with spector.open(store, embedder=None) as memory:
        for n in range(3):
            memory.remember(f"{n}", vector=np.ones(DIM), event_time="2024-01-01")
        memory.forget([each.id for each in memory][:2])
        memory.compact()
    (current,) = store.glob("episodic/2024-01-01-000.g*.mem")
    STRANGE[kind](store / "episodic/2024-01-01-000.mem")
    assert found(store) == {("I14", "episodic/2024-01-01-000.mem")}, current


def test_a_file_that_goes_while_it_is_looked_at_is_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: a writer removes it between the listing and the opening."""
    name = "episodic/2024-01-03-000.mem"
    opened = DiskFiles.open

    def gone(self: DiskFiles, path: str, **options: bool) -> DiskFile:
        if path == name:
            raise StoreNotFoundError(path, hint="none")
        return opened(self, path, **options)

    (store / name).touch()
    monkeypatch.setattr(DiskFiles, "open", gone)
    report = spector.check(store)
    assert (report.problems, report.notes) == ((), ())


def test_a_name_that_is_not_the_headers_is_no_note(store: Path) -> None:
    raw = (store / "episodic/2024-01-01-000.mem").read_bytes()
    empty = with_header(raw, count=0, tombstone_count=0)
    (store / "episodic/2024-01-03-000.mem").write_bytes(empty)
    assert found(store) == {("I14", "episodic/2024-01-03-000.mem")}


def test_the_only_copy_of_memories_is_not_told_to_be_about_to_go(
    store: Path, tmp_path: Path
) -> None:
    """Mechanism: the catalog is an older copy, and the partition that it names was replaced."""
    shutil.copy(store / "catalog.db", tmp_path)
    with spector.open(store, embedder=None) as memory:
        for n in range(3):
            memory.remember(f"{n}", vector=np.ones(DIM), event_time="2024-01-01")
        memory.forget([each.id for each in memory][:2])
        memory.compact()
    for name in ("LOCK", "catalog.db"):
        (store / name).unlink()
    shutil.copy(tmp_path / "catalog.db", store)
    (newer,) = store.glob("episodic/2024-01-01-000.g*.mem")
    assert found(store) >= {
        ("I14", "episodic/2024-01-01-000.mem"),
        ("I18", f"episodic/{newer.name}"),
    }
    assert newer.name not in str(spector.check(store).notes)


# -- What lies beside a catalog does not harm it ---------------------------------------------------
#
# Mechanism: SQLite rolls a database back with whatever journal lies beside it, and deletes the log
# of one without a page, even when it only reads. Damage: a journal that came with an older copy
# puts old pages into a complete catalog; a catalog that was cut off to nothing loses the commits
# in its log to a mere ``check``. Guard: both are refused before SQLite opens anything; a creation
# that was killed is still finished.


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
