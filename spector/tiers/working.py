"""Working tier: a volatile ring of the newest records; the oldest is overwritten."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.layout import RECORD_DTYPE, Flag, TierCode
from spector.store.catalog import Row, SegmentRow
from spector.store.files import Bytes
from spector.store.transaction import Transaction
from spector.tiers.base import PartitionedTier, Placement

__all__ = ["WorkingTier"]


class WorkingTier(PartitionedTier):
    """One slab of ``capacity`` records. Closing the store empties it."""

    name = "working"
    code = int(TierCode.WORKING)
    volatile = True

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
        if row.slots == 0:
            self._cursor = 0
        evicted: list[int] = []
        slots = np.empty(len(images), dtype=np.int64)
        for n, image in enumerate(images):
            if tx.row(row.id).slots < self.capacity:
                slots[n] = tx.append(row.id, image[None, :])
                continue
            slots[n] = self._cursor
            old = self._occupant(row.id, self._cursor)
            if old is not None:
                evicted.append(old)
                tx.evict(row.id)
            tx.overwrite(row.id, self._cursor, image)
            self._cursor = (self._cursor + 1) % self.capacity
        segment_ids = np.full(len(images), row.id, dtype=np.int64)
        return Placement(segment_ids, slots, tuple(evicted))

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        tx.evict(row.segment_id)
        tx.overwrite(row.segment_id, row.slot, image[0])
        return row.segment_id, row.slot

    _cursor = 0

    def _occupant(self, segment_id: int, slot: int) -> int | None:
        """Id of the live record in a slot, or None when it was forgotten."""
        header = self.store.record_image(segment_id, slot)[:64].view(RECORD_DTYPE)[0]
        return None if header["flags"] & Flag.TOMBSTONE else int(header["id"])
