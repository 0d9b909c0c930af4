"""Mechanism: partitions reach the compiled kernels as addresses.

Damage: a wrong shape, count or lifetime becomes a read outside the map.
Guard: every table, list and argument is checked in Python before any address is passed.
"""

from __future__ import annotations

import gc
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spector.errors import (
    DimensionMismatchError,
    InvalidFilterError,
    InvalidInputError,
    InvalidVectorError,
)
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import AllowList, Part, PartTable
from spector.kernel.dispatch import get_kernel
from tests.kernel.blocks import NOW_MS, headers_of, kernel_or_skip, make_rows

QUERY = make_query(now_ms=NOW_MS, vector=np.ones(10))


def rows(count: int = 5, dim: int = 10) -> np.ndarray[Any, Any]:
    made = make_rows(np.random.default_rng(1), count, dim)
    headers_of(made)["flags"] = 0
    return made


def misaligned() -> np.ndarray[Any, Any]:
    return np.zeros(129, np.uint8)[1:].reshape(1, 128)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(rows(), 6), "count 6 of 5 rows"),
        (Part(rows(), -1), "count -1"),
        (Part(rows()[::2], 2), "contiguous"),
        (Part(rows().view(np.int8), 2), "uint8"),  # type: ignore[arg-type]
        (Part(rows()[0], 2), "uint8, contiguous"),
        (Part(np.zeros((2, 100), np.uint8), 2), "stride 100"),
        (Part(np.zeros((2, 0), np.uint8), 2), "stride 0"),
        (Part(misaligned(), 1), "aligned"),
        (Part(rows(70), 65, np.ones(1, np.uint64)), "too few words"),
        (Part(rows(), 5, np.ones(1, np.int64)), "allow"),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_part_is_refused(part: Part, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PartTable([part])


def test_parts_of_two_strides_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="stride 192 where the table has 128"):
        PartTable([Part(rows(), 5), Part(rows(dim=100), 5)])


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_misuse_of_a_scan_is_refused(name: str) -> None:
    kernel = kernel_or_skip(name)
    table = kernel.prepare([Part(rows(), 5), Part(rows(), 3)])
    other = AllowList.from_records(kernel.prepare([Part(rows(), 5)]), [0], [1])
    with pytest.raises(InvalidInputError, match="k must be at least 0"):
        kernel.scan(table, QUERY, -1)
    with pytest.raises(DimensionMismatchError, match="vector has 128 bytes"):
        kernel.scan(table, make_query(now_ms=0, vector=np.ones(65)), 1)
    with pytest.raises(InvalidInputError, match="another table"):
        kernel.scan(table, QUERY, 1, allow=other)
    with pytest.raises(InvalidInputError, match=r"outside 0\.\.1"):
        kernel.scan(table, QUERY, 1, select=[0, 2])
    for parts, slots, message in (
        ([0, 2], [0, 0], "outside"),
        ([0, -1], [0, 0], "outside"),
        ([0, 1], [0, 3], "beyond"),
        ([0, 1], [0, -1], "beyond"),
        ([0, 1], [0], "2 parts but 1 slots"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            kernel.score(table, QUERY, parts, slots)
    for out in (np.zeros(1, np.float32), np.zeros(2), np.zeros(4, np.float32)[::2]):
        with pytest.raises(InvalidInputError, match="similarity must be"):
            kernel.score(table, QUERY, [0, 1], [0, 0], similarity=out)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_read_only_maps_are_scanned_and_kept_alive(name: str, tmp_path: Path) -> None:
    kernel = kernel_or_skip(name)
    data = rows(64)
    (tmp_path / "x.mem").write_bytes(bytes(64) + data.tobytes())
    with (tmp_path / "x.mem").open("rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    records = np.frombuffer(view, np.uint8)[64:].reshape(64, -1)
    table = kernel.prepare([Part(records, 64)])
    del view, records
    gc.collect()
    want = kernel.scan([Part(data, 64)], QUERY, 10)
    assert kernel.scan(table, QUERY, 10).ids.tolist() == want.ids.tolist()


@pytest.mark.parametrize(
    "arguments",
    [
        {"tags_all": -1},
        {"tags_all": 1 << 64},
        {"overlap_mask": 1 << 64},
        {"any_masks": [-1]},
        {"valence_min": -129},
        {"valence_max": 128},
        {"mood": 300},
        {"now_ms": 1 << 62},
        {"event_min_ms": 1 << 63},
        {"importance_floor": float("nan")},
        {"importance_floor": 2.0},
        {"retention_floor": -0.1},
        {"drop_flags": 1 << 16},
        {"modality_mask": 1 << 32},
        {"category_mask": 1.5},
        {"now_ms": "today"},
    ],
)
def test_query_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilterError, match=next(iter(arguments))):
        make_query(**{"now_ms": 0, **arguments})


@pytest.mark.parametrize("vector", [[0.0, 0.0], [np.nan, 1.0], [[1.0, 2.0]], 3.0, []])
def test_a_cue_that_is_no_direction_is_refused(vector: Any) -> None:
    with pytest.raises(InvalidVectorError):
        make_query(now_ms=0, vector=vector)


def test_a_query_outlives_its_arguments_and_the_table_cache() -> None:
    from spector.kernel.contract.query import _prepared

    query = make_query(now_ms=NOW_MS, vector=np.ones(10), any_masks=(m for m in [0]))
    table = PartTable([Part(rows(), 5)])
    want = get_kernel().scan(table, query, 5).scores
    _prepared.cache_clear()
    gc.collect()
    np.zeros(1_000_000)
    assert (get_kernel().scan(table, query, 5).scores == want).all()
