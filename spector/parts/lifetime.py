"""When the stores of a memory may be used, and how they are closed: by call, at exit, dropped."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spector.errors import StoreReadOnlyError
from spector.process import Calls, Later, Operations, completed, entry

if TYPE_CHECKING:
    from spector.kernel import ParallelKernel
    from spector.search import Searcher
    from spector.session import Sessions
    from spector.sleep import ConceptWorker, ReflectDaemon
    from spector.store.opening import OpenedStore
    from spector.write import EndMover, Writer

__all__ = ["Access", "Lifetime"]

#: threads that have called a verb of any memory
_users: set[int] = set()
#: seconds that the end of the interpreter waits for a cycle of sleep
_EXIT_S = 5.0
#: and that closing waits for it
_CLOSE_S = 60.0


class Access:
    """Whether the stores of a memory may be read, or written to."""

    def __init__(self, path: str, mode: str, opened: Sequence[OpenedStore]) -> None:
        self.path = path
        self.mode = mode
        self.opened = opened

    def ensure(self, *, write: bool = False) -> None:
        """Raise unless every store is usable.

        Raises:
            StoreReadOnlyError: ``write``, and the memory was opened for reading.
            StoreClosedError, StoreFailedError, StoreForkedError
        """
        _users.add(threading.get_ident())
        if write and self.mode == "r":
            raise StoreReadOnlyError(
                f'the store at {self.path} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )
        for opened in self.opened:
            opened.store.ensure_usable()


class Lifetime:
    """Closes what a memory has open.

    A part that was never used has nothing to close.
    """

    def __init__(
        self,
        access: Access,
        calls: Calls,
        kernel: ParallelKernel,
        daemon: Later[ReflectDaemon],
        *,
        ends: Later[EndMover],
        writer: Later[Writer],
        searcher: Later[Searcher],
        sessions: Later[Sessions],
        operations: Operations,
        worker: Later[ConceptWorker],
    ) -> None:
        self._worker = worker
        self._opened = access.opened
        self._calls = calls
        self._kernel = kernel
        self._daemon = daemon
        self._ends = ends
        self._writer = writer
        self._searcher = searcher
        self._sessions = sessions
        self._operations = operations
        for each in self._opened:  # a collector may come to the catalog before the memory
            each.store.catalog.has_owner = True

    @property
    def is_open(self) -> bool:
        return self._opened[0].store.is_open

    @entry
    def close(self) -> None:
        """See ``Memory.close``."""
        if self._opened[0].store.forked:  # what the parent's threads hold here is held for ever
            completed(self._close)
            return
        try:
            if not self._calls.are_here(elsewhere=True):  # else it may be in the middle of a change
                self._end_sessions()
        finally:
            self._close_stores()

    def _close_stores(self) -> None:
        if self._calls.refuse():
            if self._calls.are_here():
                for opened in self._opened:
                    opened.store.refuse_calls(own=True)
                self._calls.at_end(self.close)
            elif not self._calls.is_closing_here:  # else a signal handler came into it
                with self._calls.one:
                    self._calls.closes(self._close)

    def _close(self) -> None:
        forked = self._opened[0].store.forked
        if not forked and all(opened.store.is_shut for opened in self._opened):
            return
        if not forked:  # the daemon's thread stayed with the parent
            self._stop_threads(_CLOSE_S)
            for opened in self._opened:
                opened.store.refuse_calls()
            self._calls.wait()
            self._operations.close()
        self._kernel.close()
        try:
            self._write_last()
        finally:  # a store that stays open must not lose its lock
            # the search is closed last: closing a store writes the words that it has
            search = [] if self._searcher.made is None else [self._searcher.made.close]
            _call_all([*(opened.close for opened in self._opened[::-1]), *search])

    def _write_last(self) -> None:
        """Before the stores are closed: write what waits for a commit."""
        if self._ends.made is not None:
            self._ends.made.write()
        if self._writer.made is not None:
            self._writer.made.keep_last_id()

    def _end_sessions(self, *, keep: bool = True) -> None:
        if self._sessions.made is not None:
            self._sessions.made.close(keep=keep)

    def _stop_threads(self, timeout_s: float) -> bool:
        """Ask threads of the memory to end; True when they have."""
        stopped = True
        for each in (self._worker.made, self._daemon.made):
            if each is not None:
                stopped = each.stop(timeout_s) and stopped
        return stopped

    def end(self, owner: object) -> None:
        """At the end of the interpreter: close, unless another thread may still use the memory.

        That thread is about to be ended wherever it is, as if by a kill, which harms no store; and
        until then it need not hear that the store was closed.
        """
        if self.is_open:
            stopped = self._stop_threads(_EXIT_S)
            self._kernel.close()
            self._close_dropped(owner, close=stopped and not _others_run())

    def drop(self, owner: object, *, is_finalizing: bool) -> None:
        """Close the stores of a memory that nothing refers to any more."""
        if not self.is_open:
            return
        if not self._opened[0].store.forked:  # no caller has a session of it, either
            self._end_sessions(keep=False)
        if not is_finalizing:
            self._close_dropped(owner)
        elif _users <= {threading.get_ident()}:  # else one was ended, maybe with a lock in hand
            with contextlib.suppress(Exception):
                self.close()

    def _close_dropped(self, owner: object, *, close: bool = True) -> None:
        """Close without an error, which no caller could catch. What was committed is safe."""
        try:
            warnings.warn(f"{owner!r} was not closed", ResourceWarning, stacklevel=4, source=owner)
        finally:  # where warnings are errors, too
            if close:
                self._close_quietly(owner)

    def _close_quietly(self, owner: object) -> None:
        try:
            self.close()
        except Exception as error:
            if self._opened[0].store.files.durable:
                warnings.warn(
                    f"{owner!r} could not be closed properly: {error}",
                    RuntimeWarning,
                    stacklevel=5,
                    source=owner,
                )


def _others_run() -> bool:
    """Whether there is a thread but this one and those of memories."""
    own = {each.ident for each in threading.enumerate() if each.name.startswith("spector-")}
    return bool(sys._current_frames().keys() - own - {threading.get_ident()})


def _call_all(calls: Sequence[Callable[[], None]]) -> None:
    """Call each, whatever those before it raise.

    An ``ExitStack`` would do as well, but the error that leaves it keeps itself, and with it all
    that its frames have.
    """
    if calls:
        try:
            calls[0]()
        finally:
            _call_all(calls[1:])
