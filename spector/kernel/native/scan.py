"""The C backend: one call for all partitions, without the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.kernel.contract import (
    DROP_PHASES,
    HIT_DTYPE,
    PART_DTYPE,
    QUERY_DTYPE,
    AllowList,
    Part,
    Partitions,
    PartTable,
    Query,
    ScanResult,
    Select,
    check_gather,
    check_records,
    check_scan,
    result_of_hits,
    table_of,
)
from spector.kernel.native.lexical import NativeLexical
from spector.kernel.native.neighbours import NativeAround
from spector.kernel.reference import NumpyIndex, check_span

__all__ = ["CAPS", "NativeKernel", "caps_names", "set_caps", "stream"]

_native: Any = import_module("spector._native")
_ffi: Any = _native.ffi
_lib: Any = _native.lib

if not hasattr(_lib, "spector_gather"):
    raise ImportError("the extension was built from other sources (it cannot gather)")
for _struct, _dtype in (
    ("spector_part", PART_DTYPE),
    ("spector_query", QUERY_DTYPE),
    ("spector_hit", HIT_DTYPE),
):
    if _ffi.sizeof(_struct) != _dtype.itemsize:
        # an editable install whose extension was not built again would read past its arguments
        raise ImportError(f"the extension was built from other sources ({_struct} differs)")

CAPS: Final = {
    "sse4.2": int(_lib.SPECTOR_CAP_SSE42),
    "avx2": int(_lib.SPECTOR_CAP_AVX2),
    "avx512": int(_lib.SPECTOR_CAP_AVX512),
    "avx512pop": int(_lib.SPECTOR_CAP_AVX512POP),
    "neon": int(_lib.SPECTOR_CAP_NEON),
    "dotprod": int(_lib.SPECTOR_CAP_DOTPROD),
}
_ALL_CAPS = 0xFFFF_FFFF
_active_caps: int = _lib.spector_set_caps(_ALL_CAPS)


def set_caps(mask: int = _ALL_CAPS) -> int:
    """Use only the instruction sets in ``mask`` (0: portable C); returns those in use.

    For tests and measurements; must not be called while a scan runs.
    """
    global _active_caps
    _active_caps = _lib.spector_set_caps(mask)
    return _active_caps


def caps_names() -> tuple[str, ...]:
    """Instruction sets in use, empty for portable C."""
    return tuple(name for name, bit in CAPS.items() if _active_caps & bit)


class NativeKernel(NumpyIndex, NativeLexical, NativeAround):
    """The scan in C11."""

    name = "native"
    indexes = True

    def prepare(self, parts: Sequence[Part]) -> PartTable:
        return PartTable(parts)

    def scan(
        self,
        partitions: Partitions,
        query: Query,
        k: int,
        *,
        allow: AllowList | None = None,
        select: Select | None = None,
    ) -> ScanResult:
        table = table_of(partitions)
        chosen = check_scan(table, query, k, allow, select)
        entries = table.entries if allow is None else allow.entries(table)
        count = len(entries) if chosen is None else len(chosen)
        hits = np.empty(table.room(k), HIT_DTYPE)
        # drops, then scanned, then scored
        counters = np.zeros(len(DROP_PHASES) + 2, np.uint64)
        drops = _pointer("uint64_t *", counters)
        found = _lib.spector_scan(
            _pointer("spector_part *", entries),
            _ffi.NULL if chosen is None else _pointer("uint32_t *", chosen),
            count,
            _pointer("spector_query *", query.params),
            _pointer("spector_hit *", hits),
            len(hits),
            drops,
            drops + len(DROP_PHASES),
            drops + len(DROP_PHASES) + 1,
        )
        *_, scanned, scored = counters.tolist()
        return result_of_hits(hits[:found], counters[: len(DROP_PHASES)], scanned, scored)

    def score(
        self,
        partitions: Partitions,
        query: Query,
        parts: ArrayLike,
        slots: ArrayLike,
        *,
        similarity: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        table = table_of(partitions)
        part_ids, slot_ids, sims = check_gather(table, query, parts, slots, similarity)
        scores = np.empty(len(part_ids), np.float32)
        _lib.spector_score(
            _pointer("spector_part *", table.entries),
            _pointer("spector_query *", query.params),
            _pointer("uint32_t *", part_ids),
            _pointer("uint32_t *", slot_ids),
            len(part_ids),
            _pointer("float *", scores),
            _pointer("float *", sims),
        )
        return scores

    def gather(
        self, table: PartTable, parts: ArrayLike, slots: ArrayLike, offset: int, size: int
    ) -> NDArray[np.uint8]:
        chosen = [_u32(each) for each in check_records(table, parts, slots)]
        check_span(table, offset, size)
        out = np.empty((len(chosen[0]), size), np.uint8)
        _lib.spector_gather(
            _pointer("spector_part *", table.entries),
            _pointer("uint32_t *", chosen[0]),
            _pointer("uint32_t *", chosen[1]),
            len(out),
            offset,
            size,
            _pointer("uint8_t *", out),
        )
        return out

    def crc32c(self, data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
        view = _ffi.from_buffer("uint8_t[]", data)
        return int(_lib.spector_crc32c(view, len(view), crc))

    def crc32c_rows(self, rows: NDArray[np.uint8], out: NDArray[np.uint32], crc: int) -> None:
        _lib.spector_crc32c_rows(
            _pointer("uint8_t *", rows),
            len(rows),
            rows.shape[1],
            crc,
            _pointer("uint32_t *", out),
        )


    def index_bytes(self, dim: int, room: int) -> int:
        """Size of a scan index's image."""
        return int(_lib.spector_index_bytes(dim, room))

    def index_init(
        self, image: NDArray[np.uint8], dim: int, room: int, centre: NDArray[np.float32] | None
    ) -> None:
        """Make an image an empty index; ``centre`` is (dim,) float32, contiguous."""
        _lib.spector_index_init(
            _pointer("uint8_t *", image),
            dim,
            room,
            _ffi.NULL if centre is None else _pointer("float *", centre),
        )

    def index_append(
        self, image: NDArray[np.uint8], records: NDArray[np.uint8], count: int
    ) -> None:
        """Index the next ``count`` slots of records (slots, stride)."""
        stride = records.shape[1]
        _lib.spector_index_append(
            _pointer("uint8_t *", image), _pointer("uint8_t *", records), stride, count
        )

    def index_update(
        self, image: NDArray[np.uint8], records: NDArray[np.uint8], slots: NDArray[np.uint32]
    ) -> None:
        """Take over the mutable bytes of given slots."""
        _lib.spector_index_update(
            _pointer("uint8_t *", image),
            _pointer("uint8_t *", records),
            records.shape[1],
            _pointer("uint32_t *", slots),
            len(slots),
        )

    def index_refresh(self, image: NDArray[np.uint8], records: NDArray[np.uint8]) -> None:
        """Take over the mutable bytes of all slots; tightens the extremes."""
        _lib.spector_index_refresh(
            _pointer("uint8_t *", image), _pointer("uint8_t *", records), records.shape[1]
        )


def stream(data: NDArray[np.uint8]) -> int:
    """XOR of all words of (n,) bytes: a plain read, the yardstick of scan benchmarks."""
    return int(_lib.spector_stream(_pointer("uint8_t *", data), data.size))


def _u32(values: NDArray[Any]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values, np.uint32)


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array, which the caller keeps alive; six times faster than ``.ctypes``."""
    return _ffi.cast(kind, _ffi.from_buffer(array))
