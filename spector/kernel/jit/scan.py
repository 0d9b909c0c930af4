"""The scan compiled by Numba: the fast backend where no C compiler was at hand."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, U32
from spector.kernel.contract import (
    DROP_PHASES,
    HIT_DTYPE,
    LAST_OFFSET,
    LOW_BITS,
    MAX_ABS_MS,
    AllowList,
    Kernel,
    PartTable,
    Query,
    ScanResult,
)
from spector.kernel.jit.compile import array_at, borrowing, compiled, inlined, popcount
from spector.kernel.reference import (
    CRC_TABLE,
    NumpyGather,
    NumpyIndex,
    NumpyLexical,
    NumpyNeighbours,
    crc32c_bytes,
)
from spector.layout import CRC_SPAN, HEADER_BYTES, RECORD_DTYPE, Flag

# The heap of the best hits, compiled by Numba.
#
# The worst hit is at the root. A heap has two spare entries behind its k: one for the candidate, one
# for swapping.


@borrowing
def _is_worse(a, b):  # type: ignore[no-untyped-def]
    """Whether a ranks behind b: lower score, then higher id, then higher place."""
    if a.score != b.score:
        return a.score < b.score
    if a.id != b.id:
        return a.id > b.id
    if a.part != b.part:
        return a.part > b.part
    return a.slot > b.slot


@borrowing
def _swap(heap, a, b):  # type: ignore[no-untyped-def]
    spare = len(heap) - 1
    heap[spare] = heap[a]
    heap[a] = heap[b]
    heap[b] = heap[spare]


@borrowing
def _sift_down(heap, n, at):  # type: ignore[no-untyped-def]
    while True:
        child = 2 * at + 1
        if child >= n:
            return
        if child + 1 < n and _is_worse(heap[child + 1], heap[child]):
            child += 1
        if not _is_worse(heap[child], heap[at]):
            return
        _swap(heap, at, child)
        at = child


@borrowing
def _push(heap, n, k):  # type: ignore[no-untyped-def]
    """Take in the candidate, which is at n; returns how many hits there are."""
    if n == k:
        if k > 0 and _is_worse(heap[0], heap[n]):
            heap[0] = heap[n]
            _sift_down(heap, n, 0)
        return n
    at = n
    while at > 0 and _is_worse(heap[at], heap[(at - 1) // 2]):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return n + 1


@borrowing
def sort_best_first(heap, n):  # type: ignore[no-untyped-def]
    while n > 1:
        n -= 1
        _swap(heap, 0, n)
        _sift_down(heap, n, 0)


@borrowing
def offer(heap, n, k, record_id, score, sim, part, slot):  # type: ignore[no-untyped-def]
    """Add a record to the best k; returns their number."""
    candidate = heap[n]
    candidate.id = record_id
    candidate.score = score
    candidate.similarity = sim
    candidate.part = part
    candidate.slot = slot
    return _push(heap, n, k)


# Phases 1 to 6 of one record, compiled by Numba: the twin of native/straight.c and score.c.
#
# No fastmath: float operations keep their order, and the scores their bits.

PINNED: Final = int(Flag.PINNED)
FLASHBULB: Final = int(Flag.FLASHBULB)
UNRESOLVED: Final = int(Flag.UNRESOLVED)
CONSOLIDATED: Final = int(Flag.CONSOLIDATED)
_DAYS_PER_MS: Final = 1.0 / 86_400_000.0
_SECONDS_PER_MS: Final = 1.0 / 1000.0
# typed, because Numba compiles a function anew for each literal that it is called with
STATE, FILTER, TAGS, VALENCE, STRENGTH, SIMILARITY, _, PASS = map(np.int64, range(8))
SCANNED, SCORED = np.int64(len(DROP_PHASES)), np.int64(len(DROP_PHASES) + 1)

ZERO: Final = np.float32(0)
ONE: Final = np.float32(1)
_FULL: Final = np.float32(255)
_TABLE_LOW: Final = np.float32(2.0**-20)
_FRACTION: Final = np.float32(2.0**-17)
_ACTIVATION_SCALE: Final = np.float32(2.0**-14)
_MIN_STABILITY: Final = np.float32(1e-6)
MINUS_INF: Final = np.float32(-np.inf)
_LOW_BITS: Final = np.int32(LOW_BITS)
_LAST_OFFSET: Final = np.int32(LAST_OFFSET)


@borrowing
def record_at(address):  # type: ignore[no-untyped-def]
    return array_at(address, 1, RECORD_DTYPE)[0]


@borrowing
def dropping_phase(r, q, slot, allow, any_masks, retention):  # type: ignore[no-untyped-def]
    """Phases 1 to 4: the counter of the phase that drops the record, or PASS."""
    if np.uint32(r.flags) & q.drop_flags:
        return STATE
    if len(allow) and not (allow[slot >> 6] >> np.uint64(slot & 63)) & np.uint64(1):
        return FILTER
    if (r.tags & q.tags_all) != q.tags_all or not any_tags_pass(r.tags, any_masks):
        return TAGS
    if r.valence < q.valence_min or r.valence > q.valence_max:
        return VALENCE
    if r.event_ms < q.event_min_ms or r.event_ms >= q.event_max_ms:
        return STRENGTH
    if not admitted(q.modality_mask, r.modality) or not admitted(q.category_mask, r.category):
        return STRENGTH
    if r.flags & PINNED:
        return PASS
    if q.importance_floor > ZERO and r.importance < q.importance_floor:
        return STRENGTH
    if q.retention_floor > ZERO and retention_of(r, q, retention) < q.retention_floor:
        return STRENGTH
    return PASS


@borrowing
def any_tags_pass(tags, any_masks):  # type: ignore[no-untyped-def]
    if len(any_masks) == 0:
        return True
    for i in range(len(any_masks)):
        if (tags & any_masks[i]) == any_masks[i]:
            return True
    return False


@borrowing
def admitted(mask, code):  # type: ignore[no-untyped-def]
    if mask == 0:
        return True
    return code < 32 and (np.int64(mask) >> np.int64(code)) & 1 == 1


@borrowing
def cosine(address, r, q, codes):  # type: ignore[no-untyped-def]
    vector = array_at(address + np.uint64(HEADER_BYTES), len(codes), np.int8)
    total = np.int32(0)
    for j in range(len(codes)):
        # the cast keeps the sum in 32 bits, so LLVM vectorises it four times wider
        total = np.int32(total + np.int32(np.int16(vector[j]) * np.int16(codes[j])))
    return np.float32(total) * (q.scale * r.scale)


@borrowing
def fuse(r, q, sim, tables):  # type: ignore[no-untyped-def]
    """Phase 6: the fused score, -inf when it is not a finite number."""
    retention, recency, activation, confidence, tier, category = tables
    total = ZERO
    if q.w_similarity != ZERO and q.multiplicative == 0:
        total += q.w_similarity * sim
    if q.w_importance != ZERO:
        total += q.w_importance * r.importance
    if q.w_retention != ZERO:
        total += q.w_retention * retention_of(r, q, retention)
    if q.w_recency != ZERO:
        days = np.float32(age_ms(q, r.event_ms) * _DAYS_PER_MS)
        total += q.w_recency * lookup(recency, days * q.recency_rate)
    if q.w_activation != ZERO:
        used_ms = used_at(r.event_ms, r.last_access_s)
        total += q.w_activation * activation_at(q, r.access_count, used_ms, activation)
    if q.w_utility != ZERO:
        total += q.w_utility * r.utility
    if q.w_tags != ZERO:
        shared = np.float32(popcount(r.tags & q.overlap_mask))
        total += q.w_tags * (shared / at_least_one(q.overlap_bits))
    if q.w_arousal != ZERO:
        total += q.w_arousal * (np.float32(r.arousal) / _FULL)
    if q.multiplicative != 0:
        base = sim if q.vector_bytes != 0 else ONE
        if base < ZERO:
            base = ZERO
        total = (q.w_similarity * base) * (ONE + total)
    factor = confidence[r.confidence] * tier[r.tier]
    factor *= category[r.category]
    if (q.mood > 0 and r.valence > 0) or (q.mood < 0 and r.valence < 0):
        factor *= q.mood_boost
    if r.flags & UNRESOLVED:
        factor *= q.unresolved_boost
    if r.flags & CONSOLIDATED:
        factor *= q.consolidated_factor
    total *= factor
    return total if np.isfinite(total) else MINUS_INF


@borrowing
def at_least_one(count):  # type: ignore[no-untyped-def]
    return np.float32(count) if count > 0 else ONE


@borrowing
def retention_of(r, q, retention):  # type: ignore[no-untyped-def]
    used_ms = used_at(r.event_ms, r.last_access_s)
    stability = r.stability_days if r.stability_days >= _MIN_STABILITY else _MIN_STABILITY
    value = lookup(retention, np.float32(age_ms(q, used_ms) * _DAYS_PER_MS) / stability)
    if r.flags & FLASHBULB and value < q.flashbulb_retention:
        value = q.flashbulb_retention
    return value


@borrowing
def activation_at(q, access_count, used_ms, activation):  # type: ignore[no-untyped-def]
    uses = at_least_one(access_count)
    seconds = np.float32(age_ms(q, used_ms) * _SECONDS_PER_MS)
    return uses / (uses + lookup(activation, seconds * _ACTIVATION_SCALE))


@borrowing
def used_at(event_ms, last_access_s):  # type: ignore[no-untyped-def]
    """Milliseconds of the last use, that of the event when there was none."""
    return event_ms if last_access_s == 0 else np.int64(last_access_s) * 1000


@borrowing
def age_ms(q, then_ms):  # type: ignore[no-untyped-def]
    if then_ms >= q.now_ms:
        return 0.0
    return np.float64(q.now_ms - max(then_ms, -MAX_ABS_MS))


@borrowing
def lookup(table, x):  # type: ignore[no-untyped-def]
    inside = x if x >= _TABLE_LOW else _TABLE_LOW
    bits = min(np.int32(np.float32(inside).view(np.int32) - _LOW_BITS), _LAST_OFFSET)
    index = bits >> 17
    fraction = np.float32(bits & 0x1FFFF) * _FRACTION
    low = table[index]
    return low + (table[index + 1] - low) * fraction


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
