"""What a process and a store use, and whether it grows; and whether work takes longer."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.soak.board import Times

__all__ = ["Drift", "Process", "Slope", "bytes_on_disk", "drift", "process", "slope"]

#: samples that a slope needs; stretches that they are drawn in; draws
_FEWEST, _BLOCKS, _DRAWS = 12, 8, 400
#: windows of a quarter of the time, and what each must have counted
_WINDOWS, _COUNTED = 6, 100


@dataclass(frozen=True)
class Process:
    """Resident bytes, descriptors, maps.

    ``rss`` has the mapped files in it, which the system takes back when it likes; ``own`` is what
    is left without them (RssAnon, the sum of "Anonymous" in smaps). Only that can leak.
    """

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
    kinds = {
        ".mem": "partitions",
        ".idx": "indexes",
        ".lex": "words",
        ".db": "catalog",
        ".db-wal": "log",
    }
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

    def grows(self, allowed: float) -> bool:
        """True when even the low end of the interval is above ``allowed`` an hour."""
        return self.low > allowed


def slope(seconds: ArrayLike, values: ArrayLike) -> Slope:
    """Theil and Sen's: the median of the slopes between all pairs, which no outlier moves.

    The interval is that of 400 samples, made by drawing stretches of what the line leaves over
    (moving blocks, Kuensch 1989): neighbouring samples of a heap are anything but independent.

    Args:
        seconds, values: (n,) floats; without 12 of them nothing is known.
    """
    x, y = (np.asarray(each, dtype=np.float64) for each in (seconds, values))
    if len(x) < _FEWEST or np.ptp(x) == 0.0:
        return Slope(0.0, -math.inf, math.inf)
    early, late = np.triu_indices(len(x), 1)
    apart = x[late] > x[early]
    early, late = early[apart], late[apart]
    spans = x[late] - x[early]

    def steepness(of: NDArray[np.float64]) -> float:
        return float(np.median((of[late] - of[early]) / spans)) * 3600

    best = steepness(y)
    line = best / 3600 * x
    rest = y - line
    rng, block = np.random.default_rng(1), max(2, len(x) // _BLOCKS)
    starts = rng.integers(0, len(x) - block + 1, (_DRAWS, -(-len(x) // block)))
    picked = (starts[:, :, None] + np.arange(block)).reshape(_DRAWS, -1)[:, : len(x)]
    low, high = np.percentile([steepness(line + rest[each]) for each in picked], [2.5, 97.5])
    return Slope(best, float(low), float(high))


@dataclass(frozen=True)
class Drift:
    """Seconds that something took in the first quarter of the time and in the last one."""

    first: float
    last: float

    @property
    def times(self) -> float:
        return self.last / self.first


def drift(counts: ArrayLike, share: float) -> Drift | None:
    """How long this share of the work took, early and late; None where too little was counted.

    Of each quarter the median of six windows: what a neighbour does for a minute moves one.

    Args:
        counts: (n, 511) of ``Times.seen``, one after the other.
        share: 0.5 for the median.
    """
    each = np.asarray(counts, dtype=np.int64)
    ends = np.linspace(0, len(each) - 1, 4 * _WINDOWS + 1).astype(int)
    windows = np.diff(each[ends], axis=0)
    first, last = windows[:_WINDOWS], windows[-_WINDOWS:]
    if min(first.sum(axis=1).min(), last.sum(axis=1).min()) < _COUNTED:
        return None
    early, late = (
        float(np.median([Times.quantile(window, share) for window in part]))
        for part in (first, last)
    )
    return Drift(early, late)
