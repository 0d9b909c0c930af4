"""Times of the kernel's smaller calls, and of scans over indexes in C and in Numba.

    python -m bench.calls [records]        1,000,000 unless said otherwise

Partitions of 2,500 records in one file, as a store has them that got 2,500 memories a day; one
thread on one core. Backends are asked in turns. Prints a table for bench/log.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from bench import machine
from bench.data import NOW, RECORDS_PER_DAY, Corpus, batches, load_corpus, topic
from bench.test_kernel import mapped_records
from spector.clock import to_ms
from spector.config import Config
from spector.kernel.contract.index import ScanIndex, centre_of
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import Kernel, Part, PartTable
from spector.kernel.contract.tags import tags_mask
from spector.kernel.dispatch import load_kernel

APPENDED: Final = 2_000
CUES: Final = 60
#: read between two calls, so that none finds its bytes in the caches
COLD_WORDS: Final = 32 * 2**20
BACKENDS: Final = ("native", "numba")


def main(arguments: list[str]) -> int:
    records = int(arguments[0]) if arguments else 1_000_000
    corpus = load_corpus()
    with machine.one_core(), tempfile.TemporaryDirectory(dir=machine.scratch_root()) as root:
        table = measure(Path(root) / "records", corpus, records)
    told, commit = machine.describe_machine(), machine.describe_commit()["commit"]
    print(
        f"\n{records:,} records of {corpus.dim} dimensions, {corpus.source}; {told['cpu']}, load "
        f"{told['load_average'][0]} at the end; commit {commit[:7]}\n"
    )
    print("\n".join(["| what | native | numba |", "|---|--:|--:|", *table]))
    return 0


def measure(path: Path, corpus: Corpus, records: int) -> list[str]:
    """Rows of a Markdown table."""
    rows = mapped_records(path, corpus, records)
    kernels = {name: load_kernel(name) for name in BACKENDS}
    indexed, seconds = index_all(kernels["native"], rows, corpus.dim)
    bytes_each = sum(index.bytes_of(index.rows) for index in indexed) / records
    out = [
        f"| indexes of all records | {records / seconds / 1e6:.2f} million/s | |",
        f"| bytes of an index for each record | {bytes_each:.1f} | |",
    ]
    one_by_one = [append_us(kernel, rows, corpus.dim) for kernel in kernels.values()]
    out.append(f"| one record to an index | {one_by_one[0]:.1f} us | {one_by_one[1]:.1f} us |")
    parts = [
        Part(rows[start:stop], stop - start, index=index.image)
        for (start, stop), index in zip(batches(records, RECORDS_PER_DAY), indexed, strict=True)
    ]
    table = PartTable(parts)
    calls: dict[str, Callable[[Kernel, int], object]] = {
        "default recall, no filter": scans(table, corpus, ()),
        "the same, tag of 1 %": scans(table, corpus, (topic(7),)),
        "`score` of 1,000 ids": scores(table, corpus),
    }
    for name, call in tqdm(calls.items(), desc="calls", disable=None):
        warm, cold = in_turns(list(kernels.values()), call)
        out.append(f"| {name}, warm | {_ms(warm[0])} | {_ms(warm[1])} |")
        out.append(f"| {name}, cold | {_ms(cold[0])} | {_ms(cold[1])} |")
    return out


def index_all(kernel: Kernel, rows: NDArray[np.uint8], dim: int) -> tuple[list[ScanIndex], float]:
    """An index for each partition, all of one centre, and the seconds that they took."""
    centre = centre_of(rows[:RECORDS_PER_DAY], dim)
    made, taken = [], 0.0
    for start, stop in batches(len(rows), RECORDS_PER_DAY):
        begin = time.perf_counter()
        index = ScanIndex.create(kernel, dim, stop - start, centre)
        index.append(rows[start:stop])
        taken += time.perf_counter() - begin
        made.append(index)
    return made, taken


def append_us(kernel: Kernel, rows: NDArray[np.uint8], dim: int) -> float:
    """Microseconds of the median append of one record, the call from Python included."""
    index = ScanIndex.create(kernel, dim, APPENDED, centre_of(rows[:APPENDED], dim))
    taken = []
    for n in range(1, min(APPENDED, len(rows)) + 1):
        known = rows[:n]
        begin = time.perf_counter()
        index.append(known)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1e6


def scans(table: PartTable, corpus: Corpus, tags: Sequence[str]) -> Callable[[Kernel, int], object]:
    mask = tags_mask(tags) if tags else 0
    queries = [
        make_query(
            now_ms=to_ms(NOW),
            vector=cue,
            profile="balanced",
            tags_all=mask,
            recall_confidence=Config().recall_confidence,
        )
        for cue in corpus.cues[:CUES]
    ]
    return lambda kernel, n: kernel.scan(table, queries[n % len(queries)], 10)


def scores(table: PartTable, corpus: Corpus) -> Callable[[Kernel, int], object]:
    """Of a thousand records from all over, others for each cue."""
    rng = np.random.default_rng(7)
    chosen = []
    for _ in range(CUES):
        at = rng.choice(int(table.counts.sum()), 1_000, replace=False)
        chosen.append((at // RECORDS_PER_DAY, at % RECORDS_PER_DAY))
    queries = [make_query(now_ms=to_ms(NOW), vector=cue) for cue in corpus.cues[:CUES]]
    return lambda kernel, n: kernel.score(
        table, queries[n % len(queries)], *chosen[n % len(chosen)]
    )


def in_turns(
    kernels: list[Kernel], call: Callable[[Kernel, int], object]
) -> tuple[list[float], list[float]]:
    """Median seconds of each backend over the cues: at best of three, and after other reads."""
    between = np.ones(COLD_WORDS, np.int64)
    warm: list[list[float]] = [[] for _ in kernels]
    cold: list[list[float]] = [[] for _ in kernels]
    for kernel in kernels:
        call(kernel, 0)  # compiles
    for n in range(CUES):
        for of, kernel in enumerate(kernels):
            between.sum()
            times = []
            for _ in range(4):
                begin = time.perf_counter()
                call(kernel, n)
                times.append(time.perf_counter() - begin)
            cold[of].append(times[0])
            warm[of].append(min(times[1:]))
    return [statistics.median(each) for each in warm], [statistics.median(each) for each in cold]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
