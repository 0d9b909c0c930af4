"""What a power cut may leave: lost room, and in relaxed mode a catalog behind its partitions."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import PartitionCorruptError, StoreNotFoundError
from spector.store.partitions.segment import Segment
from tests.crash.workload import DIM, START, TINY, open_tiny, put, texts_of, vector_of
from tests.store.spoil import copy_files, flip


def test_growth_that_was_not_synced_is_replayed(store_path: Path, tmp_path: Path) -> None:
    """A file grows before the commit and is synced after it; the journal must bring it back."""
    config = replace(TINY, episodic_capacity=100, checkpoint_bytes=10**6)
    copy = tmp_path / "copy"
    with spector.open(
        store_path, embedder=None, dim=DIM, config=config, clock=ManualClock(START)
    ) as memory:
        put(memory, "m0")
        (file,) = store_path.glob("episodic/*.mem")
        before = file.stat().st_size
        for n in range(1, 11):
            put(memory, f"m{n}")
        assert file.stat().st_size > before
        copy_files(store_path, copy, "catalog", ".mem")
    os.truncate(copy / "episodic" / file.name, before)
    for mode in ("r", "rw", "r"):  # a reader may be there before the next writer
        with open_tiny(str(copy), mode=mode) as memory:
            assert sorted(texts_of(memory).values()) == sorted(f"m{n}" for n in range(11))
            assert memory.check().ok
            cue = {"vector": vector_of("m10"), "k": 1, "profile": "similarity"}
            assert memory.recall(**cue)[0].text == "m10"


def test_truncation_below_what_the_journal_holds_is_not_papered_over(
    store_path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    with open_tiny(str(store_path)) as memory:
        put(memory, "m0")
        put(memory, "m1")
        memory.checkpoint()
        put(memory, "m2")
        copy_files(store_path, copy, "catalog", ".mem")
    (file,) = copy.glob("episodic/*.mem")
    os.truncate(file, 64)
    for mode in ("r", "rw"):
        with pytest.raises(PartitionCorruptError, match=r"truncated|begins at"):
            open_tiny(str(copy), mode=mode)


@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_what_recovery_writes_is_synced_before_it_is_let_go_of(
    store_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any
) -> None:
    """Damage: the journal goes, a power cut takes the headers back, and no opening takes them for
    the catalog's."""
    dead = tmp_path / "dead"
    with open_tiny(str(store_path), durability=durability) as memory:
        ids = [put(memory, f"m{n}", tier=("semantic", "episodic")[n % 2]) for n in range(9)]
        memory.reinforce(ids[0])
        copy_files(store_path, dead, "catalog", ".mem")
    closed: list[tuple[str, bool]] = []
    close = Segment.close

    def noted(segment: Segment) -> None:
        closed.append((segment.where, segment.dirty))
        close(segment)

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "close", noted)
        memory = open_tiny(str(dead))
    assert closed
    assert not any(dirty for _, dirty in closed), closed
    assert len(memory) == 9
    memory.close()


def test_reader_of_a_relaxed_store_shows_the_strength_of_before_the_lost_commits(
    store_path: Path, tmp_path: Path
) -> None:
    """No journal has it any more, and the partition knows a future that never was."""
    cut = tmp_path / "cut"
    with open_tiny(str(store_path), durability="relaxed") as memory:
        ids = [put(memory, f"m{n}", tier="semantic") for n in range(4)]
        memory.checkpoint()
        before = {record.id: record.to_dict() for record in memory}
        copy_files(store_path, cut, "catalog")
        memory.forget(ids[1])
        memory.update(ids[2], importance=0.9)
        copy_files(store_path, cut, ".mem")
    with open_tiny(str(cut), mode="r") as reader:
        assert {record.id: record.to_dict() for record in reader} == before
        for n, record_id in enumerate(ids):
            (hit,) = reader.recall(vector=vector_of(f"m{n}"), k=1, profile="similarity")
            assert (hit.id, reader.get(record_id).importance) == (
                record_id,
                before[record_id]["importance"],
            )


