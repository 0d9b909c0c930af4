"""What a process and a store use, and whether it grows."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Process", "Slope", "bytes_on_disk", "process", "slope"]

#: two-sided 95 % points of Student's t for n - 2 degrees of freedom; 12 means leave 10
_T95 = {1: 12.7, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23}
_MEANS = 12


@dataclass(frozen=True)
class Process:
    """Resident bytes (all, and what is the process's own), descriptors, maps."""

    rss: int
    own: int
    descriptors: int
    maps: int


def process(pid: int) -> Process:
    """Of a living process; zeros where /proc does not say."""
    found = {"VmRSS": 0, "RssAnon": 0}
    descriptors = maps = 0
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/status") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name in found:
                    found[name] = int(value.split()[0]) * 1024
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/maps", "rb") as file:
            maps = file.read().count(b"\n")
    return Process(found["VmRSS"], found["RssAnon"], descriptors, maps)


def bytes_on_disk(root: str) -> dict[str, int]:
    """Allocated bytes below a directory, by what they are for; and ``total``.

    What grows with the memories is in ``partitions``, ``indexes``, ``words`` and ``catalog``. The
    ``log`` grows up to a limit whatever there is, with it ``other`` (its index, and the lock).
    """
    found = dict.fromkeys(("partitions", "indexes", "words", "catalog", "log", "other"), 0)
    kinds = {".mem": "partitions", ".idx": "indexes", ".lex": "words", ".db": "catalog",
             ".db-wal": "log"}  # fmt: skip
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(OSError):  # gone meanwhile
                size = os.stat(os.path.join(folder, name)).st_blocks * 512
                found[kinds.get(os.path.splitext(name)[1], "other")] += size
    return {**found, "total": sum(found.values())}


@dataclass(frozen=True)
class Slope:
    """Growth an hour with its 95 % interval, in the unit of the values."""

    per_hour: float
    low: float
    high: float

    def grows(self, seconds: float, allowed: float) -> bool:
        """True when even the low end of the interval adds up to more than ``allowed``."""
        return self.low > 0 and self.low * seconds / 3600 > allowed


def slope(seconds: ArrayLike, values: ArrayLike) -> Slope:
    """Least squares over the means of 12 stretches: neighbouring samples are not independent.

    Args:
        seconds, values: (n,) floats, n >= 3.
    """
    x, y = _means(seconds), _means(values)
    n = len(x)
    dx = x - x.mean()
    spread = float(dx @ dx)
    if n < 3 or spread == 0.0:
        return Slope(0.0, -math.inf, math.inf)
    beta = float(dx @ (y - y.mean())) / spread
    rest = y - y.mean() - beta * dx
    error = math.sqrt(float(rest @ rest) / (n - 2) / spread)
    t = _T95.get(n - 2, 2.0)
    return Slope(beta * 3600, (beta - t * error) * 3600, (beta + t * error) * 3600)


def _means(values: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=np.float64)
    parts = np.array_split(given, min(_MEANS, len(given)))
    return np.array([part.mean() for part in parts])
