"""Close objects at interpreter exit, while threads can still be joined.

Later, when modules are torn down, a thread may have been ended in a call with a lock held for ever.
Closing a store would then wait for that lock, or close files under a call. This module is imported
with the package, so callbacks that a program registers with ``atexit`` run before, with its
memories still open.
"""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["at_exit"]

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
