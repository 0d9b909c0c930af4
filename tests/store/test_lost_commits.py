"""Commits that the catalog has lost, although SQLite finds nothing wrong with it.

Mechanism: SQLite ends a log at the first damaged frame and says nothing; nor does it know that its
log was deleted, or that an older file was put in its place. Damage without the guard: the store
opens as it was days ago, and is backed up over what it was yesterday. Guard: the writer's word in
LOCK, partitions that the catalog has no row for, and commits that lie behind the damage. Each of
these tests takes the others away.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, SpectorError
from spector.store.files.lock import WriterLock, read_durable_mark
from tests.crash.workload import open_tiny, put
from tests.store.spoil import flip

FRAME = 24 + 4096
Damage = Callable[[Path], None]


def _frames(root: Path) -> int:
    return ((root / "catalog.db-wal").stat().st_size - 32) // FRAME


def _flip(root: Path, frame: int) -> None:
    flip(root / "catalog.db-wal", 32 + frame % _frames(root) * FRAME + 24 + 100)


def _without_lock(root: Path) -> None:
    (root / "LOCK").unlink()


def _killed(memory: spector.Memory, root: Path, name: str) -> Path:
    """The files as a kill of the process that writes them now would leave them."""
    target = root.with_name(f"{root.name}-{name}")
    shutil.copytree(root, target)
    return target


def _refused(root: Path, match: str, kind: type[SpectorError] = CatalogCorruptError) -> None:
    """By readers, writers and check; and what a repair could still use stays where it is."""
    log = root / "catalog.db-wal"
    before = log.read_bytes() if log.exists() else None
    for mode in ("r", "rw", "r"):
        with pytest.raises(kind, match=match) as told:
            open_tiny(str(root), mode=mode)
        assert "--repair" in told.value.hint
    found = [problem for problem in spector.check(root).problems if problem.code == "I18"]
    assert found
    assert before is None or log.read_bytes() == before


def _accepted(root: Path, count: int) -> None:
    for mode in ("r", "rw"):
        with open_tiny(str(root), mode=mode) as memory:
            assert len(memory) == count
    assert spector.check(root).ok


@pytest.fixture
def day(store_path: Path) -> Path:
    """Killed on the day after its first memory; that day's twenty are in partitions of their own."""
    with open_tiny(str(store_path)) as memory:
        put(memory, "yesterday", tier="semantic")
    with open_tiny(str(store_path)) as memory:
        for n in range(20):
            put(memory, f"today{n}")
        return _killed(memory, store_path, "day")


@pytest.fixture
def updated(store_path: Path) -> Path:
    """Killed after changes that only the catalog knows of."""
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}", tier="semantic") for n in range(5)]
    with open_tiny(str(store_path)) as memory:
        for n in range(20):
            memory.update(ids[2], metadata={"n": n})
        return _killed(memory, store_path, "updated")


@pytest.fixture
def ahead(store_path: Path, tmp_path: Path) -> Path:
    """Its journal waits for a partition that is of a later commit than the catalog."""
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        kept = put(memory, "kept", tier="semantic")
        put(memory, "another", tier="procedural")
        memory.checkpoint()
        memory.reinforce(kept)
        shutil.copytree(store_path, copy, ignore=shutil.ignore_patterns("LOCK"))
        put(memory, "lost", tier="semantic")
        memory.checkpoint()
        for path in store_path.glob("semantic/*.mem"):
            shutil.copy(path, copy / "semantic")
    return copy


# -- what is found --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: _flip(root, 2),
        lambda root: (root / "catalog.db-wal").unlink(),
    ],
    ids=["flipped", "removed"],
)
def test_partition_of_a_lost_day_refuses_the_opening(day: Path, damage: Damage) -> None:
    """No partition that the catalog names is of that day, so none is ahead of its row."""
    damage(day)
    _without_lock(day)
    (day / "catalog.db-wal").unlink(missing_ok=True)
    _refused(day, "with 4 records that the catalog does not know", PartitionCorruptError)
    named = {p.file for p in spector.check(day).problems if p.code == "I18"}
    assert named == {f"episodic/{path.name}" for path in day.glob("episodic/*.mem")}
    assert len(named) == 5


