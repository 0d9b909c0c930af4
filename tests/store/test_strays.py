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
from tests.store.headers import with_header

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
    with sqlite3.connect(store / "catalog.db") as db:
        db.execute("DELETE FROM record WHERE segment_id = 2")
        db.execute("DELETE FROM segment WHERE id = 2")
    db.close()
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
