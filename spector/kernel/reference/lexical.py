"""The lexical calls and those about neighbours in plain NumPy: what C and Numba are tested against."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I32, I64, U8, U32, U64
from spector.kernel.contract import (
    LexicalKernel,
    NeighbourKernel,
    PartTable,
    Postings,
    PostingsTable,
    QueryTerms,
    Tail,
    TermSpread,
)
from spector.layout import HEADER_BYTES

_SOUND, _BAD_HASH, _BAD_DIR, _BAD_START, _BAD_ROW = range(5)
_ABSENT: Final = -1


class NumpyLexical(LexicalKernel):
    """The definition of `spector.kernel.contract.lexical.LexicalKernel`."""

    def _find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None, positions: I32, df: I64
    ) -> None:
        counted = np.ones(table.n_rows, bool) if allow is None else table.admitted(allow)
        for i, block in enumerate(table.blocks):
            at, found = _look_up(block.hash, hashes)
            positions[i, found] = at[found]
            here = counted[table.firsts[i] :]
            for t in np.flatnonzero(found).tolist():
                span = slice(int(block.start[at[t]]), int(block.start[at[t] + 1]))
                df[t] += np.count_nonzero(here[block.row[span]])
        for i, tail in enumerate(table.tails, len(table.blocks)):
            word, postings = _tail_words(tail, hashes)
            here = counted[table.firsts[i] :][_tail_slots(tail)[postings]]
            df += np.bincount(word[here], minlength=len(hashes))

    def _best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        allow: U64 | None,
        hits: NDArray[Any],
        k: int,
    ) -> int:
        scores = np.zeros(table.n_rows, np.float32)
        self._all(table, terms, positions, scores)
        passing = scores > 0
        if allow is not None:
            passing &= table.admitted(allow)
        rows = np.flatnonzero(passing)
        ids = table.ids(rows)
        order = np.lexsort((rows, ids, -scores[rows]))[:k]
        out = hits[: len(order)]
        out["id"], out["score"], out["row"] = ids[order], scores[rows[order]], rows[order]
        return len(order)

    def _all(self, table: PostingsTable, terms: QueryTerms, positions: I32, scores: F32) -> None:
        for i, block in enumerate(table.blocks):
            first = int(table.firsts[i])
            part = scores[first : first + block.rows]
            for t, at in enumerate(positions[i].tolist()):
                if at != _ABSENT:
                    span = slice(int(block.start[at]), int(block.start[at + 1]))
                    slots = block.row[span]
                    part[slots] += _worth(terms, t, block.count[span], block.length[slots])
        for i, tail in enumerate(table.tails, len(table.blocks)):
            first = int(table.firsts[i])
            part = scores[first : first + tail.rows]
            word, postings = _tail_words(tail, terms.hash)
            owners = _tail_slots(tail)[postings]
            for t in range(len(terms.hash)):
                here = word == t
                rows, counts = owners[here], tail.count[postings[here]]
                part[rows] += _worth(terms, t, counts, tail.length[rows])

    def _counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: U32, counts: U8, lengths: U8
    ) -> None:
        parts, slots = table.parts_of(rows)
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
            word, at_postings = _tail_words(tail, hashes)
            dense = np.zeros((len(hashes), tail.rows), np.uint8)
            dense[word, _tail_slots(tail)[at_postings]] = tail.count[at_postings]
            counts[:, here] = dense[:, slots[here]]

    def _having(
        self, table: PostingsTable, hashes: U64, positions: I32, allow: U64 | None, rows: U32
    ) -> int:
        had = np.zeros(table.n_rows, np.int64)
        for i, block in enumerate(table.blocks):
            for at in positions[i][positions[i] != _ABSENT].tolist():
                span = slice(int(block.start[at]), int(block.start[at + 1]))
                had[table.firsts[i] + block.row[span].astype(np.int64)] += 1
        for i, tail in enumerate(table.tails, len(table.blocks)):
            _, at_postings = _tail_words(tail, hashes)
            np.add.at(had, table.firsts[i] + _tail_slots(tail)[at_postings], 1)
        passing = (had == len(hashes)) & (len(hashes) > 0)
        if allow is not None:
            passing &= table.admitted(allow)
        found = np.flatnonzero(passing)[: len(rows)]
        rows[: len(found)] = found
        return len(found)

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
    terms: QueryTerms, t: int, counts: NDArray[np.uint8], lengths: NDArray[np.uint8]
) -> NDArray[np.float32]:
    often = counts.astype(np.float32)
    worth: NDArray[np.float32] = terms.weight[t] * often / (often + terms.norm[lengths])
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


# The calls about neighbours in plain NumPy: what C and Numba are tested against.

#: rows whose vectors are widened at once, with those of their neighbours
_AT_ONCE: Final = 512
#: bytes of a record that hold its vector's scale
_SCALE: Final = slice(4, 8)


class NumpyNeighbours(NeighbourKernel):
    """The definition of `spector.kernel.contract.scanner.NeighbourKernel`."""

    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        n = spread.ranked
        # what no ranked row receives is added up behind them
        targets = np.minimum(spread.target, n).astype(np.int64)
        for t, line in enumerate(counts):
            rows = np.flatnonzero(line)
            given = line[rows].astype(np.float64) * spread.share[rows]
            gifts = (given[:, None] * spread.factor).ravel()
            sums = np.bincount(targets[rows].ravel(), gifts, minlength=n + 1)[:n]
            often = sums.astype(np.float64) + line[:n]
            if extra is not None:
                often += extra[t]
            tf = often.astype(np.float32)
            out += weight[t] * (tf / (tf + length_norm))

    def _fill_norms(self, table: PartTable, places: list[U32], share: float, out: F32) -> None:
        part, slot, *rows = places
        for start in range(0, len(out), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            own, left, right = (_Vectors(self, table, part, slot, each[some]) for each in rows)
            total, cross = own.product(own), own.product(left) + own.product(right)
            total += share * share * left.product(left)
            total += share * share * right.product(right)
            cross += share * left.product(right)
            total += 2.0 * share * cross
            lengths = np.sqrt(np.maximum(total, 0.0)).astype(np.float32)
            alone = ~(left.there | right.there)
            out[some] = np.where(alone, np.float32(1), np.maximum(lengths, np.float32(1e-9)))

    def _walk(self, before: I32, after: I32, alive: U8 | None, rows: I64, out: I64) -> None:
        reach = out.shape[1] // 2
        for side, links in enumerate((before, after)):
            at = rows
            for step in range(reach):
                at = out[:, side * reach + step] = _next(links, alive, at)


def _next(links: I32, alive: U8 | None, at: I64) -> I64:
    """(n,) the next rows of chains."""
    count = len(links)
    out = at.copy()
    going = np.flatnonzero(at >= 0)
    for _ in range(count):
        if not len(going):
            break
        found = links[out[going]].astype(np.int64)
        found[(found < 0) | (found >= count)] = -1
        out[going] = found
        if alive is None:
            return out
        going = going[(found >= 0) & (alive[found] == 0)]
    out[going] = -1  # more links than rows: a circle
    return out


class _Vectors:
    """Stored vectors of some of m places, 0 for those that are none of them."""

    def __init__(self, kernel: Any, table: PartTable, part: U32, slot: U32, which: U32) -> None:
        self.there = which < len(part)
        found = which[self.there]
        self.codes = np.zeros((len(which), max(table.stride - HEADER_BYTES, 0)), np.int32)
        self.scales = np.zeros(len(which))
        if len(found):
            records = kernel.gather(table, part[found], slot[found], 0, table.stride)
            self.codes[self.there] = records[:, HEADER_BYTES:].view(np.int8)
            self.scales[self.there] = np.ascontiguousarray(records[:, _SCALE]).view("<f4")[:, 0]
        with np.errstate(invalid="ignore"):
            self.scales[~((self.scales >= 0) & (self.scales <= 1))] = 0

    def product(self, other: _Vectors) -> NDArray[np.float64]:
        """(n,) dot products, row by row."""
        sums = np.einsum("nd,nd->n", self.codes, other.codes)
        out: NDArray[np.float64] = self.scales * other.scales * sums.astype(np.float64)
        return out
