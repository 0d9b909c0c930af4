"""``AsyncMemory``: the verbs of a memory for programs that await.

A bounded pool of threads does the work: several read, one writes in the order of the calls. Nothing
is bound to an event loop, so one memory serves several loops in turn, of asyncio and of trio.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import sys
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, overload

from spector.api import open as open_memory
from spector.arguments import parse_integer
from spector.errors import BusyError, StoreClosedError
from spector.kernel import usable_cores
from spector.memory import Memory
from spector.records import MemoryRecord, NamespaceSummary
from spector.session import Session

P = ParamSpec("P")
R = TypeVar("R")
#: verbs that change nothing, or nothing that an order of calls could matter to
_READS: Final = frozenset(
    """about activate alike all backup central check context count edges export find
    compressed episode for_situation gate get history hot importance judge kinds namespaces neighbours of
    pagerank path profile query recall recall_associated records relevant sessions similar statistics stats
    traverse users walk""".split()
)
#: reads that write a file: a caller hears of those that end after they were cancelled
_FILES: Final = ("backup", "export")
#: readers of a memory that is not given a number of its own
_MOST_READERS: Final = 4
_MOST_WORKERS: Final = 64
#: memories of a page of ``records``
_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a write that went on although its call was cancelled.

    Attributes:
        verb: its name, ``facts.add``. result: what the verb returned. error: what it raised.
    """

    verb: str
    result: Any = None
    error: BaseException | None = None


class _Pool:
    """Threads of one memory: calls that may run side by side, and calls in their order.

    Args:
        workers: threads that read. max_waiting: calls that may wait or run at once.
    """

    def __init__(self, workers: int, max_waiting: int) -> None:
        self._readers = ThreadPoolExecutor(workers, "spector-read")
        self._writer = ThreadPoolExecutor(1, "spector-write")
        self._max_waiting, self._pid = max_waiting, os.getpid()
        self._lock = threading.Lock()
        self._open = 0
        self._refuses = False
        self._closing: Future[None] | None = None
        #: what a call of a closed memory raises
        self.closed: Callable[[], StoreClosedError]
        #: writes that went on, by the name of their verb
        self._left: list[tuple[str, Future[Any]]] = []

    async def run(self, name: str, call: Callable[[], R], *, reads: bool = False) -> R:
        """The result of a call that a thread of this pool makes.

        Args:
            reads: its order among others does not matter.

        Raises:
            BusyError: as many calls wait already as may. StoreClosedError: the memory is closed.
        """
        if os.getpid() != self._pid:  # threads do not survive a fork: the verb says what is wrong
            return call()
        future = self._submit(call, reads=reads)
        try:
            return await _result(future)
        except BaseException as error:
            if (
                not future.cancel()
                and (not reads or name in _FILES)
                # an error of the caller's task, and not of the call
                and (not future.done() or future.exception() is not error)
            ):
                with self._lock:
                    self._left.append((name, future))
            raise

    async def settled(self) -> tuple[Settled, ...]:
        """Wait for the writes that went on after their call was cancelled; lists each once."""
        out: list[Settled] = []
        while os.getpid() == self._pid:
            with self._lock:
                if not self._left:
                    break
                name, future = one = self._left[0]
            with suppress(Exception):
                await _result(future)
            with self._lock:
                if one not in self._left:
                    continue
                self._left.remove(one)
            error = future.exception()
            out.append(Settled(name, None if error else future.result(), error))
        return tuple(out)

    async def close(self, close: Callable[[], None]) -> None:
        """Let what was called before come to its end, then close; a second call waits as well."""
        if os.getpid() != self._pid:
            return close()
        with self._lock:
            self._refuses = True
            closing = self._closing
            if closing is None or (closing.done() and closing.exception() is not None):
                self._closing = closing = self._writer.submit(self._end, close)
        await _result(closing)

    def abandon(self, undo: Callable[[Any], None]) -> None:
        """End the threads; what the call that still runs returns is handed to ``undo``."""
        for _, future in self._left:
            self._writer.submit(_undo, undo, future)
        self._readers.shutdown(wait=False)
        self._writer.shutdown(wait=False)

    def _end(self, close: Callable[[], None]) -> None:
        self._readers.shutdown()
        close()
        self._writer.shutdown(wait=False)

    def _submit(self, call: Callable[[], R], *, reads: bool) -> Future[R]:
        context = contextvars.copy_context()
        with self._lock:
            if self._refuses:
                raise self.closed()
            if self._open >= self._max_waiting:
                raise BusyError(
                    f"{self._open} calls are waiting, which is all that max_waiting allows",
                    hint="await some of them first, or open with a greater max_waiting",
                )
            self._open += 1
            future = (self._readers if reads else self._writer).submit(context.run, call)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Future[Any]) -> None:
        with self._lock:
            self._open -= 1


