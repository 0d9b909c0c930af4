"""Rewrite partitions without tombstones, in a better order, or into smaller ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.errors import PartitionCorruptError
from spector.kernel import crc32c_rows
from spector.layout import Flag, PartitionState, headers_of
from spector.store.catalog import move_rows, slots_of
from spector.store.core import Store, damaged_record
from spector.store.files import Bytes
from spector.store.partitions import Segment, record_ids, require_readable, wrong_checksums

__all__ = [
    "Arrangement",
    "Rewrite",
    "alive_in",
    "compact_partition",
    "live_images",
]

#: the chain that every partition walks before it may be replaced
_CHAIN = (
    PartitionState.ACTIVE,
    PartitionState.SEALED,
    PartitionState.REFLECTABLE,
    PartitionState.TOMBSTONED,
)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What rewriting one partition did."""

    path: str
    kept: int
    reclaimed: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """The order and clusters for the records of a sealed partition.

    Records are named by id, so memories that are forgotten or moved meanwhile do not matter.
    """

    #: (n,) u64, in the wanted order
    ids: NDArray[np.uint64]
    #: (n,) u16 cluster numbers of the same records; not 0, which means "none"
    centroids: NDArray[np.uint16]


def compact_partition(
    store: Store, segment_id: int, arrangement: Arrangement | None = None
) -> Rewrite | None:
    """Rebuild one partition densely and swap it in; an empty one is removed.

    None when there is nothing to do: another thread has compacted or removed it meanwhile.

    Writers wait for the rebuild of this partition. Scans never wait: they keep their map, and the
    next scan takes the new file.

    Args:
        arrangement: also put the records in this order, even if none is dead. Only for partitions
            that take no appends; it is ignored if it lacks a record.

    Raises:
        PartitionCorruptError: a live record's checksum is wrong. The old file stays untouched.
    """
    with store.exclusive():
        store.ensure_usable(write=True)
        store.checkpoint()
        segment = store.segments.get(segment_id)
        if segment is None or (arrangement is None and not segment.row.dead):
            return None
        row = segment.row
        stays_active = row.state == PartitionState.ACTIVE
        assert arrangement is None or not stays_active, "appends come in the order of time"
        images = live_images(store, segment)
        arranged = None if arrangement is None else _arranged(images, arrangement, store.uuid)
        if arranged is None and not row.dead:
            return None
        images = images if arranged is None else arranged
        bytes_before = segment.file_bytes()
        advance(store, segment_id, PartitionState.TOMBSTONED)
        with store.transaction() as tx:
            if not len(images):
                tx.drop_segment(segment_id)
            else:
                tx.create_segment(
                    tier=row.tier,
                    day=row.day,
                    sequence=row.sequence,
                    capacity=row.capacity,
                    slots=len(images),
                    generation=row.generation + 1,
                    replaces=segment_id,
                    state=PartitionState.ACTIVE if stays_active else PartitionState.SEALED,
                )
                tx.replace_segment(row, images)
                ids = record_ids(images)
                move_rows(
                    tx.connection, [(int(i), segment_id, n) for n, i in enumerate(ids.tolist())]
                )
        after = store.segments.get(segment_id)
        return Rewrite(
            path=row.path,
            kept=len(images),
            reclaimed=row.slots - len(images),
            bytes_before=bytes_before,
            bytes_after=after.file_bytes() if after else 0,
        )


def _arranged(images: Bytes, wanted: Arrangement, uuid: bytes) -> Bytes | None:
    """Copy of record images in the wanted order, with their clusters and new checksums.

    None when the arrangement lacks one of them.
    """
    by_id = np.argsort(wanted.ids)
    known, ids = wanted.ids[by_id], record_ids(images)
    found = np.searchsorted(known, ids)
    if not len(ids) or found.max() >= len(known) or not np.array_equal(known[found], ids):
        return None
    place = by_id[found]
    turn = np.argsort(place)
    arranged: Bytes = images[turn]
    headers = headers_of(arranged)
    headers["centroid"] = wanted.centroids[place[turn]]
    headers["crc"] = crc32c_rows(arranged, seed=uuid)
    return arranged


def advance(store: Store, segment_id: int, target: PartitionState) -> None:
    """Walk a partition to ``target``, one legal step at a time."""
    while store.segments[segment_id].row.state < target:
        step = _CHAIN[store.segments[segment_id].row.state + 1]
        with store.transaction() as tx:
            tx.set_state(segment_id, step)


def alive_in(store: Store, segment: Segment) -> NDArray[np.bool_]:
    """(slots,) bool: which slots of a partition have a living memory."""
    alive: NDArray[np.bool_] = (segment.partition().headers()["flags"] & int(Flag.TOMBSTONE)) == 0
    retired = store.partitions.retired_slots
    alive[[each.slot for each in retired if each.segment_id == segment.row.id]] = False
    return alive


def live_images(store: Store, segment: Segment) -> Bytes:
    """(live, stride) u8 copy of the live records, after verifying their checksums.

    Raises:
        PartitionCorruptError: a checksum is wrong; it names the memories by the catalog's ids.
    """
    partition = segment.partition()
    require_readable(partition.data, segment.where)
    alive = alive_in(store, segment)
    images: Bytes = np.ascontiguousarray(partition.data[alive])
    if len(images) != segment.row.live:
        raise PartitionCorruptError(
            f"{segment.where}: {len(images)} live records, but the catalog has {segment.row.live}",
            hint="run: spector check PATH",
        )
    with store.catalog.latest() as db:
        slots = slots_of(db, segment.row.id)
    if slots != np.flatnonzero(alive).tolist():  # damage killed as many as it revived
        raise PartitionCorruptError(
            f"{segment.where}: the live records are not those of the catalog",
            hint="run: spector check PATH",
        )
    wrong = wrong_checksums(images, store.uuid)
    if len(wrong):
        slots = np.flatnonzero(alive)[wrong].tolist()
        at = {
            slot: record_id
            for _, slot, record_id in store.catalog.places("segment_id = ?", (segment.row.id,))
        }
        raise damaged_record(segment.where, slots[0], at.get(slots[0]), more=len(slots) - 1)
    return images
