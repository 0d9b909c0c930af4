"""Phases 1 to 4 of 512 slots at once, compiled by Numba: bit-slices, columns and extremes."""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.jit.compile import borrowing, inner, popcount
from spector.kernel.jit.terms import (
    FILTER,
    FLASHBULB,
    PINNED,
    STATE,
    STRENGTH,
    TAGS,
    VALENCE,
    ZERO,
    admitted,
    record_at,
    retention_at,
    used_at,
)

__all__ = ["narrow"]

_NONE: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
_ALL: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_PINNED_SLICE: Final = 1
_FLASHBULB_SLICE: Final = 3


@borrowing
def narrow(entry, image, b, first, rows, q, any_masks, allow, tables, alive, counters):  # type: ignore[no-untyped-def]
    """Leave in ``alive`` (8,) uint64 the slots that pass; counts drops, returns how many are left.

    image: see `_sections` in indexed.py; b: the block's extremes.
    """
    flags, tags, words = image[1], image[2], image[7]
    start = first >> 6
    count = min((rows - first + 63) >> 6, len(alive))
    alive[:] = _NONE
    for w in range(count):
        alive[w] = _ALL
    if rows - first < 64 * count:
        alive[count - 1] = (_ONE << np.uint64((rows - first) & 63)) - _ONE
    left = min(rows - first, 64 * count)
    if np.uint32(b.flags_or) & q.drop_flags:
        for f in range(16):
            if (np.uint32(b.flags_or) & q.drop_flags) >> np.uint32(f) & np.uint32(1):
                for w in range(count):
                    alive[w] &= ~flags[f * words + start + w]
        left = _tally(alive, left, STATE, counters)
    if len(allow) and left:
        for w in range(count):
            alive[w] &= allow[start + w]
        left = _tally(alive, left, FILTER, counters)
    if left and (q.tags_all or len(any_masks)):
        if (b.tags_or & q.tags_all) == q.tags_all:
            _intersect(tags, words, start, count, q.tags_all, alive)
        else:
            alive[:] = _NONE
        if len(any_masks):
            _gate_any_tags(tags, words, start, count, b, any_masks, alive)
        left = _tally(alive, left, TAGS, counters)
    if left and (b.valence_min < q.valence_min or b.valence_max > q.valence_max):
        _gate_valence(image[3][0], first, q, alive)
        left = _tally(alive, left, VALENCE, counters)
    if left:
        _gate_strength(entry, image, b, first, q, tables[0], alive)
        left = _tally(alive, left, STRENGTH, counters)
    return left


@borrowing
def _tally(alive, before, phase, counters):  # type: ignore[no-untyped-def]
    left = np.int64(0)
    for w in range(len(alive)):
        left += np.int64(popcount(alive[w]))
    counters[phase] += np.uint64(before - left)
    return left


@inner
def _gate_any_tags(tags, words, start, count, b, any_masks, alive):  # type: ignore[no-untyped-def]
    some, one = np.zeros(len(alive), np.uint64), np.empty(len(alive), np.uint64)
    for i in range(len(any_masks)):
        if (b.tags_or & any_masks[i]) == any_masks[i]:
            one[:] = alive
            _intersect(tags, words, start, count, any_masks[i], one)
            some |= one
    alive[:] = some


@borrowing
def _intersect(tags, words, start, count, mask, alive):  # type: ignore[no-untyped-def]
    """Keep slots that have all bits of the mask."""
    while mask != _NONE:
        lowest = mask & (~mask + _ONE)
        at = np.int64(popcount(lowest - _ONE)) * words + start
        mask ^= lowest
        piece = tags[at : at + count]  # an index that may be negative would be gathered
        for w in range(count):
            alive[w] &= piece[w]


@borrowing
def _gate_valence(valence, first, q, alive):  # type: ignore[no-untyped-def]
    for w in range(len(alive)):
        word = alive[w]
        while word != _NONE:
            lowest = word & (~word + _ONE)
            value = valence[first + 64 * w + np.int64(popcount(lowest - _ONE))]
            if value < q.valence_min or value > q.valence_max:
                alive[w] ^= lowest
            word ^= lowest


@borrowing
def _gate_strength(entry, image, b, first, q, retention, alive):  # type: ignore[no-untyped-def]
    """Event times, codes and floors; each only if the extremes do not decide it."""
    pinned = np.uint32(b.flags_or) & np.uint32(PINNED)
    by_event = b.event_min < q.event_min_ms or b.event_max >= q.event_max_ms
    by_modality = not _all_admitted(q.modality_mask, b.modalities)
    by_category = not _all_admitted(q.category_mask, b.categories)
    by_importance = q.importance_floor > ZERO and not b.importance_min >= q.importance_floor
    by_retention = q.retention_floor > ZERO
    if not (by_event or by_modality or by_category or by_importance or by_retention):
        return
    none = b.event_max < q.event_min_ms or b.event_min >= q.event_max_ms
    if by_importance and not pinned and b.importance_max < q.importance_floor:
        none = True
    if by_retention and not pinned:
        most = retention_at(q, b.used_max, b.stability_max, b.flags_or & FLASHBULB != 0, retention)
        # the table is monotone but for rounding
        none = none or most < q.retention_floor - np.float32(1e-5)
    if none:
        alive[:] = _NONE
        return
    for w in range(len(alive)):
        word = alive[w]
        while word != _NONE:
            lowest = word & (~word + _ONE)
            slot = first + 64 * w + np.int64(popcount(lowest - _ONE))
            word ^= lowest
            weak = by_event and not _in_range(image[3][4][slot], q)
            if not weak and (by_modality or by_category):
                r = record_at(entry.data + np.uint64(slot * np.int64(entry.stride)))
                weak = not admitted(q.modality_mask, r.modality)
                weak = weak or not admitted(q.category_mask, r.category)
            if not weak and (by_importance or by_retention):
                weak = _is_weak(image, slot, lowest, by_importance, by_retention, q, retention)
            if weak:
                alive[w] ^= lowest


@borrowing
def _in_range(event_ms, q):  # type: ignore[no-untyped-def]
    return event_ms >= q.event_min_ms and event_ms < q.event_max_ms


@borrowing
def _all_admitted(mask, codes):  # type: ignore[no-untyped-def]
    """Bit 31 of ``codes`` stands for all codes from 31 on, of which only 31 may be admitted."""
    if mask == np.uint32(0):
        return True
    return codes & ~mask == np.uint32(0) and codes >> np.uint32(31) == np.uint32(0)


@borrowing
def _is_weak(image, slot, bit, by_importance, by_retention, q, retention):  # type: ignore[no-untyped-def]
    flags, columns, words = image[1], image[3], image[7]
    at = slot >> 6
    if flags[_PINNED_SLICE * words + at] & bit:
        return False
    if by_importance and columns[1][slot] < q.importance_floor:
        return True
    if not by_retention:
        return False
    used_ms = used_at(columns[4][slot], columns[2][slot])
    flashbulb = flags[_FLASHBULB_SLICE * words + at] & bit != _NONE
    kept = retention_at(q, used_ms, columns[3][slot], flashbulb, retention)
    return kept < q.retention_floor
