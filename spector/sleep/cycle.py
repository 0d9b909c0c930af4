"""One sleep cycle, and the daemon that runs cycles in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spector.config import Config
from spector.errors import (
    PartitionCorruptError,
    StoreClosedError,
    StoreForkedError,
    StoreReadOnlyError,
)
from spector.layout import PartitionState
from spector.messages import counted
from spector.process import Sole
from spector.records import ReflectReport
from spector.store.catalog import SegmentRow
from spector.store.core import Store
from spector.tiers import TierRouter
from spector.upkeep import cluster_due, compact_all, due_partitions, is_overdue

__all__ = ["ReflectDaemon", "reflect_once"]

#: errors that no later cycle can get rid of
_FINAL = (StoreClosedError, StoreForkedError, StoreReadOnlyError)


def reflect_once(router: TierRouter, *, now_ms: int, config: Config) -> ReflectReport:
    """Seal finished partitions, compact wasteful ones, put sealed ones in order, mark and index.

    Every step is its own small commit, so a cycle that is killed has simply done less; running it
    again does the rest. Consolidating the content of a sealed partition belongs between the
    sealing and the marking, which is why the two are separate states. Damaged partitions are left
    as they are and reported under ``compaction.failed``. What was forgotten ``erase_after_s`` ago
    is erased from every file; ``compaction.receipt`` says how that went.
    """
    started = time.perf_counter()
    sealed = _advance_all(router, PartitionState.ACTIVE, PartitionState.SEALED,
                          lambda row: router.by_code(row.tier).finished(row, now_ms))
    # what these two rebuild begins a new life as a sealed partition
    erase = is_overdue(router, now_ms, config.erase_after_s)
    compaction = compact_all(
        router, config=config, threshold=0.0 if erase else config.tombstone_ratio, now_ms=now_ms,
        erase=erase,
    )
    clustered = cluster_due(router, config)
    marked = _advance_all(router, PartitionState.SEALED, PartitionState.REFLECTABLE,
                          lambda row: True)
    failed = {each["path"]: each for each in (*clustered.failed, *compaction.failed)}
    for store in router.stores():
        store.index_rest()
    return ReflectReport(
        sealed=sealed, marked_reflectable=marked, clustered=clustered.partitions,
        clustered_records=clustered.records, unclustered=clustered.left,
        compaction=replace(compaction, failed=tuple(failed.values())),
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _advance_all(
    router: TierRouter, before: PartitionState, after: PartitionState,
    ready: Callable[[SegmentRow], bool],
) -> int:
    """How many partitions were taken from one state to the next."""
    return sum(
        _advance(store, segment_id, before, after, ready)
        for store in router.stores()
        for segment_id in list(store.segments)
    )


def _advance(
    store: Store, segment_id: int, before: PartitionState, after: PartitionState,
    ready: Callable[[SegmentRow], bool],
) -> bool:
    """Take one partition one state further if it is in ``before`` and ready."""
    with store.lock:
        segment = store.segments.get(segment_id)
        if segment is None or segment.row.state != before or not ready(segment.row):
            return False
        with store.transaction() as tx:
            tx.set_state(segment_id, after)
        return True


def _bare(error: Exception) -> Exception:
    """The same error without its frames, which have this daemon and what it works with."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = each.__context__ = None
        each = each.__cause__
    return error


class ReflectDaemon(Sole):
    """Runs sleep cycles: at an interval, after enough writes, or when tombstones pile up.

    Starting, pausing and stopping are idempotent. A failed cycle is kept in :attr:`last_error` and
    the next one tries again, unless the store itself has failed or been closed. Partitions that a
    cycle left to put in order are a reason to wake up a second later; what could not be compacted
    is not, before the interval has passed.
    """

    def __init__(
        self,
        cycle: Callable[[], ReflectReport],
        router: TierRouter,
        config: Config,
        *,
        interval_s: float | None = None,
    ) -> None:
        self._cycle = cycle
        self._router = router
        self._config = config
        self._interval_s = config.reflect_interval_s if interval_s is None else interval_s
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._paused = False
        self._stopping = False
        self._writes = 0
        #: the last cycle has left partitions unordered, and has come forward
        self._more = False
        #: paths that the last cycle could not compact; None: it failed as a whole
        self._stuck: frozenset[str] | None = frozenset()
        self.cycles = 0
        self.last_report: ReflectReport | None = None
        self.last_error: BaseException | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def status(self) -> dict[str, Any]:
        """For :meth:`Memory.stats`; JSON-ready."""
        error = self.last_error
        return {
            "running": self.running, "cycles": self.cycles,
            "last_error": None if error is None else str(error) or type(error).__name__,
        }

    @property
    def paused(self) -> bool:
        return self._paused

    def start(self) -> None:
        """Begin to run cycles in a background thread."""
        with self._wake:
            if self.running:
                return
            self._stopping = False
            self._thread = threading.Thread(target=self._run, name="spector-reflect", daemon=True)
            self._thread.start()

    def pause(self) -> None:
        """Run no further cycle until :meth:`resume`; one that is running finishes."""
        with self._wake:
            self._paused = True

    def resume(self) -> None:
        with self._wake:
            self._paused = False
            self._wake.notify_all()

    def stop(self, timeout_s: float = 60.0) -> bool:
        """Ask the thread to end and wait for it; True when it has."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def note_writes(self, count: int) -> None:
        """Told by the memory after each write; may trigger a cycle."""
        if not self.running:
            return
        with self._wake:
            self._writes += count
            if self._writes >= self._config.reflect_after_writes:
                self._wake.notify_all()

    def _due(self) -> bool:
        if self._writes >= self._config.reflect_after_writes or self._more:
            return True
        stuck = self._stuck
        if stuck is None:
            return False
        due = due_partitions(self._router, self._config.tombstone_ratio)
        return any(store.segments[i].row.path not in stuck for store, i in due
                   if i in store.segments)

    def _run(self) -> None:
        deadline = time.monotonic() + self._interval_s
        while self._wait(deadline):
            try:
                if time.monotonic() < deadline and not self._due():
                    continue
                with self._wake:
                    self._writes = 0
                self._note(self._cycle())
            except _FINAL as error:
                self.last_error = _bare(error)
                return
            except Exception as error:  # whatever it was, nobody else would hear of it
                self.last_error, self._stuck, self._more = _bare(error), None, False
                if any(store.failed for store in self._router.stores()):
                    return
            deadline = time.monotonic() + self._interval_s

    def _note(self, report: ReflectReport) -> None:
        failed = report.compaction.failed
        self.last_report = report
        self.last_error = PartitionCorruptError(
            f"{counted(len(failed), 'partition')} could not be rebuilt; the first: "
            f"{failed[0]['message']}"
        ) if failed else None
        self._stuck = frozenset(each["path"] for each in failed)
        self._more = report.clustered > 0 and report.unclustered > 0
        self.cycles += 1

    def _wait(self, deadline: float) -> bool:
        """Sleep until there may be something to do; False when it is time to end."""
        with self._wake:
            while not self._stopping:
                left = deadline - time.monotonic()
                enough = self._writes >= self._config.reflect_after_writes
                if not self._paused and (left <= 0 or enough):
                    return True
                # nobody tells of tombstones, so look at them once a second
                told = self._wake.wait(None if self._paused else min(left, 1.0))
                if not (told or self._paused or self._stopping):
                    return True
            return False
