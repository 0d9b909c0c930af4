"""The scan compiled by Numba: the fast backend where no C compiler was at hand.

A twin of native/straight.c, statement by statement; an index is left unread. Partitions arrive as
addresses in the table's entries, so one compiled call scans them all, read-only maps included. No
fastmath: float operations keep their order, and the scores their bits. All but the scan and the
checksums is plain NumPy.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, U32
from spector.kernel.contract import (
    DROP_PHASES,
    HIT_DTYPE,
    AllowList,
    Kernel,
    PartTable,
    Query,
    ScanResult,
)
from spector.kernel.jit.compile import array_at, borrowing, compiled, inlined
from spector.kernel.jit.heap import offer, sort_best_first
from spector.kernel.jit.terms import (
    MINUS_INF,
    ONE,
    PASS,
    SCANNED,
    SCORED,
    SIMILARITY,
    ZERO,
    cosine,
    dropping_phase,
    fuse,
    record_at,
)
from spector.kernel.reference import (
    CRC_TABLE,
    NumpyGather,
    NumpyIndex,
    NumpyLexical,
    NumpyNeighbours,
    crc32c_bytes,
)
from spector.layout import CRC_SPAN, HEADER_BYTES

__all__ = ["NumbaKernel"]


#: the least normal number of 32 bits, and a little
_NEXT_TO_NOTHING: Final = 1.2e-38


class NumbaKernel(NumpyIndex, NumpyLexical, NumpyNeighbours, NumpyGather, Kernel):
    """The scan as LLVM compiles it for this machine."""

    name = "numba"

    def _scan(
        self, table: PartTable, query: Query, k: int, allow: AllowList | None, select: U32 | None
    ) -> ScanResult:
        entries = table.entries if allow is None else allow.entries(table)
        if select is None:
            select = np.arange(len(entries), dtype=np.uint32)
        hits = np.empty(table.room(k) + 2, HIT_DTYPE)
        counters = np.zeros(len(DROP_PHASES) + 2, np.uint64)
        found = _scan(
            entries,
            np.ascontiguousarray(select),
            query.params,
            query.codes,
            query.any_masks,
            _tables(query),
            hits,
            counters,
        )
        *_, scanned, scored = counters.tolist()
        return ScanResult(hits[:found], counters[: len(DROP_PHASES)], scanned, scored)

    def _score(
        self, table: PartTable, query: Query, parts: U32, slots: U32, similarity: F32
    ) -> F32:
        scores = np.empty(len(parts), np.float32)
        _score(
            table.entries,
            parts,
            slots,
            query.params,
            query.codes,
            query.any_masks,
            _tables(query),
            scores,
            similarity,
        )
        return scores

    def crc32c(self, data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
        if len(data) < 1024:  # not worth compiling for
            return crc32c_bytes(bytes(data), crc)
        view = np.frombuffer(data, np.uint8)
        return int(_crc(view, np.uint32(crc ^ 0xFFFF_FFFF), CRC_TABLE)) ^ 0xFFFF_FFFF

    def crc32c_rows(self, rows: NDArray[np.uint8], out: NDArray[np.uint32], crc: int) -> None:
        _crc_rows(rows, out, np.uint32(crc), CRC_TABLE)


def _tables(query: Query) -> tuple[NDArray[np.float32], ...]:
    t = query.tables
    return t.retention, t.recency, t.activation, t.confidence, t.tier, t.category


@compiled
def _scan(entries, chosen, params, codes, any_masks, tables, hits, counters):  # type: ignore[no-untyped-def]
    q = params[0]
    found = np.int64(0)
    factor = tables[3].max() * tables[4].max()  # in the order, and with the roundings, of `fuse`
    cap = _cap(q, tables, factor * tables[5].max())
    for part in chosen:
        entry = entries[part]
        count = np.int64(entry.count)
        counters[SCANNED] += np.uint64(count)
        words = (count + 63) // 64 if entry.allow != 0 else 0
        allow = array_at(entry.allow, words, np.uint64)
        query = (q, codes, any_masks, tables, cap, allow)
        found = _scan_part(entry, part, query, hits, found, counters)
    sort_best_first(hits, found)
    return found


@borrowing
def _scan_part(entry, part, query, hits, found, counters):  # type: ignore[no-untyped-def]
    q, codes, any_masks, tables, cap, allow = query
    k = len(hits) - 2
    for slot in range(np.int64(entry.count)):
        address = entry.data + np.uint64(slot * np.int64(entry.stride))
        r = record_at(address)
        phase = dropping_phase(r, q, slot, allow, any_masks, tables[0])
        if phase != PASS:
            counters[phase] += np.uint64(1)
            continue
        sim = ZERO
        if q.vector_bytes != 0:
            sim = cosine(address, r, q, codes)
            if sim < q.min_similarity:
                counters[SIMILARITY] += np.uint64(1)
                continue
        counters[SCORED] += np.uint64(1)
        if found == k and q.vector_bytes != 0 and _is_beaten(r, q, sim, cap, hits[0].score):
            continue
        score = fuse(r, q, sim, tables)
        if found < k or (k > 0 and score >= hits[0].score):
            found = offer(hits, found, k, r.id, score, sim, part, np.uint32(slot))
    return found


@borrowing
def _cap(q, tables, factor):  # type: ignore[no-untyped-def]
    """The most of any record: its factor, and its terms but for those of `_is_beaten`."""
    retention, recency = tables[:2]
    if q.mood != 0:
        factor *= max(q.mood_boost, ONE)
    factor *= max(q.unresolved_boost, ONE)
    factor *= max(q.consolidated_factor, ONE)
    # the tables never rise, shares are at most 1
    terms = np.float64(q.w_retention) * max(retention[0], q.flashbulb_retention)
    terms += q.w_recency * recency[0] + q.w_activation + q.w_arousal
    if q.overlap_bits > 0:
        terms += q.w_tags
    return np.float64(factor) * 1.00001, terms


@inlined
def _is_beaten(r, q, sim, cap, floor):  # type: ignore[no-untyped-def]
    """Whether a record stays below the floor of a full heap, whatever its other terms are.

    The slack exceeds all roundings of a score, denormals included;
    NaN is not beaten.
    """
    factor, terms = cap
    alike = np.float64(np.float32(q.w_similarity * sim))
    own = np.float64(np.float32(q.w_importance * r.importance))
    use = np.float64(np.float32(q.w_utility * r.utility))
    total, size = own + use + terms, abs(own) + abs(use) + terms
    if q.multiplicative != 0:
        most = alike * (1.0 + total) + 4e-6 * abs(alike) * (1.0 + size)
    else:
        most = alike + total + 4e-6 * (abs(alike) + size)
    return floor > ZERO and np.float32((most + _NEXT_TO_NOTHING) * factor) < floor


@compiled
def _score(entries, parts, slots, params, codes, any_masks, tables, scores, sims):  # type: ignore[no-untyped-def]
    q = params[0]
    for i in range(len(parts)):
        scores[i] = MINUS_INF
        sims[i] = ZERO
        entry = entries[parts[i]]
        slot = np.int64(slots[i])
        words = (np.int64(entry.count) + 63) // 64 if entry.allow != 0 else 0
        allow = array_at(entry.allow, words, np.uint64)
        address = entry.data + np.uint64(slot * np.int64(entry.stride))
        r = record_at(address)
        if dropping_phase(r, q, slot, allow, any_masks, tables[0]) != PASS:
            continue
        if q.vector_bytes != 0:
            sims[i] = cosine(address, r, q, codes)
            if sims[i] < q.min_similarity:
                continue
        scores[i] = fuse(r, q, sims[i], tables)


@compiled
def _crc(data, state, table):  # type: ignore[no-untyped-def]
    for i in range(len(data)):
        state = table[(state ^ np.uint32(data[i])) & np.uint32(0xFF)] ^ (state >> np.uint32(8))
    return state


@compiled
def _crc_rows(rows, out, crc, table):  # type: ignore[no-untyped-def]
    ones = np.uint32(0xFFFFFFFF)
    for i in range(len(rows)):
        state = _crc(rows[i, :CRC_SPAN], np.uint32(crc ^ ones), table)
        out[i] = np.uint32(_crc(rows[i, HEADER_BYTES:], state, table) ^ ones)
