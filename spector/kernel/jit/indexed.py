"""The scan over an index, compiled by Numba: the twin of native/indexed.c.

Per 512 slots: bit-slices and columns decide phases 1 to 4, extremes give the cosine that a record
needs to enter the heap, sketches rule out records whose upper bound is below it. The rest is read,
gated, measured and scored as in a straight scan, the most promising first, so that the heap's floor
rises early.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.contract import BLOCK_DTYPE, INDEX_DTYPE, SKETCH_BITS
from spector.kernel.jit.bounds import (
    OF_SKETCH,
    estimate_sketches,
    factor_limit,
    lift_of,
    margin_of,
    needed_cosine,
    prepare_cue,
    rest_limit,
)
from spector.kernel.jit.compile import array_at, borrowing, inlined, inner, popcount, prefetch
from spector.kernel.jit.gates import narrow
from spector.kernel.jit.rerank import (
    AHEAD,
    FIRST,
    bound_candidates,
    keep_promising,
    measure,
    sort_first,
)
from spector.kernel.jit.terms import BOUND, MINUS_INF, ZERO

__all__ = ["is_usable", "make_scratch", "scan_indexed"]

_BLOCK: Final = 512
#: a word with this many survivors is estimated as a whole
_DENSE: Final = 12
#: survivors of a sparse gate, for each wanted hit, from which on estimates pay
_PER_HIT: Final = 200
#: estimates that leave more than one of so many records cost more than they save; so many records
#: are then measured without them before they are tried again
_SPARED: Final = 2
_SPELL: Final = 1 << 10
_LONGEST_SPELL: Final = 1 << 17
_WORD: Final = np.int64(64)
_LONE: Final = np.int64(1)
_INF: Final = np.float32(np.inf)


@inner
def make_scratch(q, codes):  # type: ignore[no-untyped-def]
    """Buffers of one scan over any number of indexes.

    The cue of the centre in use (see `prepare_cue`); six uint64: whether there is one, its centre's
    id, whether its numbers are finite, the rows of the whole scan (set by the caller), the records
    left to measure without estimates, and the length of that spell; survivors (8,); estimates and
    counts of unlike bits of 64 slots; candidates with theirs; the cue's length.
    """
    rotated = max(len(codes), 64)
    cue = (
        np.zeros((4, rotated // 32), np.uint32),
        np.zeros((4, 4), np.uint64),
        np.zeros(4, np.float32),
    )
    norm2 = 0.0
    for i in range(len(codes)):
        norm2 += np.float64(codes[i]) * codes[i]
    return (
        cue,
        np.zeros(6, np.uint64),
        np.zeros(_BLOCK // 64, np.uint64),
        (np.zeros(64, np.float32), np.zeros(64, np.int32)),
        (np.zeros(_BLOCK, np.int64), np.zeros(_BLOCK, np.float32), np.zeros(_BLOCK, np.int32)),
        np.sqrt(norm2) * q.scale,
    )


@borrowing
def is_usable(entry, q):  # type: ignore[no-untyped-def]
    """Whether the partition has an index that fits the cue."""
    if entry.index == 0:
        return False
    header = array_at(entry.index, 1, INDEX_DTYPE)[0]
    return q.vector_bytes == 0 or header.rotated == q.vector_bytes


@borrowing
def scan_indexed(entry, part, query, scratch, hits, found, counters):  # type: ignore[no-untyped-def]
    """Scan the indexed slots of a partition; returns hits found and slots dealt with.

    query: (params, codes, any_masks, tables, largest factors of codes >= 31, sign flips, allow).
    """
    q, codes, any_masks, tables, beyond, flips, allow = query
    cue, ready, alive, _, _, cue_norm = scratch
    header = array_at(entry.index, 1, INDEX_DTYPE)[0]
    rows = min(np.int64(header.rows), np.int64(entry.count))
    image = _sections(entry.index, np.int64(header.rotated), np.int64(header.room))
    blocks = image[0]
    has_cue = q.vector_bytes != 0
    estimating = has_cue and q.recall_confidence > ZERO
    k = len(hits) - 2
    fine_bytes = np.int64(header.fine_bytes)
    for first in range(0, rows, _BLOCK):
        b = blocks[first // _BLOCK]
        left = narrow(entry, image, b, first, rows, q, any_masks, allow, tables, alive, counters)
        if left == 0:
            continue
        floor = hits[0].score if found == k else MINUS_INF
        limits = _limits(b, q, tables, beyond) if floor > ZERO else (0.0, 0.0, 0.0, 0.0, 0.0)
        needed = _needed(q, floor, limits)
        reach = np.float64(b.norm_max) * cue_norm * 1.00001 + 1e-6
        if needed > reach or needed == _INF:
            counters[BOUND] += np.uint64(left)
        elif (
            estimating
            and not _are_few(left, k, ready[3])
            and not _in_spell(left, ready)
            and _is_ready(q, codes, image[6], header, flips, cue, ready)
        ):
            found = _scan_block(
                entry,
                part,
                first,
                image,
                fine_bytes,
                query,
                limits,
                needed,
                scratch,
                hits,
                found,
                counters,
            )
        else:
            n = _list_all(entry, first, scratch)
            for start in range(0, n, AHEAD):
                stop = min(n, start + AHEAD)
                stop = keep_promising(entry, query, hits, found, scratch, start, stop, counters)
                for i in range(start, stop):
                    slot = scratch[4][0][i]
                    found = measure(entry, part, slot, needed, query, hits, found, counters)
    return found, rows


@borrowing
def _is_ready(q, codes, centre, header, flips, cue, ready):  # type: ignore[no-untyped-def]
    """Prepare the cue for a centre unless it is the last one; whether its numbers are finite."""
    if ready[0] == 0 or ready[1] != header.centre_id:
        ready[2] = prepare_cue(q, codes, centre, header.centre_norm2, flips, cue)
    ready[0], ready[1] = 1, header.centre_id
    return ready[2] != 0


@inlined
def _are_few(left, k, rows):  # type: ignore[no-untyped-def]
    """Whether estimating a block's survivors would cost more than it saves: see indexed.c."""
    few = np.uint64(left) * rows <= np.uint64(_BLOCK * _PER_HIT) * np.uint64(k)
    return 2 * left <= _BLOCK and few


