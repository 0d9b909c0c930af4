"""Upper bounds of the scores of a block and of a record, compiled by Numba.

`spector.kernel.reference.index` says what the codes mean. Bounds never rule out too much: sums
of float32 get a margin for rounding, and NaN rules nothing out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.contract import (
    NO_IMPORTANCE,
    NO_SLOPE,
    SKETCH_BITS,
    SLOPE_SCALE,
    WIDE,
    WIDE_SLOPE_SCALE,
)
from spector.kernel.jit.compile import array_at, borrowing, inlined, inner, popcount
from spector.kernel.jit.index import rotate_one
from spector.kernel.jit.terms import (
    CONSOLIDATED,
    FLASHBULB,
    MINUS_INF,
    UNRESOLVED,
    activation_at,
    recency_at,
    retention_at,
)
from spector.kernel.reference import A_SCALE, IMPORTANCE_SCALE

__all__ = [
    "LIFT",
    "OF_SKETCH",
    "bound_finely",
    "estimate_sketches",
    "factor_limit",
    "lift_of",
    "margin_of",
    "needed_cosine",
    "prepare_cue",
    "rest_limit",
]

_INF: Final = np.float32(np.inf)
_ZERO: Final = np.float32(0)
_ONE: Final = np.float32(1)
_ONE32, _TWO32, _THREE32 = np.uint32(1), np.uint32(2), np.uint32(3)
_ONE64, _TWO64, _THREE64 = np.uint64(1), np.uint64(2), np.uint64(3)
_THIRD: Final = np.float32(1 / 3)
_A_STEP: Final = np.float32(1 / A_SCALE)
#: relative rounding error of a dozen float32 operations, four times over
_MARGIN: Final = 4e-6
#: roundings of a sketch's factors: see spector_margin; a fine code has float ones
OF_SKETCH: Final = (np.float32(9.2e-4), np.float32(5e-4))
OF_FINE: Final = (np.float32(3e-4), np.float32(2e-4))
_SKETCH_TAIL: Final = np.uint64(0xFFFF_FFFF)

# a prepared cue's numbers: <q, c> - <c, c>; step of the levels; length of y; the cosine equal in
# score to one unit of the sketches' importance
BASE, DELTA, LENGTH, LIFT = range(4)


@inner
def prepare_cue(q, codes, centre, centre_norm2, flips, cue):  # type: ignore[no-untyped-def]
    """Quantise y = P(q) - P(c) to 4 bits a coordinate.

    cue: planes (4, D / 32) uint32; those of the sketch's coordinates as (4, 4) uint64; numbers
    (4,) float32. Returns whether the numbers are finite.
    """
    planes, heads, numbers = cue
    rotated = len(centre)
    y, spare = np.empty(rotated, np.float32), np.empty(rotated, np.float32)
    for i in range(rotated):
        y[i] = np.float32(codes[i]) * q.scale
    rotate_one(y, spare, flips)
    dot, length2, largest = 0.0, 0.0, _ZERO
    for i in range(rotated):
        dot += np.float64(y[i]) * centre[i]
        y[i] -= centre[i]
        length2 += np.float64(y[i]) * y[i]
        largest = max(largest, abs(y[i]))
    delta = largest / np.float32(15)
    planes[:] = 0
    heads[:] = 0
    if delta > _ZERO:
        for i in range(rotated):
            level = np.int64(np.rint((y[i] / delta + np.float32(15)) * np.float32(0.5)))
            for j in range(4):
                planes[j, i >> 5] |= np.uint32((level >> j) & 1) << np.uint32(i & 31)
    for j in range(4):
        for w in range(min(SKETCH_BITS, rotated) // 32):
            heads[j, w >> 1] |= np.uint64(planes[j, w]) << np.uint64(32 * (w & 1))
    length = np.sqrt(length2)
    numbers[BASE], numbers[DELTA], numbers[LENGTH] = dot - centre_norm2, delta, length
    numbers[LIFT] = lift_of(q) / IMPORTANCE_SCALE
    return np.isfinite(length) and np.isfinite(numbers[BASE])


@borrowing
def lift_of(q):  # type: ignore[no-untyped-def]
    """The cosine that one unit of importance is worth; 0 where the score is not their weighted sum,
    or where importance outweighs the cosine so far that the cosine's digits would be lost."""
    if q.multiplicative != 0 or not q.w_similarity > _ZERO or not q.w_importance > _ZERO:
        return _ZERO
    if q.w_importance > np.float32(100) * q.w_similarity:
        return _ZERO
    return q.w_importance / q.w_similarity


