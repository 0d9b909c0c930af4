"""Check beside a writer that never pauses: no false alarm, and damage is still found."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.store.files.bad_sectors import read_file
from spector.store.files.disk import DiskFiles
from spector.store.integrity import check as checking
from tests.store.headers import with_header

DIM = 8


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[spector.Memory]:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM) as memory:
        for number in range(6):
            remember(memory, number)
        memory.checkpoint()
        yield memory


def remember(memory: spector.Memory, number: int) -> int:
    vector = np.eye(DIM, dtype=np.float32)[number % DIM]
    return memory.remember(f"memory {number}", vector=vector).id


def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the writer act between a check's snapshot of the catalog and its look at partitions."""
    plain = checking.check_catalog

    def overtaken(*args: object) -> object:
        found = plain(*args)  # type: ignore[arg-type]
        act()
        return found

    monkeypatch.setattr(checking, "check_catalog", overtaken)


@pytest.mark.parametrize("what", ["remember", "many", "reinforce", "forget"])
def test_a_writer_that_never_pauses_is_no_damage(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    acts = []
    first = next(iter(writer)).id
    many = [{"text": "one of many", "vector": [1.0] * DIM}] * 80

    def act() -> None:
        acts.append(what)
        if what == "remember":
            remember(writer, len(acts))
        elif what == "many":
            writer.remember_many(many)
        elif what == "reinforce":
            writer.reinforce(first)
        else:
            writer.forget(remember(writer, 1))
        if len(acts) % 2:
            writer.checkpoint()

    between(monkeypatch, act)
    report = spector.check(tmp_path / "mind")
    assert report.ok, report.problems
    assert acts


def test_damage_beside_a_writer_that_never_pauses_is_found(
    writer: spector.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (tmp_path / "mind").rglob("*.mem")
    raw = bytearray(file.read_bytes())
    raw[64 + stride_of(DIM) * 2 + 66] ^= 0x10  # the vector of the third record
    file.write_bytes(raw)
    between(monkeypatch, lambda: remember(writer, 1))
    report = spector.check(tmp_path / "mind")
    assert {problem.code for problem in report.problems} >= {"I3"}
    assert {problem.slot for problem in report.problems} == {2}


def test_a_derived_file_that_is_replaced_while_it_is_opened_is_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length is that of the file that was opened, not of the one that had its name before."""
    (tmp_path / "a.idx").write_bytes(b"before")
    plain = DiskFiles.open

    def overtaken(files: DiskFiles, name: str, **how: bool) -> object:
        (tmp_path / "new").write_bytes(b"longer afterwards")
        (tmp_path / "new").replace(tmp_path / name)
        return plain(files, name, **how)

    monkeypatch.setattr(DiskFiles, "open", overtaken)
    assert bytes(read_file(DiskFiles(str(tmp_path)), "a.idx", most=100)) == b"longer afterwards"


@pytest.mark.parametrize("what", ["empty", "next generation", "no header yet"])
def test_a_partition_whose_commit_has_not_come_is_a_note(tmp_path: Path, what: str) -> None:
    """Mechanism: files are made before their commit. Damage: people were sent to remove them."""
    path = tmp_path / "mind"
    with spector.open(path, embedder=None, dim=8) as memory:
        memory.remember("one of them", vector=np.ones(8))
    (partition,) = path.rglob("*.mem")
    raw = partition.read_bytes()
    if what == "next generation":
        strange = partition.with_name(f"{partition.stem}.g1.mem")
        strange.write_bytes(with_header(raw, generation=1))
    else:
        strange = partition.with_name("1999-12-31-000.mem")
        day = datetime.date(1999, 12, 31).toordinal() - datetime.date(1970, 1, 1).toordinal()
        header = with_header(raw[:PARTITION_HEADER_BYTES], day=day, count=0, tombstone_count=0)
        strange.write_bytes(header if what == "empty" else bytes(4096))
    report = spector.check(path)
    assert report.ok, report.problems
    assert [note.file for note in report.notes] == [str(strange.relative_to(path))]
    assert "not committed yet" in report.notes[0].message
    with spector.open(path, embedder=None) as memory:
        assert memory.check().ok
    assert not strange.exists()
