"""Scans on several threads: chunks of partitions are scanned in parallel, their best hits merged.

The result is that of one thread, within the confidence of estimates where they rule records out,
because each chunk has a floor of its own. The chunks depend on the partitions and on the number of
threads requested, never on free threads: a caller without helpers scans all chunks itself. So the
counters do not depend on the load either.

More scanning threads than cores do not help. All scans of the process count as busy, and a scan
gets helpers only for the cores that are left. An application that recalls from many threads of its
own therefore runs each recall on its own thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import (
    HIT_DTYPE,
    Scanner,
    ScanResult,
)
from spector.layout import HEADER_BYTES
from spector.process import Sole

if TYPE_CHECKING:
    from spector._types import F32, U32
    from spector.kernel.contract import (
        AllowList,
        PartTable,
        Query,
    )


#: the least bytes of a chunk: handing one over costs as much as reading a tenth of it
CHUNK_BYTES: Final = 8 << 20
#: chunks per thread: one that meets a busy core leaves the rest to the others
_CHUNKS_PER_THREAD: Final = 2
#: bytes a record that a scan of an indexed partition reads: its code, or only its gate bits
_INDEXED_BYTES: Final = 64
_GATED_BYTES: Final = 4
#: how long `close` waits for a helper in the middle of a scan
_CLOSE_S: Final = 5.0


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Cores:
    """Counts the threads of this process that are scanning."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._busy = 0

    def enter(self, wanted: int, entered: list[int]) -> int:
        """Count the caller as busy, and as many helpers, at most ``wanted``, as cores are left.

        Args:
            entered: empty; receives the number counted, even if an interrupt comes next.
        """
        with self._lock:
            helpers = max(0, min(wanted, usable_cores() - self._busy - 1)) if wanted else 0
            self._busy += 1 + helpers
            entered += (1 + helpers,)
            return helpers

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1


_cores = _Cores()


def _in_child() -> None:
    """After a fork: the threads counted, and the lock's holder, are the parent's."""
    global _cores
    _cores = _Cores()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class _Job:
    """The chunks of one scan, a queue for its threads."""

    def __init__(
        self, scan: Callable[[NDArray[np.uint32]], ScanResult], chunks: list[NDArray[np.uint32]]
    ) -> None:
        self._scan = scan
        self._todo = deque(chunks)
        self._count = len(chunks)
        self._done: SimpleQueue[ScanResult | BaseException] = SimpleQueue()

    def work(self) -> None:
        """Scan until no chunk is left."""
        while True:
            try:
                chunk = self._todo.popleft()
            except IndexError:
                return
            try:
                self._done.put(self._scan(chunk))
            except BaseException as error:
                self._done.put(error)

    def results(self) -> list[ScanResult]:
        """Results of all chunks; waits for the last one."""
        found = [self._done.get() for _ in range(self._count)]
        errors = [each for each in found if isinstance(each, BaseException)]
        try:
            if errors:
                raise errors[0]
            return [each for each in found if isinstance(each, ScanResult)]
        finally:
            del found, errors  # an error's traceback has this frame, and those with its tables


class _Helper(threading.Thread):
    """Works on jobs and is idle between them. A daemon: the exit does not wait for it."""

    def __init__(self, idle: deque[_Helper]) -> None:
        super().__init__(name="spector-scan", daemon=True)
        self.jobs: SimpleQueue[tuple[_Job, _Cores] | None] = SimpleQueue()
        self._idle = idle

    def run(self) -> None:
        while (handed := self.jobs.get()) is not None:
            job, cores = handed
            job.work()
            del job, handed  # or the last scan's partitions would stay mapped
            self._idle.append(self)
            cores.leave()
        self._idle.clear()  # it has this thread, and the kernel is closed


