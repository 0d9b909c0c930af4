"""Filters given rows by a plan before anything is ranked: the kernel first, then the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.errors import CatalogCorruptError
from spector.layout import CERTAIN_BYTE
from spector.search.view.features import NOWHERE, header_column, places_of
from spector.search.view.plan import Plan
from spector.store.catalog import Row, pad_ids

__all__ = ["eligible_rows"]


#: memories in one query of the catalog
_CHUNK: Final = 32


def eligible_rows(
    plan: Plan, n: int, rows: I64, *, certain: bool = False
) -> Iterator[tuple[int, Row]]:
    """The rows that pass, with their memories, fetched as they are consumed.

    What does not pass has no influence: a name that only another user wrote does not count.

    Args:
        certain: only those that are at least fairly certain.
    """
    if not len(rows):
        return
    snap, view = plan.snap, plan.views[n]
    part, slot = places_of(snap, n, view, rows)
    there = slot != NOWHERE
    if plan.mask is not None:
        there[there] &= plan.mask[part[there]]
    if certain:
        sure: NDArray[Any] = header_column(snap, part[there], slot[there], "confidence")
        there[there] &= sure >= CERTAIN_BYTE
    rows, part, slot = rows[there], part[there], slot[there]
    scores = snap.kernel.score(snap.table, plan.query, part, slot)
    rows = rows[scores > -np.inf]
    condition = plan.filters[n]
    sql, params = (condition.sql, condition.params) if condition else ("1", ())
    for at in range(0, len(rows), _CHUNK):
        some = rows[at : at + _CHUNK].tolist()
        ids = view.ids(np.array(some, np.int64)).tolist()
        try:
            found = snap.stores[n].catalog.fetch(pad_ids(ids), sql=sql, params=params)
        except CatalogCorruptError:  # a damaged hit raises where it is shown
            continue
        yield from ((row, found[i]) for row, i in zip(some, ids, strict=True) if i in found)
