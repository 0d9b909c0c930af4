"""``python -m tests.soak.load``: stores of growing size, opened, recalled from, and appended to.

Each size is a store of its own. What is cold is the process: it has just opened the store; the
system's cache is dropped for the store's files where the system lets us.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

import spector
from tests.crash.harness import in_fork

__all__ = ["load", "loads"]

DIM = 384
_BATCH = 8192
_RECALLS = 20
_START = datetime(2000, 1, 1, tzinfo=UTC)


def loads(sizes: list[int], *, dim: int = DIM, place: str | None = None) -> list[dict[str, Any]]:
    """One row of figures for each number of records."""
    return [load(size, dim=dim, place=place) for size in sizes]


def load(records: int, *, dim: int = DIM, place: str | None = None) -> dict[str, Any]:
    """Fill a store, then open and recall in fresh processes; returns the figures."""
    with tempfile.TemporaryDirectory(dir=place) as root:
        path = os.path.join(root, "mind")
        start = time.perf_counter()
        with _open(path, dim) as memory:
            for batch in _items(records, dim):
                memory.remember_many(batch)
        out: dict[str, Any] = {
            "records": records,
            "dim": dim,
            "bulk_appends_per_s": round(records / (time.perf_counter() - start)),
        }
        for durability in ("strict", "relaxed"):
            out[f"{durability}_appends_per_s"] = _appends(path, dim, durability)
        _drop_cache(path)
        out |= _told(lambda: _opened(path, dim, records))
        out |= _told(lambda: _beyond_memory(path, dim, out["mapped_bytes"]))
    return out


def _open(path: str, dim: int, **more: Any) -> spector.Memory:
    return spector.open(path, embedder=None, dim=dim, threads=1, **more)


def _items(records: int, dim: int) -> Iterator[list[dict[str, Any]]]:
    """Short texts with clustered vectors, an event a minute."""
    rng = np.random.default_rng(records)
    centres = rng.standard_normal((64, dim)).astype(np.float32)
    for first in range(0, records, _BATCH):
        n = min(_BATCH, records - first)
        vectors = centres[rng.integers(64, size=n)] + rng.standard_normal((n, dim)).astype("f4")
        yield [
            {
                "text": f"memory {first + i}",
                "vector": vectors[i],
                "tags": [f"t{i % 50}"],
                "event_time": _START + timedelta(minutes=first + i),
            }
            for i in range(n)
        ]


def _appends(path: str, dim: int, durability: str) -> int:
    """Single memories a second."""
    rng = np.random.default_rng(7)
    with _open(path, dim, durability=durability) as memory:
        start = time.perf_counter()
        for n in range(100):
            memory.remember(f"one more {n}", vector=rng.standard_normal(dim))
        return round(100 / (time.perf_counter() - start))


def _opened(path: str, dim: int, records: int) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    start = time.perf_counter()
    with _open(path, dim) as memory:
        opened = time.perf_counter()
        assert len(memory) == records + 200
        times = []
        for _ in range(_RECALLS):
            cue = rng.standard_normal(dim)
            begin = time.perf_counter()
            assert len(memory.recall(vector=cue, k=10)) == 10
            times.append((time.perf_counter() - begin) * 1e3)
        mapped = sum(
            os.path.getsize(os.path.join(folder, name))
            for folder, _, names in os.walk(path)
            for name in names
            if name.endswith((".mem", ".idx"))
        )
        return {
            "open_ms": round((opened - start) * 1e3, 2),
            "recall_cold_ms": round(times[0], 2),
            "recall_warm_ms": round(float(np.median(times[len(times) // 2 :])), 3),
            "mapped_bytes": mapped,
        }


def _beyond_memory(path: str, dim: int, mapped: int) -> dict[str, Any]:
    """Recalls of a process whose own memory may not grow by even half of the store.

    The limit is RLIMIT_DATA, which counts what a process has written for itself; pages of the maps
    are the system's to take back. A limit of what stays resident needs a control group.
    """
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = _data_bytes() + max(64 << 20, mapped // 2)
    if most != resource.RLIM_INFINITY and allowed > most:
        return {}
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))
    with _open(path, dim, mode="r") as memory:
        for _ in range(3):
            assert len(memory.recall(vector=np.ones(dim), k=10, exact=True)) == 10
    return {"limited_mib": round((max(64 << 20, mapped // 2)) / (1 << 20)), "limited_recalls": 3}


def _data_bytes() -> int:
    with open("/proc/self/status") as lines:
        found = dict(line.split(":", 1) for line in lines)
    return int(found["VmData"].split()[0]) * 1024


def _drop_cache(path: str) -> None:
    for folder, _, names in os.walk(path):
        for name in names:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)


def _told(work: Any) -> dict[str, Any]:
    """What ``work`` returns in a process of its own."""
    reading, writing = os.pipe()
    in_fork(lambda: os.write(writing, json.dumps(work()).encode()))
    os.close(writing)
    with os.fdopen(reading) as said:
        found: dict[str, Any] = json.loads(said.read())
    return found


def main() -> int:
    """Print a line of JSON for each size."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.load", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--dir", help="where the stores shall be")
    given = parser.parse_args()
    for size in given.sizes:
        print(json.dumps(load(size, dim=given.dim, place=given.dir)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
