"""Among which records a recall looks: by partition, by the catalog's conditions, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import AllowList
from spector.layout import Flag
from spector.search.view.features import code_of
from spector.search.view.plan import RecallRequest
from spector.search.view.snapshot import Snapshot
from spector.store.catalog import SqlFilter
from spector.tiers import TierRouter

__all__ = ["Places", "allowed", "conditions", "partitions_of"]


def partitions_of(router: TierRouter, snap: Snapshot, request: RecallRequest) -> list[int] | None:
    """Positions of partitions that can hold an answer; None for all of them."""
    selection = request.selection
    if selection.tiers is None and selection.min_ms is None and selection.max_ms is None:
        return None
    tiers = router.select(selection.tiers)
    low = -(1 << 62) if selection.min_ms is None else selection.min_ms
    high = 1 << 62 if selection.max_ms is None else selection.max_ms
    return [
        snap.position(n, partition.segment_id)
        for n, view in enumerate(snap.views)
        for partition in router.partitions(view, tiers, min_ms=low, max_ms=high)
    ]


def conditions(
    snap: Snapshot, request: RecallRequest, *, whole_store: bool = False
) -> list[SqlFilter | None]:
    """Per store: what the catalog has to confirm of a candidate."""
    superseded = not request.drop_flags & Flag.SUPERSEDED
    return [
        request.selection.exact(
            now_ms=request.now_ms if snap.has_validity(n, superseded=superseded) else None,
            whole_store=whole_store, replaced=request.replaced, ended=superseded,
            current=request.by_catalog and not superseded,
        )
        for n in range(len(snap.stores))
    ]


def allowed(snap: Snapshot, request: RecallRequest) -> Places:
    """Exactly the records that satisfy the conditions."""
    parts: list[int] = []
    slots: list[int] = []
    filters = conditions(snap, request, whole_store=True)
    for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
        sql, params = (condition.sql, condition.params) if condition else ("1", ())
        for segment_id, slot, _ in store.catalog.places(sql, params):
            parts.append(snap.position_of(n, segment_id, slot))
            slots.append(slot)
    codes = code_of(np.array(parts, np.uint32), np.array(slots, np.uint32))
    return Places(np.sort(codes), AllowList.from_records(snap.table, parts, slots))


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Records that a filter lets through: ascending `code_of`, and for the kernel."""

    codes: NDArray[np.uint64]
    allow: AllowList
