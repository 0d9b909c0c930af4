"""Postings read by address, compiled by Numba: blocks, tails and the terms of a query."""

from __future__ import annotations

from typing import Final

import numpy as np

from spector.kernel.jit.compile import array_at, borrowing, inlined, inner

__all__ = [
    "FILTER_WORDS",
    "admits",
    "hashes_at",
    "lists_at",
    "seek",
    "set_filter",
    "starts_at",
    "tail_at",
    "term_of",
]

#: words of a filter that has one bit for each value of a hash's lowest 16
FILTER_WORDS: Final = 1024


@inner
def hashes_at(entry):  # type: ignore[no-untyped-def]
    size = np.int64(1) << np.int64(entry.dir_bits)
    directory = array_at(entry.dir, size + 1, np.uint32)
    return array_at(entry.hash, np.int64(entry.terms), np.uint64), directory


@inner
def starts_at(entry):  # type: ignore[no-untyped-def]
    return array_at(entry.start, np.int64(entry.terms) + 1, np.uint32)


@inner
def lists_at(entry, start):  # type: ignore[no-untyped-def]
    postings = np.int64(start[np.int64(entry.terms)])
    rows = np.int64(entry.rows)
    return (
        array_at(entry.row, postings, np.uint16),
        array_at(entry.count, postings, np.uint8),
        array_at(entry.length, rows, np.uint8),
        array_at(entry.id, rows, np.uint64),
    )


@inner
def tail_at(entry):  # type: ignore[no-untyped-def]
    rows = np.int64(entry.rows)
    start = array_at(entry.start, rows + 1, np.uint32)
    postings = np.int64(start[rows])
    return (
        array_at(entry.hash, postings, np.uint64),
        start,
        array_at(entry.count, postings, np.uint8),
        array_at(entry.length, rows, np.uint8),
        array_at(entry.id, rows, np.uint64),
    )


@borrowing
def set_filter(hashes, bits):  # type: ignore[no-untyped-def]
    for t in range(len(hashes)):
        low = hashes[t] & np.uint64(0xFFFF)
        bits[np.int64(low >> np.uint64(6))] |= np.uint64(1) << (low & np.uint64(63))


@inlined
def term_of(hashes, bits, sought):  # type: ignore[no-untyped-def]
    """Which of the words a hash is; their number where it is none of them."""
    words = len(hashes)
    low = sought & np.uint64(0xFFFF)
    if not (bits[np.int64(low >> np.uint64(6))] >> (low & np.uint64(63))) & np.uint64(1):
        return words
    t = 0
    while t < words and hashes[t] != sought:
        t += 1
    return t


@inlined
def admits(allow, limited, first, slot):  # type: ignore[no-untyped-def]
    if not limited:
        return True
    return (allow[first + (slot >> 6)] >> np.uint64(slot & 63)) & np.uint64(1) != np.uint64(0)


@borrowing
def seek(row, first, end, slot):  # type: ignore[no-untyped-def]
    step = 1
    while end - first > step and np.int64(row[first + step - 1]) < slot:
        first += step
        step *= 2
    stop = first + step if end - first > step else end
    while first < stop:
        middle = first + (stop - first) // 2
        if np.int64(row[middle]) < slot:
            first = middle + 1
        else:
            stop = middle
    return first
