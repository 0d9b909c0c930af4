"""The lexical calls in plain NumPy: the definition that C and Numba are tested against."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import (
    WORD_HIT_DTYPE,
    Postings,
    PostingsTable,
    Tail,
    Words,
    check_allow,
    check_hashes,
    check_positions,
    check_rows,
)

__all__ = ["NumpyLexical"]

_SOUND, _BAD_HASH, _BAD_DIR, _BAD_START, _BAD_ROW = range(5)
_ABSENT: Final = -1

U64 = NDArray[np.uint64]


class NumpyLexical:
    """The lexical calls, see `spector.kernel.contract.postings.LexicalKernel`."""

    def lexical_find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        sought = check_hashes(hashes)
        positions = np.full((len(table.blocks), len(sought)), _ABSENT, np.int32)
        df = np.zeros(len(sought), np.int64)
        bitmap = check_allow(table, allow)
        counted = np.ones(table.n_rows, bool) if bitmap is None else table.admitted(bitmap)
        for i, block in enumerate(table.blocks):
            at, found = _look_up(block.hash, sought)
            positions[i, found] = at[found]
            here = counted[table.firsts[i] :]
            for t in np.flatnonzero(found).tolist():
                span = slice(int(block.start[at[t]]), int(block.start[at[t] + 1]))
                df[t] += np.count_nonzero(here[block.row[span]])
        for i, tail in enumerate(table.tails, len(table.blocks)):
            word, postings = _tail_words(tail, sought)
            here = counted[table.firsts[i] :][_tail_slots(tail)[postings]]
            df += np.bincount(word[here], minlength=len(sought))
        return positions, df

    def lexical_best(
        self,
        table: PostingsTable,
        words: Words,
        positions: NDArray[np.int32],
        k: int,
        allow: U64 | None = None,
    ) -> NDArray[Any]:
        scores = self.lexical_all(table, words, positions)
        passing = scores > 0
        bitmap = check_allow(table, allow)
        if bitmap is not None:
            passing &= table.admitted(bitmap)
        rows = np.flatnonzero(passing)
        ids = table.ids(rows)
        order = np.lexsort((rows, ids, -scores[rows]))[: max(k, 0)]
        out = np.zeros(len(order), WORD_HIT_DTYPE)
        out["id"], out["score"], out["row"] = ids[order], scores[rows[order]], rows[order]
        return out

    def lexical_all(
        self, table: PostingsTable, words: Words, positions: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        positions = check_positions(table, len(words.hash), positions)
        scores = np.zeros(table.n_rows, np.float32)
        for i, block in enumerate(table.blocks):
            first = int(table.firsts[i])
            part = scores[first : first + block.rows]
            for t, at in enumerate(positions[i].tolist()):
                if at != _ABSENT:
                    span = slice(int(block.start[at]), int(block.start[at + 1]))
                    slots = block.row[span]
                    part[slots] += _worth(words, t, block.count[span], block.length[slots])
        for i, tail in enumerate(table.tails, len(table.blocks)):
            first = int(table.firsts[i])
            part = scores[first : first + tail.rows]
            word, postings = _tail_words(tail, words.hash)
            owners = _tail_slots(tail)[postings]
            for t in range(len(words.hash)):
                here = word == t
                rows, counts = owners[here], tail.count[postings[here]]
                part[rows] += _worth(words, t, counts, tail.length[rows])
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
        parts, slots = table.parts_of(chosen)
        for part in np.unique(parts).tolist():
            here = np.flatnonzero(parts == part)
            if part < len(table.blocks):
                block = table.blocks[part]
                lengths[here] = block.length[slots[here]]
                for t, at in enumerate(positions[part].tolist()):
                    if at != _ABSENT:
                        counts[t, here] = _counts_in(block, at, slots[here])
                continue
            tail = table.tails[part - len(table.blocks)]
            lengths[here] = tail.length[slots[here]]
            word, at_postings = _tail_words(tail, sought)
            dense = np.zeros((len(sought), tail.rows), np.uint8)
            dense[word, _tail_slots(tail)[at_postings]] = tail.count[at_postings]
            counts[:, here] = dense[:, slots[here]]
        return counts, lengths

    def lexical_having(
        self,
        table: PostingsTable,
        hashes: U64,
        positions: NDArray[np.int32],
        limit: int,
        allow: U64 | None = None,
    ) -> NDArray[np.uint32]:
        sought = check_hashes(hashes)
        positions = check_positions(table, len(sought), positions)
        bitmap = check_allow(table, allow)
        had = np.zeros(table.n_rows, np.int64)
        for i, block in enumerate(table.blocks):
            for at in positions[i][positions[i] != _ABSENT].tolist():
                span = slice(int(block.start[at]), int(block.start[at + 1]))
                had[table.firsts[i] + block.row[span].astype(np.int64)] += 1
        for i, tail in enumerate(table.tails, len(table.blocks)):
            _, at_postings = _tail_words(tail, sought)
            np.add.at(had, table.firsts[i] + _tail_slots(tail)[at_postings], 1)
        passing = (had == len(sought)) & (len(sought) > 0)
        if bitmap is not None:
            passing &= table.admitted(bitmap)
        return np.flatnonzero(passing)[: max(limit, 0)].astype(np.uint32)

    def lexical_check(self, postings: Postings) -> int:
        p, bits = postings, postings.dir_bits
        if (p.hash[1:] <= p.hash[:-1]).any():
            return _BAD_HASH
        tops = np.arange((1 << bits) + 1, dtype=np.uint64)
        if not np.array_equal(p.dir, np.searchsorted(p.hash >> np.uint64(64 - bits), tops)):
            return _BAD_DIR
        start = p.start.astype(np.int64)
        if start[0] or start[-1] != len(p.row) or (np.diff(start) <= 0).any():
            return _BAD_START
        within = np.ones(len(p.row), bool)  # not the first of its term
        within[start[:-1]] = False
        falling = np.diff(p.row.astype(np.int64), prepend=-1) <= 0
        if (p.row >= p.rows).any() or not p.count.all() or (falling & within).any():
            return _BAD_ROW
        return _SOUND


def _worth(
    words: Words, t: int, counts: NDArray[np.uint8], lengths: NDArray[np.uint8]
) -> NDArray[np.float32]:
    often = counts.astype(np.float32)
    worth: NDArray[np.float32] = words.weight[t] * often / (often + words.norm[lengths])
    return worth


def _look_up(hashes: U64, sought: U64) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each sought hash would be among ascending ones, and whether it is there."""
    at = np.minimum(np.searchsorted(hashes, sought), max(len(hashes) - 1, 0))
    if not len(hashes):
        return at, np.zeros(len(sought), bool)
    return at, hashes[at] == sought


def _tail_words(tail: Tail, sought: U64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of the tail's postings that are one of the words: which word, and which posting."""
    hashes = tail.hash[: int(tail.start[tail.rows])]
    if not len(sought):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    word, found = _look_up(sought, hashes)
    return word[found], np.flatnonzero(found)


def _tail_slots(tail: Tail) -> NDArray[np.int64]:
    """The slot of each posting."""
    start = tail.start[: tail.rows + 1]
    return np.repeat(np.arange(tail.rows), (start[1:] - start[:-1]).astype(np.int64))


def _counts_in(block: Postings, term: int, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
    span = slice(int(block.start[term]), int(block.start[term + 1]))
    at = np.searchsorted(block.row[span], slots)
    inside = np.minimum(at, span.stop - span.start - 1)
    found = block.row[span][inside] == slots
    return np.where(found, block.count[span][inside], 0).astype(np.uint8)
