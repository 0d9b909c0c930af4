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
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, SpectorError, StoreError
from spector.store.catalog.catalog import Catalog
from spector.store.catalog.schema import RELAXED_LOG, UNSYNCED
from spector.store.files.disk import DiskFiles
from spector.store.files.lock import WriterLock, read_durable_mark
from spector.store.opening.reader import ReadStore
from spector.store.sqlite.checkpoints import copy_log
from spector.store.sqlite.wal_frames import broken_at
from tests.crash.workload import DIM, TINY, open_tiny, texts_of, vector_of

FRAME = 24 + 4096
Damage = Callable[[Path], None]


def _put(memory: spector.Memory, text: str, **more: Any) -> int:
    return memory.remember(text, vector=vector_of(text), **more).id


def _frames(root: Path) -> int:
    return ((root / "catalog.db-wal").stat().st_size - 32) // FRAME


def _flip(root: Path, frame: int) -> None:
    path = root / "catalog.db-wal"
    raw = bytearray(path.read_bytes())
    raw[32 + frame % _frames(root) * FRAME + 24 + 100] ^= 1
    path.write_bytes(raw)


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
        _put(memory, "yesterday", tier="semantic")
    with open_tiny(str(store_path)) as memory:
        for n in range(20):
            _put(memory, f"today{n}")
        return _killed(memory, store_path, "day")


@pytest.fixture
def updated(store_path: Path) -> Path:
    """Killed after changes that only the catalog knows of."""
    with open_tiny(str(store_path)) as memory:
        ids = [_put(memory, f"m{n}", tier="semantic") for n in range(5)]
    with open_tiny(str(store_path)) as memory:
        for n in range(20):
            memory.update(ids[2], metadata={"n": n})
        return _killed(memory, store_path, "updated")


@pytest.fixture
def ahead(store_path: Path, tmp_path: Path) -> Path:
    """Its journal waits for a partition that is of a later commit than the catalog."""
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        kept = _put(memory, "kept", tier="semantic")
        _put(memory, "another", tier="procedural")
        memory.checkpoint()
        memory.reinforce(kept)
        shutil.copytree(store_path, copy, ignore=shutil.ignore_patterns("LOCK"))
        _put(memory, "lost", tier="semantic")
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
            _put(memory, "kept", tier="semantic")
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
        kept = _put(memory, "m", tier="semantic")
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


def test_catalog_that_lost_even_its_tables_is_not_taken_for_an_unfinished_one(
    store_path: Path,
) -> None:
    """A writer would make it anew."""
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m")
        dead = _killed(memory, store_path, "dead")
    shutil.rmtree(dead / "episodic")
    _flip(dead, 3)
    for mode in ("r", "rw"):
        with pytest.raises(CatalogCorruptError, match="or more commits after"):
            open_tiny(str(dead), mode=mode)
    assert not spector.check(dead).ok


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


def test_word_outlives_openings_that_change_nothing(store_path: Path) -> None:
    with open_tiny(str(store_path)) as memory:
        _put(memory, "m")
        head = memory._parts.store.head.change_seq
    for _ in range(2):
        with open_tiny(str(store_path)):
            pass
        word = read_durable_mark(str(store_path))
        assert word is not None
        assert word.change_seq == head


def test_relaxed_writer_gives_its_word_only_for_what_was_synced(store_path: Path) -> None:
    with open_tiny(str(store_path), durability="relaxed") as memory:
        _put(memory, "m")
        memory.checkpoint()
        synced = memory._parts.store.head.change_seq
        _put(memory, "n")
        word = read_durable_mark(str(store_path))
        assert word is not None
        assert word.change_seq == synced < memory._parts.store.head.change_seq


