"""The scan compiled by Numba: the fast backend where no C compiler was at hand.

A twin of native/scan.c, statement by statement. Partitions arrive as addresses in the table's
entries, so one compiled call scans them all, read-only maps included. No fastmath: float
operations keep their order, and the scores their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import carray
from numpy.typing import ArrayLike, NDArray

from spector.kernel.base import (
    DROP_PHASES,
    HIT_DTYPE,
    AllowList,
    Part,
    Partitions,
    PartTable,
    ScanResult,
    Select,
    check_gather,
    check_scan,
    result_of_hits,
    table_of,
)
from spector.kernel.jit_index import NumbaIndex
from spector.kernel.jit_tools import compiled, pointer
from spector.kernel.query import MAX_ABS_MS, Query
from spector.kernel.reference import CRC_TABLE, crc32c_bytes
from spector.kernel.retention import LAST_OFFSET, LOW_BITS
from spector.layout import CRC_SPAN, HEADER_BYTES, RECORD_DTYPE, Flag

__all__ = ["NumbaKernel"]

_PINNED: Final = int(Flag.PINNED)
_FLASHBULB: Final = int(Flag.FLASHBULB)
_UNRESOLVED: Final = int(Flag.UNRESOLVED)
_CONSOLIDATED: Final = int(Flag.CONSOLIDATED)
_DAYS_PER_MS: Final = 1.0 / 86_400_000.0
_SECONDS_PER_MS: Final = 1.0 / 1000.0
_STATE, _FILTER, _TAGS, _VALENCE, _STRENGTH, _SIMILARITY, _BOUND, _PASS = range(8)
_SCANNED, _SCORED = len(DROP_PHASES), len(DROP_PHASES) + 1

_ZERO: Final = np.float32(0)
_ONE: Final = np.float32(1)
_FULL: Final = np.float32(255)
_TABLE_LOW: Final = np.float32(2.0**-20)
_FRACTION: Final = np.float32(2.0**-17)
_ACTIVATION_SCALE: Final = np.float32(2.0**-14)
_MIN_STABILITY: Final = np.float32(1e-6)
_MINUS_INF: Final = np.float32(-np.inf)
_LOW_BITS: Final = np.int32(LOW_BITS)
_LAST_OFFSET: Final = np.int32(LAST_OFFSET)


class NumbaKernel(NumbaIndex):
    """The scan as LLVM compiles it for this machine."""

    name = "numba"

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
        if chosen is None:
            chosen = np.arange(len(entries), dtype=np.uint32)
        hits = np.empty(table.room(k) + 2, HIT_DTYPE)
        counters = np.zeros(len(DROP_PHASES) + 2, np.uint64)
        found = _scan(
            entries, np.ascontiguousarray(chosen), query.params, query.codes, query.any_masks,
            _tables(query), hits, counters,
        )  # fmt: skip
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
        _score(
            table.entries, part_ids, slot_ids, query.params, query.codes, query.any_masks,
            _tables(query), scores, sims,
        )  # fmt: skip
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
    k = len(hits) - 2
    found = 0
    for index in chosen:
        entry = entries[index]
        count, stride = np.int64(entry.count), np.int64(entry.stride)
        counters[_SCANNED] += np.uint64(count)
        words = (count + 63) // 64 if entry.allow != 0 else 0
        allow = carray(pointer(entry.allow), (words,), np.uint64)
        for slot in range(count):
            address = entry.data + np.uint64(slot * stride)
            r = carray(pointer(address), (1,), RECORD_DTYPE)[0]
            phase = _gate(r, q, slot, allow, any_masks, tables[0])
            if phase != _PASS:
                counters[phase] += np.uint64(1)
                continue
            sim = _ZERO
            if q.vector_bytes != 0:
                sim = _cosine(address, r, q, codes)
                if sim < q.min_similarity:
                    counters[_SIMILARITY] += np.uint64(1)
                    continue
            counters[_SCORED] += np.uint64(1)
            score = _fuse(r, q, sim, tables)
            if found < k or (k > 0 and score >= hits[0].score):
                found = _offer(hits, found, k, r.id, score, sim, index, np.uint32(slot))
    _sort_best_first(hits, found)
    return found


@compiled
def _score(entries, parts, slots, params, codes, any_masks, tables, scores, sims):  # type: ignore[no-untyped-def]
    q = params[0]
    for i in range(len(parts)):
        scores[i] = _MINUS_INF
        sims[i] = _ZERO
        entry = entries[parts[i]]
        slot = np.int64(slots[i])
        words = (np.int64(entry.count) + 63) // 64 if entry.allow != 0 else 0
        allow = carray(pointer(entry.allow), (words,), np.uint64)
        address = entry.data + np.uint64(slot * np.int64(entry.stride))
        r = carray(pointer(address), (1,), RECORD_DTYPE)[0]
        if _gate(r, q, slot, allow, any_masks, tables[0]) != _PASS:
            continue
        if q.vector_bytes != 0:
            sims[i] = _cosine(address, r, q, codes)
            if sims[i] < q.min_similarity:
                continue
        scores[i] = _fuse(r, q, sims[i], tables)


@compiled
def _gate(r, q, slot, allow, any_masks, retention):  # type: ignore[no-untyped-def]
    """Phases 1 to 4: the counter of the phase that drops the record, or _PASS."""
    if np.uint32(r.flags) & q.drop_flags:
        return _STATE
    if len(allow) and not (allow[slot >> 6] >> np.uint64(slot & 63)) & np.uint64(1):
        return _FILTER
    if (r.tags & q.tags_all) != q.tags_all or not _any_tags_pass(r.tags, any_masks):
        return _TAGS
    if r.valence < q.valence_min or r.valence > q.valence_max:
        return _VALENCE
    if r.event_ms < q.event_min_ms or r.event_ms >= q.event_max_ms:
        return _STRENGTH
    if not _admitted(q.modality_mask, r.modality) or not _admitted(q.category_mask, r.category):
        return _STRENGTH
    if r.flags & _PINNED:
        return _PASS
    if q.importance_floor > _ZERO and r.importance < q.importance_floor:
        return _STRENGTH
    if q.retention_floor > _ZERO and _retention_of(r, q, retention) < q.retention_floor:
        return _STRENGTH
    return _PASS


@compiled
def _any_tags_pass(tags, any_masks):  # type: ignore[no-untyped-def]
    if len(any_masks) == 0:
        return True
    for i in range(len(any_masks)):
        if (tags & any_masks[i]) == any_masks[i]:
            return True
    return False


@compiled
def _admitted(mask, code):  # type: ignore[no-untyped-def]
    if mask == 0:
        return True
    return code < 32 and (np.int64(mask) >> np.int64(code)) & 1 == 1


@compiled
def _cosine(address, r, q, codes):  # type: ignore[no-untyped-def]
    vector = carray(pointer(address + np.uint64(HEADER_BYTES)), (len(codes),), np.int8)
    total = np.int32(0)
    for j in range(len(codes)):
        # the cast keeps the sum in 32 bits, so LLVM vectorises it four times wider
        total = np.int32(total + np.int32(np.int16(vector[j]) * np.int16(codes[j])))
    return np.float32(total) * (q.scale * r.scale)


@compiled
def _fuse(r, q, sim, tables):  # type: ignore[no-untyped-def]
    """Phase 6: the fused score, -inf when it is not a finite number."""
    retention, recency, activation, confidence, tier, category = tables
    total = _ZERO
    if q.w_similarity != _ZERO and q.multiplicative == 0:
        total += q.w_similarity * sim
    if q.w_importance != _ZERO:
        total += q.w_importance * r.importance
    if q.w_retention != _ZERO:
        total += q.w_retention * _retention_of(r, q, retention)
    if q.w_recency != _ZERO:
        days = np.float32(_age_ms(q, r.event_ms) * _DAYS_PER_MS)
        total += q.w_recency * _lookup(recency, days * q.recency_rate)
    if q.w_activation != _ZERO:
        uses = _at_least_one(r.access_count)
        seconds = np.float32(_idle_ms(q, r) * _SECONDS_PER_MS)
        total += q.w_activation * (uses / (uses + _lookup(activation, seconds * _ACTIVATION_SCALE)))
    if q.w_utility != _ZERO:
        total += q.w_utility * r.utility
    if q.w_tags != _ZERO:
        shared = np.float32(_popcount(r.tags & q.overlap_mask))
        total += q.w_tags * (shared / _at_least_one(q.overlap_bits))
    if q.w_arousal != _ZERO:
        total += q.w_arousal * (np.float32(r.arousal) / _FULL)
    if q.multiplicative != 0:
        base = sim if q.vector_bytes != 0 else _ONE
        if base < _ZERO:
            base = _ZERO
        total = (q.w_similarity * base) * (_ONE + total)
    factor = confidence[r.confidence] * tier[r.tier]
    factor *= category[r.category]
    if (q.mood > 0 and r.valence > 0) or (q.mood < 0 and r.valence < 0):
        factor *= q.mood_boost
    if r.flags & _UNRESOLVED:
        factor *= q.unresolved_boost
    if r.flags & _CONSOLIDATED:
        factor *= q.consolidated_factor
    total *= factor
    return total if np.isfinite(total) else _MINUS_INF


@compiled
def _at_least_one(count):  # type: ignore[no-untyped-def]
    return np.float32(count) if count > 0 else _ONE


@compiled
def _retention_of(r, q, retention):  # type: ignore[no-untyped-def]
    stability = r.stability_days if r.stability_days >= _MIN_STABILITY else _MIN_STABILITY
    value = _lookup(retention, np.float32(_idle_ms(q, r) * _DAYS_PER_MS) / stability)
    if r.flags & _FLASHBULB and value < q.flashbulb_retention:
        value = q.flashbulb_retention
    return value


@compiled
def _idle_ms(q, r):  # type: ignore[no-untyped-def]
    if r.last_access_s == 0:
        return _age_ms(q, r.event_ms)
    return _age_ms(q, np.int64(r.last_access_s) * 1000)


@compiled
def _age_ms(q, then_ms):  # type: ignore[no-untyped-def]
    if then_ms >= q.now_ms:
        return 0.0
    return np.float64(q.now_ms - max(then_ms, -MAX_ABS_MS))


@compiled
def _lookup(table, x):  # type: ignore[no-untyped-def]
    inside = x if x >= _TABLE_LOW else _TABLE_LOW
    bits = min(np.int32(np.float32(inside).view(np.int32) - _LOW_BITS), _LAST_OFFSET)
    index = bits >> 17
    fraction = np.float32(bits & 0x1FFFF) * _FRACTION
    low = table[index]
    return low + (table[index + 1] - low) * fraction


@compiled
def _popcount(word):  # type: ignore[no-untyped-def]
    """Bits set in a uint64 (Kernighan; the overlap term is rare and the masks are sparse)."""
    bits = 0
    while word != np.uint64(0):
        word &= word - np.uint64(1)
        bits += 1
    return bits


@compiled
def _worse(a, b):  # type: ignore[no-untyped-def]
    if a.score != b.score:
        return a.score < b.score
    if a.id != b.id:
        return a.id > b.id
    if a.part != b.part:
        return a.part > b.part
    return a.slot > b.slot


@compiled
def _swap(heap, a, b):  # type: ignore[no-untyped-def]
    spare = len(heap) - 1
    heap[spare] = heap[a]
    heap[a] = heap[b]
    heap[b] = heap[spare]


@compiled
def _sift_down(heap, n, at):  # type: ignore[no-untyped-def]
    while True:
        child = 2 * at + 1
        if child >= n:
            return
        if child + 1 < n and _worse(heap[child + 1], heap[child]):
            child += 1
        if not _worse(heap[child], heap[at]):
            return
        _swap(heap, at, child)
        at = child


@compiled
def _offer(heap, n, k, record_id, score, sim, part, slot):  # type: ignore[no-untyped-def]
    """Add to the best k, the worst of which is at the root; returns their number.

    The heap has two spare entries behind the k: one for the candidate, one for swapping.
    """
    candidate = heap[n]
    candidate.id = record_id
    candidate.score = score
    candidate.similarity = sim
    candidate.part = part
    candidate.slot = slot
    if n == k:
        if k > 0 and _worse(heap[0], heap[n]):
            heap[0] = heap[n]
            _sift_down(heap, n, 0)
        return n
    at = n
    while at > 0 and _worse(heap[at], heap[(at - 1) // 2]):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return n + 1


@compiled
def _sort_best_first(heap, n):  # type: ignore[no-untyped-def]
    while n > 1:
        n -= 1
        _swap(heap, 0, n)
        _sift_down(heap, n, 0)


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
