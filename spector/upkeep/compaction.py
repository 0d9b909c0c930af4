"""Choose the partitions to compact, and compact them in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.config import Config
from spector.errors import PartitionCorruptError
from spector.kernel import cluster
from spector.kernel.contract import BLOCK_ROWS
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, PartitionState
from spector.records import CompactionReport
from spector.store.catalog import SegmentRow
from spector.store.core import Store
from spector.store.erasure import Needles
from spector.store.partitions import Partition, record_ids, require_readable, wrong_checksums
from spector.store.rewriting import Arrangement, Rewrite, compact_partition, live_images
from spector.store.words import drop_unused_words
from spector.tiers import TierRouter
from spector.upkeep.erasure import due_erasures, finish_erasure


def due_partitions(router: TierRouter, threshold: float) -> list[tuple[Store, int]]:
    """Partitions whose share of tombstones exceeds ``threshold``, most wasteful first."""
    due = []
    for store in router.stores():
        with store.still():
            store.view()  # follows other writers, if there are any
            for segment_id, segment in store.segments.items():
                row = segment.row
                if not row.slots or not router.by_code(row.tier).compactable:
                    continue
                ratio = row.dead / row.slots
                if row.dead and ratio > threshold:
                    due.append((ratio, store, segment_id))
    due.sort(key=lambda item: (-item[0], item[2]))
    return [(store, segment_id) for _, store, segment_id in due]


def due_paths(router: TierRouter, threshold: float) -> set[str]:
    """Paths of the partitions whose share of tombstones exceeds ``threshold``."""
    due = due_partitions(router, threshold)
    return {path for store, segment_id in due if (path := path_of(store, segment_id))}


def compact_all(
    router: TierRouter,
    *,
    config: Config,
    threshold: float,
    dry_run: bool = False,
    now_ms: int,
    erase: bool = True,
    needles: Needles | None = None,
    always: bool = False,
    progress: Progress | None = None,
    between: Callable[[], object] = int,
    must_stop: Callable[[], bool] = bool,
) -> CompactionReport:
    """Rebuild every due partition; with ``erase`` also erase forgotten content everywhere else.

    Partitions that take no more appends are put in order at the same time.

    Each partition is its own commit: an interrupted or killed run leaves some partitions compacted
    and the others unchanged. A damaged one is left as it is and reported under ``failed``; the
    others and the erasure go on. ``needles`` are searched for at the end, whether anything was due
    or not; ``always`` writes a receipt even then. ``between`` is called between two pieces of work,
    without a lock: who waits for the store goes first. ``must_stop`` is asked after a partition:
    those that are left, and the erasure, then wait for the next call.
    """
    started = time.perf_counter()
    if not dry_run:
        for store in router.stores():
            store.checkpoint()  # slots of moved memories become tombstones here
    erasing = due_erasures(router) if erase and not dry_run else {}
    due = due_partitions(router, threshold)
    rows: list[dict[str, Any]] = []
    bytes_before = sum(_bytes(store) for store in router.stores())
    seen = sum(len(store.segments) for store in router.stores())
    failed, left = list[dict[str, str]](), 0
    for done, (store, segment_id) in enumerate(due):
        if left := len(due) - done if rows and must_stop() else 0:
            break
        path = path_of(store, segment_id)
        between()
        try:
            did = (_rehearse if dry_run else _rebuilt)(store, segment_id, router, config, between)
        except PartitionCorruptError as error:
            failed.append({"path": path, "message": str(error)})
            continue
        if did is None:
            continue
        rows.append(asdict(did))
        if progress is not None:
            progress(done + 1, len(due))
    for store in () if dry_run else router.stores():
        drop_unused_words(store)
    receipt = None
    if not left and (erasing or ((always or needles is not None) and not dry_run)):
        receipt = finish_erasure(
            router,
            erasing,
            now_ms=now_ms,
            after_s=config.erase_after_s,
            rewritten=rows,
            failed=failed,
            needles=needles,
            between=between,
        )
    after = bytes_before - sum(each["bytes_before"] - each["bytes_after"] for each in rows)
    after = after if dry_run else sum(_bytes(store) for store in router.stores())
    return CompactionReport(
        dry_run=dry_run,
        partitions_seen=seen,
        partitions_compacted=len(rows),
        partitions_removed=sum(each["kept"] == 0 for each in rows),
        partitions_left=left,
        records_kept=sum(each["kept"] for each in rows),
        records_reclaimed=sum(each["reclaimed"] for each in rows),
        bytes_before=bytes_before,
        bytes_after=after,
        erased=not failed and not (left and erasing) and (receipt is None or receipt.complete),
        receipt=receipt,
        partitions=tuple(rows),
        failed=tuple(failed),
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _rebuilt(
    store: Store,
    segment_id: int,
    router: TierRouter,
    config: Config,
    between: Callable[[], object],
) -> Rewrite | None:
    """Compact a partition; what it did."""
    arrangement = arrange(router, store, segment_id, config)
    between()
    done = compact_partition(store, segment_id, arrangement)
    store.follow_words()  # of one partition now: the next recall would wait for all of them
    return done


def _rehearse(store: Store, segment_id: int, *_: object) -> Rewrite | None:
    """What compacting a partition would do."""
    with store.still():
        segment = store.segments.get(segment_id)
        if segment is None:
            return None
        row = segment.row
        return Rewrite(
            path=row.path,
            kept=row.live,
            reclaimed=row.dead,
            bytes_before=segment.file_bytes(),
            bytes_after=segment.bytes_used(row.live) if row.live else 0,
        )


def _bytes(store: Store) -> int:
    return sum(store.files.sizes().values())


# Put partitions in order: records of similar importance share blocks.
#
# A scan bounds the score of a block's records by the extremes of the block, so bounds are tighter the
# more the records of a block have in common. A partition that takes no more appends is therefore
# rewritten once: its most important records fill the first block, the next ones the second, and so
# on. Within a block, records are in the order of ``kernel.cluster``, similar ones next to one
# another.
#
# The default profile gains from the order by importance. No bound on the cosine is tight enough to
# skip a block of similar records, but the few records of a block that are rescored are adjacent. That
# beats the order of time where conversations are mixed, and equals it where one follows another
# (bench/log). No scan reads the cluster numbers in the headers; they only show that a partition is in
# order.

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


# Partitions on their way through life: sealed when finished, then marked as reflected on.
#
# Each step of each partition is a transaction of its own, under the store's lock.


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
    count = 0
    for store in router.stores():
        for segment_id in list(store.segments):
            with store.exclusive():
                segment = store.segments.get(segment_id)
                if segment is None or segment.row.state != before or not ready(segment.row):
                    continue
                with store.transaction() as tx:
                    tx.set_state(segment_id, after)
                count += 1
    return count
