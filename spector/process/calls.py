"""Public calls of one memory, what is noted of them, and what they call of the program's."""

from __future__ import annotations

import functools
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

from spector.errors import StoreClosedError
from spector.process.resources import (
    Call,
    begin,
    completed,
    elsewhere,
    end,
    is_short_of_memory,
    managed,
)


def _note_failure(what: str, layer: str) -> None:
    """Log the error that is being handled."""
    import logging  # slow to load, and hardly ever needed

    logging.getLogger("spector.layers").exception(what, layer)


# Callbacks of layers: called after the commit, in the order of commits, outside of locks.

#: called with the name of a layer, and the record that it got or the id that it lost
Callback = Callable[[str, Any], None]


class Watchers:
    """Parts that hear of memories that are gone, so that they forget them, too.

    They are known weakly: writers, which tell them, are parts of what they use.
    """

    def __init__(self) -> None:
        self._watching: list[
            weakref.WeakMethod[Callable[[Collection[int], Collection[str]], object]]
        ] = []
        self._watching_wholes: list[weakref.WeakMethod[Callable[[Mapping[str, str]], object]]] = []

    def add(self, watcher: Callable[[Collection[int], Collection[str]], object]) -> None:
        """Have a method called with the ids and the former words of what is gone."""
        self._watching.append(weakref.WeakMethod(watcher))

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Tell all that memories are gone, or that their words or their user are others now."""
        for each in self._watching:
            watcher = each()
            if watcher is not None:
                watcher(ids, texts)

    def add_whole(self, watcher: Callable[[Mapping[str, str]], object]) -> None:
        """Have a method called with the labels of a user, agent or session that is gone."""
        self._watching_wholes.append(weakref.WeakMethod(watcher))

    def note_whole_gone(self, labels: Mapping[str, str]) -> None:
        """Tell all that every memory with some labels is gone."""
        for each in self._watching_wholes:
            watcher = each()
            if watcher is not None:
                watcher(labels)


class LayerCallbacks:
    """The callbacks of layers, called when one gets or loses a memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._delivering = threading.Lock()
        self._captures: list[tuple[str, Callback]] = []
        self._deletions: list[tuple[str, Callback]] = []
        self._waiting: deque[tuple[list[tuple[str, Callback]], str, Any]] = deque()

    @property
    def watches_deletions(self) -> bool:
        """Whether a callback waits for deletions, which then have to name their layer."""
        return bool(self._deletions)

    def register(self, layer: str, callback: Callback, *, deletions: bool) -> Callable[[], None]:
        """Register a callback of a layer; returns what ends it."""
        chosen, entry = (self._deletions if deletions else self._captures), (layer, callback)
        with self._lock:
            chosen.append(entry)

        def cancel() -> None:
            with self._lock:
                chosen[:] = [each for each in chosen if each is not entry]

        return cancel

    def note_stored(self, layer: str, records: Iterable[Any]) -> None:
        """Call the callbacks for each record that a layer got."""
        if self._captures:
            with self._lock:
                self._waiting.extend((self._captures, layer, each) for each in records)
            self.deliver()

    def note_deleted(self, layers: Mapping[int, str]) -> None:
        """Have the callbacks called for each id that a layer lost, by the next `deliver`."""
        with self._lock:
            self._waiting.extend((self._deletions, layer, each) for each, layer in layers.items())

    def deliver(self) -> None:
        """Call what waits; another thread that does so already, or a callback, goes on with it."""
        while self._waiting and self._delivering.acquire(blocking=False):
            try:
                while True:
                    with self._lock:
                        if not self._waiting:
                            break
                        chosen, layer, what = self._waiting.popleft()
                        callbacks = [call for name, call in chosen if name == layer]
                    for call in callbacks:
                        try:
                            call(layer, what)
                        except Exception:
                            _note_failure("a callback of layer %s failed", layer)
            finally:
                self._delivering.release()


# Layers of a caller's: asked beside the memories, whatever they do; a failing one is left out.