def test_commits_of_a_relaxed_opening_are_synced_until_the_catalog_says_what_it_is(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut leaves parts of two commits in a log that nobody knows to be a relaxed one."""
    levels = []
    set_meta = Catalog.set_meta

    def noted(self: Catalog, lines: Any) -> None:
        levels.append(self.main.execute("PRAGMA synchronous").fetchone()[0])
        set_meta(self, lines)

    monkeypatch.setattr(Catalog, "set_meta", noted)
    with open_tiny(str(store_path), durability="relaxed") as memory:
        assert levels == [2]
        assert memory._parts.store.catalog.main.execute("PRAGMA synchronous").fetchone() == (1,)


def test_what_a_relaxed_writer_left_behind_the_end_of_a_log_is_not_held_against_a_strict_one(
    store_path: Path,
) -> None:
    """The log goes on in front of the remains of commits that a power cut took back."""
    lazy = replace(TINY, checkpoint_bytes=1 << 30)
    with spector.open(
        store_path, embedder=None, dim=DIM, config=lazy, durability="relaxed"
    ) as memory:
        kept = _put(memory, "m", tier="semantic")
        memory.checkpoint()
        for n in range(60):
            memory.update(kept, metadata={"n": n})
        cut = _killed(memory, store_path, "cut")
    _flip(cut, _frames(cut) // 3)
    with open_tiny(str(cut), mode="r") as memory:
        assert len(memory) == 1
    with open_tiny(str(cut)) as memory:
        meta = dict(memory._parts.store.catalog.main.execute("SELECT key, value FROM meta"))
        assert UNSYNCED not in meta
        assert meta[RELAXED_LOG]
        memory.update(kept, metadata={"n": -1})
        again = _killed(memory, cut, "again")
    file = DiskFiles(str(again)).open("catalog.db-wal", writable=False)
    assert broken_at(file, 4096) is not None, "there are no such remains: the test shows nothing"
    file.close()
    _without_lock(again)
    _accepted(again, 1)


def test_log_that_began_anew_is_not_held_against_the_frames_of_the_one_before(
    store_path: Path,
) -> None:
    with open_tiny(str(store_path)) as memory:
        kept = _put(memory, "m", tier="semantic")
        for n in range(30):
            memory.update(kept, metadata={"n": n})
        size = _frames(store_path)
        assert copy_log(memory._parts.store.catalog) is not None  # all of it has been copied
        memory.update(kept, metadata={"n": -1})
        assert _frames(store_path) == size, "the log went on"
        dead = _killed(memory, store_path, "dead")
    _without_lock(dead)
    _accepted(dead, 1)


def test_partition_that_a_compaction_was_about_to_commit_is_no_lost_commit(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its header, with the count of its records, is written before the commit."""
    with open_tiny(str(store_path)) as memory:
        ids = [_put(memory, f"m{n}", tier="semantic") for n in range(3)]
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
            _put(memory, f"m{n}")
            with open_tiny(str(store_path), mode="r") as reader:
                assert len(reader) == n + 1
            assert spector.check(store_path).ok


def test_partition_that_a_reader_meets_on_its_second_look_may_be_ahead_again(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer commits between each look at the catalog and that at the partitions it names."""
    with open_tiny(str(store_path)) as memory:
        _put(memory, "first", tier="semantic")
        numbers = iter(range(12))
        with monkeypatch.context() as patched:
            follow = ReadStore._follow

            def beside(store: ReadStore, *rest: Any) -> None:
                for n in islice(numbers, 4):
                    _put(memory, f"more {n}", tier="semantic")
                follow(store, *rest)

            patched.setattr(ReadStore, "_follow", beside)
            reader = open_tiny(str(store_path), mode="r")
        with reader:
            assert len(reader) == len(memory) > 5


def test_partition_that_cannot_be_removed_leaves_the_note_of_a_relaxed_writer(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the next opening would take that partition for one of commits that were lost."""
    with open_tiny(str(store_path), durability="relaxed") as memory:
        _put(memory, "m", tier="semantic")
        memory.checkpoint()
        cut = store_path.with_name("cut")
        shutil.copytree(store_path, cut)
        _put(memory, "n")
        shutil.copytree(store_path / "episodic", cut / "episodic")
    with monkeypatch.context() as patched:

        def refuse(self: DiskFiles, name: str) -> None:
            raise StoreError(f"cannot remove {name}: Input/output error")

        patched.setattr(DiskFiles, "remove", refuse)
        with pytest.raises(StoreError, match="cannot remove"):
            open_tiny(str(cut))
    _accepted(cut, 1)
    assert not list(cut.glob("episodic/*.mem"))
    with open_tiny(str(cut), mode="r") as memory:
        assert list(texts_of(memory).values()) == ["m"]
