"""Postings in memory: which rows have which terms, how often. Immutable blocks and a short tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector._types import U8, U32, U64
from spector.kernel.contract import WORD_BLOCK_ROWS, Postings, PostingsTable, Tail, directory_of
from spector.language.words import Analysis, is_stop, term_hash

# Postings of many texts at once: each row's terms, their counts, and its length.

_U16: int = 0xFFFF


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTexts:
    """Postings of n texts, by ascending row and then hash; lengths saturate at 65,535.

    Attributes:
        hash, row, count: (postings,) u64, i64, u8. Occurrences in the text (255 at most), plus one
            if the field has the term.
        content: (n,) u16, words without stop words.
    """

    hash: NDArray[np.uint64]
    row: NDArray[np.int64]
    count: NDArray[np.uint8]
    content: NDArray[np.uint16]


class _Codes(dict[str, int]):
    """Numbers of terms, in the order of their first occurrence."""

    def __missing__(self, term: str) -> int:
        code = self[term] = len(self)
        return code


def encode_texts(
    texts: Sequence[Analysis], fields: Sequence[NDArray[np.uint64]], key: bytes
) -> EncodedTexts:
    """The postings of some texts.

    Args:
        texts: n of them.
        fields: n arrays with the hashes of a text's field terms, each once.
        key: of the hashes.
    """
    codes = _Codes()
    stream: list[int] = []
    lengths: list[int] = []
    joined: list[int] = []
    joined_row: list[int] = []
    for n, found in enumerate(texts):
        stream += [codes[word] for word in found.words]
        lengths.append(len(found.words))
        for term in (*found.joined, *found.signs):
            joined.append(codes[term])
            joined_row.append(n)
    hashes = np.array(list(map(term_hash, codes, repeat(key))), np.uint64)
    stops = np.array(list(map(is_stop, codes)), bool)
    at = np.array(stream, np.int64)
    row = np.repeat(np.arange(len(texts)), lengths)
    content = ~stops[at] if len(at) else np.zeros(0, bool)
    keys = [hashes[at], hashes[np.array(joined, np.int64)], *fields]
    rows = [
        row,
        np.array(joined_row, np.int64),
        np.repeat(np.arange(len(texts)), [len(field) for field in fields]),
    ]
    key_, row_, count = _combine(np.concatenate(keys), np.concatenate(rows))
    long = np.bincount(row[content], minlength=len(texts))
    return EncodedTexts(key_, row_, count, np.minimum(long, _U16).astype(np.uint16))


def _combine(
    keys: NDArray[np.uint64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint8]]:
    """Each (row, term) once, with its count."""
    if not len(keys):
        return keys.astype(np.uint64), rows, np.zeros(0, np.uint8)
    terms, place = np.unique(keys, return_inverse=True)
    both = np.sort(rows * len(terms) + place)  # one sort of numbers: several times a lexsort
    new = np.concatenate(([True], both[1:] != both[:-1]))
    first = np.flatnonzero(new)
    count = np.minimum(np.diff(np.append(first, len(keys))), 255).astype(np.uint8)
    row, term = np.divmod(both[first], len(terms))
    return terms[term], row, count


#: rows of a tail at most; a look-up reads all of it
TAIL_ROWS: Final = 512
#: a block is merged with the one before unless that is at least so many times as large
_LIKE: Final = 4

U16 = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Occurrences in any order of terms: (n,) each. ``row`` counts from the owner's first row."""

    hash: U64
    row: U16
    count: U8

    def __len__(self) -> int:
        return len(self.hash)