@inlined
def _in_spell(left, ready):  # type: ignore[no-untyped-def]
    """Whether a block's survivors are measured without estimates, which have saved too few."""
    if ready[4] == 0:
        return False
    ready[4] -= min(ready[4], np.uint64(left))
    return True


@inlined
def _judge(estimated, passed, ready):  # type: ignore[no-untyped-def]
    """Begin a spell where estimates spare too few: see indexed.c."""
    if passed * _SPARED <= estimated:
        ready[5] = 0
    else:
        ready[5] = min(max(2 * np.int64(ready[5]), _SPELL), _LONGEST_SPELL)
        ready[4] = ready[5]


@borrowing
def _list_all(entry, first, scratch):  # type: ignore[no-untyped-def]
    """All survivors of a block as candidates without bounds; returns how many. Prefetches their
    headers."""
    alive, (slots, bounds, _) = scratch[2], scratch[4]
    n = 0
    for w in range(len(alive)):
        word = alive[w]
        while word != np.uint64(0):
            slots[n], bounds[n] = first + 64 * w + _lowest(word), _INF
            word &= word - np.uint64(1)
            prefetch(entry.data + np.uint64(slots[n] * np.int64(entry.stride)))
            n += 1
    return n


@borrowing
def _sections(index, rotated, room):  # type: ignore[no-untyped-def]
    """blocks, flags, tags, (columns), sketches, address of fine codes, centre, words a slice."""
    words = room // 64
    at = index + np.uint64(128)
    centre = array_at(at, rotated, np.float32)
    at += np.uint64(4 * rotated + 128)  # extremes of the whole partition are not used here
    blocks = array_at(at, (room + 511) // 512, BLOCK_DTYPE)
    at += np.uint64(128 * len(blocks))
    flags = array_at(at, 16 * words, np.uint64)
    at += np.uint64(128 * words)
    tags = array_at(at, 64 * words, np.uint64)
    at += np.uint64(512 * words)
    valence = array_at(at, room, np.int8)
    at += np.uint64(4 * room)  # confidence and uses are read from the records
    importance = array_at(at, room, np.float32)
    at += np.uint64(4 * room)
    last_access_s = array_at(at, room, np.uint32)
    at += np.uint64(4 * room)
    stability_days = array_at(at, room, np.float32)
    at += np.uint64(4 * room)
    event_ms = array_at(at, room, np.int64)
    at += np.uint64(8 * room)
    sketches = array_at(at, 4 * room, np.uint64)
    columns = (valence, importance, last_access_s, stability_days, event_ms)
    return blocks, flags, tags, columns, sketches, at, centre, words


@borrowing
def _limits(b, q, tables, beyond):  # type: ignore[no-untyped-def]
    rest, size, plain, plain_size = rest_limit(b, q, tables)
    return rest, size, factor_limit(b, q, tables, beyond), plain, plain_size


@borrowing
def _needed(q, floor, limits):  # type: ignore[no-untyped-def]
    least = q.min_similarity if q.vector_bytes != 0 else MINUS_INF
    return needed_cosine(q, floor, limits[0], limits[1], limits[2], least)


@borrowing
def _needed_lifted(q, floor, limits):  # type: ignore[no-untyped-def]
    """The least sum of a record's cosine and of what its importance lifts it by."""
    if lift_of(q) > ZERO:
        return needed_cosine(q, floor, limits[3], limits[4], limits[2], q.min_similarity)
    return needed_cosine(q, floor, limits[0], limits[1], limits[2], q.min_similarity)


@inlined
def _lowest(word):  # type: ignore[no-untyped-def]
    """Number of the lowest bit that is set."""
    return np.int64(popcount((word & (~word + np.uint64(1))) - np.uint64(1)))


@borrowing
def _scan_block(  # type: ignore[no-untyped-def]
    entry, part, first, image, fine_bytes, query, limits, needed, scratch, hits, found, counters
):
    """Estimate the survivors of a block, and measure those that can enter the heap."""
    q, tables = query[0], query[3]
    cue, (slots, estimates, unlike) = scratch[0], scratch[4]
    b = image[0][first // _BLOCK]
    z = q.recall_confidence
    bits = min(32 * cue[0].shape[1], SKETCH_BITS)
    margin = margin_of(cue, z, b.sketch_error_max, b.sketch_slope_max, bits, OF_SKETCH)
    before = counters[BOUND]
    k = len(hits) - 2
    floor = hits[0].score if found == k else MINUS_INF
    lifted = _needed_lifted(q, floor, limits)
    n = _collect(first, image[4], image[5], lifted - margin, scratch, counters)
    if n > 2 * FIRST:
        sort_first(slots, estimates, unlike, n)
    if found == k:
        _judge(n + np.int64(counters[BOUND] - before), n, scratch[1])
    # each stage waits for memory, so all candidates pass one before any enters the next; the most
    # promising pass all stages first, to raise the floor for the others
    head = min(n, FIRST)
    for start, stop in ((0, head), (head, n)):
        if found == k and hits[0].score != floor:
            floor = hits[0].score
            if limits[2] == 0.0:  # not computed as long as there was no floor
                limits = _limits(b, q, tables, query[4])
            needed = _needed(q, floor, limits)
            lifted = _needed_lifted(q, floor, limits)
        m = bound_candidates(
            entry, image, fine_bytes, scratch, start, stop, margin, lifted, z, counters
        )
        m = keep_promising(entry, query, hits, found, scratch, start, m, counters)
        for i in range(start, m):
            if found == k and hits[0].score != floor:
                floor = hits[0].score
                if limits[2] == 0.0:
                    limits = _limits(b, q, tables, query[4])
                needed = _needed(q, floor, limits)
            if estimates[i] < needed:
                counters[BOUND] += np.uint64(1)
            else:
                found = measure(entry, part, slots[i], needed, query, hits, found, counters)
    return found


@borrowing
def _collect(first, sketches, sketches_at, limit, scratch, counters):  # type: ignore[no-untyped-def]
    """Candidates among a block's survivors: those whose estimate is not below the limit."""
    cue, _, alive, (near, counts), (slots, estimates, unlike), _ = scratch
    for w in range(len(alive)):
        word = alive[w]
        if popcount(word) < np.uint64(_DENSE):
            while word != np.uint64(0):
                prefetch(sketches_at + np.uint64(32 * (first + 64 * w + _lowest(word))))
                word &= word - np.uint64(1)
    n = 0
    for w in range(len(alive)):
        word = alive[w]
        if word == np.uint64(0):
            continue
        start, survivors = first + 64 * w, popcount(word)
        dense = survivors >= np.uint64(_DENSE)
        if dense and estimate_sketches(sketches, start, _WORD, cue, limit, near, counts) == 0:
            counters[BOUND] += survivors
            continue
        while word != np.uint64(0):
            i = _lowest(word)
            word &= word - np.uint64(1)
            if not dense:
                estimate_sketches(sketches, start + i, _LONE, cue, limit, near[i:], counts[i:])
            if near[i] < limit:
                counters[BOUND] += np.uint64(1)
            else:
                slots[n], estimates[n], unlike[n] = start + i, near[i], counts[i]
                n += 1
    return n
