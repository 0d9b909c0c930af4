"""The calls of every backend about neighbours: rows before and after one in its session.

Term frequencies include a share from neighbouring turns of the same session. BM25 is computed from
these blended frequencies. The additions have one order, so that every backend gives the same bits:
of one term first what other rows give, by their numbers, then the row's own count, then the extra
ones; sums are float64. Terms are added up in their order, in float32.

Lengths of blended vectors are computed from products of the stored codes, which are exact, in
float64 and one order. So their bits do not depend on the backend either.

The public methods check their arguments once, for all backends; a backend implements the bare calls
below them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.partitions import check_records

if TYPE_CHECKING:
    from spector._types import F32, I32, I64, U8, U32
    from spector.kernel.contract.partitions import PartTable

__all__ = ["SPREAD_DTYPE", "NeighbourKernel", "TermSpread"]


#: of the arrays of `TermSpread`
_TYPES: Final = (np.float32, np.uint32, np.float64)

#: ``spector_around`` of native/spector.h; addresses as integers
SPREAD_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in ("share", "target", "factor")]
    + [(name, "<u4") for name in ("rows", "ranked", "reach", "reserved")]
)


@dataclass(frozen=True, eq=False)
class TermSpread:
    """How term frequency spreads from each row to its neighbours.

    share: (m,) float32, what a row gives of each of its terms.
    target: (m, reach) uint32, the rows that receive it; ``ranked`` and above for none.
    factor: (reach,) float64, how much of it, by the place of the target.
    ranked: the first so many rows are ranked; the others only give.
    """

    share: F32
    target: U32
    factor: NDArray[np.float64]
    ranked: int

    def __post_init__(self) -> None:
        rows = len(self.share)
        arrays = (self.share, self.target, self.factor)
        if (
            [each.dtype for each in arrays] != [np.dtype(t) for t in _TYPES]
            or self.target.shape != (rows, len(self.factor))
            or not all(each.flags.c_contiguous for each in arrays)
            or not 0 <= self.ranked <= rows
        ):
            raise InvalidInputError(
                "share, target and factor must be C-contiguous float32, uint32, float64 with"
                " matching rows"
            )

    @cached_property
    def entry(self) -> NDArray[Any]:
        """(1,) `SPREAD_DTYPE`."""
        out = np.zeros(1, SPREAD_DTYPE)
        addresses = [int(each.ctypes.data) for each in (self.share, self.target, self.factor)]
        out[0] = (*addresses, len(self.share), self.ranked, len(self.factor), 0)
        return out


class NeighbourKernel(ABC):
    """What a backend computes of rows and their neighbours."""

    def blended_bm25(
        self, spread: TermSpread, counts: U8, extra: U8 | None, weight: F32, length_norm: F32
    ) -> F32:
        """BM25 of the ranked rows, (n,) float32.

        Args:
            counts: (t, m) uint8, how often each row has each term.
            extra: (t, n) uint8, what to add for ranked rows; it does not spread.
            weight: (t,) float32, what a term is worth: ``idf * (k1 + 1)``.
            length_norm: (n,) float32, above 0: ``k1 (1 - b + b length / mean length)`` of each row.

        Returns:
            Sum over terms of ``weight * (tf / (tf + length_norm))``.
        """
        _check_counts(spread, counts, extra, weight, length_norm)
        out = np.zeros(spread.ranked, np.float32)
        self._add_bm25(
            spread,
            np.ascontiguousarray(counts),
            None if extra is None else np.ascontiguousarray(extra),
            np.ascontiguousarray(weight),
            np.ascontiguousarray(length_norm),
            out,
        )
        return out

    def blended_norms(
        self,
        table: PartTable,
        parts: U32,
        slots: U32,
        at: U32,
        before: U32,
        after: U32,
        share: float,
    ) -> F32:
        """Lengths (n,) float32 of vectors blended with shares of their neighbours'.

        Args:
            parts, slots: (m,) uint32, places of records.
            at: (n,) uint32, which of them are asked for.
            before, after: (n,) uint32, which of them are their neighbours; m and above for none.
            share: of each neighbour's vector.

        Returns:
            ``|v + share (b + a)|``, at least 1e-9; 1 for one without neighbours.
        """
        part, slot = check_records(table, parts, slots)
        _check_neighbours(len(part), at, before, after)
        places = [np.ascontiguousarray(each, np.uint32) for each in (part, slot, at, before, after)]
        out = np.empty(len(at), np.float32)
        self._fill_norms(table, places, share, out)
        return out

    def walk_chains(
        self, before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64, reach: int
    ) -> I64:
        """What comes before and after rows in their chains, (n, 2 * reach) int64.

        Args:
            before, after: (rows,) int32, the links; -1, and rows that do not exist, end a chain.
            alive: (rows,) bool, dead rows are passed over; None when all are alive. A chain that
                leads in a circle of dead rows has no next row.
            rows: (n,) int64, at least -1.

        Returns:
            1 before, 2 before, ..., ``reach`` before, 1 after, ..., ``reach`` after; -1 for none.
        """
        count = len(before)
        if len(after) != count or (alive is not None and len(alive) != count):
            raise InvalidInputError("before, after and alive must have one entry a row each")
        if len(rows) and not -1 <= int(rows.min()) <= int(rows.max()) < count:
            raise InvalidInputError(f"a row is outside -1..{count - 1}")
        out = np.full((len(rows), 2 * reach), -1, np.int64)
        self._walk(
            np.ascontiguousarray(before, np.int32),
            np.ascontiguousarray(after, np.int32),
            None if alive is None else np.ascontiguousarray(alive).view(np.uint8),
            np.ascontiguousarray(rows, np.int64),
            out,
        )
        return out

    @abstractmethod
    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        """Adds to ``out``."""

    @abstractmethod
    def _fill_norms(self, table: PartTable, places: list[U32], share: float, out: F32) -> None:
        """``places``: parts, slots, at, before, after."""

    @abstractmethod
    def _walk(self, before: I32, after: I32, alive: U8 | None, rows: I64, out: I64) -> None:
        """Fills ``out``, which is -1."""


def _check_counts(
    spread: TermSpread, counts: U8, extra: U8 | None, weight: F32, length_norm: F32
) -> None:
    terms, rows, ranked = len(weight), len(spread.share), spread.ranked
    if counts.shape != (terms, rows) or counts.dtype != np.uint8:
        raise InvalidInputError(f"counts must be ({terms}, {rows}) uint8")
    if extra is not None and (extra.shape != (terms, ranked) or extra.dtype != np.uint8):
        raise InvalidInputError(f"extra counts must be ({terms}, {ranked}) uint8")
    if length_norm.shape != (ranked,) or length_norm.dtype != np.float32:
        raise InvalidInputError(f"length_norm must be ({ranked},) float32")
    if weight.dtype != np.float32:
        raise InvalidInputError(f"weight must be ({terms},) float32")


def _check_neighbours(places: int, at: U32, before: U32, after: U32) -> None:
    # a negative number would become a large one when it is made one of these
    if any(each.dtype != np.uint32 or each.ndim != 1 for each in (at, before, after)):
        raise InvalidInputError("at, before and after must be (n,) uint32")
    if not len(at) == len(before) == len(after):
        raise InvalidInputError(f"{len(at)} rows, {len(before)} before and {len(after)} after them")
    if len(at) and int(at.max()) >= places:
        raise InvalidInputError(f"a row is beyond the {places} places")
