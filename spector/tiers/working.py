"""Working tier: a volatile ring of the newest records; the oldest is overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.layout import Flag, TierCode
from spector.store.catalog import Row, SegmentRow
from spector.store.files import Bytes
from spector.store.transaction import Transaction
from spector.tiers.base import PartitionedTier, Placement

__all__ = ["WorkingTier"]


@dataclass(slots=True)
class _Ring:
    """Which record every slot holds as one transaction sees it."""

    ids: list[int]
    live: list[bool]
    #: slot that is overwritten next once all are taken
    oldest: int


class WorkingTier(PartitionedTier):
    """One slab of ``capacity`` records. Closing the store empties it."""

    name = "working"
    code = int(TierCode.WORKING)
    volatile = True

    def __init__(self, *, capacity: int | None = None) -> None:
        super().__init__(capacity=capacity)
        # by transaction: a batch may go round the ring, and one that fails must leave no trace
        self._rings: WeakKeyDictionary[Transaction, _Ring] = WeakKeyDictionary()

    @property
    def max_batch(self) -> int:
        return self.capacity

    @property
    def compactable(self) -> bool:
        return False

    def default_capacity(self, config: Config) -> int:
        return config.working_capacity

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        return False

    def place(self, tx: Transaction, images: Bytes, event_ms: NDArray[np.int64]) -> Placement:
        mine = tx.partitions_of(self.code, -1)
        row = mine[0] if mine else tx.create_segment(
            tier=self.code, day=-1, sequence=0, capacity=self.capacity, slots=self.capacity
        )
        ring = self._rings.get(tx) or self._rings.setdefault(tx, self._ring(row))
        new_ids = images[:, 8:16].copy().view("<u8")[:, 0].tolist()
        evicted: list[int] = []
        slots = np.empty(len(images), dtype=np.int64)
        for n, (image, new_id) in enumerate(zip(images, new_ids, strict=True)):
            if len(ring.ids) < self.capacity:
                slots[n] = tx.append(row.id, image[None, :])
                ring.ids.append(new_id)
                ring.live.append(True)
                continue
            slot = slots[n] = ring.oldest
            if ring.live[slot]:
                evicted.append(ring.ids[slot])
                tx.evict(row.id)
            tx.overwrite(row.id, slot, image)
            ring.ids[slot], ring.live[slot] = new_id, True
            ring.oldest = (slot + 1) % self.capacity
        segment_ids = np.full(len(images), row.id, dtype=np.int64)
        return Placement(segment_ids, slots, tuple(evicted))

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        tx.evict(row.segment_id)
        tx.overwrite(row.segment_id, row.slot, image[0])
        return row.segment_id, row.slot

    def _ring(self, row: SegmentRow) -> _Ring:
        """The slots as of the last commit. Ids only grow, so the smallest is where to go on."""
        if not row.slots:
            return _Ring([], [], 0)
        headers = self.store.segments[row.id].partition().headers()
        live = (headers["flags"] & Flag.TOMBSTONE) == 0
        return _Ring(headers["id"].tolist(), live.tolist(), int(np.argmin(headers["id"])))
