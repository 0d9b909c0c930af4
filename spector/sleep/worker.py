"""The thread that takes new episodes over as concepts, beside the writes and never in their way."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection
from typing import Any, Final, Self

from spector.errors import StoreClosedError, StoreForkedError, StoreReadOnlyError
from spector.process import Calls, Sole, verb
from spector.write import ConceptExtractor, WriteContext

__all__ = ["ConceptWorker"]

#: episodes that wait; one more is left to the catching up
MOST_WAITING: Final = 1_000
#: episodes of one commit
_BATCH: Final = 100
#: seconds until a run that failed is tried again, doubled each time
_AGAIN_S, _LATEST_S = 0.5, 60.0
#: errors that no later run can get rid of
_FINAL: Final = (StoreClosedError, StoreForkedError, StoreReadOnlyError)


class ConceptWorker(Sole):
    """Extracts concepts from episodes, in the background or when asked to.

    `note_stored` is called after each commit and only enters an id: a full queue drops it, counts
    that, and has the worker catch up from its cursor. What is forgotten leaves the queue.
    """

    def __init__(self, extractor: ConceptExtractor, calls: Calls, mode: str) -> None:
        self._extractor = extractor
        self._calls = calls
        #: ``worker``, ``sleep`` or ``off``
        self.mode = mode
        self._change = threading.Condition()
        self._waiting: deque[int] = deque()
        self._thread: threading.Thread | None = None
        self._stopping = False
        #: something is not in the queue that has to be taken over
        self._behind = True
        self._busy = False
        self._failures = 0
        self._dropped = self._extracted = 0
        self._error: BaseException | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

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
                self._thread = threading.Thread(
                    target=self._run, name="spector-concepts", daemon=True
                )
                self._thread.start()

    def stop(self, timeout_s: float = 60.0) -> bool:
        """Ask the thread to end after the run in progress; True when it has."""
        with self._change:
            self._stopping = True
            self._change.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

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
        """Take over what came after the cursor; False when time was up, or it was told to stop."""
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


def _bare(error: BaseException) -> BaseException:
    """The same error without its frames, which have this worker and what it works with."""
    each: BaseException | None = error
    while each is not None:
        each.__traceback__ = each.__context__ = None
        each = each.__cause__
    return error
