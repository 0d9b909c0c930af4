"""The thread that runs upkeep and sleep in the background, and decides when each is due."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Final, Self

from spector.config import Config
from spector.errors import (
    PartitionCorruptError,
    StoreClosedError,
    StoreForkedError,
    StoreReadOnlyError,
)
from spector.messages import counted, with_hints
from spector.process import Calls, Sole, verb
from spector.records import ReflectReport
from spector.sleep.sleeper import Sleeper
from spector.tiers import TierRouter
from spector.upkeep import due_paths, has_failed
from spector.write import ConceptExtractor, WriteContext

#: errors that no later cycle can get rid of
_FINAL: Final = (StoreClosedError, StoreForkedError, StoreReadOnlyError)
#: seconds after which an interrupted cycle goes on
_RESUME_S: Final = 2.0


class WriteSignal:
    """Counts writes and wakes the daemon when there are enough; writers know nothing else of it."""

    def __init__(self, enough: int) -> None:
        self.wake = threading.Condition()
        self.enough = enough
        self.writes = 0
        self.listening = False

    def note_writes(self, count: int) -> None:
        """Count writes, after each of which the memory calls this; may trigger upkeep."""
        if not self.listening:
            return
        with self.wake:
            self.writes += count
            if self.writes >= self.enough:
                self.wake.notify_all()


class _Worker(Sole):
    """A thread that works in the background until it has to end.

    Args:
        change: held where what it waits for changes.
    """

    def __init__(self, name: str, change: threading.Condition) -> None:
        self._name = name
        self._change = change
        self._thread: threading.Thread | None = None
        self._stopping = False

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        raise NotImplementedError

    def stop(self, timeout_s: float = 60.0) -> bool:
        """Ask the thread to end after what it is at, and wait for it; True when it has."""
        with self._change:
            self._stopping = True
            self._interrupt()
            self._change.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def _interrupt(self) -> None:
        """Called when it has to end."""


@with_hints
class ReflectDaemon(_Worker):
    """Runs upkeep and cycles of sleep in the background.

    Upkeep runs at an interval, after enough writes, or when tombstones pile up. A cycle of sleep
    runs at an interval of its own, at the end of a session, or on :meth:`wake_now`; only in a
    store that has slept or been observed before (``Config.sleep.auto``). There it rehearses
    at a third interval, whatever the steps of a cycle are.

    Starting, pausing and stopping are idempotent. A failed cycle is kept in :attr:`last_error` and
    the next one tries again, unless the store itself has failed or been closed. Partitions that a
    cycle left to put in order are a reason to wake up a second later; what could not be compacted
    is not, before the interval has passed.
    """

    def __init__(
        self,
        upkeep: Callable[[], ReflectReport],
        router: TierRouter,
        config: Config,
        *,
        sleeper: Sleeper | None = None,
        signal: WriteSignal | None = None,
        interval_s: float | None = None,
    ) -> None:
        self._upkeep = upkeep
        self._sleeper = sleeper
        self._router = router
        self._config = config
        self._interval_s = config.reflect_interval_s if interval_s is None else interval_s
        self._signal = WriteSignal(config.reflect_after_writes) if signal is None else signal
        self._wake = self._signal.wake
        super().__init__("spector-reflect", self._wake)
        self._paused = False
        #: a cycle of sleep is wanted now
        self._called = False
        #: when the next cycle of sleep is due by itself
        self._night = self._test = math.inf
        #: the last cycle has to go on
        self._is_cut = False
        #: the last cycle made progress and left partitions to order: wake again in a second
        self._more = False
        #: paths that the last cycle could not compact; None: it failed as a whole
        self._stuck: frozenset[str] | None = frozenset()
        self.cycles = 0
        self.nights = 0
        self.rehearsals = 0
        self.last_report: ReflectReport | None = None
        self.last_error: BaseException | None = None

    def status(self) -> dict[str, Any]:
        """For :meth:`Memory.stats`; JSON-ready."""
        error = self.last_error
        return {
            "running": self.running,
            "cycles": self.cycles,
            "nights": self.nights,
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
            self._stopping, self._signal.listening = False, True
            self._begin()

    def pause(self) -> None:
        """Run no further cycle until :meth:`resume`; one that is running finishes."""
        with self._wake:
            self._paused = True

    def resume(self) -> None:
        with self._wake:
            self._paused = False
            self._wake.notify_all()

    def _interrupt(self) -> None:
        self._signal.listening = False
        if self._sleeper is not None:
            self._sleeper.interrupt()

    def wake_now(self) -> None:
        """Have a cycle of sleep begin as soon as possible, in a store where one may."""
        with self._wake:
            self._called = True
            self._wake.notify_all()

    def interrupt(self) -> None:
        """Let a cycle of sleep end after its unit; it goes on a few seconds later."""
        if self.running and self._sleeper is not None:
            self._sleeper.interrupt()

    def _due(self) -> bool:
        if self._signal.writes >= self._signal.enough or self._more:
            return True
        stuck = self._stuck
        if stuck is None:
            return False
        return bool(due_paths(self._router, self._config.tombstone_ratio) - stuck)

    def _run(self) -> None:
        self._night = time.monotonic() + self._config.sleep.interval_s
        self._test = time.monotonic() + self._config.sleep.testing_interval_s
        deadline = time.monotonic() + self._interval_s
        while self._wait(min(deadline, self._night, self._test)):
            try:
                if self._called or time.monotonic() >= self._night:
                    self._sleep()
                elif time.monotonic() >= self._test:
                    self._rehearse()
                if time.monotonic() < deadline and not self._due():
                    continue
                with self._wake:
                    self._signal.writes = 0
                self._note(self._upkeep())
            except _FINAL as error:
                self.last_error = _bare(error)
                return
            except Exception as error:  # there is no caller to raise it to
                self.last_error, self._stuck, self._more = _bare(error), None, False
                if has_failed(self._router):
                    return
            deadline = time.monotonic() + self._interval_s

    def _sleep(self) -> None:
        """One cycle of sleep, where it may run without `Memory.reflect`."""
        self._called = False
        self._night = time.monotonic() + self._config.sleep.interval_s
        if self._sleeper is None or not self._sleeper.may_sleep():
            return
        report = self._sleeper.reflect()
        self.last_report = report
        self._is_cut = not report.finished
        if report.finished:
            self.nights += 1
        else:
            self._night = time.monotonic() + _RESUME_S

    def _rehearse(self) -> None:
        """The testing effect as a job of its own; a cycle that has to go on rehearses itself."""
        self._test = time.monotonic() + self._config.sleep.testing_interval_s
        if self._sleeper is None or self._is_cut or not self._sleeper.may_sleep():
            return
        self.last_report = self._sleeper.reflect("rehearse")
        self.rehearsals += 1

    def _note(self, report: ReflectReport) -> None:
        failed = report.compaction.failed
        self.last_report = report
        self.last_error = (
            PartitionCorruptError(
                f"{counted(len(failed), 'partition')} could not be rebuilt; the first: "
                f"{failed[0]['message']}"
            )
            if failed
            else None
        )
        self._stuck = frozenset(each["path"] for each in failed)
        self._more = report.clustered > 0 and report.unclustered > 0
        self.cycles += 1

    def _wait(self, deadline: float) -> bool:
        """Sleep until there may be something to do; False when it is time to end."""
        with self._wake:
            while not self._stopping:
                left = deadline - time.monotonic()
                enough = self._signal.writes >= self._signal.enough
                if not self._paused and (left <= 0 or enough or self._called):
                    return True
                # no call announces tombstones, so look at them once a second
                notified = self._wake.wait(None if self._paused else min(left, 1.0))
                if not (notified or self._paused or self._stopping):
                    return True
            return False


def _bare(error: BaseException) -> BaseException:
    """The same error without its frames, which have this thread and what it works with."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = each.__context__ = None
        each = each.__cause__
    return error


