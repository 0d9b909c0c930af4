"""Partitions on their way through life: sealed when finished, then marked as reflected on.

Each step of each partition is a transaction of its own, under the store's lock.
"""

from __future__ import annotations

from collections.abc import Callable

from spector.layout import PartitionState
from spector.store.catalog import SegmentRow
from spector.store.core import Store
from spector.tiers import TierRouter

__all__ = ["has_failed", "index_rest", "mark_reflectable", "seal_finished"]


def seal_finished(router: TierRouter, now_ms: int) -> int:
    """Seal every active partition that its tier calls finished; returns how many."""
    return _advance_all(
        router,
        PartitionState.ACTIVE,
        PartitionState.SEALED,
        lambda row: router.by_code(row.tier).finished(row, now_ms),
    )


def mark_reflectable(router: TierRouter) -> int:
    """Take every sealed partition to the next state; returns how many."""
    return _advance_all(router, PartitionState.SEALED, PartitionState.REFLECTABLE, lambda row: True)


def index_rest(router: TierRouter) -> None:
    """Build the scan indexes that are missing."""
    for store in router.stores():
        store.index_rest()


def has_failed(router: TierRouter) -> bool:
    """True when a store has failed for good: no later cycle can do anything."""
    return any(store.failed for store in router.stores())


def _advance_all(
    router: TierRouter,
    before: PartitionState,
    after: PartitionState,
    ready: Callable[[SegmentRow], bool],
) -> int:
    """How many partitions were taken from one state to the next."""
    return sum(
        _advance(store, segment_id, before, after, ready)
        for store in router.stores()
        for segment_id in list(store.segments)
    )


def _advance(
    store: Store,
    segment_id: int,
    before: PartitionState,
    after: PartitionState,
    ready: Callable[[SegmentRow], bool],
) -> bool:
    """Take one partition one state further if it is in ``before`` and ready."""
    with store.exclusive():
        segment = store.segments.get(segment_id)
        if segment is None or segment.row.state != before or not ready(segment.row):
            return False
        with store.transaction() as tx:
            tx.set_state(segment_id, after)
        return True
