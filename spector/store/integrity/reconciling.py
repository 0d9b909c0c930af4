"""Roll partitions back to the catalog after a power cut in relaxed mode.

``durability="relaxed"`` does not sync the log at a commit, but still copies the bytes to the
partitions, and the operating system may write those first. A power cut can leave partitions that
are ahead of the catalog. The catalog is the truth and has the mutable half of every record, so the
partitions can be rolled back exactly.

While a relaxed writer has the store open, a durable note in the catalog says so. An opening that
finds the note reconciles.
"""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from spector.errors import PartitionCorruptError
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, Flag, PartitionState
from spector.store.catalog import JOURNAL_RETIRE, SegmentRow
from spector.store.core import Store

__all__ = ["mutable_halves", "reconcile"]


def reconcile(store: Store) -> None:
    """Set the header and mutable halves of every partition to those of the catalog.

    Slots beyond the catalog's count stay: nothing refers to them until an append overwrites them.

    Raises:
        PartitionCorruptError: a partition is missing or too short, or a row points outside it.
    """
    for row in store.catalog.segments():
        if row.state != PartitionState.COMPACTED:
            _reconcile_one(store, row)


def _reconcile_one(store: Store, row: SegmentRow) -> None:
    segment = store.partitions.handle_of(row)
    segment.open(verify=False)
    found = segment.records()[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].copy()
    with store.catalog.latest() as db:
        wanted = mutable_halves(db, row, found)
    for slot in np.flatnonzero((found != wanted).any(axis=1)).tolist():
        segment.write_mutable(slot, wanted[slot].tobytes())
    segment.write_header(row)
    segment.sync()
    segment.close()


def mutable_halves(
    db: sqlite3.Connection, row: SegmentRow, found: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """(slots, 24) u8: the catalog's mutable halves for a partition that has ``found``.

    Raises:
        PartitionCorruptError: a row points outside the partition.
    """
    wanted = found.copy()
    left = [  # of memories that have moved: tombstones once no scan needs them any more
        slot
        for (slot,) in db.execute(
            "SELECT slot FROM journal WHERE segment_id = ? AND kind = ?", (row.id, JOURNAL_RETIRE)
        )
    ]
    wanted[:, 0] |= int(Flag.TOMBSTONE)  # a slot without a row is dead
    wanted[left] = found[left]
    for slot, mutable in db.execute(
        "SELECT slot, mutable FROM record WHERE segment_id = ?", (row.id,)
    ):
        if not 0 <= slot < row.slots:
            raise PartitionCorruptError(
                f"{row.path}: the catalog names slot {slot} of {row.slots}",
                hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
            )
        wanted[slot] = np.frombuffer(mutable, dtype=np.uint8)
    return wanted
