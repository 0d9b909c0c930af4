"""Public calls of one memory: each gives back its resources, and closing waits for them."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, cast

from spector.errors import StoreClosedError
from spector.process.resources import Call, begin, completed, end
from spector.process.shortage import is_short_of_memory

__all__ = ["Calls", "Pace", "Steps", "verb"]

T = TypeVar("T")

#: seconds that closing sleeps between two looks at the running calls
_STEP_S = 0.001
#: finished calls that an interrupt may leave in the list before they are removed
_MANY = 64
#: seconds for which a call that began is a reason to make room
_LATELY_S = 0.5
#: seconds of work before a pause, and seconds of a pause at most
_STRETCH_S, _MOST_PAUSE_S = 0.004, 0.25


class Calls:
    """The running calls of one memory, and whether new ones may begin. Thread-safe."""

    def __init__(self, where: str) -> None:
        self._where = where
        #: calls a method within a span; None where no telemetry is wanted
        self.trace: Callable[..., Any] | None = None
        self._running: set[Call] = set()
        #: how many have begun
        self.begun = 0
        self._closing = False
        self._closer = 0
        #: reentrant, because a signal handler may close the memory
        self._lock = threading.RLock()
        #: the thread that is closing the memory now
        self._closing_thread = 0
        #: closes the memory at the end of the call that requested it
        self._at_end: Callable[[], None] | None = None
        #: held by the thread that closes
        self.one = threading.RLock()

    def begin(self, call: Call) -> None:
        """Begin a call in this thread.

        Raises:
            StoreClosedError: the memory is closed, or about to be.
        """
        begin(call)
        call.owner = self.refuse_closed
        self.begun += 1  # two at once may count as one: what matters is that it moves
        running = self._running
        running.add(call)
        if len(running) > _MANY:
            running -= {each for each in list(running) if each.over}
        self.refuse_closed()

    def end(self, call: Call) -> None:
        """End ``call`` and give back what it has left open."""
        end(call)
        self._running.discard(call)
        if self._at_end is not None and not self.are_here():
            close, self._at_end = self._at_end, None
            close()

    def at_end(self, close: Callable[[], None]) -> None:
        """Call ``close`` when this thread has left its last call."""
        self._at_end = close

    @property
    def is_closing_here(self) -> bool:
        """True when this thread is closing the memory, as seen by a signal handler."""
        return self._closing_thread == threading.get_ident()

    def closes(self, step: Callable[[], object]) -> None:
        """Close the memory by ``step``, completely. The caller holds `one`."""
        try:
            self._closing_thread = threading.get_ident()
            completed(step)
        finally:
            self._closing_thread = 0

    def are_here(self, *, elsewhere: bool = False) -> bool:
        """True when this thread is in a call, as in a signal handler or a progress callback.

        Args:
            elsewhere: also count calls that are in code of the caller.
        """
        me = threading.get_ident()
        return any(
            each.thread == me and not each.over and (elsewhere or not each.elsewhere)
            for each in list(self._running)
        )

    def refuse(self) -> bool:
        """Let no call begin from now on.

        False when another thread is closing the memory and waits for a call of this thread, which
        then must not close it.
        """
        me = threading.get_ident()
        with self._lock:
            if self._closing and self._closer != me and self.are_here(elsewhere=True):
                return False
            if not self._closing:
                self._closing, self._closer = True, me
            return True

    def wait(self) -> None:
        """Wait until no other thread is in a call, except calls in the caller's embedder.

        Calls end soon: one that has not begun a change raises when it next uses the store.
        """
        me = threading.get_ident()
        while any(
            not (call.over or call.elsewhere or call.thread == me) for call in list(self._running)
        ):
            time.sleep(_STEP_S)

    def refuse_closed(self) -> None:
        """Raise when the memory is closed, or about to be.

        Raises:
            StoreClosedError
        """
        if self._closing:
            raise StoreClosedError(
                f"the store at {self._where} was closed", hint="open it again with spector.open"
            )


class Pace:
    """Makes room for other calls: beside them, long work has only a share of the time.

    Without other calls there are no pauses. What the work does never depends on them.

    Args:
        share: of the time that the work may have while other calls begin; 1 for no pauses.
        now, sleep: the machine's time, in seconds, and what waits.
        worked: seconds that this thread has computed: on a busy machine, waiting is no work.
    """

    def __init__(
        self,
        calls: Calls,
        share: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        self._calls = calls
        self._rest = (1.0 - share) / share
        self._now = now
        self._sleep = sleep
        self._worked = worked
        self._begun = self._since = self._until = 0.0

    def begin(self) -> None:
        """Begin a stretch of work: calls from here on are those of others."""
        self._begun, self._since, self._until = self._calls.begun, self._worked(), 0.0

    def breathe(self) -> None:
        """Pause for as long as the work since the last pause has to pay, where others are about.

        Called between two pieces of work, without a lock or a transaction.
        """
        now = self._now()
        if self._calls.begun != self._begun:
            self._begun, self._until = self._calls.begun, now + _LATELY_S
        at = self._worked()
        if now >= self._until or not self._rest:
            self._since = at
        elif at - self._since >= _STRETCH_S:
            self._sleep(min(_MOST_PAUSE_S, (at - self._since) * self._rest))
            self._since = self._worked()


F = TypeVar("F", bound=Callable[..., Any])


def verb(method: F) -> F:
    """Decorator of public methods of an object with ``_calls``: closing waits for the call."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = Call()
        try:
            self._calls.begin(call)
            if self._calls.trace is not None:
                return self._calls.trace(method, self, args, kwargs)
            return method(self, *args, **kwargs)
        except (ImportError, OSError, SystemError) as error:  # a part is imported on first use
            if not is_short_of_memory(error):
                raise
            raise MemoryError(f"too little memory: {error}") from error
        finally:
            call.over = True
            self._calls.end(call)

    return cast(F, run)


class Steps(Iterator[T]):
    """An iterator of which every step is a call of a memory."""

    def __init__(self, calls: Calls, steps: Iterator[T]) -> None:
        self._calls = calls
        self._steps = steps

    def __iter__(self) -> Self:
        return self

    @verb
    def __next__(self) -> T:
        return next(self._steps)
