"""Mechanism: files are little-endian and read in place; vectors of any dimension are padded.

Damage: a store that was copied from another world, or written by a port to one, is read as numbers
of another size; a dimension that fills no register is compared with what lies behind it. Guard:
headers with every number the other way round, checksums made right again, are found; every small
dimension and every edge of a stride gives the cosine of its own components only.
"""

from __future__ import annotations

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
from tests.crash.workload import DIM, START
from tests.kernel.blocks import NOW_MS, headers_of, instruction_sets, kernels, make_rows
from tests.proof import Proof
from tests.store.damage import Patient

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
    patient: Patient, full: bool, proof: Proof, monkeypatch: pytest.MonkeyPatch
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
    proof(
        "T17",
        headers_turned=len(seen),
        found=sum(case[3] for case in seen),
        wrong=sum(case[2] == "WRONG" for case in seen),
    )
    assert {case[2:] for case in seen} == {("found", True)}, seen


def cosines(rows: NDArray[np.uint8], codes: NDArray[np.int8], dim: int) -> NDArray[np.int64]:
    """Whole numbers: products of the codes, of the vector's own components only."""
    vectors = rows[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8).astype(np.int64)
    found: NDArray[np.int64] = vectors @ codes[:dim].astype(np.int64)
    return found


def _compare(dim: int) -> int:
    """Scans of a few records of ``dim`` components by everybody who can; returns how many."""
    rng = np.random.default_rng(dim)
    rows = make_rows(rng, 9, dim)
    headers_of(rows)["flags"] = 0
    headers_of(rows)["id"] = np.arange(9) + 1
    query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(dim), profile="similarity")
    want = cosines(rows, query.codes, dim).astype(np.float64)
    want *= float(query.scale) * headers_of(rows)["scale"].astype(np.float64)
    compared = 0
    for kernel in kernels():
        for caps in instruction_sets() if kernel.name == "native" else [None]:
            if caps is not None:
                from spector.kernel.native.scan import set_caps

                set_caps(caps)
            result = kernel.scan([Part(rows, len(rows))], query, 9)
            got = dict(zip(result.ids.tolist(), result.similarity.tolist(), strict=True))
            context = f"dim {dim}, {kernel.name} {caps}"
            assert [got[n + 1] for n in range(9)] == pytest.approx(want.tolist(), abs=2e-6), context
            compared += 1
    return compared


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param((1, 12, 31, 33, 67, *EDGES[:3]), id="some"),
        pytest.param((*range(1, 68), *EDGES), id="all", marks=SLOW),
    ],
)
def test_every_odd_dimension_has_the_cosines_of_its_own_components(
    dims: tuple[int, ...], proof: Proof
) -> None:
    try:
        compared = sum(map(_compare, dims))
    finally:
        if any(kernel.name == "native" for kernel in kernels()):
            from spector.kernel.native.scan import set_caps

            set_caps()
    proof("T17", dimensions=len(dims), scans=compared, wrong=0)


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param((1, 63, 65), id="some"),
        pytest.param((*range(1, 68), 4097, 65_535), id="all", marks=SLOW),
    ],
)
def test_a_store_of_any_dimension_comes_back(
    tmp_path: Path, dims: tuple[int, ...], proof: Proof
) -> None:
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
    proof("T17", stores_reopened=len(dims), wrong=0)
