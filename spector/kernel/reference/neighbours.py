"""The calls about neighbours in plain NumPy: what C and Numba are tested against."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I32, I64, U8, U32
from spector.kernel.contract import NeighbourKernel, PartTable, TermSpread
from spector.layout import HEADER_BYTES

__all__ = ["NumpyNeighbours"]


#: rows whose vectors are widened at once, with those of their neighbours
_AT_ONCE: Final = 512
#: bytes of a record that hold its vector's scale
_SCALE: Final = slice(4, 8)


class NumpyNeighbours(NeighbourKernel):
    """The definition of `spector.kernel.contract.neighbours.NeighbourKernel`."""

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
