"""Put partitions in order: records of similar importance share blocks.

A scan bounds the score of a block's records by the extremes of the block, so bounds are tighter the
more the records of a block have in common. A partition that takes no more appends is therefore
rewritten once: its most important records fill the first block, the next ones the second, and so
on. Within a block, records are in the order of ``kernel.cluster``, similar ones next to one
another.

The default profile gains from the order by importance. No bound on the cosine is tight enough to
skip a block of similar records, but the few records of a block that are rescored are adjacent. That
beats the order of time where conversations are mixed, and equals it where one follows another
(bench/log). No scan reads the cluster numbers in the headers; they only show that a partition is in
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import PartitionCorruptError
from spector.kernel import cluster
from spector.kernel.contract import BLOCK_ROWS
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, PartitionState
from spector.store.core import Store
from spector.store.partitions import Partition, record_ids, require_readable, wrong_checksums
from spector.store.rewriting import Arrangement, compact_partition, live_images
from spector.tiers import TierRouter

__all__ = ["Clustered", "arrange", "cluster_due", "path_of"]

#: records that share bounds in the scan index
_BLOCK_RECORDS: Final = BLOCK_ROWS


@dataclass(slots=True)
class Clustered:
    """Partitions and records that one cycle put in order, and partitions left for the next."""

    partitions: int = 0
    records: int = 0
    left: int = 0
    #: the time was over
    is_cut: bool = False
    #: damaged partitions, as in ``CompactionReport.failed``
    failed: list[dict[str, str]] = field(default_factory=list)


def cluster_due(
    router: TierRouter,
    config: Config,
    between: Callable[[], object] = int,
    must_stop: Callable[[], bool] = bool,
) -> Clustered:
    """Put sealed partitions in order, up to about ``config.cluster_records`` records.

    Each partition is its own commit, as with compaction. Finding the order takes long and holds no
    lock; writers only wait for the rewrite of one partition. ``must_stop`` is asked after each.
    """
    done = Clustered()
    due = [
        (store, segment_id)
        for store in router.stores()
        for segment_id in list(store.segments)
        if _due(router, store, segment_id, config) is not None
    ]
    for n, (store, segment_id) in enumerate(due):
        done.is_cut = bool(done.partitions) and must_stop()
        if done.is_cut or done.records >= config.cluster_records:
            done.left = len(due) - n
            break
        path = path_of(store, segment_id)
        between()
        try:
            arrangement = arrange(router, store, segment_id, config)
            if arrangement is None:
                continue
            between()
            did = compact_partition(store, segment_id, arrangement)
            store.follow_words()
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
    """The order for one partition; None when it needs none.

    The store is locked only to get the partition: the immutable half of a record, which includes
    its vector, never changes.

    Raises:
        PartitionCorruptError: a live record's checksum is wrong.
    """
    partition = _due(router, store, segment_id, config)
    if partition is None:
        return None
    require_readable(partition.data, path_of(store, segment_id))
    alive = (partition.headers()["flags"] & int(Flag.TOMBSTONE)) == 0
    images = partition.data[alive]
    if len(wrong_checksums(images, store.uuid)):
        with store.exclusive():
            store.checkpoint()
            segment = store.segments.get(segment_id)
            if segment is None:
                return None
            # raises with the damaged memory, unless that one has moved away meanwhile
            images = live_images(store, segment)
    vectors = images[:, HEADER_BYTES : HEADER_BYTES + store.dim].view(np.int8)
    found = cluster(vectors)
    headers = images[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[:, 0]
    order = _in_blocks(found.order, headers["importance"])
    return Arrangement(record_ids(images)[order], found.ids[order])


def _in_blocks(order: NDArray[np.intp], importance: NDArray[np.float32]) -> NDArray[np.intp]:
    """Blocks of the scan index by falling importance; stable within a block and among equals."""
    block = np.empty(len(order), np.intp)
    block[np.argsort(-importance[order], kind="stable")] = np.arange(len(order)) // _BLOCK_RECORDS
    return order[np.argsort(block, kind="stable")]


def _due(router: TierRouter, store: Store, segment_id: int, config: Config) -> Partition | None:
    """The partition, if it takes no more appends, is large enough and is not in order.

    Records are written with centroid 0, and only a rewrite of the whole partition changes that.
    """
    with store.exclusive():
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
    with store.still():
        segment = store.segments.get(segment_id)
        return "" if segment is None else segment.row.path
