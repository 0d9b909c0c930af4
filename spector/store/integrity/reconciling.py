"""After a power cut in relaxed mode: partitions may be ahead of the catalog. Take them back.

``durability="relaxed"`` does not sync the log at a commit, but copies the bytes to the partitions
all the same, and the kernel may write those first. What a power cut then leaves is a catalog of a
moment ago beside partitions that know the future. The catalog is the truth and holds the mutable
half of every record, so the partitions can be brought back to it exactly.

While a relaxed writer has the store open, the catalog says so (durably). An opening that finds the
note, left by a crash, reconciles.
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
    """Bring the header and mutable halves of every partition to what the catalog says.

    Slots beyond the catalog's count are left alone: nothing refers to them until an append
    overwrites them.

    Raises:
        PartitionCorruptError: a partition is missing or too short, or a row points outside of it.
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
    """(slots, 24) u8: what the catalog says where the partition has ``found``.

    Raises:
        PartitionCorruptError: a row points outside of the partition.
    """
    wanted = found.copy()
    left = [  # by memories that have moved: they die when no scan beside us needs them any more
        slot for (slot,) in db.execute(
            "SELECT slot FROM journal WHERE segment_id = ? AND kind = ?", (row.id, JOURNAL_RETIRE)
        )
    ]
    wanted[:, 0] |= int(Flag.TOMBSTONE)  # whatever has no row is dead
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
