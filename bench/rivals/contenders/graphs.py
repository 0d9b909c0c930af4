"""usearch and hnswlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.rivals.contenders.base import Ask, UnsupportedError
from bench.rivals.metrics import F32
from bench.rivals.workload import Share, Workload

_NO_FILTER = "its Python interface has no filter"


class UsearchExact:
    """Brute force over int8 codes, each row scaled to the whole range (a cosine ignores scale)."""

    def imports(self) -> None:
        import usearch.index

        self.usearch = usearch.index

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        out = np.lib.format.open_memmap(
            folder / "codes.npy", mode="w+", dtype=np.int8, shape=(work.records, work.dim)
        )
        for start, chunk in work.chunks():
            out[start : start + len(chunk)] = int8_rows(chunk)
        out.flush()
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.codes = np.load(folder / "codes.npy", allow_pickle=False)
        self.threads = threads

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        if share.column:
            raise UnsupportedError(_NO_FILTER)
        query, codes, threads = int8_rows(cue[None])[0], self.codes, self.threads
        search, metric = self.usearch.search, self.usearch.MetricKind.Cos
        return lambda: search(codes, query, k, metric, exact=True, threads=threads)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer.keys]

    def close(self) -> None:
        self.codes = None


class UsearchGraph:
    """HNSW over usearch's own int8 quantisation."""

    effort = 64

    def imports(self) -> None:
        import usearch.index

        self.usearch = usearch.index

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        index = self._make(work)
        for start, chunk in work.chunks():
            index.add(np.arange(start, start + len(chunk)), chunk)
        index.save(str(folder / "usearch.index"))
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.index = self._make(work)
        self.index.load(str(folder / "usearch.index"))
        self.threads = threads

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        if share.column:
            raise UnsupportedError(_NO_FILTER)
        index, threads = self.index, self.threads
        index.expansion_search = max(self.effort, k)
        return lambda: index.search(cue, k, threads=threads)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer.keys]

    def close(self) -> None:
        self.index = None

    def _make(self, work: Workload) -> Any:
        return self.usearch.Index(
            ndim=work.dim,
            metric="cos",
            dtype="i8",
            connectivity=16,
            expansion_add=100,
            expansion_search=64,
        )


class Hnswlib:
    """HNSW over float32; its filter is a Python function that the search calls back."""

    effort = 64

    def imports(self) -> None:
        import hnswlib

        self.hnswlib = hnswlib

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        index = self.hnswlib.Index(space="ip", dim=work.dim)
        index.init_index(max_elements=work.records, ef_construction=100, M=16, random_seed=1)
        for start, chunk in work.chunks():
            index.add_items(chunk, np.arange(start, start + len(chunk)))
        index.save_index(str(folder / "hnswlib.index"))
        return {}

    def open(self, work: Workload, folder: Path, threads: int) -> None:
        self.index = self.hnswlib.Index(space="ip", dim=work.dim)
        self.index.load_index(str(folder / "hnswlib.index"))
        self.work, self.threads = work, threads
        self._kept: dict[str, bytes] = {}

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        index, threads = self.index, self.threads
        index.set_ef(max(self.effort, k))
        kept = self.work.kept(share)
        if kept is None:
            return lambda: index.knn_query(cue, k, num_threads=threads)
        if share.column not in self._kept:
            self._kept[share.column] = kept.tobytes()
        admits = self._kept[share.column].__getitem__
        # it raises rather than to return fewer than k
        wanted = min(k, int(kept.sum()))
        # a callback into Python deadlocks or crawls with several threads; the manual says one
        return lambda: index.knn_query(cue, wanted, num_threads=1, filter=admits)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return [int(row) for row in answer[0][0]]

    def close(self) -> None:
        self.index = None


def int8_rows(rows: F32) -> Any:
    """(n, dim) int8, every row scaled to +-127."""
    steps = rows * (127 / np.abs(rows).max(axis=1, keepdims=True))
    return np.rint(steps).astype(np.int8)
