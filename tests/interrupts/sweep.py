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

__all__ = ["Cut", "at_return", "cut_at", "raising"]

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
    """Acts at the return of the nth call of C by the product that counts."""

    def __init__(
        self, nth: int, act: Callable[[], object], counts: Callable[[FrameType, Any], bool]
    ) -> None:
        self.seen = 0
        self.where = ""
        self._nth, self._act, self._counts = nth, act, counts

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "c_return" or "/spector/" not in frame.f_code.co_filename:
            return
        if not self._counts(frame, arg):
            return
        self.seen += 1
        if self.seen == self._nth:
            sys.setprofile(None)
            self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno} {arg.__name__}"
            self._act()


def _is_outside(frame: FrameType, function: Any) -> bool:
    """Whether this is a call into SQLite or the system, or one that makes such calls for us."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _OWNERS):
        return True
    if isinstance(owner, list):  # ``held_by_calling`` has it made by a method of a list
        return function.__name__ == "extend"
    return getattr(function, "__module__", None) in _MODULES


def raising(error: BaseException) -> Callable[[], object]:
    def act() -> None:
        raise error

    return act


def at_return(
    nth: int,
    act: Callable[[], object],
    job: Callable[[], object],
    counts: Callable[[FrameType, Any], bool] = _is_outside,
) -> BaseException | None:
    """Do ``job``, and ``act`` at its ``nth`` place; what it raised, with all that this keeps.

    ``counts`` says of a frame and the function that returns to it whether that is a place.
    """
    return _hooked(_Hook(nth, act, counts), job)


def _hooked(hook: _Hook, job: Callable[[], object]) -> BaseException | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sys.setprofile(hook)
            try:
                job()
            finally:
                sys.setprofile(None)
        except BaseException as error:
            return error
    return None


def cut_at(nth: int, job: Callable[[], object], *, catch: bool = True) -> tuple[bool, str, int]:
    """Do ``job`` with an interrupt at the ``nth`` place: whether it came so far, where that was,
    and how many places it came by.

    Anything but the interrupt goes on to the caller, and without ``catch`` that as well.
    """
    hook = _Hook(nth, raising(Cut()), _is_outside)
    error = _hooked(hook, job)
    if error is not None and not (catch and isinstance(error, Cut)):
        raise error
    return bool(hook.where), hook.where, hook.seen
