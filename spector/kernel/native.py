"""The backend in C, called without the GIL."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I32, I64, U8, U32, U64
from spector.kernel.contract import (
    DROP_PHASES,
    HIT_DTYPE,
    PART_DTYPE,
    POSTINGS_DTYPE,
    QUERY_DTYPE,
    QUERY_TERMS_DTYPE,
    SPREAD_DTYPE,
    TAIL_DTYPE,
    WORD_HIT_DTYPE,
    AllowList,
    Kernel,
    LexicalKernel,
    NeighbourKernel,
    PartTable,
    Postings,
    PostingsTable,
    Query,
    QueryTerms,
    ScanResult,
    TermSpread,
)

# The compiled library, and the addresses that its functions take.

_native: Any = import_module("spector._native")
ffi: Final[Any] = _native.ffi
lib: Final[Any] = _native.lib

#: the struct of native/spector.h that each dtype is
_STRUCTS: Final = {
    "spector_part": PART_DTYPE,
    "spector_query": QUERY_DTYPE,
    "spector_hit": HIT_DTYPE,
    "spector_postings": POSTINGS_DTYPE,
    "spector_tail": TAIL_DTYPE,
    "spector_words": QUERY_TERMS_DTYPE,
    "spector_word_hit": WORD_HIT_DTYPE,
    "spector_around": SPREAD_DTYPE,
}


def pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array, which the caller keeps alive; six times faster than ``.ctypes``."""
    return ffi.cast(kind, ffi.from_buffer(array))


def optional(kind: str, array: NDArray[Any] | None) -> Any:
    """The address of an array, NULL for None."""
    return ffi.NULL if array is None else pointer(kind, array)


def _refuse_stale() -> None:
    """An editable install whose extension was not built again would read past its arguments."""
    for struct, dtype in _STRUCTS.items():
        try:
            size = ffi.sizeof(struct)
        except ffi.error:
            size = 0
        if size != dtype.itemsize:
            raise ImportError(f"the extension was built from other sources ({struct} differs)")


_refuse_stale()


# The lexical calls of the C backend, without the GIL.


class _Scratch(threading.local):
    """What a call works in, one a thread."""

    def __init__(self) -> None:
        self.memory = np.zeros(ffi.sizeof("spector_lexical_room"), np.uint8)
        self.pointer = pointer("spector_lexical_room *", self.memory)


_scratch: Final = _Scratch()


class NativeLexical(LexicalKernel):
    """The lexical calls in C11."""

    def _find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None, positions: I32, df: I64
    ) -> None:
        lib.spector_lexical_find(
            *_parts(table),
            pointer("uint64_t *", hashes),
            len(hashes),
            optional("uint64_t *", allow),
            pointer("int32_t *", positions),
            pointer("uint64_t *", df),
        )

    def _best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        allow: U64 | None,
        hits: NDArray[Any],
        k: int,
    ) -> int:
        return int(
            lib.spector_lexical_best(
                *_parts(table),
                _query(terms),
                pointer("int32_t *", positions),
                optional("uint64_t *", allow),
                _scratch.pointer,
                pointer("spector_word_hit *", hits),
                k,
            )
        )

    def _all(self, table: PostingsTable, terms: QueryTerms, positions: I32, scores: F32) -> None:
        lib.spector_lexical_all(
            *_parts(table),
            _query(terms),
            pointer("int32_t *", positions),
            pointer("float *", scores),
        )

    def _counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: U32, counts: U8, lengths: U8
    ) -> None:
        lib.spector_lexical_counts(
            *_parts(table),
            pointer("uint64_t *", hashes),
            len(hashes),
            pointer("int32_t *", positions),
            pointer("uint32_t *", rows),
            len(rows),
            pointer("uint8_t *", counts),
            pointer("uint8_t *", lengths),
        )

    def _having(
        self, table: PostingsTable, hashes: U64, positions: I32, allow: U64 | None, rows: U32
    ) -> int:
        return int(
            lib.spector_lexical_having(
                *_parts(table),
                pointer("uint64_t *", hashes),
                len(hashes),
                pointer("int32_t *", positions),
                optional("uint64_t *", allow),
                pointer("uint32_t *", rows),
                len(rows),
            )
        )

    def lexical_check(self, postings: Postings) -> int:
        table = PostingsTable([postings])
        return int(
            lib.spector_lexical_check(
                pointer("spector_postings *", table.entries), len(postings.row)
            )
        )


def _parts(table: PostingsTable) -> tuple[Any, int, Any, int]:
    return (
        pointer("spector_postings *", table.entries),
        len(table.entries),
        pointer("spector_tail *", table.tail_entries),
        len(table.tail_entries),
    )


def _query(terms: QueryTerms) -> Any:
    """The struct; the caller keeps the arrays alive that it points to."""
    query = ffi.new("spector_words *")
    query.hash = pointer("uint64_t *", terms.hash)
    query.weight = pointer("float *", terms.weight)
    query.norm = pointer("float *", terms.norm)
    query.n = len(terms.hash)
    return query


# The calls of the C backend about neighbours, without the GIL.


class NativeNeighbours(NeighbourKernel):
    """The calls about neighbours in C11."""

    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        sums = np.zeros(spread.ranked)
        lib.spector_words_around(
            pointer("spector_around *", spread.entry),
            pointer("uint8_t *", counts),
            optional("uint8_t *", extra),
            len(weight),
            pointer("float *", weight),
            pointer("float *", length_norm),
            pointer("double *", sums),
            pointer("float *", out),
        )

    def _fill_norms(self, table: PartTable, places: list[U32], share: float, out: F32) -> None:
        part, slot, at, before, after = (pointer("uint32_t *", each) for each in places)
        lib.spector_mixed_norms(
            pointer("spector_part *", table.entries),
            part,
            slot,
            len(places[0]),
            at,
            before,
            after,
            len(out),
            share,
            pointer("float *", out),
        )

    def _walk(self, before: I32, after: I32, alive: U8 | None, rows: I64, out: I64) -> None:
        lib.spector_chained(
            pointer("int32_t *", before),
            pointer("int32_t *", after),
            optional("uint8_t *", alive),
            len(before),
            pointer("int64_t *", rows),
            len(rows),
            out.shape[1] // 2,
            pointer("int64_t *", out),
        )


# The C backend: one call for all partitions, without the GIL.

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
