"""spector: a store on disk, opened as users open it, asked through the kernel or through recall."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.data import NOW, batches, load_corpus
from bench.rivals.contender import Ask, Contender, UnsupportedError
from bench.rivals.metrics import F32
from bench.rivals.workload import FILTERS, PROFILES, SEED, TOPICS, Share, Workload
from bench.stores import bytes_by_kind, open_store

#: so many more than are wanted the read path takes from the scan when the catalog still has to
#: confirm them, until it knows how many strangers a filter lets pass
_STRANGERS = 16
#: recalls after which the indexes of even a large store are there
_SETTLED_AFTER = 50


class SpectorStore(Contender):
    """The store, and what a scan of it needs: the same snapshot that a recall makes.

    gate: "tags" filters by the Bloom gate, "bitmap" by a ready-made list of admitted slots.
    exact: ask the kernel to score every survivor, where it would estimate first.
    k_gated: how many to take from a gated scan, as strangers may pass a Bloom filter; None for as
        many as recall takes at first.
    """

    module = "spector.memory"

    def __init__(
        self,
        profile: str = "balanced",
        gate: str = "tags",
        exact: bool = False,
        k_gated: int | None = None,
    ) -> None:
        self.profile, self.gate, self.exact, self.k_gated = profile, gate, exact, k_gated
        self._allow: dict[str, Any] = {}

    def build(self, work: Workload, folder: Path) -> dict[str, Any]:
        """Remember everything with its filters as tags, then read the strengths as stored."""
        memory = open_store(folder, work.dim)
        ids = np.zeros(work.records, np.uint64)
        for start, stop in batches(work.records, 50_000):
            made = memory.remember_many(_records(work, start, stop))
            ids[start:stop] = [record.id for record in made]
        memory.close()
        np.save(work.folder / "store-ids.npy", ids)
        return {
            "bytes_by_kind": {
                kind: count / work.records for kind, count in bytes_by_kind(folder).items()
            }
        }

    def open(self, work: Workload, folder: Path) -> None:
        self.work = work
        self.memory = open_store(folder, work.dim, mode="r", threads=1)

    @cached_property
    def scanned(self) -> _Scanned:
        """Kernel, table and options of the scans that recall makes, taken from one that it made.

        Nothing of the read path is repeated here, so what it learns (an index, estimates) is
        measured without a change. Indexes may come with the first few recalls.
        """
        reader = self.memory._parts.searcher
        kernel = reader._scanner
        spy = _Spy(kernel)
        reader._scanner = spy
        try:
            for _ in range(_SETTLED_AFTER):
                self.memory.recall(vector=self.work.cues[0], k=1, profile=self.profile)
                if len(spy.scans) > 1 and spy.scans[-1][0] is spy.scans[-2][0]:
                    break
        finally:
            reader._scanner = kernel
        table, query = spy.scans[-1]
        return _Scanned(kernel, table, float(query.params["recall_confidence"][0]))

    @cached_property
    def _ids(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Ids in ascending order, and the row of each."""
        ids = np.load(self.work.folder / "store-ids.npy", allow_pickle=False)
        order = np.argsort(ids)
        return ids[order], order

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        kernel, table, confidence = self.scanned
        gated = bool(share.column) and self.gate == "tags"
        query = self._query(cue, share if gated else None, 0.0 if self.exact else confidence)
        if gated:
            k = k + _STRANGERS if self.k_gated is None else max(k, self.k_gated)
        allow = self._allow_list(share) if share.column and not gated else None
        return lambda: kernel.scan(table, query, k, allow=allow)

    def rows(self, answer: Any, share: Share) -> list[int]:
        """Without the strangers that passed the Bloom gate: the catalog would have dropped them."""
        rows = self.rows_of(answer.ids)
        kept = self.work.kept(share)
        return [row for row in rows if kept is None or kept[row]]

    def rows_of(self, ids: NDArray[np.uint64] | list[int]) -> list[int]:
        sorted_ids, order = self._ids
        return [int(row) for row in order[np.searchsorted(sorted_ids, np.asarray(ids, np.uint64))]]

    def _query(self, cue: F32, share: Share | None, confidence: float) -> Any:
        from spector.clock import to_ms
        from spector.kernel.contract.quantization import tags_mask
        from spector.kernel.contract.query import make_query

        mask = tags_mask([share.column]) if share else 0
        return make_query(
            now_ms=to_ms(NOW),
            vector=cue,
            profile=self.profile,
            tags_all=mask,
            overlap_mask=mask,
            recall_confidence=confidence,
        )

    def _allow_list(self, share: Share) -> Any:
        """Ready-made: a list is made once a filter and serves every cue."""
        from spector.kernel.contract.scanner import AllowList

        if share.column not in self._allow:
            kept = self.work.kept(share)
            assert kept is not None
            parts, slots = [], []
            table = self.scanned.table
            for n, part in enumerate(table.parts):
                inside = np.flatnonzero(kept[self.rows_of(headers_of(part)["id"])])
                parts.append(np.full(len(inside), n))
                slots.append(inside)
            self._allow[share.column] = AllowList.from_records(
                table, np.concatenate(parts), np.concatenate(slots)
            )
        return self._allow[share.column]