class ParallelKernel(Sole, Scanner):
    """A scanner that uses up to ``threads`` threads for large scans."""

    def __init__(self, kernel: Scanner, threads: int, *, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.name = kernel.name
        self._kernel = kernel
        self._threads = threads
        self._chunk_bytes = chunk_bytes
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._helpers: list[_Helper] = []
        self._idle: deque[_Helper] = deque()
        self._closed = False

    def _scan(
        self, table: PartTable, query: Query, k: int, allow: AllowList | None, select: U32 | None
    ) -> ScanResult:
        """Hits and their order are those of one thread."""
        cores = _cores
        pieces = self._pieces(table, query, allow)
        entered: list[int] = []
        if pieces < 2:
            try:
                cores.enter(0, entered)
                return self._kernel._scan(table, query, k, allow, select)
            finally:
                if entered:
                    cores.leave()
        chunks = _chunks(table, select, pieces)

        def scan(chunk: U32) -> ScanResult:
            return self._kernel._scan(table, query, k, allow, chunk)

        job = _Job(scan, chunks)
        try:
            helpers = cores.enter(min(self._threads, len(chunks)) - 1, entered)
            self._hand_out(job, cores, helpers)
            job.work()
        finally:
            if entered:
                cores.leave()
        return _merged(job.results(), k)

    def _score(
        self, table: PartTable, query: Query, parts: U32, slots: U32, similarity: F32
    ) -> F32:
        return self._kernel._score(table, query, parts, slots, similarity)

    def crc32c(self, data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
        return self._kernel.crc32c(data, crc)

    def crc32c_rows(self, rows: NDArray[np.uint8], out: NDArray[np.uint32], crc: int) -> None:
        self._kernel.crc32c_rows(rows, out, crc)

    def close(self) -> None:
        """End the helpers. Idempotent; scans that run, or come later, use their own thread only."""
        with self._lock if os.getpid() == self._pid else contextlib.nullcontext():
            self._closed = True
            helpers, self._helpers = self._helpers, []
        if os.getpid() != self._pid:
            return
        for helper in helpers:
            helper.jobs.put(None)
        for helper in helpers:
            if helper is not threading.current_thread():
                helper.join(_CLOSE_S)

    def __del__(self) -> None:
        for helper in getattr(self, "_helpers", ()):
            helper.jobs.put(None)

    # -- the parts of a scan --------------------------------------------------------------------

    def _pieces(self, table: PartTable, query: Query, allow: AllowList | None) -> int:
        """The number of chunks of a scan of the whole table; 1 for a small one."""
        if self._threads < 2 or table.rows * table.stride < 2 * self._chunk_bytes:
            return 1
        gated = bool(query.tags_all) or query.any_masks.size > 0 or allow is not None
        if 2 * np.count_nonzero(table.entries["index"]) > len(table):
            each = _GATED_BYTES if gated else _INDEXED_BYTES
        else:
            each = HEADER_BYTES if gated or not query.vector_bytes else table.stride
        most = table.rows * each // self._chunk_bytes
        return int(min(most, self._threads * _CHUNKS_PER_THREAD, len(table)))

    def _hand_out(self, job: _Job, cores: _Cores, count: int) -> None:
        """Hand the job to ``count`` helpers, which have been counted as busy."""
        for _ in range(count):
            helper = self._helper()
            if helper is None:
                cores.leave()
            else:
                helper.jobs.put((job, cores))

    def _helper(self) -> _Helper | None:
        """An idle helper, or a new one; None if there are enough."""
        if os.getpid() != self._pid:
            return None  # after a fork the threads are the parent's
        with self._lock:
            if self._closed:
                return None
            if self._idle:
                return self._idle.popleft()
            if len(self._helpers) >= self._threads - 1:
                return None
            helper = _Helper(self._idle)
            try:
                helper.start()
            except (RuntimeError, MemoryError):  # no more threads, or the interpreter is ending
                return None
            self._helpers.append(helper)
            return helper


def _chunks(
    table: PartTable, chosen: NDArray[np.uint32] | None, pieces: int
) -> list[NDArray[np.uint32]]:
    """The chosen positions in 1 to ``pieces`` runs of about equal numbers of rows."""
    if chosen is None:
        chosen = np.arange(len(table), dtype=np.uint32)
    before = table.counts[chosen].cumsum(dtype=np.int64)
    total = int(before[-1]) if len(before) else 0
    # a run ends with the partition that passes its share of the rows
    shares = [total * n // pieces for n in range(1, pieces)]
    ends = [*(before.searchsorted(shares) + 1).tolist(), len(chosen)]
    runs, start = [], 0
    for end in ends:
        if end > start:
            runs.append(chosen[start:end])
            start = end
    return runs or [chosen]


def _merged(results: list[ScanResult], k: int) -> ScanResult:
    """The best k of several scans: score descending, then id, part and slot ascending."""
    # as bytes: NumPy takes a hundred microseconds to find out that equal dtypes are equal
    hits = np.concatenate([result.hits.view(np.uint8) for result in results]).view(HIT_DTYPE)
    order = np.lexsort((hits["slot"], hits["part"], hits["id"], -hits["score"]))[:k]
    drops = results[0].drops.copy()
    for result in results[1:]:
        drops += result.drops
    return ScanResult(
        hits[order],
        drops,
        sum(result.scanned for result in results),
        sum(result.scored for result in results),
    )