# The thread that takes new episodes over as concepts, beside the writes and never in their way.

#: episodes that wait; one more is left to the catching up
MOST_WAITING: Final = 1_000
#: episodes of one commit
_BATCH: Final = 100
#: seconds until a run that failed is tried again, doubled each time
_AGAIN_S, _LATEST_S = 0.5, 60.0


class ConceptWorker(_Worker):
    """Extracts concepts from episodes, in the background or when asked to.

    `note_stored` is called after each commit and only enters an id: a full queue drops it, counts
    that, and has the worker catch up from its cursor. What is forgotten leaves the queue.
    """

    def __init__(self, extractor: ConceptExtractor, calls: Calls, mode: str) -> None:
        self._extractor = extractor
        self._calls = calls
        #: ``worker``, ``sleep`` or ``off``
        self.mode = mode
        super().__init__("spector-concepts", threading.Condition())
        self._waiting: deque[int] = deque()
        #: something is not in the queue that has to be taken over
        self._behind = True
        self._busy = False
        self._failures = 0
        self._dropped = self._extracted = 0
        self._error: BaseException | None = None

    def status(self) -> dict[str, Any]:
        """For ``concepts.stats``; JSON-ready."""
        with self._change:
            error = self._error
            return {
                "extract": self.mode,
                "running": self.running,
                "queue": len(self._waiting),
                "overflows": self._dropped,
                "extracted": self._extracted,
                "last_error": None if error is None else str(error) or type(error).__name__,
            }

    @classmethod
    def begun(
        cls, extractor: ConceptExtractor, calls: Calls, context: WriteContext, mode: str
    ) -> Self:
        """One that works already where ``extract="worker"`` and the store can be written."""
        worker = cls(extractor, calls, context.config.knowledge.extract)
        if worker.mode == "worker" and mode != "r":
            context.callbacks.register("episodes", worker.note_stored, deletions=False)
            context.watchers.add(worker.note_gone)
            worker.start()
        return worker

    def start(self) -> None:
        """Begin to work in a background thread."""
        with self._change:
            if not self.running and not self._stopping:
                self._begin()

    def note_stored(self, layer: str, record: Any) -> None:
        """Enter an episode that was committed; a full queue leaves it to the catching up."""
        with self._change:
            if len(self._waiting) >= MOST_WAITING:
                self._dropped += 1
                self._behind = True
            else:
                self._waiting.append(record.id)
            self._change.notify_all()

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Drop what is forgotten."""
        with self._change:
            gone = set(ids)
            if gone.intersection(self._waiting):
                self._waiting = deque(each for each in self._waiting if each not in gone)
                self._change.notify_all()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Have every episode taken over that is stored now; False when time was up before.

        With the worker running, this waits for it; else the work is done here.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if self.mode == "off":
            return True
        if not self.running:
            return self._catch_up(deadline)
        with self._change:
            while self.running and (self._waiting or self._behind or self._busy):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._change.wait(0.05 if left is None else min(left, 0.05))
                self._calls.refuse_closed()
            return not (self._waiting or self._behind or self._busy)

    def _catch_up(self, deadline: float | None = None) -> bool:
        """Take over what came after the cursor; False when time was up, or it has to end."""
        at = self._extractor.cursor()
        while not self._stopping:
            done = self._extract_after(at)
            with self._change:
                self._extracted += done.memories
            if done.memories < _BATCH:
                return True
            at = done.last_id
            if deadline is not None and time.monotonic() >= deadline:
                return False
        return False

    @verb
    def _extract_after(self, at: int) -> Any:
        """A run of episodes after an id, as a call that closing waits for."""
        return self._extractor.extract_concepts(at, _BATCH, keep_cursor=True)

    @verb
    def _extract(self, ids: Collection[int], *, keep_cursor: bool) -> Any:
        return self._extractor.extract_from(ids, keep_cursor=keep_cursor)

    def _run(self) -> None:
        while self._wait():
            try:
                self._work()
                self._failures = 0
            except _FINAL as error:
                self._error = _bare(error)
                return
            except Exception as error:  # there is no caller to raise it to
                with self._change:
                    self._error, self._behind = _bare(error), True
                    self._failures += 1
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()

    def _work(self) -> None:
        """One run from the queue, or the catching up."""
        with self._change:
            self._busy = True
            behind = self._behind
            self._behind = False  # what is dropped from now on has to be caught up again
            batch = (
                []
                if behind
                else [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            )
        if behind:
            if not self._catch_up():
                with self._change:
                    self._behind = True
        elif batch:
            done = self._extract(batch, keep_cursor=True)
            with self._change:
                self._extracted += done.memories

    def _wait(self) -> bool:
        """Sleep until there is something to do; False when it is time to end."""
        with self._change:
            if self._failures and not self._stopping:
                self._change.wait_for(
                    lambda: self._stopping, min(_AGAIN_S * 2.0**self._failures, _LATEST_S)
                )
            while not (self._stopping or self._waiting or self._behind):
                self._change.wait()
            return not self._stopping