@dataclass(frozen=True, slots=True, eq=False)
class InvertedBlock:
    """Rows ``base .. base + rows - 1``, by term.

    Attributes:
        hash: (terms,) ascending.
        start: (terms + 1,) first posting of a term.
        row: (postings,) ascending within a term.
        count: (postings,)
        dir: see `spector.kernel.contract.lexical.directory_of`.
    """

    base: int
    rows: int
    hash: U64
    start: U32
    row: U16
    count: U8
    dir: U32

    def occurrences(self, shift: int) -> Occurrences:
        """All occurrences, with ``shift`` added to the rows."""
        counts = np.diff(self.start).astype(np.int64)
        row = (self.row.astype(np.int64) + shift).astype(np.uint16)
        return Occurrences(np.repeat(self.hash, counts), row, self.count)

    def postings(self, lengths: U8, ids: NDArray[np.int64]) -> Postings:
        """The same for a kernel; ``lengths``, ``ids``: (rows,) of all rows."""
        return Postings(
            hash=self.hash,
            dir=self.dir,
            start=self.start,
            row=self.row,
            count=self.count,
            length=lengths[self.base : self.base + self.rows],
            id=ids.view(np.uint64)[self.base : self.base + self.rows],
        )

    @property
    def nbytes(self) -> int:
        arrays = (self.hash, self.start, self.row, self.count, self.dir)
        return sum(array.nbytes for array in arrays)


_Block = TypeVar("_Block", bound=InvertedBlock)


