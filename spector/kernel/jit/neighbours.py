"""The call about what stands around rows, compiled by Numba: the twin of native/neighbours.c."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import NumpyAround, Surroundings, check_around
from spector.kernel.jit.compile import compiled

__all__ = ["NumbaAround"]

_NOTHING = np.zeros((0, 0), np.uint8)


class NumbaAround(NumpyAround):
    """What is worth compiling, see `spector.kernel.contract.neighbours.AroundKernel`."""

    def words_around(
        self, around: Surroundings, counts: NDArray[np.uint8], extra: NDArray[np.uint8] | None,
        weight: NDArray[np.float32], room: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        counts, extra, weight, room = check_around(around, counts, extra, weight, room)
        out = np.zeros(around.ranked, np.float32)
        _words_around(
            (around.share, around.target, around.factor), counts,
            _NOTHING if extra is None else extra, weight, room, out,
        )  # fmt: skip
        return out


@compiled
def _words_around(around, counts, extra, weight, room, out):  # type: ignore[no-untyped-def]
    share, target, factor = around
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
            out[row] += weight[t] * (often / (often + room[row]))
            sums[row] = 0.0