def test_check_names_a_partition_that_is_ahead_also_while_the_journal_waits(ahead: Path) -> None:
    """What the next writer would write again may be old then, but not newer than the catalog."""
    found = spector.check(ahead).problems
    assert [each.code for each in found if "of a later commit than" in each.message] == ["I1"]


def test_partition_that_is_ahead_refuses_the_opening_also_while_the_journal_waits(
    ahead: Path,
) -> None:
    """Replaying would write the catalog's counts over those that show that something is lost."""
    before = {path.name: path.read_bytes() for path in ahead.rglob("*.mem")}
    with pytest.raises(PartitionCorruptError, match="of a later commit than") as told:
        open_tiny(str(ahead))
    assert "--repair" in told.value.hint
    assert {path.name: path.read_bytes() for path in ahead.rglob("*.mem")} == before


@pytest.mark.parametrize(
    ("strangers", "said"),
    [
        (False, "but the catalog says"),
        (True, "to another store"),
    ],
    ids=["same store", "another store"],
)
def test_journal_is_not_replayed_into_another_partitions_file(
    ahead: Path, tmp_path: Path, strangers: bool, said: str
) -> None:
    """Replaying would give it the header of the one whose place it has."""
    (file,) = ahead.glob("semantic/*.mem")
    if strangers:
        with open_tiny(str(tmp_path / "stranger")) as memory:
            put(memory, "kept", tier="semantic")
    root, tier = (tmp_path / "stranger", "semantic") if strangers else (ahead, "procedural")
    (other,) = root.glob(f"{tier}/*.mem")
    shutil.copy(other, file)
    before = file.read_bytes()
    with pytest.raises(PartitionCorruptError, match=said):
        open_tiny(str(ahead))
    assert file.read_bytes() == before


def test_log_that_was_removed_is_missed_by_the_writers_word(updated: Path) -> None:
    with open_tiny(str(updated), mode="r") as memory:
        assert [record.metadata for record in memory if record.metadata] == [{"n": 19}]
    (updated / "catalog.db-wal").unlink()
    (updated / "catalog.db-shm").unlink()
    _refused(updated, "had become durable")


def test_old_catalog_that_is_put_back_under_changed_metadata_is_refused(
    store_path: Path, tmp_path: Path
) -> None:
    with open_tiny(str(store_path)) as memory:
        kept = put(memory, "m", tier="semantic")
    shutil.copy(store_path / "catalog.db", tmp_path)
    with open_tiny(str(store_path)) as memory:
        memory.update(kept, metadata={"n": 1})
    shutil.copy(tmp_path / "catalog.db", store_path)
    _refused(store_path, "had become durable")
    with pytest.raises(CatalogCorruptError) as told:
        open_tiny(str(store_path))
    assert "delete the file LOCK" in told.value.hint
    (store_path / "LOCK").unlink()  # on purpose
    _accepted(store_path, 1)


@pytest.mark.parametrize("frame", [3, -40, -12])
def test_commits_behind_a_flip_refuse_the_opening(updated: Path, frame: int) -> None:
    _flip(updated, frame)
    _without_lock(updated)
    _refused(updated, "or more commits after")
    problems = {(p.file, p.offset) for p in spector.check(updated).problems if p.code == "I18"}
    assert problems == {("catalog.db-wal", 32 + frame % _frames(updated) * FRAME)}


def test_damaged_head_of_the_log_refuses_the_opening(updated: Path) -> None:
    """SQLite takes the whole log for an empty one."""
    _without_lock(updated)
    raw = (updated / "catalog.db-wal").read_bytes()
    for offset in (0, 3, 9, 17, 30):
        (updated / "catalog.db-wal").write_bytes(
            raw[:offset] + bytes([raw[offset] ^ 1]) + raw[offset + 1 :]
        )
        with pytest.raises(SpectorError):
            open_tiny(str(updated))
        assert not spector.check(updated).ok


