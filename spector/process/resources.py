"""Resources that a thread gives back whatever interrupts it: locks, connections, transactions."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import GeneratorType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    NoReturn,
    ParamSpec,
    Protocol,
    SupportsIndex,
    TypeVar,
)
from weakref import WeakSet

from spector.errors import NotCopyableError

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


# Objects that cannot be copied, because they own a file, a lock or a thread.
#
# A copy would share it, and the first of the two to be closed would take it away from the other.


class Sole:
    """Base class of objects that can neither be copied nor pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``copy.copy``, ``copy.deepcopy`` and ``pickle``.

        Raises:
            NotCopyableError
        """
        raise NotCopyableError(
            f"a {type(self).__name__} cannot be copied or pickled: the copy would share its files"
            " and its lock",
            hint="pass the object itself, which threads may share; another process opens the path"
            " again with spector.open; memory.backup(dest) copies the store",
        )


# Parts that are made when they are first used.

T = TypeVar("T")


class Later(Generic[T]):
    """Calling it returns the part, made by the first call; every thread gets the same one.

    A call of a signal handler may come into the making: the part that is made first stays.
    """

    __slots__ = ("_lock", "_make", "made")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.RLock()
        #: the part, or None before the first call
        self.made: T | None = None

    def __call__(self) -> T:
        if self.made is None:
            with self._lock:
                if self.made is None:
                    part = self._make()
                    if self.made is None:
                        self.made = part
        return self.made


# Caches of answers about texts, which are dropped when text is erased.

_Answer = TypeVar("_Answer")


class Keeper(Protocol):
    """An object that keeps words of texts."""

    def drop_caches(self) -> None:
        """Drop them all."""


_CACHES: Final[list[_lru_cache_wrapper[object]]] = []
#: the living keepers
KEEPERS: Final[WeakSet[Keeper]] = WeakSet()


def keeps(most: int) -> Callable[[Callable[..., _Answer]], _lru_cache_wrapper[_Answer]]:
    """`lru_cache` for answers about the texts of memories and cues."""

    def kept(function: Callable[..., _Answer]) -> _lru_cache_wrapper[_Answer]:
        cached = lru_cache(maxsize=most)(function)
        _CACHES.append(cached)
        return cached

    return kept


def drop_all_caches() -> None:
    """Drop all cached words, because some were erased."""
    for cache in _CACHES:
        cache.cache_clear()
    for keeper in list(KEEPERS):
        keeper.drop_caches()


# Recognize a shortage of memory in the errors of libraries.
#
# A library that cannot be mapped raises an ImportError, a thread without a stack a RuntimeError, a
# map of a file an OSError. Taken for a missing package or a damaged file, they would send the user to
# repair something that is whole.

_WORDS = (
    "failed to map segment",
    "cannot allocate memory",
    "bad alloc",
    "bad_alloc",
    "out of memory",
    "cannot create shared object descriptor",
    "can't start new thread",
    # how CPython 3.11 reports an import for which there is no memory
    "error return without exception set",
)


def is_short_of_memory(error: BaseException) -> bool:
    """True for an error that means that the process gets no more memory."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    said = str(error).lower()
    return any(words in said for words in _WORDS)


@contextlib.contextmanager
def said_as_memory_error() -> Iterator[None]:
    """Raise a MemoryError where loading a library fails for lack of memory."""
    try:
        yield
    except (ImportError, OSError, SystemError) as error:
        if not is_short_of_memory(error):
            raise
        raise MemoryError(f"too little memory: {error}") from error


P = ParamSpec("P")


class Resource:
    """A resource that a thread has to give back."""

    __slots__ = ()

    def abandon(self, error: BaseException | None) -> None:
        """Give it back without its ``__exit__``. Idempotent."""
        raise NotImplementedError


class Call:
    """A public call that a thread is in. ``over`` is set by the call itself, at its end."""

    __slots__ = ("base", "elsewhere", "over", "owner", "thread")

    def __init__(self) -> None:
        self.over = False
        #: raises when the object of the call has been closed meanwhile
        self.owner: Callable[[], None] | None = None
        #: the call is in code of the caller (an embedder), which uses nothing of the store
        self.elsewhere = False
        self.thread = threading.get_ident()
        #: resources of the thread that were open before
        self.base = 0


class WeakList(Generic[T]):
    """Weak references to objects, each once. Unlike a ``WeakSet`` it runs no code when one dies.

    Python would print an interrupt that came just then, and lose it.
    """

    def __init__(self) -> None:
        self._references: list[weakref.ref[Any]] = []
        self._lock = threading.RLock()  # a signal handler may close a store meanwhile

    def add(self, item: T) -> None:
        """Idempotent."""
        with self._lock:
            alive = [each for each in self._references if each() is not None]
            if not any(each() is item for each in alive):
                alive.append(weakref.ref(item))
            self._references = alive

    def discard(self, item: T) -> None:
        """Idempotent."""
        with self._lock:
            self._references = [each for each in self._references if each() not in (None, item)]

    def __iter__(self) -> Iterator[T]:
        return iter([item for each in self._references if (item := each()) is not None])

    def __bool__(self) -> bool:
        return any(each() is not None for each in self._references)


class _Thread(threading.local):
    def __init__(self) -> None:
        #: an interrupt that came where it could not be raised
        self.postponed: BaseException | None = None
        self.resources: list[Resource] = []
        self.calls: list[Call] = []


_here = _Thread()


def take(resource: Resource) -> None:
    """Register ``resource`` to be given back. Call it before anything is acquired."""
    _here.resources.append(resource)


def drop(resource: Resource) -> None:
    """Unregister ``resource``, which has given back everything."""
    resources = _here.resources
    if resources and resources[-1] is resource:
        del resources[-1]
        return
    for n in range(len(resources) - 1, -1, -1):
        if resources[n] is resource:
            del resources[n]
            return


