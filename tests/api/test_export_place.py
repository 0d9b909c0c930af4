"""An export goes nowhere but to a file outside of its store."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.errors import CatalogCorruptError, InvalidInputError, StoreError
from spector.memory import Memory


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(8).astype(np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "store", embedder=None, dim=8) as memory:
        for n in range(5):
            memory.remember(f"memory number {n}", vector=vector(n))
        yield memory


def is_whole(path: Path) -> bool:
    with spector.open(path, mode="r", embedder=None) as memory:
        return memory.check().ok and len(memory) == 5


def files_in(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


@pytest.mark.parametrize("name", ["catalog.db", "LOCK", "new.jsonl", "no/such/folder", "./x/../y"])
@pytest.mark.parametrize("way", ["as it is", "through a link"])
def test_an_export_into_its_own_store_is_refused(
    store: Memory, tmp_path: Path, name: str, way: str
) -> None:
    (tmp_path / "link").symlink_to("store")
    before = files_in(tmp_path / "store")
    target = tmp_path / ("store" if way == "as it is" else "link") / name
    with pytest.raises(InvalidInputError, match="in the store itself"):
        store.export(target)
    store.remember("afterwards", vector=vector(9))
    store.forget(max(record.id for record in store.records()))
    store.close()
    assert files_in(tmp_path / "store") >= before
    assert is_whole(tmp_path / "store")


def test_a_reader_cannot_export_over_a_partition(store: Memory, tmp_path: Path) -> None:
    store.close()
    partition = next((tmp_path / "store").rglob("*.mem"))
    reader = spector.open(tmp_path / "store", mode="r", embedder=None)
    with reader, pytest.raises(InvalidInputError, match="in the store itself"):
        reader.export(partition)
    assert is_whole(tmp_path / "store")


def test_force_on_the_command_line_does_not_change_that(store: Memory, tmp_path: Path) -> None:
    store.close()
    target = tmp_path / "store" / "catalog.db"
    done = subprocess.run(
        [sys.executable, "-m", "spector", "export", str(target.parent), str(target), "--force"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "in the store itself" in done.stderr
    assert is_whole(tmp_path / "store")


def test_what_is_no_file_stays(store: Memory, tmp_path: Path) -> None:
    pipe, folder, device = tmp_path / "pipe", tmp_path / "folder", tmp_path / "device"
    os.mkfifo(pipe)
    folder.mkdir()
    device.symlink_to("/dev/null")
    for place in (pipe, folder, device, f"{folder}/"):
        with pytest.raises(InvalidInputError, match="is not a file"):
            store.export(place)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert device.is_symlink()
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("target", [None, "", "a\0b", 7])
def test_a_name_that_no_file_can_have(store: Memory, target: object) -> None:
    with pytest.raises(InvalidInputError, match="target is"):
        store.export(target)  # type: ignore[arg-type]


def test_a_link_to_a_file_is_replaced_and_not_followed(store: Memory, tmp_path: Path) -> None:
    other, link = tmp_path / "other.txt", tmp_path / "out.jsonl"
    other.write_text("somebody else's")
    link.symlink_to(other)
    assert store.export(link, overwrite=True) == 5
    assert not link.is_symlink()
    assert other.read_text() == "somebody else's"


@pytest.mark.parametrize("what", ["removed", "another file"])
def test_nothing_is_acknowledged_into_a_catalog_that_is_gone(
    store: Memory, tmp_path: Path, what: str
) -> None:
    """SQLite goes on with the file that is open, and everything would be lost at the close."""
    catalog = tmp_path / "store" / "catalog.db"
    catalog.rename(tmp_path / "elsewhere")
    if what == "another file":
        catalog.write_bytes(b"{}\n")
    with pytest.raises(StoreError, match=what):
        store.remember("never acknowledged", vector=vector(6))
    assert any(what in problem.message for problem in store.check().problems)
    with pytest.raises(StoreError, match=what):
        store.close()


def test_who_has_removed_the_directory_can_close_the_store(store: Memory, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StoreError):
        store.remember("never acknowledged", vector=vector(6))
    store.close()
    assert not (tmp_path / "store").exists()


def test_a_limit_of_the_size_of_files_is_named_where_the_catalog_meets_it() -> None:
    import sqlite3

    from spector.store.sqlite.reads import typed_sql_errors

    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    with pytest.raises(StoreError) as caught, typed_sql_errors("catalog.db"):
        raise error
    assert "ulimit -f" in caught.value.hint


@pytest.mark.parametrize("source", [None, "", "a\0b", 7])
def test_a_name_that_no_file_to_import_can_have(store: Memory, source: object) -> None:
    with pytest.raises(InvalidInputError, match="source is"):
        store.import_(source)  # type: ignore[arg-type]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_output_that_cannot_be_written_is_no_bug_of_ours(store: Memory, tmp_path: Path) -> None:
    store.close()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "spector", "stats", str(tmp_path / "store")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 74
    assert "the output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_backup_of_a_damaged_row_says_so(store: Memory, tmp_path: Path) -> None:
    """Mechanism: halves of records were joined before anybody looked what they are."""
    store.close()
    catalog = sqlite3.connect(tmp_path / "store" / "catalog.db")
    catalog.execute("UPDATE record SET mutable = 5 WHERE slot = 2")
    catalog.commit()
    catalog.close()
    with (
        spector.open(tmp_path / "store", embedder=None) as memory,
        pytest.raises(CatalogCorruptError, match="mutable"),
    ):
        memory.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "name", ["catalog.db", "catalog.db-wal", "LOCK", "semantic/semantic-000.mem"]
)
def test_an_export_takes_the_place_of_no_file_of_another_store(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    """Mechanism: only the store itself was looked at, so another one's catalog was replaced."""
    other = tmp_path / "other"
    with spector.open(other, embedder=None, dim=4) as theirs:
        theirs.remember("theirs", vector=[1, 0, 0, 0], tier="semantic")
    with pytest.raises(InvalidInputError, match="a file of the store at"):
        memory.export(other / name)
    with spector.open(other, embedder=None) as theirs:
        assert len(theirs) == 1
        assert theirs.check().ok
    assert memory.export(other / "export.jsonl") == len(memory), "as any directory"
    assert memory.export(tmp_path / "LOCK") == len(memory), "no store is there"
