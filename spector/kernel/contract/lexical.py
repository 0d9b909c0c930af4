"""The lexical calls of every backend: where terms are, which rows rank best, what rows have.

The public methods check their arguments once, for all backends, and make the arrays that the
answers go into; a backend implements the bare calls below them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.postings import (
    WORD_HIT_DTYPE,
    check_hashes,
)

if TYPE_CHECKING:
    from spector._types import F32, I32, I64, U8, U32, U64
    from spector.kernel.contract.postings import (
        Postings,
        PostingsTable,
        QueryTerms,
    )

__all__ = ["LexicalKernel"]


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
