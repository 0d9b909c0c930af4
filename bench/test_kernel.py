"""The bare scan: every backend, beside a plain streaming read of the same bytes in the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.data import NOW, Corpus, batches, topic
from bench.measure import Row, at_most
from bench.stream import fastest_stream
from spector.clock import MS_PER_DAY, to_ms
from spector.errors import KernelUnavailableError
from spector.kernel.base import Kernel, Part, PartTable
from spector.kernel.choose import load_kernel
from spector.kernel.quantize import quantize
from spector.kernel.query import make_query
from spector.kernel.tags import tags_mask
from spector.layout import HEADER_BYTES, RECORD_DTYPE, TierCode, stride_of

PARTITION_RECORDS = 10_000
BACKENDS = ("native", "numba", "reference")


class Scanned(NamedTuple):
    """Partitions to scan, and the same bytes as one array to stream."""

    table: PartTable
    words: NDArray[np.uint64]


@pytest.fixture(scope="session")
def scanned(scan_size: int, corpus: Corpus, scratch: Path) -> Iterator[Scanned]:
    """Records in a file, read through a read-only map, as a store reads its partitions.

    A file's pages are 4 KiB whatever the system's huge-page setting: an anonymous array could be
    faster to read than any store.
    """
    path = scratch / f"scan-{scan_size}.bin"
    stride = stride_of(corpus.dim)
    with path.open("wb") as file:
        for start, stop in batches(scan_size, 50_000):
            file.write(record_block(corpus, start, stop, scan_size).tobytes())
    rows = np.memmap(path, np.uint8, mode="r", shape=(scan_size, stride))
    parts = [
        Part(np.asarray(rows[start:stop]), stop - start)
        for start, stop in batches(scan_size, PARTITION_RECORDS)
    ]
    yield Scanned(PartTable(parts), np.asarray(rows).reshape(-1).view(np.uint64))
    path.unlink()


def record_block(corpus: Corpus, start: int, stop: int, total: int) -> Any:
    """Record images (stop - start, stride) uint8 with varied strengths, ages and tags."""
    count = stop - start
    codes, scales = quantize(corpus.vectors(start, stop))
    rng = np.random.default_rng([7, start])
    headers = np.zeros(count, RECORD_DTYPE)
    ids = np.arange(start, stop)
    headers["version"] = 1
    headers["tier"] = TierCode.EPISODIC
    headers["id"] = ids + 1
    headers["scale"] = scales
    headers["event_ms"] = to_ms(NOW) - (total - ids) * (MS_PER_DAY // 2500)
    headers["tags"] = [tags_mask([topic(int(i)), "chat"]) for i in ids]
    headers["confidence"] = 255
    headers["importance"] = rng.random(count)
    headers["stability_days"] = rng.uniform(1, 60, count)
    headers["utility"] = rng.random(count)
    headers["access_count"] = rng.integers(0, 20, count)
    headers["last_access_s"] = headers["event_ms"] // 1000
    block = np.zeros((count, stride_of(corpus.dim)), np.uint8)
    block[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(count, HEADER_BYTES)
    block[:, HEADER_BYTES : HEADER_BYTES + corpus.dim] = codes.view(np.uint8)
    return block


@pytest.mark.parametrize("tagged", [False, True], ids=["all", "tag"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_scan(
    row: Row,
    scanned: Scanned,
    corpus: Corpus,
    scan_size: int,
    backend: str,
    tagged: bool,
    pinned: int,
) -> None:
    kernel = _kernel(backend)
    mask = tags_mask([topic(7)]) if tagged else 0
    queries = [
        (make_query(now_ms=to_ms(NOW), vector=corpus.cues[i], tags_all=mask),) for i in range(20)
    ]
    table, words = scanned
    name, read = fastest_stream(words)
    stream: list[float] = []

    def beside_the_stream() -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Before each scan one streaming read, so both meet the same neighbours on the machine."""
        start = time.perf_counter()
        read(words)
        stream.append(time.perf_counter() - start)
        return queries[len(stream) % len(queries)], {}

    slow = backend == "reference"
    kernel.scan(table, queries[0][0], 10)
    promised = backend == "native" and not tagged and scan_size >= 1_000_000
    row.rounds(
        lambda query: kernel.scan(table, query, 10),
        setup=beside_the_stream,
        rounds=(5 if slow else 50) if scan_size >= 1_000_000 else (10 if slow else 100),
        id=f"scan.{'tag' if tagged else 'all'}.{backend}.{scan_size}",
        group="scan",
        title="six-phase scan" + (", tag of 1 % of the records" if tagged else ""),
        unit="ms",
        params={
            "records": scan_size, "dim": corpus.dim, "threads": 1, "backend": backend, "k": 10
        },
        target=at_most(1.5, "times_stream") if promised else None,
    )  # fmt: skip
    taken = float(np.median(row.times()))
    row.note(
        stream_p50_ms=float(np.median(stream)) * 1e3,
        stream_min_ms=min(stream) * 1e3,
        stream_reader=name,
        times_stream=taken / float(np.median(stream)),
        times_stream_min=min(row.times()) / min(stream),
        ns_per_record=taken / scan_size * 1e9,
    )
    if not tagged:
        row.note(gb_per_s=words.nbytes / taken / 1e9)


def _kernel(backend: str) -> Kernel:
    try:
        return load_kernel(backend)
    except KernelUnavailableError as error:
        pytest.skip(str(error))