def invert(base: int, rows: int, parts: Sequence[Occurrences]) -> InvertedBlock:
    """The block of some occurrences; earlier parts must have smaller rows."""
    keys = np.concatenate([part.hash for part in parts]) if parts else np.zeros(0, np.uint64)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = (
        np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        if len(keys)
        else (np.zeros(0, np.int64))
    )
    start = np.append(first, len(keys)).astype(np.uint32)
    row = np.concatenate([part.row for part in parts])[order] if parts else np.zeros(0, np.uint16)
    count = (
        np.concatenate([part.count for part in parts])[order] if parts else (np.zeros(0, np.uint8))
    )
    terms = keys[first]
    return InvertedBlock(base, rows, terms, start, row, count, directory_of(terms))


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Blocks and a tail over rows ``0 .. rows - 1``. Immutable: :meth:`append` gives another.

    The tail's arrays have spare room, which the next stack uses; this one reads only its own part.
    """

    blocks: tuple[InvertedBlock, ...]
    tail: Occurrences
    tail_base: int
    tail_rows: int
    tail_len: int

    @staticmethod
    def empty() -> Stack:
        return Stack((), _empty(0), 0, 0, 0)

    @staticmethod
    def of(blocks: Sequence[InvertedBlock]) -> Stack:
        """Consecutive blocks with an empty tail."""
        rows = sum(block.rows for block in blocks)
        return Stack(tuple(blocks), _empty(0), rows, 0, 0)

    @property
    def rows(self) -> int:
        return self.tail_base + self.tail_rows

    @property
    def nbytes(self) -> int:
        tail = self.tail
        return sum(b.nbytes for b in self.blocks) + sum(
            a.nbytes for a in (tail.hash, tail.row, tail.count)
        )

    def table(self, ids: NDArray[np.int64], lengths: U8) -> PostingsTable:
        """The table that a kernel searches; row numbers are those of the stack.

        Args:
            ids: (rows,) of the memories.
            lengths: (rows,) codes of their lengths.
        """
        end = self.tail_base + self.tail_rows
        blocks = [block.postings(lengths, ids) for block in self.blocks]
        tails = []
        if self.tail_rows:
            used = self.tail_len
            start = np.searchsorted(self.tail.row[:used], np.arange(self.tail_rows + 1))
            tails.append(
                Tail(
                    hash=self.tail.hash[:used],
                    start=start.astype(np.uint32),
                    count=self.tail.count[:used],
                    length=lengths[self.tail_base : end],
                    id=ids.view(np.uint64)[self.tail_base : end],
                    rows=self.tail_rows,
                )
            )
        return PostingsTable(blocks, tails)

    def append(self, rows: int, hashes: U64, row: NDArray[np.int64], count: U8) -> Stack:
        """With ``rows`` more rows; their occurrences ascend by row, counted from 0."""
        stack, done = self, 0
        while done < rows:
            if stack.tail_rows == 0 and rows - done > TAIL_ROWS:
                take = min(rows - done, WORD_BLOCK_ROWS)
            else:
                take = min(rows - done, TAIL_ROWS - stack.tail_rows)
            a, b = np.searchsorted(row, (done, done + take))
            part = Occurrences(hashes[a:b], (row[a:b] - done).astype(np.uint16), count[a:b])
            if take > TAIL_ROWS:
                stack = stack._with_block(invert(stack.rows, take, [part]))
            else:
                stack = stack._with_tail(take, part)
            done += take
        return stack

    def select(self, alive: NDArray[np.bool_]) -> Stack:
        """Only the rows that are alive (rows,), renumbered in their order."""
        stack = Stack.empty()
        blocks: list[InvertedBlock] = []
        for block in self.blocks:
            mine = alive[block.base : block.base + block.rows]
            base = blocks[-1].base + blocks[-1].rows if blocks else 0
            if mine.any():
                blocks.append(_drop_rows(block, mine, base))
        base = blocks[-1].base + blocks[-1].rows if blocks else 0
        stack = Stack(tuple(blocks), _empty(0), base, 0, 0)
        mine = alive[self.tail_base : self.tail_base + self.tail_rows]
        used = self.tail_len
        keep = mine[self.tail.row[:used]]
        rank = np.cumsum(mine) - 1
        row = rank[self.tail.row[:used][keep]]
        return stack.append(
            int(mine.sum()), self.tail.hash[:used][keep], row, self.tail.count[:used][keep]
        )

    def _with_tail(self, rows: int, more: Occurrences) -> Stack:
        used, need = self.tail_len, self.tail_len + len(more)
        tail = self.tail
        if need > len(tail):
            tail = _empty(max(need, 2 * used))
            for name in ("hash", "row", "count"):
                getattr(tail, name)[:used] = getattr(self.tail, name)[:used]
        tail.hash[used:need] = more.hash
        tail.row[used:need] = more.row + np.uint16(self.tail_rows)
        tail.count[used:need] = more.count
        stack = Stack(self.blocks, tail, self.tail_base, self.tail_rows + rows, need)
        if stack.tail_rows < TAIL_ROWS:
            return stack
        whole = Occurrences(tail.hash[:need], tail.row[:need], tail.count[:need])
        block = invert(stack.tail_base, stack.tail_rows, [whole])
        return Stack(self.blocks, _empty(0), self.tail_base, 0, 0)._with_block(block)

    def _with_block(self, block: InvertedBlock) -> Stack:
        """With one block more, merged with those before it while their sizes are similar."""
        assert self.tail_rows == 0, "a block goes behind everything"
        blocks = [*self.blocks, block]
        while len(blocks) > 1:
            a, b = blocks[-2:]
            if a.rows + b.rows > WORD_BLOCK_ROWS or a.rows >= _LIKE * b.rows:
                break
            merged = invert(a.base, a.rows + b.rows, [a.occurrences(0), b.occurrences(a.rows)])
            blocks[-2:] = [merged]
        return Stack(tuple(blocks), _empty(0), blocks[-1].base + blocks[-1].rows, 0, 0)


def without_dead(block: _Block, alive: NDArray[np.bool_]) -> _Block:
    """A block without the postings of dead rows, which stay as rows without words."""
    keep = alive[block.row]
    kept = np.concatenate(([0], np.cumsum(keep)))[block.start]  # postings before each term
    there = np.diff(kept) > 0
    terms = block.hash[there]
    return replace(
        block,
        hash=terms,
        start=np.append(kept[:-1][there], kept[-1]).astype(np.uint32),
        row=block.row[keep],
        count=block.count[keep],
        dir=directory_of(terms),
    )


def _drop_rows(block: InvertedBlock, alive: NDArray[np.bool_], base: int) -> InvertedBlock:
    """A block with only the rows that are alive, beginning at ``base``."""
    rank = (np.cumsum(alive) - 1).astype(np.uint16)
    left = without_dead(block, alive)
    return replace(left, base=base, rows=int(alive.sum()), row=rank[left.row])


def _empty(size: int) -> Occurrences:
    return Occurrences(
        np.zeros(size, np.uint64), np.zeros(size, np.uint16), np.zeros(size, np.uint8)
    )
