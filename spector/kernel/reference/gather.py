"""Bytes of records at given places, copied together: the plain way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import PartTable

__all__ = ["NumpyGather"]


class NumpyGather:
    """`spector.kernel.contract.scanner.Kernel.gather`."""

    def _gather(
        self,
        table: PartTable,
        parts: NDArray[np.uint32],
        slots: NDArray[np.uint32],
        offset: int,
        out: NDArray[np.uint8],
    ) -> None:
        order = np.argsort(parts, kind="stable")
        firsts = np.flatnonzero(np.diff(parts[order].astype(np.int64), prepend=-1)).tolist()
        for first, stop in zip(firsts, [*firsts[1:], len(parts)], strict=False):
            mine = order[first:stop]
            data = table.parts[parts[mine[0]]].data
            out[mine] = data[slots[mine], offset : offset + out.shape[1]]
