"""What is closed when the interpreter ends, while there still are threads that can be waited for.

Later, when modules are taken apart, a thread may have been ended in the middle of a call, with a
lock in its hands for ever. Closing a store then would wait for that lock, or take files from
under a call. This module is imported with the package, so what a program registers with ``atexit``
runs before, with its memories still open.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["at_exit"]

Thing = TypeVar("Thing")

#: without callbacks, which would run code of Python when a thing dies, where an interrupt is lost
_things: list[tuple[weakref.ref[Any], Callable[[Any], None]]] = []


def at_exit(thing: Thing, end: Callable[[Thing], None]) -> None:
    """Have ``end(thing)`` called at the end of the interpreter, if the thing is still there.

    Args:
        end: must not have the thing, which this does not keep.
    """
    _things[:] = [each for each in _things if each[0]() is not None]
    _things.append((weakref.ref(thing), end))


def _end_all() -> None:
    with contextlib.ExitStack() as ending:  # one that fails must not keep others from their end
        for reference, end in _things:
            thing = reference()
            if thing is not None:
                ending.callback(end, thing)


atexit.register(_end_all)
