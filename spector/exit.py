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
from typing import Protocol

__all__ = ["close_at_exit"]


class _Closeable(Protocol):
    def close_at_exit(self) -> None:
        """Close it, unless that has been done."""


_open: weakref.WeakSet[_Closeable] = weakref.WeakSet()


def close_at_exit(thing: _Closeable) -> None:
    """Have it closed at the end of the interpreter if it is still there; that does not keep it."""
    _open.add(thing)


def _close_all() -> None:
    with contextlib.ExitStack() as closing:  # one that fails must not keep others open
        for each in list(_open):
            closing.callback(each.close_at_exit)


atexit.register(_close_all)
