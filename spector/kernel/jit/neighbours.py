"""The calls about neighbours, compiled by Numba: the twin of native/neighbours.c."""

from __future__ import annotations

import numpy as np

from spector._types import F32, U8
from spector.kernel.contract import TermSpread
from spector.kernel.jit.compile import compiled
from spector.kernel.reference import NumpyNeighbours

__all__ = ["NumbaNeighbours"]


_NO_COUNTS = np.zeros((0, 0), np.uint8)


class NumbaNeighbours(NumpyNeighbours):
    """The call that is worth compiling."""

    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        _add_bm25(
            (spread.share, spread.target, spread.factor),
            counts,
            _NO_COUNTS if extra is None else extra,
            weight,
            length_norm,
            out,
        )


@compiled
def _add_bm25(spread, counts, extra, weight, length_norm, out):  # type: ignore[no-untyped-def]
    share, target, factor = spread
    ranked = len(out)
    sums = np.zeros(ranked, np.float64)
    for t in range(len(weight)):
        for row in range(len(share)):
            if counts[t, row]:
                given = np.float64(counts[t, row]) * np.float64(share[row])
                for j in range(len(factor)):
                    at = np.int64(target[row, j])
                    if at < ranked:
                        sums[at] += given * factor[j]
        for row in range(ranked):
            own = sums[row] + np.float64(counts[t, row])
            if len(extra):
                own += np.float64(extra[t, row])
            often = np.float32(own)
            out[row] += weight[t] * (often / (often + length_norm[row]))
            sums[row] = 0.0
