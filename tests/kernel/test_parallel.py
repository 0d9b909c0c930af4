"""One scan on several threads.

Mechanism: partitions are dealt out in chunks to helpers, and the best of each chunk are merged.
Damage: an answer that depends on how many threads were free; more scanning threads than cores; a
child process that waits for the parent's threads; an interpreter that does not exit.
Guard: the merged answer equals the plain scan's whoever helps, helpers are counted per process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import InvalidInputError
from spector.kernel import threads as parallel
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import AllowList, Part, PartTable, ScanResult
from spector.kernel.threads import ParallelKernel
from tests.api.helpers import own_vectors, vectors
from tests.kernel.blocks import NOW_MS, kernel_or_skip, make_rows

DIM = 24
QUERY = make_query(now_ms=NOW_MS, vector=np.arange(1, DIM + 1))


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many cores as any of these tests asks threads for."""
    monkeypatch.setattr(parallel, "usable_cores", lambda: 8)


def table_of_sizes(*sizes: int) -> PartTable:
    rng = np.random.default_rng(len(sizes))
    parts = []
    for size in sizes:
        rows = make_rows(rng, max(size, 1), DIM)
        parts.append(Part(rows, size))
    return PartTable(parts)


SIZES = (300, 0, 1, 20, 500, 64, 63, 200, 7, 0)


class Watched:
    """A kernel that notes its scans, and may wait or fail in them."""

    name = "watched"

    def __init__(self, inside: Callable[[], None] = lambda: None) -> None:
        self._kernel = kernel_or_skip("native")
        self._inside = inside
        self._lock = threading.Lock()
        self.running = 0
        self.most = 0
        self.threads: set[str] = set()
        self.scans = 0

    def _scan(self, *arguments: Any) -> ScanResult:
        with self._lock:
            self.scans += 1
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.current_thread().name)
        try:
            self._inside()
            return self._kernel._scan(*arguments)
        finally:
            with self._lock:
                self.running -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


@pytest.fixture
def helped() -> Iterator[Callable[..., ParallelKernel]]:
    """Makes kernels that cut every scan, and closes them."""
    made: list[ParallelKernel] = []

    def make(kernel: Any, threads: int = 3) -> ParallelKernel:
        made.append(ParallelKernel(kernel, threads, chunk_bytes=1))
        return made[-1]

    yield make
    for kernel in made:
        kernel.close()


def same(a: ScanResult, b: ScanResult) -> bool:
    return (
        a.hits.tolist() == b.hits.tolist()
        and a.drops.tolist() == b.drops.tolist()
        and (a.scanned, a.scored) == (b.scanned, b.scored)
    )


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_answer_is_that_of_one_thread(
    name: str, threads: int, helped: Callable[..., ParallelKernel], many_cores: None
) -> None:
    plain = kernel_or_skip(name)
    kernel = helped(plain, threads)
    table = table_of_sizes(*SIZES)
    doubled = PartTable([*table.parts, *table.parts])  # ties in score and id
    rng = np.random.default_rng(5)
    for each in (table, doubled):
        parts = rng.integers(0, len(each), 300)
        inside = each.counts[parts] > 0
        parts = parts[inside]
        allow = AllowList.from_records(each, parts, rng.integers(0, 1 << 30) % each.counts[parts])
        for k in (0, 1, 10, 10_000):
            for keywords in (
                {},
                {"select": [7, 0, 4]},
                {"select": []},
                {"select": [1]},
                {"allow": allow},
                {"allow": allow, "select": [0, 4, 5]},
            ):
                want = plain.scan(each, QUERY, k, **keywords)  # type: ignore[arg-type]
                assert same(kernel.scan(each, QUERY, k, **keywords), want)  # type: ignore[arg-type]


def test_an_error_in_any_thread_reaches_the_caller_and_breaks_nothing(
    helped: Callable[..., ParallelKernel], many_cores: None
) -> None:
    table = table_of_sizes(*([50] * 20))

    def fail() -> None:
        if threading.current_thread().name == "spector-scan" or fails[0] == "everywhere":
            raise MemoryError("no room")

    fails = ["everywhere"]
    watched = Watched(fail)
    kernel = helped(watched, 4)
    with pytest.raises(MemoryError):
        kernel.scan(table, QUERY, 10)
    watched._inside = lambda: None
    assert same(kernel.scan(table, QUERY, 10), watched._kernel.scan(table, QUERY, 10))
    with pytest.raises(InvalidInputError, match="k must be"):
        kernel.scan(table, QUERY, -1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_does_not_wait_for_threads_that_stayed_with_its_parent(tmp_path: Path) -> None:
    # In a process of its own: forking one with pytest's threads would prove nothing here.
    run_python(
        """
        kernel = ParallelKernel(get_kernel(), 4, chunk_bytes=1)
        want = kernel.scan(table, query, 10).hits.tolist()
        with parallel._cores._lock:  # as a fork finds it when another thread is scanning
            pid = os.fork()
        if pid == 0:
            same = kernel.scan(table, query, 10).hits.tolist() == want
            fresh = ParallelKernel(get_kernel(), 4, chunk_bytes=1)
            same = same and fresh.scan(table, query, 10).hits.tolist() == want
            kernel.close()
            os._exit(0 if same and len(fresh._helpers) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        """
    )


def test_an_interpreter_ends_with_idle_helpers() -> None:
    run_python(
        """
        kernel = ParallelKernel(get_kernel(), 4, chunk_bytes=1)
        kernel.scan(table, query, 10)
        assert len(kernel._helpers) > 0
        """
    )


def run_python(body: str) -> None:
    """Run a program that has a table, a query and eight cores; it must end by itself."""
    import textwrap

    head = """
        import os
        import numpy as np
        from spector.kernel import threads as parallel
        from spector.kernel.dispatch import get_kernel
        from spector.kernel.threads import ParallelKernel
        from tests.kernel.test_parallel import QUERY as query, table_of_sizes
        parallel.usable_cores = lambda: 8
        table = table_of_sizes(*([50] * 20))
        """
    source = textwrap.dedent(head) + textwrap.dedent(body)
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", source],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [0, -1, True, 2.0, "2"])
def test_a_number_of_threads_that_is_none_is_refused(threads: Any) -> None:
    with pytest.raises(InvalidInputError, match="threads"):
        spector.open(":memory:", embedder=None, dim=8, threads=threads)


def test_recall_answers_the_same_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, many_cores: None
) -> None:
    monkeypatch.setattr(parallel.ParallelKernel.__init__, "__kwdefaults__", {"chunk_bytes": 1})
    given = vectors(300)
    answers = []
    for threads in (1, 4):
        config = spector.Config(episodic_capacity=20)
        with own_vectors(threads=threads, config=config, clock=spector.ManualClock(0)) as memory:
            memory.remember_many(
                [
                    {"text": f"n {n}", "vector": given[n % 150], "tags": [f"t{n % 3}"]}
                    for n in range(300)
                ]
            )
            hits = [
                memory.recall(vector=given[0], k=40, **ask)
                for ask in ({}, {"tags": ["t1"]}, {"where": {"a": 1}}, {"cue": "n 7"})
            ]
            helpers = len(memory._parts.kernel._helpers)
            assert (helpers > 0) == (threads > 1)
        assert not memory._parts.kernel._helpers
        answers.append([[(h.text, h.score) for h in each] for each in hits])
    assert answers[0] == answers[1]
