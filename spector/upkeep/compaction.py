"""Choose the partitions to compact, and compact them in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from spector._types import Progress
from spector.config import Config
from spector.errors import PartitionCorruptError
from spector.records import CompactionReport
from spector.store.core import Store
from spector.store.erasure import Needles
from spector.store.rewriting import Rewrite, compact_partition
from spector.store.words import drop_unused_words
from spector.tiers import TierRouter
from spector.upkeep.erasure import due_erasures, finish_erasure
from spector.upkeep.ordering import arrange, path_of

__all__ = ["compact_all", "due_partitions", "due_paths"]


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