class SpectorRecall(SpectorStore):
    """The public verb, end to end: gate, scan, catalog, checksums, text of the hits."""

    def ask(self, cue: F32, k: int, share: Share) -> Ask:
        if k > 1000:
            raise UnsupportedError("recall gives at most 1,000 hits")
        tags, memory, profile = [share.column] if share.column else None, self.memory, self.profile
        return lambda: memory.recall(vector=cue, k=k, tags=tags, profile=profile)

    def rows(self, answer: Any, share: Share) -> list[int]:
        return self.rows_of([hit.id for hit in answer])


class _Scanned(NamedTuple):
    kernel: Any
    table: Any
    confidence: float


class _Spy:
    """A kernel that remembers what it was asked to scan."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.scans: list[tuple[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def scan(self, table: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        self.scans.append((table, query))
        return self._kernel.scan(table, query, *arguments, **options)


def write_formula(work: Workload, folder: Path) -> None:
    """Base and slope of the fused score of every record, from the bytes that the store holds.

    Scores are linear in the cosine (products from 0 on), so two evaluations of the reference
    formula, at cosine 0 and 1, give the whole line. The truth and the rivals' re-ranking use it.
    """
    from spector.kernel.reference.scan import score_terms

    store = SpectorStore()
    store.open(work, folder)
    lines = {}
    for name in PROFILES:
        store.profile = name
        query = store._query(work.cues[0], None, 0.0)
        base, slope = np.zeros((2, work.records), np.float32)
        for part in store.scanned.table.parts:
            headers = headers_of(part)
            rows = store.rows_of(headers["id"])
            low = score_terms(headers, np.zeros(len(headers), np.float32), query)["score"]
            high = score_terms(headers, np.ones(len(headers), np.float32), query)["score"]
            base[rows], slope[rows] = low, high - low
        lines[f"{name}-base"], lines[f"{name}-slope"] = base, slope
    store.memory.close()
    np.savez(work.folder / "formula.npz", **lines)


def headers_of(part: Any) -> NDArray[Any]:
    from spector.layout import HEADER_BYTES, RECORD_DTYPE

    rows = np.ascontiguousarray(part.data[: part.count, :HEADER_BYTES])
    headers: NDArray[Any] = rows.view(RECORD_DTYPE)[:, 0]
    return headers


def _records(work: Workload, start: int, stop: int) -> list[dict[str, Any]]:
    """As `bench.data` makes them, with tags that the filters name and strengths that vary freely.

    Importance must not follow from the turn that a record copies, or the trap would spring for
    whole groups of neighbours at once.
    """
    rng = np.random.default_rng([SEED, 100, start])
    count = stop - start
    importance = rng.random(count)
    topics = rng.integers(0, TOPICS, (count, 2))
    made = _corpus().records(start, stop, work.records)
    for n, record in enumerate(made):
        held = work.members[1:, start + n]
        named = [share.column for share, kept in zip(FILTERS, held, strict=True) if kept]
        record["tags"] = [*named, *(f"topic-{topic:03d}" for topic in sorted(set(topics[n])))]
        record["importance"] = float(importance[n])
        record["vector"] = work.vectors[start + n]
    return made


_corpus = cache(load_corpus)
