"""The C backend: one call for all partitions, without the GIL."""

from __future__ import annotations

from typing import Final

import numpy as np

from spector._types import F32, U8, U32
from spector.kernel.contract import (
    DROP_PHASES,
    HIT_DTYPE,
    AllowList,
    Kernel,
    PartTable,
    Query,
    ScanResult,
)
from spector.kernel.native.lexical import NativeLexical
from spector.kernel.native.library import ffi, lib, optional, pointer
from spector.kernel.native.neighbours import NativeNeighbours

__all__ = ["CAPS", "NativeKernel", "caps_names", "set_caps", "stream"]


CAPS: Final = {
    "sse4.2": int(lib.SPECTOR_CAP_SSE42),
    "avx2": int(lib.SPECTOR_CAP_AVX2),
    "avx512": int(lib.SPECTOR_CAP_AVX512),
    "avx512pop": int(lib.SPECTOR_CAP_AVX512POP),
    "neon": int(lib.SPECTOR_CAP_NEON),
    "dotprod": int(lib.SPECTOR_CAP_DOTPROD),
}
_ALL_CAPS = 0xFFFF_FFFF
_active_caps: int = lib.spector_set_caps(_ALL_CAPS)


def set_caps(mask: int = _ALL_CAPS) -> int:
    """Use only the instruction sets in ``mask`` (0: portable C); returns those in use.

    For tests and measurements; must not be called while a scan runs.
    """
    global _active_caps
    _active_caps = lib.spector_set_caps(mask)
    return _active_caps


def caps_names() -> tuple[str, ...]:
    """Instruction sets in use, empty for portable C."""
    return tuple(name for name, bit in CAPS.items() if _active_caps & bit)


class NativeKernel(NativeLexical, NativeNeighbours, Kernel):
    """The scan in C11."""

    name = "native"
    indexes = True

    def _scan(
        self, table: PartTable, query: Query, k: int, allow: AllowList | None, select: U32 | None
    ) -> ScanResult:
        entries = table.entries if allow is None else allow.entries(table)
        count = len(entries) if select is None else len(select)
        hits = np.empty(table.room(k), HIT_DTYPE)
        # drops, then scanned, then scored
        counters = np.zeros(len(DROP_PHASES) + 2, np.uint64)
        drops = pointer("uint64_t *", counters)
        found = lib.spector_scan(
            pointer("spector_part *", entries),
            optional("uint32_t *", select),
            count,
            pointer("spector_query *", query.params),
            pointer("spector_hit *", hits),
            len(hits),
            drops,
            drops + len(DROP_PHASES),
            drops + len(DROP_PHASES) + 1,
        )
        *_, scanned, scored = counters.tolist()
        return ScanResult(hits[:found], counters[: len(DROP_PHASES)], scanned, scored)

    def _score(
        self, table: PartTable, query: Query, parts: U32, slots: U32, similarity: F32
    ) -> F32:
        scores = np.empty(len(parts), np.float32)
        lib.spector_score(
            pointer("spector_part *", table.entries),
            pointer("spector_query *", query.params),
            pointer("uint32_t *", parts),
            pointer("uint32_t *", slots),
            len(parts),
            pointer("float *", scores),
            pointer("float *", similarity),
        )
        return scores

    def _gather(self, table: PartTable, parts: U32, slots: U32, offset: int, out: U8) -> None:
        lib.spector_gather(
            pointer("spector_part *", table.entries),
            pointer("uint32_t *", parts),
            pointer("uint32_t *", slots),
            len(out),
            offset,
            out.shape[1],
            pointer("uint8_t *", out),
        )

    def crc32c(self, data: bytes | memoryview | U8, crc: int = 0) -> int:
        view = ffi.from_buffer("uint8_t[]", data)
        return int(lib.spector_crc32c(view, len(view), crc))

    def crc32c_rows(self, rows: U8, out: U32, crc: int) -> None:
        lib.spector_crc32c_rows(
            pointer("uint8_t *", rows), len(rows), rows.shape[1], crc, pointer("uint32_t *", out)
        )

    def index_init(self, image: U8, dim: int, room: int, centre: F32 | None) -> None:
        lib.spector_index_init(pointer("uint8_t *", image), dim, room, optional("float *", centre))

    def index_append(self, image: U8, records: U8, n: int) -> None:
        lib.spector_index_append(
            pointer("uint8_t *", image), pointer("uint8_t *", records), records.shape[1], n
        )

    def index_update(self, image: U8, records: U8, slots: U32) -> None:
        lib.spector_index_update(
            pointer("uint8_t *", image),
            pointer("uint8_t *", records),
            records.shape[1],
            pointer("uint32_t *", slots),
            len(slots),
        )

    def index_refresh(self, image: U8, records: U8) -> None:
        lib.spector_index_refresh(
            pointer("uint8_t *", image), pointer("uint8_t *", records), records.shape[1]
        )


def stream(data: U8) -> int:
    """XOR of all words of (n,) bytes: a plain read, the yardstick of scan benchmarks."""
    return int(lib.spector_stream(pointer("uint8_t *", data), data.size))
