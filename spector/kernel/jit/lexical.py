"""The lexical calls compiled by Numba: the twin of native/lexical.c."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import (
    WORD_BLOCK_ROWS,
    WORD_HIT_DTYPE,
    PostingsTable,
    Words,
    check_allow,
    check_hashes,
    check_positions,
    check_rows,
)
from spector.kernel.jit.compile import array_at, borrowing, compiled, inlined, inner
from spector.kernel.reference import NumpyLexical

__all__ = ["NumbaLexical"]

_SPARSE: Final = 4
_FILTER_WORDS: Final = 1024
_ZERO: Final = np.float32(0)
_NO_BITS: Final = np.zeros(0, np.uint64)

U64 = NDArray[np.uint64]


class _Room(threading.local):
    """What a call works in, one a thread; scores are 0 before it and after it."""

    def __init__(self) -> None:
        self.scores = np.zeros(WORD_BLOCK_ROWS, np.float32)
        self.touched = np.zeros(WORD_BLOCK_ROWS, np.uint16)


_room: Final = _Room()


class NumbaLexical(NumpyLexical):
    """The lexical calls that are worth compiling, see `LexicalKernel`."""

    def lexical_find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        sought = check_hashes(hashes)
        positions = np.empty((len(table.blocks), len(sought)), np.int32)
        df = np.zeros(len(sought), np.int64)
        bitmap = check_allow(table, allow)
        _find(
            table.entries, table.tail_entries, sought, _NO_BITS if bitmap is None else bitmap,
            bitmap is not None, positions, df,
        )  # fmt: skip
        return positions, df

    def lexical_best(
        self,
        table: PostingsTable,
        words: Words,
        positions: NDArray[np.int32],
        k: int,
        allow: U64 | None = None,
    ) -> NDArray[Any]:
        positions = check_positions(table, len(words.hash), positions)
        bitmap = check_allow(table, allow)
        hits = np.empty(min(max(k, 0), table.n_rows) + 1, WORD_HIT_DTYPE)
        found = _best(
            table.entries, table.tail_entries, (words.hash, words.weight, words.norm), positions,
            _NO_BITS if bitmap is None else bitmap, bitmap is not None,
            _room.scores, _room.touched, hits,
        )  # fmt: skip
        return hits[:found]

    def lexical_all(
        self, table: PostingsTable, words: Words, positions: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        positions = check_positions(table, len(words.hash), positions)
        scores = np.zeros(table.n_rows, np.float32)
        query = (words.hash, words.weight, words.norm)
        _all(table.entries, table.tail_entries, query, positions, scores)
        return scores

    def lexical_counts(
        self,
        table: PostingsTable,
        hashes: U64,
        positions: NDArray[np.int32],
        rows: NDArray[Any],
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        sought, chosen = check_hashes(hashes), check_rows(table, rows)
        positions = check_positions(table, len(sought), positions)
        counts = np.zeros((len(sought), len(chosen)), np.uint8)
        lengths = np.zeros(len(chosen), np.uint8)
        entries = (table.entries, table.tail_entries)
        _counts(entries, sought, positions, chosen, counts, lengths)
        return counts, lengths


@inner
def _hashes_at(entry):  # type: ignore[no-untyped-def]
    size = np.int64(1) << np.int64(entry.dir_bits)
    directory = array_at(entry.dir, size + 1, np.uint32)
    return array_at(entry.hash, np.int64(entry.terms), np.uint64), directory


@inner
def _starts_at(entry):  # type: ignore[no-untyped-def]
    return array_at(entry.start, np.int64(entry.terms) + 1, np.uint32)


@inner
def _lists_at(entry, start):  # type: ignore[no-untyped-def]
    postings = np.int64(start[np.int64(entry.terms)])
    rows = np.int64(entry.rows)
    return (
        array_at(entry.row, postings, np.uint16),
        array_at(entry.count, postings, np.uint8),
        array_at(entry.length, rows, np.uint8),
        array_at(entry.id, rows, np.uint64),
    )


@inner
def _tail_at(entry):  # type: ignore[no-untyped-def]
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
def _set_filter(hashes, bits):  # type: ignore[no-untyped-def]
    for t in range(len(hashes)):
        low = hashes[t] & np.uint64(0xFFFF)
        bits[np.int64(low >> np.uint64(6))] |= np.uint64(1) << (low & np.uint64(63))


@inlined
def _word_of(hashes, bits, sought):  # type: ignore[no-untyped-def]
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
def _admits(allow, limited, first, slot):  # type: ignore[no-untyped-def]
    if not limited:
        return True
    return (allow[first + (slot >> 6)] >> np.uint64(slot & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def _worth(query, t, count, length):  # type: ignore[no-untyped-def]
    often = np.float32(count)
    return query[1][t] * often / (often + query[2][length])


@borrowing
def _rows_with(row, first, end, allow, limited, gate_at):  # type: ignore[no-untyped-def]
    """Of a term's postings, those of rows that are allowed."""
    if not limited:
        return end - first
    rows = 0
    for j in range(first, end):
        if _admits(allow, limited, gate_at, np.int64(row[j])):
            rows += 1
    return rows


