"""Mechanism: files are little-endian and read in place; vectors of any dimension are padded.

Damage: a store that was copied from another world, or written by a port to one, is read as numbers
of another size; a dimension that fills no register is compared with what lies behind it. Guard:
headers with every number the other way round, checksums made right again, are found; every small
dimension and every edge of a stride gives the cosine of its own components only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.kernel.checksum import crc32c, crc32c_rows
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import Part
from spector.layout import (
    HEADER_BYTES,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    RECORD_DTYPE,
    stride_of,
)
from spector.store.core import records as hydrate
from spector.store.files.disk import DiskFiles
from tests.crash.workload import DIM, START, open_tiny, texts_of, vector_of
from tests.kernel.blocks import NOW_MS, everywhere, headers_of, make_rows
from tests.store.damage import Patient
from tests.store.spoil import sql

STRIDE = stride_of(DIM)
FIRST = PARTITION_HEADER_BYTES
#: around the edges of registers, of a stride, of the scan index and of what a store may have
EDGES = (63, 64, 65, 127, 128, 129, 383, 384, 385, 4095, 4096, 4097, 65_535, 65_536)
SLOW = pytest.mark.slow


def turned(raw: bytes, dtype: np.dtype[Any]) -> bytearray:
    """The same numbers with the most significant byte first."""
    return bytearray(np.frombuffer(raw, dtype).astype(dtype.newbyteorder(">")).tobytes())


def turned_partition(raw: bytes, order: Any) -> bytes:
    out = turned(raw, PARTITION_DTYPE)
    if order is not None:
        out[60:] = crc32c(bytes(out[:60])).to_bytes(4, order)
    return bytes(out)


def turned_record(raw: bytes, uuid: bytes, order: Any) -> bytes:
    """One record whose header is turned, with the checksum that such a writer would have made."""
    out = (
        np.frombuffer(
            bytes(turned(raw[:HEADER_BYTES], RECORD_DTYPE)) + raw[HEADER_BYTES:], np.uint8
        )
        .reshape(1, -1)
        .copy()
    )
    sums = np.zeros(1, np.uint32)
    crc32c_rows(out, sums, uuid)
    out[0, 36:40] = np.frombuffer(int(sums[0]).to_bytes(4, order), np.uint8)
    return out.tobytes()


@pytest.mark.parametrize(
    "full", [pytest.param(False, id="some"), pytest.param(True, id="all", marks=SLOW)]
)
def test_headers_of_a_big_endian_writer_are_noticed(
    patient: Patient, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hydrate, "_ATTEMPTS", 2)  # there is no writer to wait for
    names = [name for name in patient.names if name.endswith(".mem")]
    seen = []
    for name in names if full else names[:1]:
        whole = patient.bytes[name]
        header = np.frombuffer(whole[:FIRST], PARTITION_DTYPE)[0]
        uuid = header["store_uuid"].tobytes()
        cases = [(0, turned_partition(whole[:FIRST], order)) for order in (None, "big", "little")]
        for slot in range(int(header["count"])) if full else (0,):
            at = FIRST + slot * STRIDE
            record = whole[at : at + STRIDE]
            cases += [(at, turned_record(record, uuid, order)) for order in ("little", "big")]
        for at, data in cases:
            with patient.damaged(name, at, data):
                outcome = patient.ask()
            seen.append((name, at, outcome.verdict, outcome.by_check))
    assert {case[2:] for case in seen} == {("found", True)}, seen


def cosines(rows: NDArray[np.uint8], codes: NDArray[np.int8], dim: int) -> NDArray[np.int64]:
    """Whole numbers: products of the codes, of the vector's own components only."""
    vectors = rows[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8).astype(np.int64)
    found: NDArray[np.int64] = vectors @ codes[:dim].astype(np.int64)
    return found


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param((1, 12, 31, 33, 67, *EDGES[:3]), id="some"),
        pytest.param((*range(1, 68), *EDGES), id="all", marks=SLOW),
    ],
)
def test_every_odd_dimension_has_the_cosines_of_its_own_components(dims: tuple[int, ...]) -> None:
    for dim in dims:
        rng = np.random.default_rng(dim)
        rows = make_rows(rng, 9, dim)
        headers_of(rows)["flags"] = 0
        headers_of(rows)["id"] = np.arange(9) + 1
        query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(dim), profile="similarity")
        want = cosines(rows, query.codes, dim).astype(np.float64)
        want *= float(query.scale) * headers_of(rows)["scale"].astype(np.float64)
        for kernel, name in everywhere():
            result = kernel.scan([Part(rows, len(rows))], query, 9)
            got = dict(zip(result.ids.tolist(), result.similarity.tolist(), strict=True))
            told = [got[n + 1] for n in range(9)]
            assert told == pytest.approx(want.tolist(), abs=2e-6), f"dim {dim}, {name}"


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param((1, 63, 65), id="some"),
        pytest.param((*range(1, 68), 4097, 65_535), id="all", marks=SLOW),
    ],
)
def test_a_store_of_any_dimension_comes_back(tmp_path: Path, dims: tuple[int, ...]) -> None:
    for dim in dims:
        path, rng = tmp_path / str(dim), np.random.default_rng(dim)
        given = rng.standard_normal((3, dim)).astype(np.float32)
        options: Any = {
            "embedder": None,
            "dim": dim,
            "durability": "relaxed",
            "clock": spector.ManualClock(START),
        }
        with spector.open(path, **options) as memory:
            ids = [memory.remember(f"m{n}", vector=given[n], tier="semantic").id for n in range(3)]
        with spector.open(path, mode="r", **options) as memory:
            assert memory.check().ok, dim
            for n in range(3):
                hits = memory.recall(vector=given[n], k=3, profile="similarity", lexical=False)
                best = [hit.id for hit in hits if hit.score > 0.98]
                assert ids[n] in best, f"dim {dim}: {hits}"


