"""Which memories a recall may answer with at all, asked before anything is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError
from spector.kernel.contract import Query, Scanner
from spector.layout import CERTAIN_BYTE
from spector.lexical import WordView
from spector.search.view.features import NOWHERE, header_column, places_of
from spector.search.view.snapshot import Snapshot
from spector.store.catalog import Row, SqlFilter, rounded

__all__ = ["Reach"]

I64 = NDArray[np.int64]

#: memories that are put to the catalog at once
_CHUNK: Final = 32


@dataclass(frozen=True, slots=True)
class Reach:
    """The memories that pass the gates of one recall: what others have neither helps nor hides.

    Attributes:
        filters: per store what the catalog must confirm. chosen: (partitions,) which are searched.
    """

    snap: Snapshot
    views: Sequence[WordView]
    kernel: Scanner
    query: Query
    filters: Sequence[SqlFilter | None]
    chosen: NDArray[np.bool_] | None

    def passing(self, n: int, rows: I64, *, certain: bool = False) -> Iterator[tuple[int, Row]]:
        """Those of some rows of a store that pass, as they are asked for.

        Args:
            certain: only those that are no less than fairly certain.
        """
        if not len(rows):
            return
        snap, view = self.snap, self.views[n]
        part, slot = places_of(snap, n, view, rows)
        there = slot != NOWHERE
        if self.chosen is not None:
            there[there] &= self.chosen[part[there]]
        if certain:
            sure: NDArray[Any] = header_column(snap, part[there], slot[there], "confidence")
            there[there] &= sure >= CERTAIN_BYTE
        rows, part, slot = rows[there], part[there], slot[there]
        scores = self.kernel.score(snap.table, self.query, part, slot)
        rows = rows[scores > -np.inf]
        condition = self.filters[n]
        sql, params = (condition.sql, condition.params) if condition else ("1", ())
        for at in range(0, len(rows), _CHUNK):
            some = rows[at : at + _CHUNK].tolist()
            ids = view.ids(np.array(some, np.int64)).tolist()
            try:
                found = snap.stores[n].catalog.fetch(rounded(ids), sql=sql, params=params)
            except CatalogCorruptError:  # a hit that is damaged is refused where it is shown
                continue
            yield from (
                (row, found[i]) for row, i in zip(some, ids, strict=True) if i in found
            )