def begin(call: Call) -> None:
    """Register ``call`` for this thread, after giving back what earlier calls have left."""
    calls, resources = _here.calls, _here.resources
    while calls and calls[-1].over:
        _give_back(calls[-1].base)
        del calls[-1]
    call.base = len(resources)
    calls.append(call)
    if _here.postponed is not None:
        _raise_postponed()


def end(call: Call) -> None:
    """Give back what the finished ``call`` has left open."""
    calls = _here.calls
    while calls and calls[-1].over:
        last = calls[-1]
        if len(_here.resources) > last.base:
            _give_back(last.base)
        del calls[-1]
    if _here.postponed is not None:
        _raise_postponed()


def postpone(error: BaseException) -> None:
    """Raise an interrupt at the end of the call, because nothing can be raised now."""
    _here.postponed = error


def _raise_postponed() -> None:
    error = _here.postponed
    _here.postponed = None
    if error is not None:
        raise error


def calls_here() -> list[Call]:
    """The public calls that this thread is in, the outermost first."""
    return _here.calls


def completed(step: Callable[[], object]) -> None:
    """Run an idempotent step to its end, repeating it once after an interrupt."""
    try:
        step()
    except BaseException:
        step()
        raise


def elsewhere(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call code of the caller, which may take long and which closing does not wait for.

    Raises:
        StoreClosedError: the memory of this thread's calls was closed meanwhile.
    """
    calls = [call for call in _here.calls if not call.elsewhere]
    try:
        for call in calls:
            call.elsewhere = True
        return function(*args, **kwargs)
    finally:
        for call in calls:
            call.elsewhere = False
        for call in calls:
            if call.owner is not None:
                call.owner()


def each_elsewhere(items: Iterable[T]) -> Iterator[T]:
    """The items, each fetched through `elsewhere`: a generator may block for ever."""
    found = iter(items)
    while True:
        try:
            item = elsewhere(next, found)
        except StopIteration:
            return
        yield item


def _give_back(base: int) -> None:
    resources = _here.resources
    while len(resources) > base:
        with contextlib.suppress(Exception):
            resources[-1].abandon(sys.exception())
        del resources[-1]


def entry(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator of public functions: nothing is left open however the call ends."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        call = Call()
        try:
            begin(call)
            return function(*args, **kwargs)
        finally:
            call.over = True
            end(call)

    return run


class _Managed(Resource, Generic[T]):
    """A generator as a context manager, like those of ``contextlib``, and a resource."""

    __slots__ = ("_generator",)

    def __init__(self, generator: GeneratorType[T, None, None]) -> None:
        self._generator = generator

    def __enter__(self) -> T:
        take(self)
        try:
            return next(self._generator)
        except BaseException as error:  # its own, or an interrupt behind its ``yield``
            self.abandon(error)
            drop(self)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> bool | None:
        generator = self._generator
        try:
            if error is None:
                for _ in generator:
                    raise RuntimeError("the generator of a context manager did not stop")
                return None
            try:
                generator.throw(error)
            except StopIteration as stop:
                return stop is not error
            except RuntimeError as raised:
                if raised is error:
                    raised.__traceback__ = trace
                    return False
                if isinstance(error, StopIteration) and raised.__cause__ is error:
                    error.__traceback__ = trace
                    return False
                raise
            except BaseException as raised:
                if raised is not error:
                    raise
                raised.__traceback__ = trace
                return False
            raise RuntimeError("the generator of a context manager did not stop after throw")
        finally:
            if generator.gi_frame is None:  # else an interrupt came before it went on: see `end`
                drop(self)

    def abandon(self, error: BaseException | None) -> None:
        generator = self._generator
        if generator.gi_frame is None or generator.gi_running:
            return
        with contextlib.suppress(BaseException):
            generator.throw(error or GeneratorExit())
        generator.close()


def managed(function: Callable[P, Iterator[T]]) -> Callable[P, _Managed[T]]:
    """``contextlib.contextmanager`` for resources that have to be given back."""

    @functools.wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> _Managed[T]:
        return _Managed(function(*args, **kwargs))  # type: ignore[arg-type]

    return make


def held_by_calling(kept: list[T], function: Callable[..., T], *args: Any) -> T:
    """Call a C function and store its result in ``kept`` before a signal can be handled.

    ``kept`` must be empty. The caller gives back what is in it, however the call has ended. With an
    assignment instead, an interrupt after the call would lose the result.
    """
    kept.extend(map(function, *((each,) for each in args)))
    return kept[0]


# Close objects at interpreter exit, while threads can still be joined.
#
# Later, when modules are torn down, a thread may have been ended in a call with a lock held for ever.
# Closing a store would then wait for that lock, or close files under a call. This module is imported
# with the package, so callbacks that a program registers with ``atexit`` run before, with its
# memories still open.

Thing = TypeVar("Thing")

#: weak references without callbacks, which would run Python code where an interrupt is lost
_things: list[tuple[weakref.ref[Any], Callable[[Any], None]]] = []


def at_exit(thing: Thing, end: Callable[[Thing], None]) -> None:
    """Call ``end(thing)`` at interpreter exit, if the thing is still alive.

    Args:
        end: must not refer to the thing, which is only kept weakly.
    """
    _things[:] = [each for each in _things if each[0]() is not None]
    _things.append((weakref.ref(thing), end))


def _end_all() -> None:
    with contextlib.ExitStack() as ending:  # a failure must not keep the others from closing
        for reference, end in _things:
            thing = reference()
            if thing is not None:
                ending.callback(end, thing)


atexit.register(_end_all)
