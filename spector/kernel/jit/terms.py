"""Phases 1 to 6 of one record, compiled by Numba: the twin of native/straight.c and score.c.

No fastmath: float operations keep their order, and the scores their bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.contract import DROP_PHASES, LAST_OFFSET, LOW_BITS, MAX_ABS_MS
from spector.kernel.jit.compile import array_at, borrowing, popcount
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag

__all__ = [
    "cosine",
    "dropping_phase",
    "fuse",
    "record_at",
]

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
