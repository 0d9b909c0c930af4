"""Candidates that sketches leave, ranked by Numba: the twin of native/rerank.c.

Fine codes bound their cosines, their headers decide phases 1 to 4, and what is left is measured and
scored as in a straight scan. Each step fetches what the next one reads.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.jit.bounds import LIFT, bound_finely
from spector.kernel.jit.compile import borrowing, inlined, prefetch
from spector.kernel.jit.heap import offer
from spector.kernel.jit.terms import (
    BOUND,
    MINUS_INF,
    PASS,
    SCORED,
    SIMILARITY,
    ZERO,
    cosine,
    dropping_phase,
    fuse,
    record_at,
)

__all__ = ["AHEAD", "FIRST", "bound_candidates", "keep_promising", "measure", "sort_first"]

#: this many of a block's candidates are read in the order of their estimates
FIRST: Final = 16
#: this many fine codes are fetched before the first is read
AHEAD: Final = 32
#: bytes of a record that are fetched ahead
_LINES: Final = np.int64(64 + 768)
_INF: Final = np.float32(np.inf)


@borrowing
def sort_first(slots, estimates, unlike, n):  # type: ignore[no-untyped-def]
    """Bring the candidates with the highest estimates to the front, in order."""
    for i in range(FIRST):
        best = i
        for j in range(i + 1, n):
            if estimates[j] > estimates[best]:
                best = j
        slots[i], slots[best] = slots[best], slots[i]
        estimates[i], estimates[best] = estimates[best], estimates[i]
        unlike[i], unlike[best] = unlike[best], unlike[i]


@borrowing
def bound_candidates(  # type: ignore[no-untyped-def]
    entry, image, fine_bytes, scratch, start, stop, margin, lifted, z, counters
):
    """Bound the candidates' cosines by their fine codes, and drop those that cannot enter the heap.
    Returns the end of those left, and prefetches their headers."""
    cue, (slots, estimates, unlike) = scratch[0], scratch[4]
    fine_codes = image[5] + np.uint64(32 * 64 * image[7])
    if fine_bytes != 0:
        for i in range(start, min(stop, start + AHEAD)):
            prefetch(fine_codes + np.uint64(fine_bytes * slots[i]))
    m = start
    for i in range(start, stop):
        bound, slot = estimates[i] + margin, slots[i]
        # without a fine code the bound stays lifted, which is more than the cosine's; taking off
        # what importance has become meanwhile might leave less
        bound_of_cosine = bound
        if fine_bytes != 0:
            if i + AHEAD < stop:
                prefetch(fine_codes + np.uint64(fine_bytes * slots[i + AHEAD]))
            if not bound < lifted and bound < _INF:
                fine_at = fine_codes + np.uint64(fine_bytes * slot)
                bound_of_cosine = bound_finely(unlike[i], fine_at, fine_bytes, cue, z)
                bound = bound_of_cosine + _lift(image, cue, slot)
        if bound < lifted:
            counters[BOUND] += np.uint64(1)
        else:
            prefetch(entry.data + np.uint64(slot * np.int64(entry.stride)))
            slots[m], estimates[m] = slot, bound_of_cosine
            m += 1
    return m


@inlined
def _lift(image, cue, slot):  # type: ignore[no-untyped-def]
    """The lift of a record's estimate by its importance."""
    return cue[2][LIFT] * np.float32(image[4][np.uint64(4 * slot + 3)] >> np.uint64(56))


@borrowing
def keep_promising(entry, query, hits, found, scratch, start, stop, counters):  # type: ignore[no-untyped-def]
    """Keep the candidates whose headers pass and allow them to enter the heap. Returns the end of
    those left, and prefetches their vectors."""
    slots, bounds, _ = scratch[4]
    m = start
    for i in range(start, stop):
        if _may_enter(entry, slots[i], bounds[i], query, hits, found, counters):
            record = entry.data + np.uint64(slots[i] * np.int64(entry.stride))
            for line in range(64, min(np.int64(entry.stride), _LINES), 64):
                prefetch(record + np.uint64(line))
            slots[m], bounds[m] = slots[i], bounds[i]
            m += 1
    return m


@inlined
def _may_enter(entry, slot, bound, query, hits, found, counters):  # type: ignore[no-untyped-def]
    """Whether a record passes the gates, and can enter the heap with a cosine of ``bound``."""
    q, _, any_masks, tables, _, _, allow = query
    r = record_at(entry.data + np.uint64(slot * np.int64(entry.stride)))
    phase = dropping_phase(r, q, slot, allow, any_masks, tables[0])
    if phase != PASS:
        counters[phase] += np.uint64(1)
        return False
    if found == len(hits) - 2 and bound < _INF:
        most = fuse(r, q, bound, tables)
        if most < hits[0].score and most != MINUS_INF:
            counters[BOUND] += np.uint64(1)
            return False
    return True


@inlined
def measure(entry, part, slot, needed, query, hits, found, counters):  # type: ignore[no-untyped-def]
    """Cosine and score of a record that passed the gates, and its place among the hits."""
    q, codes, tables = query[0], query[1], query[3]
    address = entry.data + np.uint64(slot * np.int64(entry.stride))
    r = record_at(address)
    sim = ZERO
    if q.vector_bytes != 0:
        sim = cosine(address, r, q, codes)
        if sim < q.min_similarity:
            counters[SIMILARITY] += np.uint64(1)
            return found
    counters[SCORED] += np.uint64(1)
    if sim < needed:
        return found  # its score cannot enter the heap, so it is not computed
    score = fuse(r, q, sim, tables)
    if found < len(hits) - 2 or score >= hits[0].score:
        found = offer(hits, found, len(hits) - 2, r.id, score, sim, part, np.uint32(slot))
    return found
