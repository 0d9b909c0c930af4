"""Recall: gate, scan, lexical channel, fusion, verification. Reads only; writes nothing.

The scan ranks every record that passes the gates by the fused score. Full-text candidates are
scored by the same formula and kernel, and their lexical evidence is added on the same scale. What
the Bloom filter let through by accident is dropped by asking the catalog; if that leaves too few,
the catalog resolves the whole filter to a bitmap and the scan runs again, so a filter never
truncates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spector.config import Config
from spector.errors import StoreError
from spector.kernel.base import AllowList, Scanner, ScanResult
from spector.kernel.query import Query, make_query
from spector.kernel.tags import tag_mask
from spector.read.hits import Confirmer
from spector.read.lexical import Evidence, LexicalChannel
from spector.read.request import RecallRequest
from spector.read.snapshot import Candidate, Moved, Snapshot, make_snapshot, patched_snapshot
from spector.records import HitList, ScanStats
from spector.store.filters import SqlFilter
from spector.store.store import View
from spector.tiers.router import TierRouter

__all__ = ["Reader"]

#: candidates that are confirmed one by one before the catalog resolves a filter for all records
_CANDIDATES_BEFORE_BITMAP = 2048
#: records taken from the scan and from full text before it is known whether more are needed
_CANDIDATES = 128
_MATCHES = 128
#: attempts before writers of this process are made to wait
_ATTEMPTS = 8


class Reader:
    """The read path over all tiers of a memory. Thread-safe, takes no lock while it scans."""

    def __init__(self, router: TierRouter, kernel: Scanner, config: Config) -> None:
        self._router = router
        self._stores = tuple(router.stores())
        self._kernel = kernel
        self._config = config
        self._confirmer = Confirmer(router, kernel)
        self._lexical = LexicalChannel(router, config)
        self._cached: Snapshot | None = None

    def recall(self, request: RecallRequest) -> HitList:
        """The best k records, or fewer when fewer pass.

        Partitions and catalog are of one moment, and what a later one leaves behind stays until no
        recall needs it. Only a store in memory knows no moments: when a memory moves there, the
        recall starts over, in the end with the writers of this process made to wait.

        Raises:
            StoreError: memories kept moving; never an answer that may lack one.
        """
        for _ in range(_ATTEMPTS):
            hits = self._attempt(request)
            if hits is not None:
                return hits
            for store in self._stores:
                store.await_view()
        with self._stores[0].lock:  # writers of this process wait for once
            hits = self._attempt(request)
        if hits is None:
            raise StoreError(
                "memories kept moving while they were recalled", hint="try again in a moment"
            )
        return hits

    def _attempt(self, request: RecallRequest) -> HitList | None:
        """One recall in one snapshot; None when it must be done again."""
        try:
            hits, views = self._in_snapshot(request, ())
        except Moved:
            return None
        settled = all(
            # on disk the epoch stands still: what a snapshot shows stays while it is looked at; and
            # nothing can have moved away from where nothing was looked at
            store.files.durable
            or not view.partitions
            or store.retire_epoch() == view.retire_epoch
            for store, view in zip(self._stores, views, strict=True)
        )
        return hits if settled else None

    def _in_snapshot(
        self, request: RecallRequest, views: tuple[View, ...]
    ) -> tuple[HitList, tuple[View, ...]]:
        """The hits and the views of all stores; those given are held already."""
        if len(views) == len(self._stores):
            return self._recall_in(self._snapshot(views), request), views
        with self._stores[len(views)].snapshot() as view:
            return self._in_snapshot(request, (*views, view))

    def _recall_in(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """Scan and full text, widened until no record outside of both could be among the best."""
        # a reader of an older format has one such store, and nothing in any other
        version = min(store.format_version for store in self._stores)
        query = _query_of(request, self._config, version)
        select = self._select(snap, request)
        filters = self._filters(snap, request)
        lexical = [
            self._lexical.evidence(store, view, request, condition)
            for store, view, condition in zip(snap.stores, snap.views, filters, strict=True)
        ]
        words = any(each.weights for each in lexical)
        wide = words or any(f is not None for f in filters)
        want, matches = max(request.k, _CANDIDATES) if wide else request.k, _MATCHES
        allow = None
        while True:
            result = self._kernel.scan(snap.table, query, want, allow=allow, select=select)
            found = _from_scan(snap, result)
            if words:
                self._add_matches(snap, query, lexical, matches, found)
            ordered: list[Candidate] = list(found.values())  # scans have the same order
            if words:
                ordered.sort(key=Candidate.order)
            hits, dropped = self._confirmer.first(snap, request.k, query, filters, ordered)
            if len(result) < want:  # every record that passes the gates has been considered
                break
            if len(hits) < request.k:
                if allow is None and want < _CANDIDATES_BEFORE_BITMAP:
                    want = max(_CANDIDATES_BEFORE_BITMAP, 2 * want)
                elif allow is None and any(f is not None for f in filters):
                    # exact from here on; nothing more will be dropped by it
                    allow = self._allow(snap, self._filters(snap, request, whole_store=True))
                elif dropped:
                    want = 2 * want + dropped
                else:
                    break
                continue
            if not wide:
                break
            outside = float(result.scores[-1]) + max(each.bound(matches) for each in lexical)
            if hits[-1].score >= outside:
                break
            want, matches = 4 * want, 4 * matches
        return HitList(hits, self._stats(snap, select, result))

    def _select(self, snap: Snapshot, request: RecallRequest) -> list[int] | None:
        """Positions of partitions that can hold an answer; None for all of them."""
        selection = request.selection
        if selection.tiers is None and selection.min_ms is None and selection.max_ms is None:
            return None
        tiers = self._router.select(selection.tiers)
        low = -(1 << 62) if selection.min_ms is None else selection.min_ms
        high = 1 << 62 if selection.max_ms is None else selection.max_ms
        return [
            snap.position(n, partition.segment_id)
            for n, view in enumerate(snap.views)
            for partition in self._router.partitions(view, tiers, min_ms=low, max_ms=high)
        ]

    def _filters(
        self, snap: Snapshot, request: RecallRequest, *, whole_store: bool = False
    ) -> list[SqlFilter | None]:
        """Per store: what the catalog has to confirm of a candidate."""
        return [
            request.selection.exact(
                now_ms=request.now_ms if snap.has_validity(n) else None,
                whole_store=whole_store,
            )
            for n in range(len(snap.stores))
        ]

    def _allow(self, snap: Snapshot, filters: Sequence[SqlFilter | None]) -> AllowList:
        """Exactly the records that satisfy the filters."""
        parts: list[int] = []
        slots: list[int] = []
        for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
            sql, params = (condition.sql, condition.params) if condition else ("1", ())
            for segment_id, slot, _ in store.catalog.places(sql, params):
                parts.append(snap.position_of(n, segment_id, slot))
                slots.append(slot)
        return AllowList.from_records(snap.table, parts, slots)

    def _add_matches(
        self, snap: Snapshot, query: Query, lexical: Sequence[Evidence], matches: int,
        found: dict[tuple[int, int], Candidate],
    ) -> None:
        """Give candidates their lexical evidence, and put the best matches among them."""
        for candidate in found.values():
            candidate.lexical = lexical[candidate.store].of(candidate.id)
        places: list[tuple[int, int]] = []
        ids: list[int] = []
        for n, (store, evidence) in enumerate(zip(snap.stores, lexical, strict=True)):
            best = evidence.best(matches)
            for record_id, (segment_id, slot) in store.catalog.places_of(best).items():
                place = (snap.position_of(n, segment_id, slot), slot)
                if place not in found:
                    places.append(place)
                    ids.append(record_id)
        if not places:
            return
        parts = np.array([place[0] for place in places], dtype=np.uint32)
        slots = np.array([place[1] for place in places], dtype=np.uint32)
        sims = np.zeros(len(places), dtype=np.float32)
        scores = self._kernel.score(snap.table, query, parts, slots, similarity=sims)
        for n, (score, sim) in enumerate(zip(scores.tolist(), sims.tolist(), strict=True)):
            if score > -math.inf:
                at = snap.store_of(places[n][0])
                found[places[n]] = Candidate(
                    ids[n], at, *places[n], score, sim, lexical[at].of(ids[n])
                )

    def _snapshot(self, views: tuple[View, ...]) -> Snapshot:
        """The views as a kernel table, patched where a view has changed."""
        cached = self._cached
        if cached is None:
            fresh = make_snapshot(self._stores, views, self._kernel)
        elif all(a is b for a, b in zip(cached.views, views, strict=True)):
            return cached
        else:
            fresh = patched_snapshot(cached, views)
        self._cached = fresh
        return fresh

    def _stats(
        self, snap: Snapshot, select: list[int] | None, result: ScanResult
    ) -> ScanStats:
        state, dropped_filter, tags, valence, strength, similarity, bound = (
            result.drops.tolist()
        )
        used = len(snap.table) if select is None else len(select)
        return ScanStats(
            scanned=result.scanned, dropped_state=state, dropped_filter=dropped_filter,
            dropped_tags=tags, dropped_valence=valence, dropped_strength=strength,
            dropped_similarity=similarity, skipped_bound=bound, scored=result.scored,
            partitions=used, partitions_skipped=len(snap.table) - used, backend=self._kernel.name,
        )


def _query_of(request: RecallRequest, config: Config, version: int) -> Query:
    selection = request.selection
    any_masks = [tag_mask(tag, version) for tag in selection.any_tags]
    tags_all = selection.bloom_all(version)
    overlap = tags_all
    for mask in any_masks:
        overlap |= mask
    return make_query(
        now_ms=request.now_ms, vector=request.vector, profile=request.profile,
        tags_all=tags_all, any_masks=any_masks, overlap_mask=overlap,
        valence_min=request.valence[0], valence_max=request.valence[1],
        event_min_ms=selection.min_ms, event_max_ms=selection.max_ms,
        importance_floor=request.min_importance, drop_flags=request.drop_flags,
        modality_mask=request.modality_mask, category_mask=request.category_mask,
        mood=request.mood,
        recall_confidence=0.0 if request.exact else config.recall_confidence,
    )


def _from_scan(snap: Snapshot, result: ScanResult) -> dict[tuple[int, int], Candidate]:
    return {
        (part, slot): Candidate(record_id, snap.store_of(part), part, slot, score, similarity)
        for record_id, score, similarity, part, slot in result.hits.tolist()
        if score > -math.inf
    }
