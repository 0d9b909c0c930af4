"""One sleep cycle: which upkeep is done, and in what order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from spector.config import Config
from spector.records import ReflectReport
from spector.tiers import TierRouter
from spector.upkeep import (
    Clustered,
    cluster_due,
    compact_all,
    index_rest,
    is_overdue,
    mark_reflectable,
    seal_finished,
)

__all__ = ["reflect_once"]


def reflect_once(
    router: TierRouter,
    *,
    now_ms: int,
    config: Config,
    between: Callable[[], object] = int,
    must_stop: Callable[[], bool] = bool,
) -> ReflectReport:
    """Seal finished partitions, compact wasteful ones, put sealed ones in order, mark and index.

    Every step is its own small commit, so a cycle that is killed has simply done less; running it
    again does the rest. Consolidating the content of a sealed partition belongs between the
    sealing and the marking, which is why the two are separate states. Damaged partitions are left
    as they are and reported under ``compaction.failed``. What was forgotten ``erase_after_s`` ago
    is erased from every file; ``compaction.receipt`` says how that went.

    Args:
        between: called between two pieces of work, without a lock.
        must_stop: asked after each partition; the next call does what is left.
    """
    started = time.perf_counter()
    sealed = seal_finished(router, now_ms)
    # what these two rebuild begins a new life as a sealed partition
    erase = is_overdue(router, now_ms, config.erase_after_s)
    compaction = compact_all(
        router,
        config=config,
        threshold=0.0 if erase else config.tombstone_ratio,
        now_ms=now_ms,
        erase=erase,
        between=between,
        must_stop=must_stop,
    )
    between()
    is_cut, marked = compaction.partitions_left > 0, 0
    clustered = Clustered() if is_cut else cluster_due(router, config, between, must_stop)
    between()
    is_cut = is_cut or clustered.is_cut
    if not is_cut:
        marked = mark_reflectable(router)
        index_rest(router)
    failed = {each["path"]: each for each in (*clustered.failed, *compaction.failed)}
    return ReflectReport(
        finished=not is_cut,
        sealed=sealed,
        marked_reflectable=marked,
        clustered=clustered.partitions,
        clustered_records=clustered.records,
        unclustered=clustered.left,
        compaction=replace(compaction, failed=tuple(failed.values())),
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )
