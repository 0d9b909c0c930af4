"""Stores for the benchmarks, built once per size and timed while they are built."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.data import NOW, Corpus, batches
from bench.measure import settle

#: records made ready outside the timed part before each call of remember_many
BUILD_BATCH: Final = 50_000
#: of stores whose memories have keys: each of so many users has an equal share
USERS: Final = 100
NAMESPACE: Final = ("bench", "documents")


def open_store(path: Path, dim: int, **options: Any) -> Any:
    """A store of given vectors, at the instant at which all benchmark stores live."""
    import spector
    from spector.clock import ManualClock

    settings = {"embedder": None, "dim": dim, "durability": "relaxed", "clock": ManualClock(NOW)}
    return spector.open(path, **(settings | options))


@dataclass(frozen=True, slots=True)
class Built:
    """A closed store and how long its parts took to append."""

    path: Path
    records: int
    batch_seconds: tuple[float, ...]
    close_seconds: float


@dataclass(slots=True)
class Stores:
    """Builds on first request and keeps for the session."""

    root: Path
    corpus: Corpus
    _built: dict[tuple[int, bool], Built] = field(default_factory=dict)

    def get(self, records: int, *, named: bool = False) -> Built:
        """``named``: every memory has a key, and one of `USERS`."""
        if (records, named) not in self._built:
            path = self.root / f"{'named' if named else 'store'}-{records}"
            self._built[records, named] = build(path, self.corpus, records, named=named)
        return self._built[records, named]


def key_of(i: int) -> dict[str, Any]:
    """The key of record i, and whose it is."""
    return {"key": f"doc-{i:07d}", "namespace": NAMESPACE, "user_id": user_of(i)}


def user_of(i: int) -> str:
    """The user of record i: neighbours in time have different ones, a tag has records of all."""
    return f"user-{(i * 61 + i // USERS) % USERS:02d}"


def build(path: Path, corpus: Corpus, records: int, *, named: bool = False) -> Built:
    """Append ``records`` records with given vectors, relaxed; generating them is not timed."""
    seconds = []
    memory = open_store(path, corpus.dim)
    try:
        for start, stop in batches(records, BUILD_BATCH):
            batch = corpus.records(start, stop, records)
            if named:
                batch = [{**each, **key_of(i)} for i, each in enumerate(batch, start)]
            settle()
            begin = time.perf_counter()
            memory.remember_many(batch)
            seconds.append(time.perf_counter() - begin)
    finally:
        begin = time.perf_counter()
        memory.close()
        closing = time.perf_counter() - begin
    return Built(path, records, tuple(seconds), closing)


def bytes_by_kind(path: Path) -> dict[str, int]:
    """Allocated bytes of a store's files: partitions, catalog, its log, derived, other."""
    sizes: dict[str, int] = defaultdict(int)
    for directory, _, names in os.walk(path):
        for name in names:
            status = os.stat(os.path.join(directory, name))
            # blocks and not length: files are preallocated, and holes cost nothing
            sizes[_kind_of(name)] += status.st_blocks * 512
    return dict(sizes)


def _kind_of(name: str) -> str:
    if name.endswith(".mem"):
        return "partitions"
    if name.startswith("catalog.db"):
        return "catalog" if name == "catalog.db" else "catalog log"
    return "derived" if name.endswith(".idx") else "other"
