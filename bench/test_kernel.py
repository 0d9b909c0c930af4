"""The bare scan: every backend, beside a plain streaming read of the same bytes in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.data import NOW, Corpus, batches, topic
from bench.measure import Row, at_least, seconds_of
from bench.stream import fastest_stream
from spector.clock import MS_PER_DAY, to_ms
from spector.errors import KernelUnavailableError
from spector.kernel.contract.quantization import normalize, quantize, tags_mask
from spector.kernel.contract.query import Query, make_query
from spector.kernel.contract.scanner import Kernel, Part, PartTable
from spector.kernel.dispatch import load_kernel
from spector.layout import HEADER_BYTES, RECORD_DTYPE, TierCode, stride_of

pytestmark = pytest.mark.usefixtures("pinned")
PARTITION_RECORDS = 10_000
BACKENDS = ("native", "numba", "reference")


class Scanned(NamedTuple):
    """Partitions to scan, and the same bytes as one array to stream."""

    table: PartTable
    words: NDArray[np.uint64]


@pytest.fixture(scope="session")
def scanned(scan_size: int, corpus: Corpus, scratch: Path) -> Iterator[Scanned]:
    yield from records_file(scan_size, corpus, scratch, 1)


@pytest.fixture(scope="session")
def scanned_wide(scan_size: int, corpus: Corpus, scratch: Path) -> Iterator[Scanned]:
    """Vectors of twice the dimension."""
    yield from records_file(scan_size, corpus, scratch, 2)


def records_file(scan_size: int, corpus: Corpus, scratch: Path, copies: int) -> Iterator[Scanned]:
    """Records in a file, read through a read-only map, as a store reads its partitions.

    A file's pages are 4 KiB whatever the system's huge-page setting: an anonymous array could be
    faster to read than any store.
    """
    path = scratch / f"scan-{scan_size}-{copies}.bin"
    rows = mapped_records(path, corpus, scan_size, copies)
    parts = [
        Part(rows[start:stop], stop - start)
        for start, stop in batches(scan_size, PARTITION_RECORDS)
    ]
    yield Scanned(PartTable(parts), rows.reshape(-1).view(np.uint64))
    path.unlink()


def mapped_records(path: Path, corpus: Corpus, total: int, copies: int = 1) -> NDArray[np.uint8]:
    """Record images (total, stride) written to a file, and read through a map of it."""
    with path.open("wb") as file:
        for start, stop in batches(total, 50_000):
            file.write(record_block(corpus, start, stop, total, copies).tobytes())
    shape = (total, stride_of(corpus.dim * copies))
    return np.asarray(np.memmap(path, np.uint8, mode="r", shape=shape))


def record_block(corpus: Corpus, start: int, stop: int, total: int, copies: int) -> Any:
    """Record images (stop - start, stride) uint8 with varied strengths, ages and tags.

    ``copies`` of each vector stand behind one another: the cosines stay, the dimension grows.
    """
    count = stop - start
    codes, scales = quantize(normalize(np.tile(corpus.vectors(start, stop), (1, copies))))
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
    block = np.zeros((count, stride_of(codes.shape[1])), np.uint8)
    block[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(count, HEADER_BYTES)
    block[:, HEADER_BYTES : HEADER_BYTES + codes.shape[1]] = codes.view(np.uint8)
    return block


@pytest.mark.parametrize("tagged", [False, True], ids=["all", "tag"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_scan(
    row: Row, scanned: Scanned, corpus: Corpus, scan_size: int, backend: str, tagged: bool
) -> None:
    mask = tags_mask([topic(7)]) if tagged else 0
    queries = [
        make_query(now_ms=to_ms(NOW), vector=corpus.cues[i], tags_all=mask) for i in range(20)
    ]
    scan_beside_stream(
        row,
        _kernel(backend),
        scanned,
        queries,
        id=f"scan.{'tag' if tagged else 'all'}.{backend}.{scan_size}",
        title="six-phase scan" + (", tag of 1 % of the records" if tagged else ""),
        promised=backend == "native" and not tagged,
    )


def test_scan_of_wide_vectors(
    row: Row, scanned_wide: Scanned, corpus: Corpus, scan_size: int
) -> None:
    queries = [make_query(now_ms=to_ms(NOW), vector=np.tile(corpus.cues[i], 2)) for i in range(20)]
    scan_beside_stream(
        row,
        _kernel("native"),
        scanned_wide,
        queries,
        id=f"scan.wide.native.{scan_size}",
        title="six-phase scan, twice the dimension",
        promised=True,
    )


def scan_beside_stream(
    row: Row,
    kernel: Kernel,
    scanned: Scanned,
    queries: list[Query],
    *,
    id: str,
    title: str,
    promised: bool,
) -> None:
    """Straight scans and streaming reads in turns, so both meet the same neighbours.

    ``of_stream`` is the promise: the scan's bandwidth as a share of the read's, the median of the
    pairs. Small scans stay in a cache, where the promise about memory does not apply.
    """
    table, words = scanned
    size = int(table.counts.sum())
    large = size >= 1_000_000
    name, read = fastest_stream(words)
    stream: list[float] = []

    def beside_the_stream() -> tuple[tuple[Any, ...], dict[str, Any]]:
        stream.append(seconds_of(lambda: read(words)))
        return (queries[len(stream) % len(queries)],), {}

    slow = kernel.name == "reference"
    kernel.scan(table, queries[0], 10)
    row.rounds(
        lambda query: kernel.scan(table, query, 10),
        setup=beside_the_stream,
        rounds=(5 if slow else 50) if large else (10 if slow else 100),
        id=f"scan/{id}",
        title=title,
        params={
            "records": size,
            "dim": table.stride - HEADER_BYTES,
            "threads": 1,
            "backend": kernel.name,
            "k": 10,
        },
        target=at_least(0.85, "of_stream") if promised and large else None,
    )
    times = row.times()
    taken = float(np.median(times))
    row.note(
        stream_p50_ms=float(np.median(stream)) * 1e3,
        stream_min_ms=min(stream) * 1e3,
        stream_reader=name,
        of_stream=float(np.median(np.array(stream[-len(times) :]) / np.array(times))),
        times_stream=taken / float(np.median(stream)),
        times_stream_min=min(times) / min(stream),
        ns_per_record=taken / size * 1e9,
    )
    if "tag" not in id:
        row.note(gb_per_s=words.nbytes / taken / 1e9)


def _kernel(backend: str) -> Kernel:
    try:
        return load_kernel(backend)
    except KernelUnavailableError as error:
        pytest.skip(str(error))
