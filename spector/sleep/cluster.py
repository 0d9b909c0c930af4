"""Which partitions to put in order, and when: similar records of a sealed partition share blocks.

The scan bounds what the records of a block can score at most by the extremes of the block, so its
bounds are the better the more the records of a block have in common. A partition that takes no
more appends is therefore rewritten once: in the order that ``kernel.cluster`` finds and, within
short stretches of it, by importance. Of the two the second is what a recall by the default profile
gains from today (bench/LOG.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import PartitionCorruptError
from spector.kernel.cluster import cluster
from spector.kernel.scan_index import BLOCK_ROWS
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, PartitionState
from spector.store.compact import (
    Arrangement,
    compact_partition,
    live_images,
    record_ids,
    wrong_checksums,
)
from spector.store.segment import Partition, require_readable
from spector.store.store import Store
from spector.tiers.router import TierRouter

__all__ = ["Clustered", "arrange", "cluster_due", "path_of"]

#: four blocks of the scan index: each then has a quarter of the range of importance, and records
#: of one cluster are at most three blocks apart
_STRETCH_RECORDS: Final = 4 * BLOCK_ROWS


@dataclass(slots=True)
class Clustered:
    """What one cycle did: partitions and records put in order, partitions left for the next."""

    partitions: int = 0
    records: int = 0
    left: int = 0
    #: damaged partitions, as in ``CompactionReport.failed``
    failed: list[dict[str, str]] = field(default_factory=list)


def cluster_due(router: TierRouter, config: Config) -> Clustered:
    """Put sealed partitions in order, until ``config.cluster_records`` records have been.

    Each partition is its own commit, as with compaction. What takes long, finding the order, is
    done while nobody waits; writers then wait for the rewrite of one partition.
    """
    done = Clustered()
    due = [
        (store, segment_id)
        for store in router.stores()
        for segment_id in list(store.segments)
        if _due(router, store, segment_id, config) is not None
    ]
    for n, (store, segment_id) in enumerate(due):
        if done.records >= config.cluster_records:
            done.left = len(due) - n
            break
        path = path_of(store, segment_id)
        try:
            arrangement = arrange(router, store, segment_id, config)
            if arrangement is None:
                continue
            did = compact_partition(store, segment_id, arrangement)
        except PartitionCorruptError as error:
            done.failed.append({"path": path, "message": str(error)})
            continue
        if did is not None:
            done.partitions += 1
            done.records += did.kept
    return done


def arrange(
    router: TierRouter, store: Store, segment_id: int, config: Config
) -> Arrangement | None:
    """The order for one partition; None when it needs none (any more).

    The store is locked only to look at the partition: the immutable half of a record, and so its
    vector, stays as it is.

    Raises:
        PartitionCorruptError: a live record's checksum is wrong.
    """
    partition = _due(router, store, segment_id, config)
    if partition is None:
        return None
    require_readable(partition.data, path_of(store, segment_id))
    alive = (partition.headers()["flags"] & Flag.TOMBSTONE) == 0
    images = partition.data[alive]
    if len(wrong_checksums(images, store.uuid)):
        with store.lock:
            store.checkpoint()
            segment = store.segments.get(segment_id)
            if segment is None:
                return None
            # says which memory is damaged, unless it is one that has moved away meanwhile
            images = live_images(store, segment)
    vectors = images[:, HEADER_BYTES : HEADER_BYTES + store.dim].view(np.int8)
    found = cluster(vectors)
    headers = images[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[:, 0]
    order = _important_first(found.order, headers["importance"])
    return Arrangement(record_ids(images)[order], found.ids[order])


def _important_first(
    order: NDArray[np.intp], importance: NDArray[np.float32]
) -> NDArray[np.intp]:
    """Within each stretch of an order, by falling importance; ties stay in the order."""
    stretch = np.arange(len(order)) // _STRETCH_RECORDS
    return order[np.lexsort((-importance[order], stretch))]


def _due(
    router: TierRouter, store: Store, segment_id: int, config: Config
) -> Partition | None:
    """The partition, if it takes no more appends, is worth the trouble and is not in order.

    Records are written with centroid 0, and only a rewrite of the whole partition changes that.
    """
    with store.lock:
        segment = store.segments.get(segment_id)
        if segment is None:
            return None
        row = segment.row
        if row.state == PartitionState.ACTIVE or not router.by_code(row.tier).compactable:
            return None
        if not config.cluster_records or row.live < config.cluster_min_records:
            return None
        partition = segment.partition()
        return None if partition.headers()["centroid"][0] else partition


def path_of(store: Store, segment_id: int) -> str:
    """Path of a partition, empty when it is gone."""
    with store.lock:
        segment = store.segments.get(segment_id)
        return "" if segment is None else segment.row.path