# -- Mechanism: slots are 32 bits wide, offsets and counters 64, and C multiplies them -------------
#
# Damage: behind two or four gigabytes a product that was made in 32 bits reads another record; a
# counter that turns negative makes old news of every commit. Guard: sparse files and maps, which
# cost no disk, with records on both sides of every such border, read by every backend; counters
# that have nearly reached the last value that the format has room for.


#: check calls a counter impossible from here on
LAST = 1 << 62


def sparse(folder: Path, stride: int, count: int, filled: dict[int, bytes]) -> NDArray[np.uint8]:
    """(count, stride) records, read from a map of a file that has only those filled in."""
    files = DiskFiles(str(folder))
    file = files.open("big.mem", create=True)
    try:
        try:
            os.truncate(folder / "big.mem", count * stride)
        except OSError as error:
            pytest.skip(f"no file of {count * stride:,} bytes here: {error}")
        for slot, data in filled.items():
            file.write_at(slot * stride, data)
            assert file.read_at(slot * stride, stride) == data
        return file.map(count * stride).reshape(count, stride)
    finally:
        file.close()


def beside(border: int, dim: int) -> tuple[int, list[int]]:
    slot = border // stride_of(dim)
    return dim, [0, slot - 1, slot, slot + 1]


WIDE = {
    **{f"2 GiB, {dim}": beside(1 << 31, dim) for dim in (64, 384)},
    **{f"4 GiB, {dim}": beside(1 << 32, dim) for dim in (64, 384)},
    **{f"1 TiB, {dim}": beside(1 << 40, dim) for dim in (384, 4096)},
    # 4,294,967,295 records of 128 bytes: half a terabyte of map
    "as many as a count of 32 bits has": (
        64,
        [0, 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 3, (1 << 32) - 2],
    ),
}


