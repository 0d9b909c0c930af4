"""Mechanism: a redo image is a record, and a record proves itself by its checksum.

Damage without it: one bit rots in the journal, and the next opening (or repair) writes the rotten
image over the whole record that it was copied to. Guard: an image that fails its checksum is laid
over nothing; a mutable half, which has none, not over one that already is what the catalog says.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

import spector
from spector.errors import PartitionCorruptError
from spector.layout import MUTABLE_OFFSET, PARTITION_HEADER_BYTES, stride_of
from tests.crash.workload import DIM, open_tiny, texts_of, vector_of
from tests.store.test_repair import ONE

STRIDE = stride_of(DIM)


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, list[int]]:
    """A store whose writer died with everything in the journal and in the partitions."""
    live, dead = tmp_path / "live", tmp_path / "dead"
    with open_tiny(str(live)) as memory:
        made = [memory.remember(t, vector=vector_of(t), tier="semantic").id for t in "abc"]
        memory.reinforce(made[1])
        shutil.copytree(live, dead, ignore=shutil.ignore_patterns("LOCK"))
    return dead, made


def _damage(root: Path, where: str, offset: int) -> None:
    """Flip a bit of the one image of the journal that fits."""
    db = sqlite3.connect(root / "catalog.db")
    seq, image = db.execute(f"SELECT seq, image FROM journal WHERE {where}").fetchone()
    data = bytearray(image)
    data[offset] ^= 4
    with db:
        db.execute("UPDATE journal SET image = ? WHERE seq = ?", (bytes(data), seq))
    db.close()


def _record(root: Path, slot: int) -> bytes:
    start = PARTITION_HEADER_BYTES + slot * STRIDE
    return (root / ONE).read_bytes()[start : start + STRIDE]


@pytest.mark.parametrize("offset", [8, 20, 36, 70])
def test_damaged_image_takes_no_whole_record_away(
    killed: tuple[Path, list[int]], offset: int
) -> None:
    root, made = killed
    whole = _record(root, 1)
    _damage(root, "kind = 0 AND slot = 1", offset)
    (problem,) = spector.check(root).problems
    assert (problem.code, problem.slot) == ("I3", 1)
    assert "journal" in problem.message
    with open_tiny(str(root), mode="r") as memory:
        assert memory.get(made[1]).text == "b"
    report = spector.repair(root, root.parent / "saved")
    assert (report.kept, report.complete) == (3, True)
    assert any("journal" in note.reason for note in report.notes)
    with pytest.warns(UserWarning, match="slots 1 were damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert sorted(texts_of(memory).values()) == ["a", "b", "c"]
        assert memory.recall(vector=vector_of("b"), k=1, profile="similarity")[0].text == "b"
        assert memory.check().ok
    assert _record(root, 1) == whole


def test_damaged_image_of_a_record_that_was_never_copied_is_a_damaged_record(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    data = bytearray((root / ONE).read_bytes())
    start = PARTITION_HEADER_BYTES + STRIDE
    data[start : start + STRIDE] = bytes(STRIDE)
    (root / ONE).write_bytes(data)
    _damage(root, "kind = 0 AND slot = 1", 70)
    with pytest.warns(UserWarning, match="damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert memory.get(made[0]).text == "a"
        with pytest.raises(PartitionCorruptError, match=str(made[1])):
            memory.get(made[1])


def test_damaged_image_of_a_record_without_room_is_a_damaged_record(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    os.truncate(root / ONE, PARTITION_HEADER_BYTES + STRIDE + 5)
    _damage(root, "kind = 0 AND slot = 1", 70)
    with pytest.warns(UserWarning, match="damaged"):
        memory = open_tiny(str(root))
    with memory:
        assert [memory.get(made[n]).text for n in (0, 2)] == ["a", "c"]
        with pytest.raises(PartitionCorruptError, match=str(made[1])):
            memory.get(made[1])


def test_damaged_strength_in_the_journal_takes_no_whole_one_away(
    killed: tuple[Path, list[int]],
) -> None:
    root, made = killed
    whole = _record(root, 1)
    _damage(root, "kind = 1 AND slot = 1", 48 - MUTABLE_OFFSET + 2)
    with open_tiny(str(root)) as memory:
        memory.get(made[1])
        assert memory.check().ok
    assert _record(root, 1) == whole