def test_last_commit_that_was_acknowledged_is_missed_after_a_kill(updated: Path) -> None:
    """By the log alone it might be the torn one of a power cut; the word says that it was whole."""
    _flip(updated, -1)
    _refused(updated, "had become durable")


def test_writer_refuses_before_it_writes_and_a_reader_beside_it_is_not_needed(day: Path) -> None:
    _flip(day, 2)
    before = {path.name: path.read_bytes() for path in day.rglob("*.mem")}
    with pytest.raises(CatalogCorruptError):
        open_tiny(str(day))
    assert {path.name: path.read_bytes() for path in day.rglob("*.mem")} == before


# -- what is legal --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_head_that_a_kill_tore_when_the_log_began_anew_loses_nothing(
    updated: Path, mode: str
) -> None:
    """All that stands behind it is in the database; only then does SQLite begin anew."""
    _without_lock(updated)
    log = updated / "catalog.db-wal"
    raw = log.read_bytes()
    torn = raw[:15] + bytes([raw[15] + 1]) + raw[16:]
    log.write_bytes(torn)
    with pytest.raises(CatalogCorruptError):
        open_tiny(str(updated), mode=mode)
    log.write_bytes(raw)
    with contextlib.closing(sqlite3.connect(updated / "catalog.db")) as db:
        assert db.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0] == 0
        before = log.read_bytes()  # closing deletes it
    log.write_bytes(torn)
    assert before == raw
    assert spector.check(updated).ok
    with open_tiny(str(updated), mode=mode) as memory:
        assert len(memory) > 1


def test_torn_last_commit_of_a_power_cut_opens(updated: Path) -> None:
    _flip(updated, -1)
    _without_lock(updated)  # or with an older one: it is never synced
    _accepted(updated, 5)


def test_word_that_is_older_damaged_or_of_another_store_says_nothing(updated: Path) -> None:
    word = read_durable_mark(str(updated))
    assert word is not None
    lines = (updated / "LOCK").read_bytes()
    for content in (
        b"",
        b"7\n",
        lines[:40],
        lines[:-2] + b"x\n",
        bytes(200),
        b"\xff" * 75,
        lines.replace(word.uuid.hex().encode(), bytes(16).hex().encode()),
    ):
        (updated / "LOCK").write_bytes(content)
        found = read_durable_mark(str(updated))
        assert found is None
        _accepted(updated, 5)
    lock = WriterLock(str(updated))
    lock.record_durable(bytes(16), 1 << 60)
    lock.release()
    _accepted(updated, 5)


def test_partition_that_a_compaction_was_about_to_commit_is_no_lost_commit(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its header, with the count of its records, is written before the commit."""
    with open_tiny(str(store_path)) as memory:
        ids = [put(memory, f"m{n}", tier="semantic") for n in range(3)]
        memory.forget(ids[0])
        copies: list[Path] = []
        write_journal = spector.store.core.transaction.Transaction.write_journal

        def killed(tx: Any) -> None:
            if any(row.generation for row in tx._rows.values()):
                copies.append(_killed(memory, store_path, "compacting"))
            write_journal(tx)

        monkeypatch.setattr(spector.store.core.transaction.Transaction, "write_journal", killed)
        memory.compact()
    (dead,) = copies
    assert list(dead.glob("semantic/*.g1.mem"))
    _without_lock(dead)
    _accepted(dead, 2)


def test_reader_beside_a_writer_that_makes_partitions_is_not_refused(store_path: Path) -> None:
    with open_tiny(str(store_path)) as memory:
        for n in range(30):
            put(memory, f"m{n}")
            with open_tiny(str(store_path), mode="r") as reader:
                assert len(reader) == n + 1
            assert spector.check(store_path).ok
