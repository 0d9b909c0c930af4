"""The lexical calls compiled by Numba: the twin of native/lexical.c."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I32, I64, U8, U32, U64
from spector.kernel.contract import WORD_BLOCK_ROWS, PostingsTable, QueryTerms
from spector.kernel.jit.compile import borrowing, compiled, inlined
from spector.kernel.jit.heap import offer_row, sort_best_first
from spector.kernel.jit.postings import (
    FILTER_WORDS,
    admits,
    hashes_at,
    lists_at,
    seek,
    set_filter,
    starts_at,
    tail_at,
    term_of,
)
from spector.kernel.reference import NumpyLexical

__all__ = ["NumbaLexical"]

_SPARSE: Final = 4
_ZERO: Final = np.float32(0)
_NO_BITS: Final = np.zeros(0, np.uint64)


class _Scratch(threading.local):
    """What a call works in, one a thread; scores are 0 before it and after it."""

    def __init__(self) -> None:
        self.scores = np.zeros(WORD_BLOCK_ROWS, np.float32)
        self.touched = np.zeros(WORD_BLOCK_ROWS, np.uint16)


_scratch: Final = _Scratch()


class NumbaLexical(NumpyLexical):
    """The lexical calls that are worth compiling."""

    def _find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None, positions: I32, df: I64
    ) -> None:
        _find(
            table.entries,
            table.tail_entries,
            hashes,
            _NO_BITS if allow is None else allow,
            allow is not None,
            positions,
            df,
        )

    def _best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        allow: U64 | None,
        hits: NDArray[Any],
        k: int,
    ) -> int:
        return int(
            _best(
                table.entries,
                table.tail_entries,
                _query(terms),
                positions,
                _NO_BITS if allow is None else allow,
                allow is not None,
                _scratch.scores,
                _scratch.touched,
                hits,
            )
        )

    def _all(self, table: PostingsTable, terms: QueryTerms, positions: I32, scores: F32) -> None:
        _all(table.entries, table.tail_entries, _query(terms), positions, scores)

    def _counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: U32, counts: U8, lengths: U8
    ) -> None:
        entries = (table.entries, table.tail_entries)
        _counts(entries, hashes, positions, rows, counts, lengths)


def _query(terms: QueryTerms) -> tuple[U64, F32, F32]:
    return terms.hash, terms.weight, terms.norm


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
        if admits(allow, limited, gate_at, np.int64(row[j])):
            rows += 1
    return rows


@compiled
def _find(entries, tail_entries, hashes, allow, limited, positions, df):  # type: ignore[no-untyped-def]
    for i in range(len(entries)):
        entry = entries[i]
        terms, directory = hashes_at(entry)
        start = starts_at(entry)
        row, gate_at = lists_at(entry, start)[0], np.int64(entry.gate)
        for t in range(len(hashes)):
            bucket = np.int64(hashes[t] >> np.uint64(64 - np.int64(entry.dir_bits)))
            positions[i, t] = -1
            for at in range(np.int64(directory[bucket]), np.int64(directory[bucket + 1])):
                if terms[at] == hashes[t]:
                    positions[i, t] = at
                    first, end = np.int64(start[at]), np.int64(start[at + 1])
                    df[t] += _rows_with(row, first, end, allow, limited, gate_at)
                    break
    bits = np.zeros(FILTER_WORDS, np.uint64)
    set_filter(hashes, bits)
    for i in range(len(tail_entries)):
        tail, gate_at = tail_at(tail_entries[i]), np.int64(tail_entries[i].gate)
        for slot in range(len(tail[4])):
            if not admits(allow, limited, gate_at, slot):
                continue
            for j in range(np.int64(tail[1][slot]), np.int64(tail[1][slot + 1])):
                t = term_of(hashes, bits, tail[0][j])
                if t < len(hashes):
                    df[t] += 1


@inlined
def _is_enough(hits, found, score):  # type: ignore[no-untyped-def]
    """True for a score that may enter; there are two spare entries behind the k."""
    return score > _ZERO and (found < len(hits) - 2 or score >= hits[0].score)


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
        if _is_enough(hits, found, score) and admits(allow, limited, gate_at, slot):
            found = offer_row(hits, found, len(hits) - 2, score, ids[slot], np.uint32(base + slot))
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
        if _is_enough(hits, found, score) and admits(allow, limited, gate_at, slot):
            found = offer_row(hits, found, len(hits) - 2, score, ids[slot], np.uint32(base + slot))
    return found


@borrowing
def _row_score(tail, slot, query, bits):  # type: ignore[no-untyped-def]
    hashes, start, count, length = tail[0], tail[1], tail[2], tail[3]
    score = _ZERO
    for j in range(np.int64(start[slot]), np.int64(start[slot + 1])):
        t = term_of(query[0], bits, hashes[j])
        if t < len(query[0]):
            score += _worth(query, t, count[j], np.int64(length[slot]))
    return score


@compiled
def _best(entries, tail_entries, query, positions, allow, limited, scores, touched, hits):  # type: ignore[no-untyped-def]
    found = 0
    if len(hits) == 2:
        return found
    for i in range(len(entries)):
        entry = entries[i]
        start = starts_at(entry)
        postings = np.int64(0)
        for t in range(positions.shape[1]):
            at = np.int64(positions[i, t])
            if at >= 0:
                postings += np.int64(start[at + 1]) - np.int64(start[at])
        if postings == 0:
            continue
        lists, base = lists_at(entry, start), np.int64(entry.first)
        gate = (allow, limited, np.int64(entry.gate))
        if postings < np.int64(entry.rows) // _SPARSE:
            found = _rank_sparse(
                query, positions[i], start, lists, base, gate, scores, touched, hits, found
            )
        else:
            found = _rank_dense(query, positions[i], start, lists, base, gate, scores, hits, found)
    bits = np.zeros(FILTER_WORDS, np.uint64)
    set_filter(query[0], bits)
    for i in range(len(tail_entries)):
        tail, base = tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        gate_at = np.int64(tail_entries[i].gate)
        for slot in range(len(tail[4])):
            if admits(allow, limited, gate_at, slot):
                score = _row_score(tail, slot, query, bits)
                if _is_enough(hits, found, score):
                    found = offer_row(
                        hits, found, len(hits) - 2, score, tail[4][slot], np.uint32(base + slot)
                    )
    sort_best_first(hits, found)
    return found


@compiled
def _all(entries, tail_entries, query, positions, scores):  # type: ignore[no-untyped-def]
    for i in range(len(entries)):
        entry = entries[i]
        start, base = starts_at(entry), np.int64(entry.first)
        lists = lists_at(entry, start)
        part = scores[base : base + np.int64(entry.rows)]
        for t in range(positions.shape[1]):
            at = np.int64(positions[i, t])
            if at >= 0:
                first, end = np.int64(start[at]), np.int64(start[at + 1])
                _add_list(query, t, first, end, lists, part)
    bits = np.zeros(FILTER_WORDS, np.uint64)
    set_filter(query[0], bits)
    for i in range(len(tail_entries)):
        tail, base = tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        for slot in range(len(tail[4])):
            scores[base + slot] = _row_score(tail, slot, query, bits)


@compiled
def _counts(parts, hashes, positions, rows, counts, lengths):  # type: ignore[no-untyped-def]
    entries, tail_entries = parts
    low = 0
    for i in range(len(entries)):
        entry = entries[i]
        base, high = np.int64(entry.first), low
        while high < len(rows) and np.int64(rows[high]) < base + np.int64(entry.rows):
            high += 1
        start = starts_at(entry)
        row, count, length, _ = lists_at(entry, start)
        for at_row in range(low, high):
            lengths[at_row] = length[np.int64(rows[at_row]) - base]
        for t in range(len(hashes)):
            term = np.int64(positions[i, t])
            if term < 0:
                continue
            at, end = np.int64(start[term]), np.int64(start[term + 1])
            for at_row in range(low, high):
                slot = np.int64(rows[at_row]) - base
                at = seek(row, at, end, slot)
                if at == end:
                    break
                if np.int64(row[at]) == slot:
                    counts[t, at_row] = count[at]
        low = high
    bits = np.zeros(FILTER_WORDS, np.uint64)
    set_filter(hashes, bits)
    for i in range(len(tail_entries)):
        tail, base = tail_at(tail_entries[i]), np.int64(tail_entries[i].first)
        high = low
        while high < len(rows) and np.int64(rows[high]) < base + len(tail[4]):
            slot = np.int64(rows[high]) - base
            lengths[high] = tail[3][slot]
            for j in range(np.int64(tail[1][slot]), np.int64(tail[1][slot + 1])):
                t = term_of(hashes, bits, tail[0][j])
                if t < len(hashes):
                    counts[t, high] = tail[2][j]
            high += 1
        low = high
