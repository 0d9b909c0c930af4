"""Bytes of records at given places, copied together: the plain way."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract import PartTable, check_records

__all__ = ["NumpyGather", "check_span"]


class NumpyGather:
    """`spector.kernel.contract.scanner.Kernel.gather`."""

    def gather(
        self, table: PartTable, parts: ArrayLike, slots: ArrayLike, offset: int, size: int
    ) -> NDArray[np.uint8]:
        part, slot = check_records(table, parts, slots)
        check_span(table, offset, size)
        out = np.empty((len(part), size), np.uint8)
        order = np.argsort(part, kind="stable")
        firsts = np.flatnonzero(np.diff(part[order], prepend=-1)).tolist()
        for first, stop in zip(firsts, [*firsts[1:], len(part)], strict=False):
            mine = order[first:stop]
            data = table.parts[part[mine[0]]].data
            out[mine] = data[slot[mine], offset : offset + size]
        return out


def check_span(table: PartTable, offset: int, size: int) -> None:
    if len(table) and not 0 <= offset <= offset + size <= table.stride:
        raise InvalidInputError(
            f"bytes {offset} to {offset + size} of records of {table.stride} bytes"
        )
