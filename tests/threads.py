"""One call in many threads at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["at_once"]


def at_once(work: Callable[[Any], object], given: Iterable[Any]) -> None:
    """A thread for each of what is given; an error of any of them is raised."""
    each = list(given)
    with ThreadPoolExecutor(len(each)) as threads:
        list(threads.map(work, each))
