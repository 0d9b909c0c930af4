"""The lexical calls of every backend, and what they take and return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError

if TYPE_CHECKING:
    from spector._types import F32, I32, I64, U8, U32, U64


# What the lexical calls of every backend take and return: postings, and the terms of a query.
#
# Settled rows lie in blocks of at most `WORD_BLOCK_ROWS`, arranged by term; new rows lie in a tail,
# arranged by row. A *row number* counts through all of them, from the first block to the last tail.
# In a *bitmap of rows* each block and tail begins with its own 64 bits (`PostingsTable.allow_of`).
#
# A row's score is BM25 (Robertson and others, TREC-3), float32, its terms added in the order of their
# hashes: ``sum of weight * count / (count + norm[length])``. So the bits do not depend on the backend
# or on whether a row is in a block or in a tail.

#: rows of a block at most: slots are 16 bits
WORD_BLOCK_ROWS: Final = 65_536

#: ``spector_postings`` of native/spector.h; addresses as integers
POSTINGS_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in ("hash", "dir", "start", "row", "count", "length", "id")]
    + [(name, "<u4") for name in ("rows", "terms", "dir_bits", "first", "gate", "reserved")]
)
#: ``spector_tail``
TAIL_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in ("hash", "start", "count", "length", "id")]
    + [(name, "<u4") for name in ("rows", "first", "gate", "reserved")]
)
#: ``spector_words``
QUERY_TERMS_DTYPE: Final = np.dtype(
    [("hash", "<u8"), ("weight", "<u8"), ("norm", "<u8"), ("n", "<u4"), ("reserved", "<u4")]
)
#: ``spector_word_hit``
WORD_HIT_DTYPE: Final = np.dtype([("id", "<u8"), ("score", "<f4"), ("row", "<u4")])

#: problems that `LexicalKernel.lexical_check` finds, by its result
PROBLEMS: Final = ("", "hashes", "directory", "starts", "rows")

_MOST_DIR_BITS: Final = 24


def _lengths() -> NDArray[np.float32]:
    steps = np.arange(128)
    coarse = 128 * 2.0 ** (steps // 16) * (1 + steps % 16 / 16)
    return np.concatenate((np.arange(129), coarse[1:])).astype(np.float32)


#: (256,) float32 words that a length code stands for: exact to 128, then in steps of a sixteenth
LENGTHS: Final = _lengths()


def length_codes(words: NDArray[Any]) -> U8:
    """(n,) numbers of words -> (n,) uint8: codes of the lengths, rounded down."""
    found = np.searchsorted(LENGTHS, np.asarray(words), side="right") - 1
    return np.clip(found, 0, 255).astype(np.uint8)


def dir_bits_of(terms: int) -> int:
    """Bits of a hash that index the directory of so many terms."""
    return min(_MOST_DIR_BITS, max(1, terms.bit_length() - 3))


def directory_of(hashes: U64) -> NDArray[np.uint32]:
    """(2^bits + 1,) uint32 of (terms,) ascending hashes: the first whose top bits are that or more.

    There are about four hashes to an entry.
    """
    bits = dir_bits_of(len(hashes))
    tops = hashes >> np.uint64(64 - bits)
    return np.searchsorted(tops, np.arange((1 << bits) + 1, dtype=np.uint64)).astype(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Postings of a block's rows, by term. All arrays are contiguous and never change.

    hash: (terms,) uint64, ascending and distinct.
    dir: (2^dir_bits + 1,) uint32, see `directory_of`.
    start: (terms + 1,) uint32, the first posting of each term; the last one is their number.
    row: (postings,) uint16 slots, ascending within a term.
    count: (postings,) uint8, how often the row has the term; 255 means 255 or more.
    length: (rows,) uint8, codes of `LENGTHS`.
    id: (rows,) uint64.
    """

    hash: U64
    dir: NDArray[np.uint32]
    start: NDArray[np.uint32]
    row: NDArray[np.uint16]
    count: U8
    length: U8
    id: U64

    @property
    def rows(self) -> int:
        return len(self.id)

    @property
    def dir_bits(self) -> int:
        return (len(self.dir) - 1).bit_length() - 1

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__dataclass_fields__)


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """Postings of rows, row by row. Arrays may be longer than the ``rows`` in use.

    hash: (postings,) uint64, ascending and distinct within a row.
    start: (rows + 1,) uint32.
    count, length, id: as in `Postings`.
    """

    hash: U64
    start: NDArray[np.uint32]
    count: U8
    length: U8
    id: U64
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """The terms of a query.

    hash: (n,) uint64, ascending and distinct.
    weight: (n,) float32, finite and at least 0: ``idf * (k1 + 1)``.
    norm: (256,) float32 by length code: ``k1 * (1 - b + b * length / mean length)``.
    """

    hash: U64
    weight: NDArray[np.float32]
    norm: NDArray[np.float32]

    @classmethod
    def make(
        cls,
        hashes: U64,
        idf: NDArray[Any],
        *,
        mean_length: float,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> QueryTerms:
        """Terms in any order, each with the weight of one occurrence.

        Args:
            hashes: (n,) uint64, distinct.
            idf: (n,) weights, finite and at least 0.
            mean_length: mean number of words of a row; above 0.
            k1, b: at least 0; b at most 1.
        """
        chosen = np.ascontiguousarray(hashes, np.uint64)
        weights = np.asarray(idf, np.float32)
        if weights.shape != chosen.shape or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InvalidInputError("idf must have one finite weight, at least 0, for each hash")
        if not (k1 >= 0 and 0 <= b <= 1 and mean_length > 0):
            raise InvalidInputError(
                "BM25 needs k1 >= 0, 0 <= b <= 1 and mean_length > 0; got"
                f" k1 {k1}, b {b}, mean_length {mean_length}"
            )
        order = np.argsort(chosen, kind="stable")
        norm = (k1 * (1 - b + b * LENGTHS.astype(np.float64) / mean_length)).astype(np.float32)
        weight = (weights * np.float32(k1 + 1))[order]
        return cls(check_hashes(chosen[order]), np.ascontiguousarray(weight), norm)


class PostingsTable:
    """Blocks and tails in the form that a backend reads.

    Attributes:
        firsts: (parts,) int64, number of each part's first row, blocks first.
        rows: (parts,) int64, rows of each.
        n_rows: all rows; their numbers are below it.
        gates: (parts,) int64, the first 64-bit word of each in a bitmap of rows.
        gate_words: words of a bitmap of rows.
    """

    def __init__(self, blocks: Sequence[Postings], tails: Sequence[Tail] = ()) -> None:
        self.blocks: tuple[Postings, ...] = tuple(blocks)
        self.tails: tuple[Tail, ...] = tuple(tails)
        self.entries: NDArray[Any] = np.zeros(len(self.blocks), POSTINGS_DTYPE)
        self.tail_entries: NDArray[Any] = np.zeros(len(self.tails), TAIL_DTYPE)
        counts = [block.rows for block in self.blocks] + [tail.rows for tail in self.tails]
        self.rows: NDArray[np.int64] = np.array(counts, np.int64)
        self.firsts: NDArray[np.int64] = _starts(counts)
        self.n_rows: int = sum(counts)
        words = [-(-count // 64) for count in counts]
        self.gates: NDArray[np.int64] = _starts(words)
        self.gate_words: int = sum(words)
        if self.n_rows > 0xFFFF_FFFF:
            raise InvalidInputError(f"{self.n_rows} rows: row numbers have 32 bits")
        places = list(zip(self.firsts.tolist(), self.gates.tolist(), strict=True))
        for i, block in enumerate(self.blocks):
            self.entries[i] = (
                *_addresses(block, "hash", "dir", "start", "row", "count", "length", "id"),
                block.rows,
                len(block.hash),
                block.dir_bits,
                *places[i],
                0,
            )
        for i, tail in enumerate(self.tails):
            self.tail_entries[i] = (
                *_addresses(tail, "hash", "start", "count", "length", "id"),
                tail.rows,
                *places[len(self.blocks) + i],
                0,
            )

    def parts_of(self, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) row numbers -> their part (blocks, then tails) and their slot in it."""
        parts = np.searchsorted(self.firsts, rows, side="right") - 1
        return parts, np.asarray(rows, np.int64) - self.firsts[parts]

    def ids(self, rows: NDArray[Any]) -> U64:
        """(n,) row numbers -> (n,) ids."""
        out = np.zeros(len(rows), np.uint64)
        parts, slots = self.parts_of(rows)
        every = (*self.blocks, *self.tails)
        for part in np.unique(parts):
            here = parts == part
            out[here] = every[part].id[slots[here]]
        return out

    def allow_of(self, admitted: NDArray[np.bool_]) -> U64:
        """(n_rows,) by row number -> the bitmap of rows (gate_words,) that the calls take."""
        out = np.zeros(self.gate_words * 8, np.uint8)
        for first, count, gate in zip(self.firsts, self.rows, self.gates, strict=True):
            bits = np.packbits(admitted[first : first + count], bitorder="little")
            out[gate * 8 : gate * 8 + len(bits)] = bits
        return out.view("<u8")

    def admitted(self, allow: U64) -> NDArray[np.bool_]:
        """The reverse of `allow_of`."""
        bits = np.unpackbits(allow.view(np.uint8), bitorder="little").view(bool)
        spans = zip(self.rows, self.gates, strict=True)
        parts = [bits[gate * 64 : gate * 64 + count] for count, gate in spans]
        return np.concatenate(parts) if parts else bits


def check_hashes(hashes: U64) -> U64:
    """Hashes as the calls want them; raises unless they ascend."""
    chosen = np.ascontiguousarray(hashes, np.uint64).ravel()
    if (chosen[1:] <= chosen[:-1]).any():
        raise InvalidInputError("hashes must be distinct and ascend")
    return chosen


def _starts(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *counts], dtype=np.int64)[:-1]


def _addresses(owner: Postings | Tail, *names: str) -> list[int]:
    arrays = [getattr(owner, name) for name in names]
    if not all(array.flags.c_contiguous for array in arrays):
        raise InvalidInputError("postings must be contiguous")
    return [int(array.ctypes.data) for array in arrays]


class LexicalKernel(ABC):
    """The lexical calls of a backend; ``positions`` is what `lexical_find` gave for the terms.

    ``allow`` is a bitmap of rows (gate_words,) uint64; None allows all of them.
    """

    def lexical_find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None = None
    ) -> tuple[I32, I64]:
        """Where terms are, and how many of the allowed rows have them.

        Args:
            hashes: (n,) uint64, ascending and distinct.

        Returns:
            (blocks, n) int32 numbers of terms, -1 where a block lacks the term; (n,) int64 rows.
        """
        sought, bitmap = check_hashes(hashes), _check_allow(table, allow)
        positions = np.full((len(table.blocks), len(sought)), -1, np.int32)
        df = np.zeros(len(sought), np.int64)
        self._find(table, sought, bitmap, positions, df)
        return positions, df

    def lexical_best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        k: int,
        allow: U64 | None = None,
    ) -> NDArray[Any]:
        """The best k rows as `WORD_HIT_DTYPE`: score descending, then id, then row number.

        Every allowed row that has a term is scored; those that score 0 are not hits.
        """
        positions = _check_positions(table, len(terms.hash), positions)
        bitmap, most = _check_allow(table, allow), min(max(k, 0), table.n_rows)
        hits = np.empty(most + 2, WORD_HIT_DTYPE)
        return hits[: self._best(table, terms, positions, bitmap, hits, most)]

    def lexical_all(self, table: PostingsTable, terms: QueryTerms, positions: I32) -> F32:
        """Scores of all rows, (n_rows,) float32 by row number."""
        positions = _check_positions(table, len(terms.hash), positions)
        scores = np.zeros(table.n_rows, np.float32)
        self._all(table, terms, positions, scores)
        return scores

    def lexical_counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: NDArray[Any]
    ) -> tuple[U8, U8]:
        """Of (n,) ascending row numbers: (terms, n) uint8 occurrences, (n,) uint8 length codes."""
        sought, chosen = check_hashes(hashes), _check_rows(table, rows)
        positions = _check_positions(table, len(sought), positions)
        counts = np.zeros((len(sought), len(chosen)), np.uint8)
        lengths = np.zeros(len(chosen), np.uint8)
        self._counts(table, sought, positions, chosen, counts, lengths)
        return counts, lengths

    def lexical_having(
        self,
        table: PostingsTable,
        hashes: U64,
        positions: I32,
        limit: int,
        allow: U64 | None = None,
    ) -> U32:
        """The first row numbers, at most ``limit``, of allowed rows that have all the terms."""
        sought = check_hashes(hashes)
        positions = _check_positions(table, len(sought), positions)
        bitmap = _check_allow(table, allow)
        rows = np.empty(min(max(limit, 0), table.n_rows), np.uint32)
        return rows[: self._having(table, sought, positions, bitmap, rows)]

    @abstractmethod
    def lexical_check(self, postings: Postings) -> int:
        """0 if the other calls may trust the arrays, else an index of `PROBLEMS`.

        Their lengths and dtypes have been checked already.
        """

    @abstractmethod
    def _find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None, positions: I32, df: I64
    ) -> None:
        """Fills ``positions``, which are -1, and ``df``, which are 0."""

    @abstractmethod
    def _best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        allow: U64 | None,
        hits: NDArray[Any],
        k: int,
    ) -> int:
        """Fills ``hits``, which has two entries to spare behind the k; returns their number."""

    @abstractmethod
    def _all(self, table: PostingsTable, terms: QueryTerms, positions: I32, scores: F32) -> None:
        """Adds to ``scores``."""

    @abstractmethod
    def _counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: U32, counts: U8, lengths: U8
    ) -> None:
        """Fills ``counts`` and ``lengths``, which are 0."""

    @abstractmethod
    def _having(
        self, table: PostingsTable, hashes: U64, positions: I32, allow: U64 | None, rows: U32
    ) -> int:
        """Fills ``rows``; returns how many there are."""


def _check_positions(table: PostingsTable, terms: int, positions: I32) -> I32:
    """Positions that cannot lead out of the table's postings; raises when any would."""
    if positions.shape != (len(table.blocks), terms) or positions.dtype != np.int32:
        raise InvalidInputError("positions belong to other terms or another table")
    if positions.size and (
        int(positions.min()) < -1
        or (positions >= table.entries["terms"].astype(np.int64)[:, None]).any()
    ):
        raise InvalidInputError("a position is beyond its block's terms")
    return np.ascontiguousarray(positions)


def _check_allow(table: PostingsTable, allow: U64 | None) -> U64 | None:
    if allow is None:
        return None
    if allow.dtype != np.uint64 or allow.shape != (table.gate_words,):
        raise InvalidInputError(f"a bitmap of rows must be ({table.gate_words},) uint64")
    return np.ascontiguousarray(allow)


def _check_rows(table: PostingsTable, rows: NDArray[Any]) -> NDArray[np.uint32]:
    """Row numbers as the calls want them; raises unless they ascend and exist."""
    chosen = np.ascontiguousarray(rows, np.int64).ravel()
    if not chosen.size:
        return chosen.astype(np.uint32)
    if (chosen[1:] <= chosen[:-1]).any() or not 0 <= chosen[0] <= chosen[-1] < table.n_rows:
        raise InvalidInputError(f"row numbers must ascend within 0..{table.n_rows - 1}")
    return chosen.astype(np.uint32)