@borrowing
def margin_of(cue, z, error, slope, bits, slack):  # type: ignore[no-untyped-def]
    """The most by which an estimate from ``bits`` signs is too low, at z standard errors.

    slack: for roundings, per unit of y and beyond: `OF_SKETCH` or `OF_FINE`.
    """
    numbers = cue[2]
    spread, step = error * numbers[LENGTH], slope * numbers[DELTA]
    deviation = np.sqrt(spread * spread + step * step * np.float32(bits) * _THIRD)
    return z * deviation + (slack[0] * numbers[LENGTH] + slack[1])


@inlined
def estimate_sketches(sketch, first, count, cue, limit, estimates, heads_unlike):  # type: ignore[no-untyped-def]
    """Estimates of the cosines of neighbouring slots, each with what its importance lifts it by;
    infinite where none is possible.

    sketch: (4 * room,) uint64. Leaves the weighted counts of unlike bits as well, for
    `bound_finely`. Returns how many estimates are not below ``limit``.
    """
    planes, heads, numbers = cue
    bits = np.int32(min(32 * planes.shape[1], SKETCH_BITS))
    most, base = np.int32(15) * bits, numbers[BASE]
    wide = 32 * planes.shape[1] > WIDE
    unit = np.float32(1 / WIDE_SLOPE_SCALE if wide else 1 / SLOPE_SCALE) * numbers[DELTA]
    lift = numbers[LIFT]
    # in variables, because a store to estimates might change an array
    a0, a1, a2, a3 = heads[0, 0], heads[0, 1], heads[0, 2], heads[0, 3]
    b0, b1, b2, b3 = heads[1, 0], heads[1, 1], heads[1, 2], heads[1, 3]
    c0, c1, c2, c3 = heads[2, 0], heads[2, 1], heads[2, 2], heads[2, 3]
    d0, d1, d2, d3 = heads[3, 0], heads[3, 1], heads[3, 2], heads[3, 3]
    hot = np.int32(0)
    for i in range(count):
        # unsigned, or each index might be from the end: loads of neighbours would become gathers
        at = np.uint64(4 * (first + i))
        s0, s1 = sketch[at], sketch[at + _ONE64]
        s2, last = sketch[at + _TWO64], sketch[at + _THREE64]
        s3 = last & _SKETCH_TAIL
        ones = popcount(s0 ^ a0) + popcount(s1 ^ a1) + popcount(s2 ^ a2) + popcount(s3 ^ a3)
        twos = popcount(s0 ^ b0) + popcount(s1 ^ b1) + popcount(s2 ^ b2) + popcount(s3 ^ b3)
        fours = popcount(s0 ^ c0) + popcount(s1 ^ c1) + popcount(s2 ^ c2) + popcount(s3 ^ c3)
        eights = popcount(s0 ^ d0) + popcount(s1 ^ d1) + popcount(s2 ^ d2) + popcount(s3 ^ d3)
        unlike = np.int32(ones + (twos << _ONE64) + (fours << _TWO64) + (eights << _THREE64))
        factors = np.uint32(last >> np.uint64(32))
        a = np.int32(factors << np.uint32(20)) >> np.int32(20)
        b = (factors >> np.uint32(12)) & np.uint32(0xFFF)
        importance = factors >> np.uint32(24)
        slope = np.float32(b) * unit
        estimate = slope * np.float32(most - unlike - unlike) + np.float32(a) * _A_STEP + base
        estimate += np.float32(importance) * lift
        estimate = _INF if b == NO_SLOPE or importance == NO_IMPORTANCE else estimate
        estimates[i], heads_unlike[i] = estimate, unlike
        hot += np.int32(0) if estimate < limit else np.int32(1)
    return hot


@inlined
def bound_finely(head_unlike, fine_at, fine_bytes, cue, z):  # type: ignore[no-untyped-def]
    """Upper bound of one record's cosine from the signs of all coordinates, by address.

    head_unlike: what `estimate_sketches` counted of the sketch.
    """
    planes, _, numbers = cue
    heads = SKETCH_BITS // 32
    words = planes.shape[1]
    fine = array_at(fine_at, words - heads, np.uint32)
    tail = array_at(fine_at + np.uint64(fine_bytes - 12), 3, np.float32)
    unlike = np.uint32(head_unlike)
    for w in range(np.uint64(words - heads)):
        word, at = fine[w], np.uint64(heads) + w
        unlike += popcount(word ^ planes[0, at]) + (popcount(word ^ planes[1, at]) << _ONE32)
        unlike += (popcount(word ^ planes[2, at]) << _TWO32) + (
            popcount(word ^ planes[3, at]) << _THREE32
        )
    a, slope, error = tail[0], tail[1], tail[2]
    product = np.int32(15 * 32 * words) - np.int32(2) * np.int32(unlike)
    estimate = slope * (numbers[DELTA] * np.float32(product)) + a
    return estimate + numbers[BASE] + margin_of(cue, z, error, slope, 32 * words, OF_FINE)


