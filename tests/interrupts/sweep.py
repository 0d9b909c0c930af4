"""Interrupts at every return of a call into SQLite and the system, one after the other.

Python handles a signal as a call of C returns: the call has had its effect, and its result is lost.
A profile function that raises there does the same, at a place of our choosing. What counts are
calls, not names of ours: whatever the product calls its functions, these are found.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable
from io import FileIO
from types import FrameType
from typing import Any

__all__ = ["Cut", "cut_at"]

_MODULES = frozenset({"posix", "_sqlite3", "sqlite3", "fcntl", "_thread", "_ctypes", "io", "_io"})
_OWNERS = (
    sqlite3.Connection,
    sqlite3.Cursor,
    FileIO,
    type(threading.Lock()),
    type(threading.RLock()),
)


class Cut(KeyboardInterrupt):
    """What stands for a Ctrl-C."""


class _Hook:
    def __init__(self, nth: int) -> None:
        self.seen = 0
        self.where = ""
        self._nth = nth

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "c_return" or "/spector/" not in frame.f_code.co_filename:
            return
        if not _is_outside(arg):
            return
        self.seen += 1
        if self.seen == self._nth:
            sys.setprofile(None)
            self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno} {arg.__name__}"
            raise Cut


def _is_outside(function: Any) -> bool:
    """Whether this is a call into SQLite or the system, or one that makes such calls for us."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _OWNERS):
        return True
    if isinstance(owner, list):  # ``held_by_calling`` has it made by a method of a list
        return function.__name__ == "extend"
    return getattr(function, "__module__", None) in _MODULES


def cut_at(nth: int, job: Callable[[], object], *, catch: bool = True) -> tuple[bool, str, int]:
    """Do ``job`` with an interrupt at the ``nth`` place: whether it came so far, where that was,
    and how many places it came by.

    Anything but the interrupt goes on to the caller, and without ``catch`` that as well.
    """
    hook = _Hook(nth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sys.setprofile(hook)
            try:
                job()
            finally:
                sys.setprofile(None)
        except Cut:
            if not catch:
                raise
            return True, hook.where, hook.seen
    return bool(hook.where), hook.where, hook.seen
