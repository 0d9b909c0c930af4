"""What is closed when the interpreter ends, while there still are threads that can be waited for.

Later, when modules are taken apart, a thread may have been ended in the middle of a call, with a
lock in its hands for ever. Whoever then closed a store would wait for that lock, or take files from
under a call. This module is imported with the package, so what a program registers with ``atexit``
runs before, with its memories still open.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Callable
from typing import TypeVar

__all__ = ["at_exit"]

Thing = TypeVar("Thing")

_calls: weakref.WeakKeyDictionary[object, Callable[[], None]] = weakref.WeakKeyDictionary()


def at_exit(thing: Thing, end: Callable[[Thing], None]) -> None:
    """Have ``end(thing)`` called at the end of the interpreter, if the thing is still there.

    Args:
        end: must not have the thing, which this does not keep.
    """
    there = weakref.ref(thing)

    def call() -> None:
        found = there()
        if found is not None:
            end(found)

    _calls[thing] = call


def _end_all() -> None:
    with contextlib.ExitStack() as ending:  # one that fails must not keep others from their end
        for call in list(_calls.values()):
            ending.callback(call)


atexit.register(_end_all)
