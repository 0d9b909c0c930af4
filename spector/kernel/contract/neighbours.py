"""The calls of every backend about what stands around rows, and their NumPy twins.

A row has a word as often as its text has it, and in part as often as the texts around it in its
session have it. Of these sums BM25 is made. The additions have one order, so that every backend
gives the same bits: of one word first what other rows give, by their numbers, then the row's own
count, then the extra ones; sums are float64. Words are added up in their order, in float32.

Lengths of mixed vectors are computed from products of the stored codes, which are exact, in float64
and one order. So their bits do not depend on the backend either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.partitions import PartTable, check_records
from spector.layout import HEADER_BYTES

__all__ = [
    "AROUND_DTYPE", "AroundKernel", "NumpyAround", "Surroundings", "check_around", "check_beside",
    "check_chains",
]  # fmt: skip

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

#: of the arrays of `Surroundings`
_TYPES: Final = (np.float32, np.uint32, np.float64)
#: vectors that are widened at once, and those beside them
_AT_ONCE: Final = 512
#: bytes of a record that hold its vector's scale
_SCALE: Final = slice(4, 8)

#: ``spector_around`` of native/spector.h; addresses as integers
AROUND_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in ("share", "target", "factor")]
    + [(name, "<u4") for name in ("rows", "ranked", "reach", "reserved")]
)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """To whom rows give of their words.

    share: (m,) float32, what a row gives of each of its words.
    target: (m, reach) uint32, to whom; ``ranked`` and above for nobody.
    factor: (reach,) float64, how much of it, by the place of the target.
    ranked: the first so many rows are ranked; the others only give.
    """

    share: F32
    target: NDArray[np.uint32]
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
            raise InvalidInputError("these arrays do not say what stands around what")

    @cached_property
    def entry(self) -> NDArray[Any]:
        """(1,) `AROUND_DTYPE`."""
        out = np.zeros(1, AROUND_DTYPE)
        addresses = [int(each.ctypes.data) for each in (self.share, self.target, self.factor)]
        out[0] = (*addresses, len(self.share), self.ranked, len(self.factor), 0)
        return out


class AroundKernel(Protocol):
    """What a backend makes of words and of what stands around them."""

    def words_around(
        self, around: Surroundings, counts: U8, extra: U8 | None, weight: F32, room: F32
    ) -> F32:
        """BM25 of the ranked rows, (n,) float32.

        Args:
            counts: (t, m) uint8, how often each row has each word.
            extra: (t, n) uint8, what to add for ranked rows; nobody is given of it.
            weight: (t,) float32, what a word is worth: ``idf * (k1 + 1)``.
            room: (n,) float32, above 0: ``k1 (1 - b + b length / mean length)`` of each row.

        Returns:
            Sum over words of ``weight * (tf / (tf + room))``.
        """
        ...

    def mixed_norms(
        self, table: PartTable, parts: U32, slots: U32, at: U32, before: U32, after: U32,
        share: float,
    ) -> F32:
        """Lengths (n,) float32 of vectors mixed with shares of those beside them.

        Args:
            parts, slots: (m,) uint32, places of records.
            at: (n,) uint32, which of them are asked for.
            before, after: (n,) uint32, which of them stand beside those; m and above for none.
            share: of each vector beside one.

        Returns:
            ``|v + share (b + a)|``, at least 1e-9; 1 for what stands alone.
        """
        ...

    def chained(
        self, before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64, reach: int
    ) -> I64:
        """What comes before and after rows in their chains, (n, 2 * reach) int64.

        Args:
            before, after: (rows,) int32, the links; -1, and rows that there are not, end a chain.
            alive: (rows,) bool, those that are not are passed over; None when all are. A chain that
                leads in a circle of them has no next row.
            rows: (n,) int64, at least -1.

        Returns:
            1 before, 2 before, ..., ``reach`` before, 1 after, ..., ``reach`` after; -1 for none.
        """
        ...


def check_around(
    around: Surroundings, counts: U8, extra: U8 | None, weight: F32, room: F32
) -> tuple[U8, U8 | None, F32, F32]:
    """Arguments as the backends want them; raises when their lengths do not fit."""
    words, rows, ranked = len(weight), len(around.share), around.ranked
    if counts.shape != (words, rows) or counts.dtype != np.uint8:
        raise InvalidInputError(f"counts must be ({words}, {rows}) uint8")
    if extra is not None and (extra.shape != (words, ranked) or extra.dtype != np.uint8):
        raise InvalidInputError(f"extra counts must be ({words}, {ranked}) uint8")
    if room.shape != (ranked,) or room.dtype != np.float32 or weight.dtype != np.float32:
        raise InvalidInputError(f"room must be ({ranked},) float32, weight ({words},) float32")
    return (
        np.ascontiguousarray(counts), None if extra is None else np.ascontiguousarray(extra),
        np.ascontiguousarray(weight), np.ascontiguousarray(room),
    )


def check_beside(
    table: PartTable, parts: U32, slots: U32, at: U32, before: U32, after: U32
) -> tuple[U32, U32, U32, U32, U32]:
    """Arguments of `AroundKernel.mixed_norms` as the backends want them."""
    part, slot = check_records(table, parts, slots)
    # a negative number would become a large one when it is made one of these
    if any(each.dtype != np.uint32 or each.ndim != 1 for each in (at, before, after)):
        raise InvalidInputError("rows and those before and after them must be (n,) uint32")
    if not len(at) == len(before) == len(after):
        raise InvalidInputError(f"{len(at)} rows, {len(before)} before and {len(after)} after them")
    if len(at) and int(at.max()) >= len(part):
        raise InvalidInputError(f"a row is beyond the {len(part)} places")
    out = [np.ascontiguousarray(each, np.uint32) for each in (part, slot, at, before, after)]
    return out[0], out[1], out[2], out[3], out[4]


def check_chains(
    before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64
) -> tuple[I32, I32, U8 | None, I64]:
    """Arguments of `AroundKernel.chained` as the backends want them."""
    count = len(before)
    if len(after) != count or (alive is not None and len(alive) != count):
        raise InvalidInputError("links and states of different numbers of rows")
    if len(rows) and not -1 <= int(rows.min()) <= int(rows.max()) < count:
        raise InvalidInputError(f"a row is outside -1..{count - 1}")
    return (
        np.ascontiguousarray(before, np.int32), np.ascontiguousarray(after, np.int32),
        None if alive is None else np.ascontiguousarray(alive).view(np.uint8),
        np.ascontiguousarray(rows, np.int64),
    )


class NumpyAround:
    """The definition that C and Numba are tested against."""

    def words_around(
        self, around: Surroundings, counts: U8, extra: U8 | None, weight: F32, room: F32
    ) -> F32:
        counts, extra, weight, room = check_around(around, counts, extra, weight, room)
        n = around.ranked
        # what is given to nobody is added up behind the ranked rows
        targets = np.minimum(around.target, n).astype(np.int64)
        out = np.zeros(n, np.float32)
        for t, line in enumerate(counts):
            rows = np.flatnonzero(line)
            given = line[rows].astype(np.float64) * around.share[rows]
            gifts = (given[:, None] * around.factor).ravel()
            sums = np.bincount(targets[rows].ravel(), gifts, minlength=n + 1)[:n]
            often = sums.astype(np.float64) + line[:n]
            if extra is not None:
                often += extra[t]
            tf = often.astype(np.float32)
            out += weight[t] * (tf / (tf + room))
        return out

    def mixed_norms(
        self, table: PartTable, parts: U32, slots: U32, at: U32, before: U32, after: U32,
        share: float,
    ) -> F32:
        part, slot, at, before, after = check_beside(table, parts, slots, at, before, after)
        out = np.empty(len(at), np.float32)
        for start in range(0, len(at), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            own, left, right = (
                _Vectors(self, table, part, slot, each[some]) for each in (at, before, after)
            )
            total, cross = own.product(own), own.product(left) + own.product(right)
            total += share * share * left.product(left)
            total += share * share * right.product(right)
            cross += share * left.product(right)
            total += 2.0 * share * cross
            lengths = np.sqrt(np.maximum(total, 0.0)).astype(np.float32)
            alone = ~(left.there | right.there)
            out[some] = np.where(alone, np.float32(1), np.maximum(lengths, np.float32(1e-9)))
        return out

    def chained(
        self, before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64, reach: int
    ) -> I64:
        before, after, living, rows = check_chains(before, after, alive, rows)
        out = np.full((len(rows), 2 * reach), -1, np.int64)
        for side, links in enumerate((before, after)):
            at = rows
            for step in range(reach):
                at = out[:, side * reach + step] = _next(links, living, at)
        return out


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

    def __init__(
        self, kernel: Any, table: PartTable, part: U32, slot: U32, which: U32
    ) -> None:
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