@borrowing
def needed_cosine(q, floor, rest, size, factor, least):  # type: ignore[no-untyped-def]
    """The cosine that a record must reach for its score not to be below the floor.

    rest, size: upper bound of the other terms' sum, and of the sum of their magnitudes; factor: of
    the modifiers' product. -inf when every record must be looked at, +inf when none.
    """
    if not floor > _ZERO:
        return least
    has_cue = q.vector_bytes != 0
    if q.multiplicative != 0:
        most = q.w_similarity * (1.0 + rest + _MARGIN * (1.0 + size)) * factor * (1.0 + _MARGIN)
        if not has_cue:
            return _INF if most < floor else MINUS_INF
        if not most > 0.0:
            return least
        needed = floor / most * (1.0 - _MARGIN)
    else:
        if factor == 0.0:
            return _INF
        wanted = floor / factor * (1.0 - _MARGIN)
        missing = wanted - rest - _MARGIN * (wanted + size + q.w_similarity)
        if not has_cue or q.w_similarity == _ZERO:
            return _INF if missing > 0.0 else least
        needed = missing / q.w_similarity
    # a comparison with NaN is false: nothing is ruled out
    return least if needed < least else np.float32(needed)


@borrowing
def rest_limit(b, q, tables):  # type: ignore[no-untyped-def]
    """Upper bound of the weighted terms but similarity, and of the sum of their magnitudes; then
    both without importance."""
    retention, recency, activation = tables[0], tables[1], tables[2]
    rest, size, important = 0.0, 0.0, 0.0
    if q.w_importance != _ZERO:
        important = np.float64(q.w_importance) * b.importance_max
    if q.w_retention != _ZERO:
        kept = retention_at(q, b.used_max, b.stability_max, b.flags_or & FLASHBULB != 0, retention)
        rest, size = rest + q.w_retention * kept, size + q.w_retention * kept
    if q.w_recency != _ZERO:
        term = np.float64(q.w_recency) * recency_at(q, b.event_max, recency)
        rest, size = rest + term, size + term
    if q.w_activation != _ZERO:
        term = np.float64(q.w_activation) * activation_at(q, b.uses_max, b.used_max, activation)
        rest, size = rest + term, size + term
    if q.w_utility != _ZERO:
        term = np.float64(q.w_utility) * b.utility_max
        rest, size = rest + term, size + abs(term)
    if q.w_tags != _ZERO and q.overlap_bits != 0:
        term = np.float64(q.w_tags) * popcount(b.tags_or & q.overlap_mask) / q.overlap_bits
        rest, size = rest + term, size + term
    if q.w_arousal != _ZERO:
        term = np.float64(q.w_arousal) * b.arousal_max / 255.0
        rest, size = rest + term, size + term
    return rest + important, size + abs(important), rest, size


@borrowing
def factor_limit(b, q, tables, beyond):  # type: ignore[no-untyped-def]
    """Upper bound of the product of the modifiers; ``beyond``: largest factors of codes >= 31."""
    confidence, tier, category = tables[3], tables[4], tables[5]
    factor = np.float64(max(confidence[b.confidence_max], confidence[b.confidence_min]))
    factor *= _largest(tier, b.tiers, beyond[0])
    factor *= _largest(category, b.categories, beyond[1])
    if (q.mood > 0 and b.valence_max > 0) or (q.mood < 0 and b.valence_min < 0):
        factor *= max(q.mood_boost, _ONE)
    if b.flags_or & UNRESOLVED:
        factor *= max(q.unresolved_boost, _ONE)
    if b.flags_or & CONSOLIDATED:
        factor *= max(q.consolidated_factor, _ONE)
    return factor


@borrowing
def _largest(table, codes, beyond):  # type: ignore[no-untyped-def]
    most = _ZERO
    for code in range(31):
        if codes >> np.uint32(code) == np.uint32(0):
            break
        if (codes >> np.uint32(code)) & np.uint32(1):
            most = max(most, table[code])
    if codes >> np.uint32(31):
        most = max(most, beyond)
    return most
