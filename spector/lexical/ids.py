"""A map from ids to rows: a sorted column of ids, and a column of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["IdMap"]


class IdMap:
    """Rows by id. Ids mostly come in ascending order, so they are mostly appended.

    Arrays that `arrays` has returned never change; appended entries go behind them.
    """

    def __init__(self) -> None:
        self._ids = np.zeros(0, np.int64)
        self._rows = np.zeros(0, np.int32)
        self._used = 0

    @classmethod
    def of(cls, ids: NDArray[np.int64], rows: NDArray[np.int64]) -> IdMap:
        """A map of rows with distinct ids, in any order."""
        order = np.argsort(ids, kind="stable")
        out = cls()
        out._ids, out._rows = ids[order], rows[order].astype(np.int32)
        out._used = len(order)
        return out

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(n,) ids, ascending, and the row of each."""
        return self._ids[: self._used], self._rows[: self._used]

    def rows_of(self, ids: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(n,) rows of ids; -1 where no row is alive (rows,)."""
        known, rows = self.arrays()
        if not len(known):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        found = rows[at].astype(np.int64)
        return np.where((known[at] == ids) & alive[found], found, -1)

    def assign(self, ids: NDArray[np.int64], first: int) -> None:
        """Map ids (n,), ascending, to rows from ``first`` on; known ids get the new row."""
        used, count = self._used, len(ids)
        rows = np.arange(first, first + count, dtype=np.int32)
        if not count or not used or ids[0] > self._ids[used - 1]:
            self._grow(used + count)
            self._ids[used : used + count], self._rows[used : used + count] = ids, rows
            self._used = used + count
            return
        known, old = self.arrays()
        at = np.minimum(np.searchsorted(known, ids), used - 1)
        if (known[at] == ids).all():
            old = old.copy()
            old[at] = rows
            self._ids, self._rows = known, old
            return
        every, where = np.concatenate((ids, known)), np.concatenate((rows, old))
        self._ids, newest = np.unique(every, return_index=True)  # of equals the first: the new one
        self._rows = where[newest]
        self._used = len(self._ids)

    def _grow(self, need: int) -> None:
        if need <= len(self._ids):
            return
        room = max(need, self._used + self._used // 2, 64)
        ids, rows = np.zeros(room, np.int64), np.zeros(room, np.int32)
        ids[: self._used], rows[: self._used] = self.arrays()
        self._ids, self._rows = ids, rows
