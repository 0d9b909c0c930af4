"""Damaged, foreign, missing, swapped and newer files: a typed error or a finding, never a lie."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import (
    CatalogCorruptError,
    ForeignPartitionError,
    FormatVersionError,
    PartitionCorruptError,
    SpectorError,
    StoreError,
)
from spector.kernel.checksum import crc32c
from spector.layout import FORMAT_VERSION, PARTITION_DTYPE, PARTITION_HEADER_BYTES
from tests.cases import Cases
from tests.crash.workload import open_tiny, texts_of, vector_of, wrong_in
from tests.store.spoil import sql

cases = Cases(__file__)

TEXTS = [f"word{n} version 0" for n in range(7)]


@pytest.fixture
def store(store_path: Path) -> Path:
    """A closed store of seven semantic memories in three partitions."""
    with open_tiny(str(store_path)) as memory:
        for text in TEXTS:
            memory.remember(text, vector=vector_of(text), tier="semantic", tags=["t"])
    return store_path


def _partition(store: Path, n: int = 0) -> Path:
    return store / "semantic" / f"semantic-{n:03d}.mem"


def _edit(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def _header(path: Path, **fields: Any) -> None:
    """Change header fields and make the checksum fit, as a malicious or newer writer would."""
    raw = bytearray(path.read_bytes()[:PARTITION_HEADER_BYTES])
    header = np.frombuffer(raw, dtype=PARTITION_DTYPE)
    for name, value in fields.items():
        header[name] = value
    header["crc"] = crc32c(bytes(raw[:60]))
    _edit(path, 0, bytes(raw))


def test_every_byte_of_a_partition_header_keeps_a_writer_out(store: Path) -> None:
    path = _partition(store)
    original = path.read_bytes()[:PARTITION_HEADER_BYTES]
    for offset in range(PARTITION_HEADER_BYTES):
        _edit(path, offset, bytes([original[offset] ^ 1]))
        with pytest.raises(PartitionCorruptError):
            open_tiny(str(store))
        _edit(path, offset, original[offset : offset + 1])
    open_tiny(str(store)).close()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"version": FORMAT_VERSION + 1}, FormatVersionError),
        ({"store_uuid": np.arange(16, dtype=np.uint8)}, ForeignPartitionError),
        ({"count": 1}, PartitionCorruptError),
        ({"tombstone_count": 1}, PartitionCorruptError),
        ({"capacity": 1 << 31}, PartitionCorruptError),
        ({"stride": 64}, PartitionCorruptError),
        ({"dim": 17}, PartitionCorruptError),
        ({"day": 5}, PartitionCorruptError),
        ({"sequence": 7}, PartitionCorruptError),
        ({"generation": 1}, PartitionCorruptError),
        ({"state": 3}, PartitionCorruptError),
        ({"state": 77}, PartitionCorruptError),
        ({"magic": 0x45504943}, PartitionCorruptError),
    ],
)
def test_header_with_a_valid_checksum_must_still_fit_the_catalog(
    store: Path, fields: dict[str, Any], error: type[SpectorError]
) -> None:
    _header(_partition(store), **fields)
    with pytest.raises(error) as found:
        open_tiny(str(store))
    assert found.value.hint
    assert not spector.check(store).ok


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_missing_partition_is_named(store: Path, mode: Any) -> None:
    _partition(store).unlink()
    with pytest.raises(PartitionCorruptError, match=r"semantic-000\.mem is missing"):
        open_tiny(str(store), mode=mode)
    assert "I14" in [p.code for p in spector.check(store).problems]


def test_trailing_junk_in_a_partition_is_harmless(store: Path) -> None:
    with _partition(store).open("ab") as file:
        file.write(b"\xff" * 1000)
    with open_tiny(str(store)) as memory:
        assert sorted(texts_of(memory).values()) == TEXTS
        memory.remember("more", vector=vector_of("more"), tier="semantic")
        assert memory.check().ok


def test_foreign_partition_file_is_reported_and_left_alone(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with open_tiny(str(other)) as memory:
        memory.remember("m", vector=vector_of("m"), tier="semantic")
    stray = store / "semantic" / "semantic-900.mem"
    shutil.copy(_partition(other), stray)
    with open_tiny(str(store)) as memory:
        assert stray.exists()
        assert [p.where for p in memory.check().problems] == ["semantic/semantic-900.mem"]
    shutil.copy(_partition(other), _partition(store))  # in the place of one of ours
    with pytest.raises(ForeignPartitionError):
        open_tiny(str(store))


def test_leftovers_of_crashes_are_removed_at_the_next_opening(store: Path) -> None:
    ours = _partition(store).read_bytes()
    stale = store / "semantic" / "semantic-000.g1.mem"  # a compaction died before its commit
    stale.write_bytes(ours)
    empty = store / "semantic" / "semantic-700.mem"  # ... and a creation at three moments
    empty.touch()
    zeros = store / "semantic" / "semantic-701.mem"
    zeros.write_bytes(bytes(4096))
    with open_tiny(str(store)) as memory:
        assert not stale.exists()
        assert not empty.exists()
        assert not zeros.exists()
        assert wrong_in(memory) == []


def test_file_whose_header_was_cut_short_is_removed_when_no_memory_is_in_it(store: Path) -> None:
    """Or the next partition of that name, of today, could never be created."""
    whole = _partition(store).read_bytes()
    torn = whole[:32] + bytes(32)
    blank = store / "semantic" / "semantic-700.mem"
    blank.write_bytes(torn + bytes(2000))
    old_generation = store / "semantic" / "semantic-000.g9.mem"
    old_generation.write_bytes(torn + whole[64:])
    filled = store / "semantic" / "semantic-701.mem"
    filled.write_bytes(torn + whole[64:])
    zeroed = store / "semantic" / "semantic-702.mem"
    zeroed.write_bytes(bytes(64) + whole[64:])
    with open_tiny(str(store)) as memory:
        assert not blank.exists()
        assert not old_generation.exists()
        assert filled.exists(), "nobody knows whose memories these are"
        assert zeroed.exists(), "nor these"
        assert [p.where for p in memory.check().problems] == [
            "semantic/semantic-701.mem",
            "semantic/semantic-702.mem",
        ]


@cases("statement")
def test_catalog_with_something_missing_or_absurd_is_a_typed_error(
    store: Path, statement: str
) -> None:
    sql(store, statement)
    for mode in ("rw", "r"):
        with pytest.raises(SpectorError) as error:
            _use(store, mode)
        assert str(error.value)
    assert not spector.check(store).ok


def _use(store: Path, mode: Any) -> None:
    with open_tiny(str(store), mode=mode) as memory:
        list(memory)
        problems = memory.check().problems
    raise StoreError(f"a reader may overlook it, its check may not: {problems[0]}")


@pytest.mark.parametrize("content", [b"", b"hello, I am text\n" * 100, bytes(4096)])
def test_catalog_that_is_no_database_is_a_typed_error(store: Path, content: bytes) -> None:
    (store / "catalog.db").write_bytes(content)
    with pytest.raises(CatalogCorruptError if content else StoreError):
        open_tiny(str(store))
    with pytest.raises(StoreError):
        open_tiny(str(store), mode="r")
    assert _partition(store).exists()


def test_foreign_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    sql(tmp_path, "CREATE TABLE notes(text)", "INSERT INTO notes VALUES ('mine')")
    before = (tmp_path / "catalog.db").read_bytes()
    for mode in ("rw", "r"):
        with pytest.raises(CatalogCorruptError, match="not a spector catalog"):
            open_tiny(str(tmp_path), mode=mode)
    assert sql(tmp_path, "SELECT * FROM notes") == [("mine",)]
    assert len(before) == (tmp_path / "catalog.db").stat().st_size


@pytest.mark.parametrize("place", ["'x'", "-1", "x'00'", "99"])
def test_row_that_points_to_no_slot_at_all_is_a_typed_error(store: Path, place: str) -> None:
    """Found by flipped bits of the catalog: a slot of another type, or below zero."""
    sql(store, f"UPDATE record SET slot = {place} WHERE id = (SELECT min(id) FROM record)")
    with open_tiny(str(store), mode="r") as memory, pytest.raises(StoreError):
        memory.recall("word0", k=7)
    assert not spector.check(store).ok