@compiled
def _find(entries, tail_entries, hashes, allow, limited, positions, df):  # type: ignore[no-untyped-def]
    for i in range(len(entries)):
        entry = entries[i]
        terms, directory = _hashes_at(entry)
        start = _starts_at(entry)
        row, gate_at = _lists_at(entry, start)[0], np.int64(entry.gate)
        for t in range(len(hashes)):
            bucket = np.int64(hashes[t] >> np.uint64(64 - np.int64(entry.dir_bits)))
            positions[i, t] = -1
            for at in range(np.int64(directory[bucket]), np.int64(directory[bucket + 1])):
                if terms[at] == hashes[t]:
                    positions[i, t] = at
                    first, end = np.int64(start[at]), np.int64(start[at + 1])
                    df[t] += _rows_with(row, first, end, allow, limited, gate_at)
                    break
    bits = np.zeros(_FILTER_WORDS, np.uint64)
    _set_filter(hashes, bits)
    for i in range(len(tail_entries)):
        tail, gate_at = _tail_at(tail_entries[i]), np.int64(tail_entries[i].gate)
        for slot in range(len(tail[4])):
            if not _admits(allow, limited, gate_at, slot):
                continue
            for j in range(np.int64(tail[1][slot]), np.int64(tail[1][slot + 1])):
                t = _word_of(hashes, bits, tail[0][j])
                if t < len(hashes):
                    df[t] += 1


@borrowing
def _is_worse(a, b):  # type: ignore[no-untyped-def]
    if a.score != b.score:
        return a.score < b.score
    if a.id != b.id:
        return a.id > b.id
    return a.row > b.row


@borrowing
def _swap(hits, a, b):  # type: ignore[no-untyped-def]
    one, other = hits[a], hits[b]
    score, record_id, row = one.score, one.id, one.row
    one.score, one.id, one.row = other.score, other.id, other.row
    other.score, other.id, other.row = score, record_id, row


@borrowing
def _sift_down(hits, n, at):  # type: ignore[no-untyped-def]
    while True:
        child = 2 * at + 1
        if child >= n:
            return
        if child + 1 < n and _is_worse(hits[child + 1], hits[child]):
            child += 1
        if not _is_worse(hits[child], hits[at]):
            return
        _swap(hits, at, child)
        at = child


@inlined
def _is_enough(hits, found, score):  # type: ignore[no-untyped-def]
    """True for a score that may enter; there is one spare entry behind the k."""
    return score > _ZERO and (found < len(hits) - 1 or score >= hits[0].score)