def test_relaxed_store_whose_log_lost_its_newest_commits_opens_as_it_was_before_them(
    store_path: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    with open_tiny(str(store_path), durability="relaxed") as memory:
        ids = [put(memory, f"m{n}", tier=("semantic", "episodic")[n % 2]) for n in range(9)]
        memory.update(ids[0], text="m0 again", vector=vector_of("m0 again"))
        before = texts_of(memory)
        copy_files(store_path, cut, "catalog")
        memory.forget(ids[1:4])
        memory.update(ids[5], importance=0.9)
        memory.reinforce(ids[6])
        memory.update(ids[7], text="lost", vector=vector_of("lost"))
        for n in range(9):
            put(memory, f"lost{n}", tier="procedural")
        copy_files(store_path, cut, ".mem")
    first = spector.check(cut)  # before a writer has reconciled them
    assert first.ok, first.problems
    noted = {note.where: note.message for note in first.notes if note.where.endswith(".mem")}
    assert "later moment" in noted.pop("semantic/semantic-000.mem")
    assert any("has undone" in message for message in noted.values()), noted
    with open_tiny(str(cut), mode="r") as memory:
        assert texts_of(memory) == before
        assert memory.recall(vector=vector_of("m2"), k=1, profile="similarity")[0].text == "m2"
    with open_tiny(str(cut)) as memory:
        assert texts_of(memory) == before
        report = memory.check()
        assert report.ok, report.problems
        assert memory.recall(vector=vector_of("m2"), k=1, profile="similarity")[0].text == "m2"
        for n in range(9):
            put(memory, f"new{n}", tier="procedural")
        assert memory.check().ok
    with open_tiny(str(cut)) as memory:
        assert len(memory) == 18


def test_damage_that_no_writer_would_mend_is_found_after_a_relaxed_one_was_killed(
    store_path: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    with open_tiny(str(store_path), durability="relaxed") as memory:
        for n in range(3):
            put(memory, f"m{n}")
        memory.checkpoint()
        copy_files(store_path, cut, "catalog", ".mem")
        (mine,) = store_path.glob("episodic/*.mem")
        flip(mine, 64 + 40, 2)  # a flag: nobody brings back what the open writer has damaged
        assert "I16" in {problem.code for problem in memory.check().problems}
    assert spector.check(cut).ok
    (file,) = cut.glob("episodic/*.mem")
    flip(file, 64 + 64)  # a vector
    (cut / "episodic" / "strange.mem").write_bytes(b"not of ours")
    assert {problem.code for problem in spector.check(cut).problems} >= {"I3", "I14"}


def test_strict_store_with_partitions_of_another_moment_is_still_refused(
    store_path: Path, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    with open_tiny(str(store_path)) as memory:
        put(memory, "m0")
    copy_files(store_path, mixed, "catalog")
    with open_tiny(str(store_path)) as memory:
        put(memory, "m1")
    copy_files(store_path, mixed, ".mem")
    with pytest.raises(PartitionCorruptError, match="different moments"):
        open_tiny(str(mixed))
    older = tmp_path / "older"
    copy_files(store_path, older, "catalog", ".mem")
    with open_tiny(str(store_path)) as memory:
        put(memory, "m2")
    copy_files(store_path, older, "catalog")
    with pytest.raises(PartitionCorruptError):
        open_tiny(str(older))


def test_relaxed_store_that_was_closed_properly_is_not_reconciled(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tiny(str(store_path), durability="relaxed") as memory:
        put(memory, "m")
    from spector.store.opening import recovery as recover

    monkeypatch.setattr(recover, "reconcile", lambda store: pytest.fail("reconciled"))
    with open_tiny(str(store_path)) as memory:
        assert len(memory) == 1


@pytest.mark.parametrize("left", [["-journal"], ["-wal"], ["-journal", "-wal", "-shm"]])
def test_creation_that_was_cut_short_before_its_catalog_had_a_name_begins_again(
    store_path: Path, left: list[str]
) -> None:
    store_path.mkdir()
    for end in ("", *left):
        (store_path / f"catalog.db{end}").write_bytes(b"\0" * 512 if end else b"")
    (store_path / "catalog.db").unlink()
    (store_path / "LOCK").write_bytes(b"")
    with pytest.raises(StoreNotFoundError):
        open_tiny(str(store_path), mode="r")
    with open_tiny(str(store_path)) as memory:
        put(memory, "m")
        assert memory.check().ok


def test_reader_of_a_creation_that_must_be_rolled_back_is_told_so(store_path: Path) -> None:
    """SQLite says that it cannot write, which no permission would change."""
    store_path.mkdir()
    db = sqlite3.connect(store_path / "catalog.db", isolation_level=None)
    db.execute("PRAGMA cache_size=1")
    db.execute("BEGIN")
    db.execute("CREATE TABLE t(x)")
    db.executemany("INSERT INTO t VALUES (?)", [(b"x" * 4000,)] * 50)
    journal = (store_path / "catalog.db-journal").read_bytes()
    written = (store_path / "catalog.db").read_bytes()[:4096]  # a creation writes no more
    db.close()
    (store_path / "catalog.db").write_bytes(written)
    (store_path / "catalog.db-journal").write_bytes(journal)
    with pytest.raises(StoreNotFoundError, match="not been created completely"):
        open_tiny(str(store_path), mode="r")
