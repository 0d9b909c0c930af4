"""Memory that the processes of a soak share: what must be visible, and how long things took."""

from __future__ import annotations

import contextlib
import mmap
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["STABLE", "Board", "Times", "timed"]

#: memories that are updated and never forgotten
STABLE = 64
#: places where the writer leaves ids of memories that come and go
RING = 4096
_COUNTERS = 16
#: a bucket's times are within 5 % of one another, from a microsecond on
_STEP, _BUCKETS, _FIRST_S = 1.05, 512, 1e-6


class Times:
    """How often something took about so long; (512,) counts in shared memory, and the longest."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = counts

    def add(self, seconds: float) -> None:
        """Count one."""
        bucket = int(np.log(max(seconds, _FIRST_S) / _FIRST_S) / np.log(_STEP))
        self._counts[min(bucket, _BUCKETS - 2)] += 1
        self._counts[-1] = max(self._counts[-1], int(seconds * 1e9))

    def seen(self) -> NDArray[np.int64]:
        """(511,) counts so far, by how long it took; those of several may be added."""
        return self._counts[:-1].copy()

    @staticmethod
    def quantile(counts: NDArray[np.int64], share: float) -> float:
        """Seconds that this share of the counted took at most, to 5 %; 0 of nothing."""
        upto = np.cumsum(counts)
        bucket = int(np.searchsorted(upto, share * upto[-1])) if upto[-1] else 0
        return float(_FIRST_S * _STEP ** (bucket + 0.5))

    @staticmethod
    def summary(each: list[Times]) -> dict[str, float]:
        """Milliseconds of all of them together: p50, p99, p99.9 and the longest; and how many."""
        counts = np.sum([t._counts[:-1] for t in each], axis=0)
        longest = max(int(t._counts[-1]) for t in each) / 1e6
        out: dict[str, float] = {"recalls": int(counts.sum())}
        for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999)):
            out[name] = round(min(Times.quantile(counts, share) * 1e3, longest), 3)
        return {**out, "max_ms": round(longest, 3)}


@contextlib.contextmanager
def timed(wall: Times, own: Times, work: Times) -> Iterator[None]:
    """Count how long it takes; of that what is not spent in the queue for a core, which is what
    others on the machine make longer; and of that what this thread computes."""
    start, began, queued = time.perf_counter(), time.thread_time(), _queued_s()
    yield
    work.add(time.thread_time() - began)
    queued = _queued_s() - queued
    spent = time.perf_counter() - start
    wall.add(spent)
    own.add(max(0.0, spent - queued))


def _queued_s() -> float:
    """Seconds that this thread has been ready and had no core; 0 where the system does not say."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class Board:
    """One int64 array that forked processes share; each cell has one writer."""

    def __init__(self, readers: int) -> None:
        cells = _COUNTERS + 3 * STABLE + RING + 3 * readers + (6 * readers + 3) * _BUCKETS
        self._raw = mmap.mmap(-1, 8 * cells)
        self._rest: NDArray[np.int64] = np.frombuffer(self._raw, dtype=np.int64)
        self._counters = self._take(_COUNTERS)
        self.ids, self.started, self.acked = (self._take(STABLE) for _ in range(3))
        #: ids of memories that have been acknowledged and are not about to be forgotten, or 0
        self.ring = self._take(RING)
        self.looks, self.wrong, self.alone_looks = (self._take(readers) for _ in range(3))
        #: recalls of each reader, see ``timed``
        self.alone, self.alone_own, self.alone_work = (
            [Times(self._take(_BUCKETS)) for _ in range(readers)] for _ in range(3)
        )
        self.beside, self.beside_own, self.beside_work = (
            [Times(self._take(_BUCKETS)) for _ in range(readers)] for _ in range(3)
        )
        self.changes, self.changes_own, self.changes_work = (
            Times(self._take(_BUCKETS)) for _ in range(3)
        )

    def _take(self, n: int) -> NDArray[np.int64]:
        taken, self._rest = self._rest[:n], self._rest[n:]
        return taken

    def times(self) -> dict[str, NDArray[np.int64]]:
        """(511,) counts so far of changes, and of recalls beside them, without the time that they
        queued for a core, and of what they compute."""
        return {
            "change": self.changes_own.seen(),
            "change_work": self.changes_work.seen(),
            "recall": np.sum([each.seen() for each in self.beside_own], axis=0),
            "recall_work": np.sum([each.seen() for each in self.beside_work], axis=0),
        }

    def __getitem__(self, name: str) -> int:
        return int(self._counters[_NAMES.index(name)])

    def __setitem__(self, name: str, value: int) -> None:
        self._counters[_NAMES.index(name)] = value


#: phase: 0 wait, 1 read alone, 2 beside the writer, 3 stop. Of memories that come and go: how many
#: were begun, acknowledged, about to go and gone.
_NAMES = ("phase", "begun", "here", "going", "gone", "operations", "texts_bytes", "cycles", "ready")