@borrowing
def _offer(hits, found, score, record_id, row):  # type: ignore[no-untyped-def]
    k = len(hits) - 1
    candidate = hits[found]
    candidate.id = record_id
    candidate.score = score
    candidate.row = np.uint32(row)
    if found == k:
        if k > 0 and _is_worse(hits[0], candidate):
            _swap(hits, 0, found)
            _sift_down(hits, found, 0)
        return found
    at = found
    while at > 0 and _is_worse(hits[at], hits[(at - 1) // 2]):
        _swap(hits, at, (at - 1) // 2)
        at = (at - 1) // 2
    return found + 1


@borrowing
def _add_list(query, t, first, end, lists, scores):  # type: ignore[no-untyped-def]
    row, count, length, _ = lists
    for j in range(first, end):
        slot = np.int64(row[j])
        scores[slot] += _worth(query, t, count[j], np.int64(length[slot]))


@borrowing
def _rank_sparse(query, position, start, lists, base, gate, scores, touched, hits, found):  # type: ignore[no-untyped-def]
    row, count, length, ids = lists
    allow, limited, gate_at = gate
    n = 0
    for t in range(len(position)):
        at = np.int64(position[t])
        if at < 0:
            continue
        for j in range(np.int64(start[at]), np.int64(start[at + 1])):
            slot = np.int64(row[j])
            before = scores[slot]
            touched[n] = row[j]
            if before == _ZERO:
                n += 1
            scores[slot] = before + _worth(query, t, count[j], np.int64(length[slot]))
    for i in range(n):
        slot = np.int64(touched[i])
        score = scores[slot]
        scores[slot] = _ZERO
        if _is_enough(hits, found, score) and _admits(allow, limited, gate_at, slot):
            found = _offer(hits, found, score, ids[slot], base + slot)
    return found


@borrowing
def _rank_dense(query, position, start, lists, base, gate, scores, hits, found):  # type: ignore[no-untyped-def]
    allow, limited, gate_at = gate
    ids = lists[3]
    for t in range(len(position)):
        at = np.int64(position[t])
        if at >= 0:
            first, end = np.int64(start[at]), np.int64(start[at + 1])
            _add_list(query, t, first, end, lists, scores)
    for slot in range(len(ids)):
        score = scores[slot]
        scores[slot] = _ZERO
        if _is_enough(hits, found, score) and _admits(allow, limited, gate_at, slot):
            found = _offer(hits, found, score, ids[slot], base + slot)
    return found


@borrowing
def _row_score(tail, slot, query, bits):  # type: ignore[no-untyped-def]
    hashes, start, count, length = tail[0], tail[1], tail[2], tail[3]
    score = _ZERO
    for j in range(np.int64(start[slot]), np.int64(start[slot + 1])):
        t = _word_of(query[0], bits, hashes[j])
        if t < len(query[0]):
            score += _worth(query, t, count[j], np.int64(length[slot]))
    return score


@compiled
def _best(entries, tail_entries, query, positions, allow, limited, scores, touched, hits):  # type: ignore[no-untyped-def]
    found = 0
    if len(hits) == 1:
        return found
    for i in range(len(entries)):
        entry = entries[i]
        start = _starts_at(entry)
        postings = np.int64(0)
        for t in range(positions.shape[1]):
            at = np.int64(positions[i, t])
            if at >= 0:
                postings += np.int64(start[at + 1]) - np.int64(start[at])
        if postings == 0:
            continue
        lists, base = _lists_at(entry, start), np.int64(entry.first)
        gate = (allow, limited, np.int64(entry.gate))
        if postings < np.int64(entry.rows) // _SPARSE:
            found = _rank_sparse(
                query, positions[i], start, lists, base, gate, scores, touched, hits, found
            )
        else:
            found = _rank_dense(
                query, positions[i], start, lists, base, gate, scores, hits, found
            )
    bits = np.zeros(_FILTER_WORDS, np.uint64)
    _set_filter(query[0], bits)
    for i in range(len(tail_entries)):
        tail, base = _tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        gate_at = np.int64(tail_entries[i].gate)
        for slot in range(len(tail[4])):
            if _admits(allow, limited, gate_at, slot):
                score = _row_score(tail, slot, query, bits)
                if _is_enough(hits, found, score):
                    found = _offer(hits, found, score, tail[4][slot], base + slot)
    for n in range(found - 1, 0, -1):
        _swap(hits, 0, n)
        _sift_down(hits, n, 0)
    return found


@compiled
def _all(entries, tail_entries, query, positions, scores):  # type: ignore[no-untyped-def]
    for i in range(len(entries)):
        entry = entries[i]
        start, base = _starts_at(entry), np.int64(entry.first)
        lists = _lists_at(entry, start)
        part = scores[base : base + np.int64(entry.rows)]
        for t in range(positions.shape[1]):
            at = np.int64(positions[i, t])
            if at >= 0:
                first, end = np.int64(start[at]), np.int64(start[at + 1])
                _add_list(query, t, first, end, lists, part)
    bits = np.zeros(_FILTER_WORDS, np.uint64)
    _set_filter(query[0], bits)
    for i in range(len(tail_entries)):
        tail, base = _tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        for slot in range(len(tail[4])):
            scores[base + slot] = _row_score(tail, slot, query, bits)


@borrowing
def _seek(row, first, end, slot):  # type: ignore[no-untyped-def]
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


@compiled
def _counts(parts, hashes, positions, rows, counts, lengths):  # type: ignore[no-untyped-def]
    entries, tail_entries = parts
    low = 0
    for i in range(len(entries)):
        entry = entries[i]
        base, high = np.int64(entry.first), low
        while high < len(rows) and np.int64(rows[high]) < base + np.int64(entry.rows):
            high += 1
        start = _starts_at(entry)
        row, count, length, _ = _lists_at(entry, start)
        for at_row in range(low, high):
            lengths[at_row] = length[np.int64(rows[at_row]) - base]
        for t in range(len(hashes)):
            term = np.int64(positions[i, t])
            if term < 0:
                continue
            at, end = np.int64(start[term]), np.int64(start[term + 1])
            for at_row in range(low, high):
                slot = np.int64(rows[at_row]) - base
                at = _seek(row, at, end, slot)
                if at == end:
                    break
                if np.int64(row[at]) == slot:
                    counts[t, at_row] = count[at]
        low = high
    bits = np.zeros(_FILTER_WORDS, np.uint64)
    _set_filter(hashes, bits)
    for i in range(len(tail_entries)):
        tail, base = _tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        high = low
        while high < len(rows) and np.int64(rows[high]) < base + len(tail[4]):
            slot = np.int64(rows[high]) - base
            lengths[high] = tail[3][slot]
            for j in range(np.int64(tail[1][slot]), np.int64(tail[1][slot + 1])):
                t = _word_of(hashes, bits, tail[0][j])
                if t < len(hashes):
                    counts[t, high] = tail[2][j]
            high += 1
        low = high