class ForeignLayers:
    """Layers by name, in the order in which they were registered."""

    def __init__(self) -> None:
        self._layers: dict[str, Any] = {}

    def add(self, name: str, layer: Any) -> None:
        self._layers[name] = layer

    def get(self, name: str) -> Any:
        """The layer of a name, or None."""
        return self._layers.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._layers))

    def recalled(
        self, cue: str, limit: int, filters: Mapping[str, Any]
    ) -> dict[str, tuple[Any, ...]]:
        """What each layer recalls for a cue, at most ``limit``."""
        found = self._asked(
            lambda layer: tuple(layer.recall(limit=limit, cue=cue, **filters))[:limit]
        )
        return {name: each for name, each in found if each}

    def associated(
        self, seeds: Sequence[int], threshold: float
    ) -> dict[str, list[tuple[int, float]]]:
        """What seeds bring to mind in each layer, the strongest first."""
        found = self._asked(lambda layer: _activations(layer.recall_associated(seeds), threshold))
        return {name: each for name, each in found if each}

    def _asked(self, ask: Callable[[Any], Any]) -> Iterable[tuple[str, Any]]:
        """The answer of each layer; one that raises is logged, and the others are asked."""
        for name, layer in list(self._layers.items()):
            try:
                yield name, elsewhere(ask, layer)
            except Exception:
                _note_failure("layer %s failed", name)


def _activations(found: Iterable[Any], threshold: float) -> list[tuple[int, float]]:
    """Pairs of id and activation that are finite and at least the threshold."""
    pairs = [(int(each), float(value)) for each, value in found]
    fit = [pair for pair in pairs if math.isfinite(pair[1]) and pair[1] >= threshold]
    return sorted(fit, key=lambda pair: (-pair[1], pair[0]))


# Notes what the engine did and how long it took, for a log that the user asked for.

#: characters of a text in a log that may have texts
SNIPPET = 200


class Operation:
    """One thing that the engine did; what it was given and what came of it, without texts.

    Attributes:
        op: observe, gate, recall, context, reflect, and so on.
        input, output: ids and counts.
        texts: what the log may quote, if it was opened with ``ops_log_text=True``: by "input" and
            "output".
        details: further keys of the line, such as ``intent``.
    """

    __slots__ = (
        "at_ms",
        "details",
        "fallback",
        "input",
        "latency_ms",
        "model",
        "op",
        "output",
        "success",
        "texts",
    )

    # no dataclass: that would load ``inspect`` with the package
    def __init__(
        self,
        op: str,
        *,
        input: dict[str, Any] | None = None,
        output: dict[str, Any] | None = None,
        fallback: bool = False,
        latency_ms: float = 0.0,
    ) -> None:
        self.op, self.success, self.fallback = op, True, fallback
        self.model: str | None = None
        self.input = {} if input is None else input
        self.output = {} if output is None else output
        self.texts: dict[str, str] = {}
        self.details: dict[str, Any] = {}
        self.latency_ms = latency_ms
        #: when it was noted, by the clock of the memory
        self.at_ms = 0

    def given(self, text: str | None, **scopes: Any) -> None:
        """Note the input: how long a text is, and in which scopes it was given."""
        self.input.update({name: each for name, each in scopes.items() if each is not None})
        if text is not None:
            self.input["chars"] = len(text)
            self.texts["input"] = text[:SNIPPET]

    def found(self, ids: Sequence[int], text: str | None = None, **counts: Any) -> None:
        """Note the output: ids of memories, the words of the first, counts."""
        self.output.update({"ids": list(ids), **counts})
        if text is not None:
            self.texts["output"] = text[:SNIPPET]


class Operations:
    """Notes operations: none here, where there is no log; the methods are those of one."""

    #: whether operations are noted
    is_kept = False

    @managed
    def noting(self, op: str) -> Iterator[Operation]:
        """An operation that is noted when the block ends; ``success`` is False when it raised."""
        operation, started = Operation(op), time.perf_counter()
        if not self.is_kept:
            yield operation
            return
        try:
            yield operation
        except Exception as error:
            operation.success = False
            operation.output = {"error": type(error).__name__}
            raise
        finally:
            operation.latency_ms = (time.perf_counter() - started) * 1000
            self.note(operation)

    def note(self, operation: Operation) -> None:
        """Note an operation that has ended."""

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Leave out lines about memories that are gone."""

    def note_whole_gone(self, labels: Mapping[str, str]) -> None:
        """Leave out lines with the labels of a user, agent or session that is gone."""

    def scrub(self) -> None:
        """Rewrite the log without lines about memories that are gone."""

    def close(self) -> None:
        """Write what waits."""

    def stats(self) -> Mapping[str, Any] | None:
        """Figures of the log; None without one."""
        return None


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
            raise self.closed()

    def closed(self) -> StoreClosedError:
        """What a call of a closed memory raises."""
        return StoreClosedError(
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
