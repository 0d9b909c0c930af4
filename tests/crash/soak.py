"""A store that keeps its size, changed and read for a while by processes that are measured.

A writer with its daemon remembers, updates, reinforces and forgets; four other processes recall.
Whatever still grows is a leak; what takes longer depends on the total ever stored. What readers
must see beside a writer is asked by ``readers``.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import spector
from spector.config import Config
from spector.language.words import stemming
from tests.crash.harness import run_and_exit
from tests.crash.workload import DIM, vector_of, warm_up

#: partitions fill, seal and are compacted within seconds
CONFIG = Config(
    episodic_capacity=512,
    semantic_capacity=256,
    checkpoint_bytes=256 * 1024,
    min_extent_bytes=16 * 1024,
    cluster_min_records=128,
    index_min_rows=64,
    reflect_interval_s=2.0,
    reflect_after_writes=300,
    # ids that wait to be erased are rows of the catalog, and every connection has it in memory
    erase_after_s=60.0,
)
READERS, MEMORIES = 4, 2000
#: an hour: what allocators and caches do. Below it only a longer soak sees a leak.
NOISE = {"own": 4 << 20, "descriptors": 20, "maps": 120}
#: how many times the work of its first quarter the last one of a soak may need; what works in
#: proportion to all that was ever written needs 4.2 times as much
SLOWER = 1.5
#: word forms whose stems a process keeps here. Of the 200,000 it may keep else, each 164 bytes, new
#: words would fill some 7 MiB an hour for five hours, and hide any leak that is smaller.
_FORMS = 2000
_STABLE, _SAMPLES, _WINDOWS = 64, 240, 6
#: share of the time until a soak is judged; slopes need so many seconds after it
_WARM, _JUDGED_S = 0.5, 600.0


@dataclass(frozen=True)
class Process:
    """What one process had at one time; ``own`` are bytes in memory that no file is behind."""

    own: int = 0
    descriptors: int = 0
    maps: int = 0

    @classmethod
    def of(cls, pid: int) -> Process:
        status = Path(f"/proc/{pid}/status").read_text()
        return cls(
            own=int(status.split("RssAnon:")[1].split()[0]) * 1024,
            descriptors=len(os.listdir(f"/proc/{pid}/fd")),
            maps=Path(f"/proc/{pid}/maps").read_bytes().count(b"\n"),
        )


@dataclass(frozen=True)
class Sample:
    """One look at all processes, the writer first."""

    seconds: float
    processes: list[Process]
    #: (processes, 2) calls so far, and nanoseconds that their threads computed
    work: NDArray[np.int64]
    disk: int


def soak(seconds: float, *, seed: int = 1, nice: int = 0, fault: str = "") -> dict[str, Any]:
    """Run one; what is wrong is under ``wrong``.

    Args:
        nice: how far the processes, which never pause, stand back for others.
        fault: "leak" keeps 64 KiB of each change, "slower" works for each as long as there were
            changes before it.
    """
    warm_up()
    shared = np.frombuffer(mmap.mmap(-1, 8 * 64), np.int64)
    stop, work = shared[:1], shared[2 : 2 + 2 * (1 + READERS)].reshape(-1, 2)
    with tempfile.TemporaryDirectory() as root:
        path = os.path.join(root, "mind")
        ids = _fill(path)
        pids = [_start(lambda: _write(path, ids, seed, stop, work[0], fault), nice)]
        pids += [
            _start(lambda n=n: _read(path, ids, seed + n, stop, work[n]), nice)  # type: ignore[misc]
            for n in range(1, 1 + READERS)
        ]
        samples, start = [], time.monotonic()
        try:
            while (spent := time.monotonic() - start) < seconds or not work.all():
                processes = [Process.of(pid) for pid in pids]
                samples.append(Sample(spent, processes, work.copy(), _bytes_below(path)))
                time.sleep(max(0.05, seconds / _SAMPLES))
        finally:
            stop[0] = 1
            ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        with spector.open(path, embedder=None, dim=DIM, config=CONFIG) as memory:
            wrong = [f"check: {problem}" for problem in memory.check().problems]
    wrong += [f"process {n} ended with {code}" for n, code in enumerate(ends) if code]
    found = {"changes": int(work[0, 0]), "recalls": int(work[1:, 0].sum())}
    return {**found, "wrong": wrong + judged(samples, fault=bool(fault))}


def judged(samples: list[Sample], *, fault: bool = False) -> list[str]:
    """What grows or slows down in a soak; a ``fault`` is looked for in however short a one."""
    late = samples[int(_WARM * len(samples)) :]
    if not fault and late[-1].seconds - late[0].seconds < _JUDGED_S:
        return []
    wrong, seconds = [], [sample.seconds for sample in late]
    for n in range(len(late[0].processes)):
        for what, noise in NOISE.items():
            found = slope(seconds, [getattr(sample.processes[n], what) for sample in late])
            if found.low > noise:
                wrong.append(f"{what} of process {n} grows by {found} an hour, beyond {noise}")
        if (times := slowing([sample.work[n] for sample in samples])) > SLOWER:
            wrong.append(f"a call of process {n} needs {times:.1f} times the work")
    early_disk, late_disk = (np.median([s.disk for s in part]) for part in np.array_split(late, 2))
    if late_disk > 1.5 * early_disk + (4 << 20):
        wrong.append(f"the store grows from {early_disk:.0f} to {late_disk:.0f} bytes")
    return wrong


@dataclass(frozen=True)
class Slope:
    """Growth an hour with its 95 % interval, in the unit of the values."""

    per_hour: float
    low: float
    high: float


def slope(seconds: ArrayLike, values: ArrayLike) -> Slope:
    """Theil and Sen's: the median of the slopes between all pairs, which no outlier moves.

    The interval is that of 400 samples, made by drawing stretches of what the line leaves over
    (moving blocks, Kuensch 1989): neighbouring samples of a heap are anything but independent.

    Args:
        seconds, values: (n,) floats; without 12 of them nothing is known.
    """
    x, y = (np.asarray(each, dtype=np.float64) for each in (seconds, values))
    if len(x) < 12 or np.ptp(x) == 0.0:
        return Slope(0.0, -math.inf, math.inf)
    early, late = np.triu_indices(len(x), 1)
    apart = x[late] > x[early]
    early, late = early[apart], late[apart]

    def steepness(of: NDArray[np.float64]) -> float:
        return float(np.median((of[late] - of[early]) / (x[late] - x[early]))) * 3600

    best = steepness(y)
    line = best / 3600 * x
    rest = y - line
    rng, block = np.random.default_rng(1), max(2, len(x) // 8)
    starts = rng.integers(0, len(x) - block + 1, (400, -(-len(x) // block)))
    picked = (starts[:, :, None] + np.arange(block)).reshape(400, -1)[:, : len(x)]
    low, high = np.percentile([steepness(line + rest[each]) for each in picked], [2.5, 97.5])
    return Slope(best, float(low), float(high))


def slowing(work: list[NDArray[np.int64]]) -> float:
    """How many times the work of the first quarter a call needs in the last one.

    Of each quarter the median of six windows: what a neighbour does for a minute moves one.

    Args:
        work: (2,) calls and nanoseconds so far, in order of time. The first tenth fills caches.
    """
    ends = np.linspace(len(work) // 10, len(work) - 1, 4 * _WINDOWS + 1).astype(int)
    calls, spent = np.diff(np.array(work)[ends], axis=0).T
    each = spent / np.maximum(calls, 1)
    return float(np.median(each[-_WINDOWS:]) / np.median(each[:_WINDOWS]))


# -- processes --------------------------------------------------------------------------------


def _start(work: Callable[[], object], nice: int) -> int:
    pid = os.fork()
    if pid == 0:
        os.nice(nice)
        stemming._FORMS = _FORMS  # type: ignore[misc]
        run_and_exit(work)
    return pid


def _bytes_below(root: str) -> int:
    """Bytes allocated to files; one that is gone before it is looked at has none."""
    total = 0
    for path in Path(root).rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def _fill(path: str) -> list[int]:
    """Ids of the memories that stay."""
    texts = [f"stable{n} version 0" for n in range(_STABLE)]
    with spector.open(path, embedder=None, dim=DIM, config=CONFIG) as memory:
        found = memory.remember_many([{"text": t, "vector": vector_of(t)} for t in texts])
    return [record.id for record in found]


def _write(
    path: str, ids: list[int], seed: int, stop: Any, work: NDArray[np.int64], fault: str
) -> None:
    rng, alive, kept = np.random.default_rng(seed), deque[int](), []
    with spector.open(path, embedder=None, dim=DIM, config=CONFIG, threads=1) as memory:
        memory.daemon.start()
        serial = 0
        while not stop[0]:
            began, dice = time.thread_time_ns(), rng.random()
            if len(alive) < MEMORIES or dice < 0.35:
                text = f"churn{serial} version 0 " + "word " * int(rng.integers(20))
                tier: Any = "semantic" if serial % 4 == 0 else "episodic"
                alive.append(memory.remember(text, vector=vector_of(text), tier=tier).id)
            elif dice < 0.55:
                n = int(rng.integers(_STABLE))
                text = f"stable{n} version {serial}"
                memory.update(ids[n], text=text, vector=vector_of(text))
            elif dice < 0.90:
                memory.forget(alive.popleft())
            elif dice < 0.99:
                memory.reinforce(ids[int(rng.integers(_STABLE))])
            else:
                memory.checkpoint()
            if fault == "leak":
                kept.append(rng.bytes(1 << 16))
            elif fault == "slower":
                sum(range(10_000 * serial))
            serial += 1
            work += (1, time.thread_time_ns() - began)
        memory.daemon.stop()
        assert memory.daemon.last_error is None, memory.daemon.last_error


def _read(path: str, ids: list[int], seed: int, stop: Any, work: NDArray[np.int64]) -> None:
    rng = np.random.default_rng(seed)
    with spector.open(path, embedder=None, dim=DIM, config=CONFIG, threads=1, mode="r") as memory:
        while not stop[0]:
            began, n = time.thread_time_ns(), int(rng.integers(_STABLE))
            hits = memory.recall(f"stable{n}", vector=vector_of(f"anything {rng.random()}"), k=5)
            assert ids[n] in [hit.id for hit in hits], f"stable{n} is missing"
            assert len(memory) >= _STABLE
            work += (1, time.thread_time_ns() - began)