def _undo(undo: Callable[[Any], None], future: Future[Any]) -> None:
    if future.exception() is None:
        undo(future.result())


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def _result(future: Future[R]) -> R:
    """What a future of a thread gives; to stop waiting for it leaves the future as it is."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        await _done_in_trio(future)
        return future.result()
    waiter = loop.create_future()

    def wake(_: Future[R]) -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(_wake, waiter)

    future.add_done_callback(wake)
    await waiter
    return future.result()


async def _done_in_trio(future: Future[Any]) -> None:
    trio = sys.modules.get("trio")
    if trio is None:
        raise RuntimeError("AsyncMemory awaits in a running loop of asyncio or trio")
    token, event = trio.lowlevel.current_trio_token(), trio.Event()

    def wake(_: Future[Any]) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(event.set)

    future.add_done_callback(wake)
    await event.wait()


class _Verb(Generic[P, R]):
    """A verb of :class:`spector.Memory` that is awaited, with its arguments and its help."""

    def __init__(self, verb: Callable[Concatenate[Memory, P], R]) -> None:
        self.__doc__ = verb.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, memory: None, owner: type) -> Self: ...
    @overload
    def __get__(self, memory: AsyncMemory, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(
        self, memory: AsyncMemory | None, owner: type
    ) -> Self | Callable[P, Coroutine[Any, Any, R]]:
        if memory is None:
            return self
        run, name = memory._pool.run, self._name
        bound: Callable[P, R] = getattr(memory.sync, name)

        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            reads = name in _READS and not kwargs.get("learn")
            return await run(name, functools.partial(bound, *args, **kwargs), reads=reads)

        call.__name__, call.__doc__ = name, self.__doc__
        call.__dict__["__wrapped__"] = bound  # whose signature is shown
        return call


class _Facet:
    """The verbs of a facet, awaited: ``await memory.facts.about("Ada")``.

    Args:
        kind: module and name of its class.
        of: gives the facet; called in a thread, since its parts are made on first use.
    """

    def __init__(self, pool: _Pool, name: str, kind: str, of: Callable[[], Any]) -> None:
        self._pool, self._facet, self._kind, self._of = pool, name, kind, of

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name)
        module, _, kind = self._kind.rpartition(".")
        if not callable(getattr(getattr(import_module(module), kind), name, None)):
            raise AttributeError(
                f"{kind!r} has no verb {name!r}; values are those of .sync", name=name
            )
        return functools.partial(self._call, name)

    async def _call(self, verb: str, /, *args: Any, **kwargs: Any) -> Any:
        def call() -> Any:
            named = {name: _beneath(each) for name, each in kwargs.items()}
            return getattr(self._of(), verb)(*map(_beneath, args), **named)

        # what a session recalls changes it
        reads = verb in _READS and self._facet != "session" and not kwargs.get("learn")
        found = await self._pool.run(f"{self._facet}.{verb}", call, reads=reads)
        return AsyncSession(self._pool, found) if isinstance(found, Session) else found


class _Layers(_Facet):
    """The layers by name, whose verbs are awaited: ``await memory.layers["episodes"].recall()``."""

    def __getitem__(self, name: str) -> _Facet:
        kind, layers = "spector.facets.layers.StoreLayer", self._of
        return _Facet(self._pool, f"layers[{name!r}]", kind, lambda: layers()[name])


class AsyncSession(_Facet):
    """A conversation whose verbs are awaited; leaving its ``async with`` ends it.

    Attributes:
        sync: the session beneath.
    """

    def __init__(self, pool: _Pool, session: Session) -> None:
        super().__init__(pool, "session", "spector.Session", lambda: session)
        self.sync = session

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._call("end")


def _beneath(value: Any) -> Any:
    return value.sync if isinstance(value, AsyncSession) else value


def _checked(page: int) -> int:
    return parse_integer(page, "page", 1, None, f"{_PAGE} is the default")


class AsyncMemory:
    """One agent's memory for programs that await. Made by :func:`spector.open_async`.

    Every verb of :class:`spector.Memory` and of its facets has the same name, arguments and errors.
    A call that is cancelled before a thread has begun it never begins; a write that has begun comes
    to its end, and :meth:`settled` says what became of it.

    Attributes:
        sync: the memory beneath, for threads of your own.
        path, dim: those of the memory beneath.
    """

    def __init__(self, sync: Memory, pool: _Pool) -> None:
        self.sync, self._pool = sync, pool
        self.path, self.dim = sync.path, sync.dim
        pool.closed = lambda: sync._calls.closed()
        for name in "facts entities graph layers learnings procedures concepts daemon".split():
            kind = f"spector.{'ReflectDaemon' if name == 'daemon' else name.capitalize()}"
            facet = _Layers if name == "layers" else _Facet
            setattr(self, name, facet(pool, name, kind, functools.partial(getattr, sync, name)))

    facts: _Facet
    entities: _Facet
    graph: _Facet
    layers: _Layers
    learnings: _Facet
    procedures: _Facet
    concepts: _Facet
    daemon: _Facet

    backup = _Verb(Memory.backup)
    check = _Verb(Memory.check)
    checkpoint = _Verb(Memory.checkpoint)
    compact = _Verb(Memory.compact)
    context = _Verb(Memory.context)
    count = _Verb(Memory.count)  # type: ignore[arg-type]
    export = _Verb(Memory.export)  # type: ignore[arg-type]
    forget = _Verb(Memory.forget)  # type: ignore[arg-type]
    gate = _Verb(Memory.gate)  # type: ignore[arg-type]
    get = _Verb(Memory.get)
    history = _Verb(Memory.history)
    hot = _Verb(Memory.hot)
    import_ = _Verb(Memory.import_)
    judge = _Verb(Memory.judge)
    observe = _Verb(Memory.observe)
    observe_many = _Verb(Memory.observe_many)
    pin = _Verb(Memory.pin)
    reactivate = _Verb(Memory.reactivate)
    recall = _Verb(Memory.recall)
    reflect = _Verb(Memory.reflect)
    reflect_undo = _Verb(Memory.reflect_undo)
    reinforce = _Verb(Memory.reinforce)
    reinstate = _Verb(Memory.reinstate)
    remember = _Verb(Memory.remember)
    remember_many = _Verb(Memory.remember_many)  # type: ignore[arg-type]
    resolve = _Verb(Memory.resolve)
    retire = _Verb(Memory.retire)
    stats = _Verb(Memory.stats)
    unpin = _Verb(Memory.unpin)
    update = _Verb(Memory.update)  # type: ignore[arg-type]
    users = _Verb(Memory.users)

    async def session(self, *args: Any, **kwargs: Any) -> AsyncSession:
        """A conversation; arguments of :meth:`spector.Memory.session`."""
        call = functools.partial(self.sync.session, *args, **kwargs)
        return AsyncSession(self._pool, await self._pool.run("session", call))

    async def sessions(self) -> list[AsyncSession]:
        """The sessions that are open, the oldest first."""
        found = await self._pool.run("sessions", self.sync.sessions, reads=True)
        return [AsyncSession(self._pool, each) for each in found]

    def records(self, *, page: int = _PAGE, **selection: Any) -> AsyncIterator[MemoryRecord]:
        """The memories that :meth:`spector.Memory.records` gives, read by pages.

        No lock is held between two pages. What is stored meanwhile may be among the rest.

        Args:
            page: memories that are read at once.
        """
        verb = self.sync.records
        selection = {
            name: tuple(each) if isinstance(each, Iterator) else each
            for name, each in selection.items()
        }
        verb(**{"limit": 1} | selection)  # refuses what is wrong at once; nothing is read
        return self._pages("records", verb, lambda last: last, _checked(page), selection)

    def namespaces(
        self, prefix: str | Iterable[str] = (), *, page: int = _PAGE, **given: Any
    ) -> AsyncIterator[NamespaceSummary]:
        """The namespaces that :meth:`spector.Memory.namespaces` gives, read by pages.

        Args:
            page: namespaces that are read at once.
        """
        given["prefix"] = prefix
        verb = self.sync.namespaces
        return self._pages("namespaces", verb, lambda last: last.namespace, _checked(page), given)

    async def _pages(
        self,
        name: str,
        verb: Callable[..., Iterable[R]],
        after: Callable[[R], Any],
        page: int,
        given: dict[str, Any],
    ) -> AsyncIterator[R]:
        """What a verb lists, read by pages; ``after`` says what the next one follows."""
        left = given.pop("limit", None)
        while True:  # the verb refuses a limit of another type
            size = page if left is None else min(page, left) if isinstance(left, int) else left
            call = functools.partial(verb, limit=size, **given)
            found = await self._pool.run(name, lambda call=call: list(call()), reads=True)  # type: ignore[misc]
            for each in found:
                yield each
            if len(found) < size:
                return
            given["after"] = after(found[-1])
            if left is not None:
                left -= size
                if not left:
                    return

    async def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What a function of yours returns that a thread of this memory calls, after the writes
        before it: ``await memory.run(record.attachment)``."""
        return await self._pool.run("run", functools.partial(call, *args, **kwargs))

    async def settled(self) -> tuple[Settled, ...]:
        """What became of the writes that had begun when their call was cancelled; waits for them.

        Lists each once.
        """
        return await self._pool.settled()

    def __copy__(self) -> Self:
        """The memory itself, as of the one beneath."""
        return self

    async def close(self) -> None:
        """Close the memory once all that was called before has come to its end. Idempotent."""
        await self._pool.close(self.sync.close)

    def __aiter__(self) -> AsyncIterator[MemoryRecord]:
        return self.records()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Opening(Awaitable[AsyncMemory]):
    """An opening that is awaited, or entered by ``async with``."""

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, AsyncMemory]]) -> None:
        self._opening = opening

    def __await__(self) -> Generator[Any, Any, AsyncMemory]:
        return self._opening().__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._memory = await self._opening()
        return self._memory

    async def __aexit__(self, *_: object) -> None:
        await self._memory.close()


def open_async(
    path: str | os.PathLike[str],
    *,
    workers: int | None = None,
    max_waiting: int = 1000,
    **options: Any,
) -> _Opening:
    """Open the memory in the directory ``path`` for a program that awaits.

    ``memory = await spector.open_async(path)``, or ``async with spector.open_async(path) as memory``.

    Args:
        workers: threads that read, up to 64; as many as usable cores if None, at most 4.
        max_waiting: calls that may wait or run at once; the next raises :class:`spector.BusyError`.
        options: of :func:`spector.open`, whose errors it raises.
    """
    count = min(_MOST_READERS, usable_cores())
    if workers is not None:
        count = parse_integer(
            workers, "workers", 1, _MOST_WORKERS, "None takes one for each core, at most 4"
        )
    most = parse_integer(max_waiting, "max_waiting", 1, None, "1000 is the default")

    async def opened() -> AsyncMemory:
        pool = _Pool(count, most)
        opening = functools.partial(open_memory, path, **options)
        try:
            return AsyncMemory(await pool.run("open", opening), pool)
        except BaseException:
            pool.abandon(Memory.close)
            raise

    return _Opening(opened)