@pytest.mark.parametrize("where", WIDE)
def test_records_beside_a_border_of_bytes_are_scored_as_elsewhere(
    tmp_path: Path, where: str
) -> None:
    dim, slots = WIDE[where]
    count = slots[-1] + 1
    rng = np.random.default_rng(count)
    rows = make_rows(rng, 8, dim)[: len(slots)].copy()
    headers_of(rows)["flags"] = 0
    headers_of(rows)["id"] = slots
    filled = dict(zip(slots, (row.tobytes() for row in rows), strict=True))
    large = Part(sparse(tmp_path, rows.shape[1], count, filled), count)
    query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(dim))
    for kernel, name in everywhere():
        sims, want_sims = np.zeros(len(slots), np.float32), np.zeros(len(slots), np.float32)
        got = kernel.score([large], query, [0] * len(slots), slots, similarity=sims)
        near = kernel.score(
            [Part(rows, len(rows))],
            query,
            [0] * len(slots),
            range(len(slots)),
            similarity=want_sims,
        )
        assert got.tobytes() == near.tobytes(), name
        assert sims.tobytes() == want_sims.tobytes(), name
        assert np.isfinite(got).all(), name


def test_the_largest_product_that_a_vector_can_have_is_exact() -> None:
    """65,536 components of 127 or -128: sums of 31 bits, partial sums of 16 would not do."""
    dim = spector.layout.MAX_DIM
    rows = np.zeros((3, stride_of(dim)), np.uint8)
    headers = headers_of(rows)
    headers["id"], headers["scale"] = [1, 2, 3], 1.0
    for row, code in zip(rows, (127, -127, -128), strict=True):
        row[HEADER_BYTES:] = np.int8(code).view(np.uint8)
    query = make_query(now_ms=NOW_MS, vector=np.ones(dim), profile="similarity")
    assert (query.codes == 127).all()
    want = np.array([127, -127, -128], np.int64) * 127 * dim
    for kernel, name in everywhere():
        sims = np.zeros(3, np.float32)
        kernel.score([Part(rows, 3)], query, [0, 0, 0], [0, 1, 2], similarity=sims)
        exact = want.astype(np.float32) * np.float32(query.scale)
        assert sims == pytest.approx(exact, rel=1e-6), name


COUNTERS = ("last_id", "change_seq", "journal_seq", "retire_epoch")


def _with_counters(path: Path, **counters: int) -> None:
    with open_tiny(str(path)) as memory:
        for n in range(4):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic")
    sql(path, *(f"UPDATE head SET {name} = {value}" for name, value in counters.items()))


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_counter_close_to_its_end_still_counts(store_path: Path, counter: str) -> None:
    _with_counters(store_path, **{counter: LAST - (1 << 50)})
    with open_tiny(str(store_path)) as memory:
        for n in range(4, 9):
            text = f"w{n}"
            assert memory.remember(text, vector=vector_of(text), tier="semantic").text == text
        memory.forget(next(iter(memory)).id)
        memory.compact()
        with open_tiny(str(store_path), mode="r") as reader:
            assert texts_of(reader) == texts_of(memory)
        assert memory.check().ok
    with open_tiny(str(store_path)) as memory:
        assert sorted(texts_of(memory).values()) == [f"w{n}" for n in range(1, 9)]
        assert memory.check().ok


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("value", [(1 << 62) - 1, (1 << 62), (1 << 63) - 2, (1 << 63) - 1])
def test_a_counter_past_its_end_is_found_and_hides_nothing(
    store_path: Path, counter: str, value: int
) -> None:
    _with_counters(store_path, **{counter: value})
    report = spector.check(store_path)
    assert "I6" in {problem.code for problem in report.problems}
    with open_tiny(str(store_path), mode="r") as reader:
        assert sorted(texts_of(reader).values()) == [f"w{n}" for n in range(4)]
    with pytest.raises(spector.CatalogCorruptError, match=str(value)):
        open_tiny(str(store_path))
