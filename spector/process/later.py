"""Parts that are made when they are first used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Later"]

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
