"""Recall: gate, scan, lexical channel, fusion, verification. Reads only; writes nothing.

The scan ranks every record that passes the gates by the fused score. Full-text candidates are
scored by the same formula and kernel, and their lexical evidence is added on the same scale. What
the Bloom filter let through by accident is dropped by asking the catalog; if that leaves too few,
the catalog resolves the whole filter to a bitmap and the scan runs again, so a filter never
truncates.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import StoreError
from spector.kernel.base import AllowList, Kernel, ScanResult
from spector.kernel.query import Query, make_query
from spector.kernel.reference import score_terms
from spector.kernel.tags import tag_mask
from spector.layout import MUTABLE_OFFSET, RECORD_DTYPE
from spector.read.lexical import Evidence, LexicalChannel
from spector.read.request import RecallRequest
from spector.read.snapshot import Candidate, Moved, Snapshot, make_snapshot, patched_snapshot
from spector.records import Explanation, Hit, HitList, ScanStats
from spector.store.catalog import Row
from spector.store.compact import wrong_checksums
from spector.store.files import Bytes
from spector.store.filters import SqlFilter
from spector.store.hydrate import damaged_record, to_record
from spector.store.store import Store, View
from spector.tiers.router import TierRouter

__all__ = ["Reader"]

#: candidates that are confirmed one by one before the catalog resolves a filter for all records
_CANDIDATES_BEFORE_BITMAP = 2048
#: records taken from the scan and from full text before it is known whether more are needed
_CANDIDATES = 128
_MATCHES = 128
#: attempts before writers of this process are made to wait
_ATTEMPTS = 8
#: attempts of a reading process, for which no writer waits
_ATTEMPTS_OF_READER = 60


class Reader:
    """The read path over all tiers of a memory. Thread-safe, takes no lock while it scans."""

    def __init__(self, router: TierRouter, kernel: Kernel, config: Config) -> None:
        self._router = router
        self._kernel = kernel
        self._config = config
        self._lexical = LexicalChannel(router, config)
        self._cached: Snapshot | None = None

    def recall(self, request: RecallRequest) -> HitList:
        """The best k records, or fewer when fewer pass.

        Partitions and catalog are of one moment. Two things can still get between them, and make
        the recall start over: a checkpoint that retires the slots which moved memories left (only
        a very slow scan meets it), and a move within a store in memory, which knows no moments.

        Raises:
            StoreError: memories kept moving; never an answer that may lack one.
        """
        ours = self._router.stores()[0].writable
        for _ in range(_ATTEMPTS if ours else _ATTEMPTS_OF_READER):
            hits = self._attempt(request)
            if hits is not None:
                return hits
            for store in self._router.stores():
                store.await_view()
        with self._router.stores()[0].lock:  # writers of this process wait for once
            hits = self._attempt(request)
        if hits is None:
            raise StoreError(
                "memories kept moving while they were recalled", hint="try again in a moment"
            )
        return hits

    def _attempt(self, request: RecallRequest) -> HitList | None:
        """One recall in one snapshot; None when it must be done again."""
        stores = tuple(self._router.stores())
        try:
            with contextlib.ExitStack() as stack:
                views = tuple(stack.enter_context(store.snapshot()) for store in stores)
                hits = self._recall_in(self._snapshot(stores, views), request)
        except Moved:
            return None
        still = zip(stores, views, strict=True)
        settled = all(store.retire_epoch() == view.retire_epoch for store, view in still)
        return hits if settled else None

    def _recall_in(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """Scan and full text, widened until no record outside of both could be among the best."""
        query = _query_of(request)
        select = self._select(snap, request)
        filters = self._filters(snap, request)
        lexical = [
            self._lexical.evidence(store, view, request, condition)
            for store, view, condition in zip(snap.stores, snap.views, filters, strict=True)
        ]
        wide = any(each.weights for each in lexical) or any(f is not None for f in filters)
        want, matches = max(request.k, _CANDIDATES) if wide else request.k, _MATCHES
        allow = None
        while True:
            result = self._kernel.scan(snap.table, query, want, allow=allow, select=select)
            found = _from_scan(result)
            self._add_matches(snap, query, lexical, matches, found)
            hits, dropped = self._verified(snap, request, query, filters, found)
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
            outside = float(result.scores[-1]) + max(each.bound(matches) for each in lexical)
            if hits[-1].score >= outside or not wide:
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
                now_ms=request.now_ms if store.catalog.has_validity() else None,
                whole_store=whole_store,
            )
            for store in snap.stores
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
            candidate.lexical = lexical[snap.store_of(candidate.part)].of(candidate.id)
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
            if score > -np.inf:
                evidence = lexical[snap.store_of(places[n][0])]
                found[places[n]] = Candidate(
                    ids[n], *places[n], score, sim, evidence.of(ids[n])
                )

    # -- from candidates to hits ----------------------------------------------------------------

    def _verified(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], found: dict[tuple[int, int], Candidate],
    ) -> tuple[list[Hit], int]:
        """The first k candidates that the catalog confirms, and how many it did not."""
        ordered = sorted(found.values(), key=Candidate.order)
        hits: list[Hit] = []
        seen: set[int] = set()
        dropped = 0
        start, step = 0, max(request.k, 16)
        while start < len(ordered):
            chunk = [c for c in ordered[start : start + step] if c.id not in seen]
            start, step = start + step, min(2 * step, 512)
            rows = self._rows(snap, chunk, filters)
            dropped += sum(c.id not in rows for c in chunk)
            chunk = [c for c in chunk if c.id in rows]
            images = _images(snap, chunk)
            self._verify_bytes(snap, chunk, rows, images)
            for candidate, image in zip(chunk, images, strict=True):
                row = rows.get(candidate.id)
                if row is None or candidate.id in seen or self._is_old(snap, candidate, row, image):
                    dropped += 1
                    continue
                seen.add(candidate.id)
                hits.append(self._hit(candidate, row, image, query))
                if len(hits) == request.k:
                    return hits, dropped
        return hits, dropped

    def _is_old(self, snap: Snapshot, candidate: Candidate, row: Row, image: Bytes) -> bool:
        """True for the slot that a memory has left for another one of this snapshot.

        Such a slot keeps its bytes until the next checkpoint, for scans that cannot see the new
        one. Its score belongs to the old text, which must not be shown beside the new one.
        """
        store = snap.store_of(candidate.part)
        position = snap.position_of(store, row.segment_id, row.slot)
        if (position, row.slot) == (candidate.part, candidate.slot):
            if _id_in(image) != candidate.id:
                raise snap.misplaced(store, f"memory {candidate.id} gave way to another one")
            return False
        if _id_in(snap.table.parts[position].data[row.slot]) != candidate.id:
            raise snap.misplaced(store, f"memory {candidate.id} is not where the catalog says")
        return True

    def _rows(
        self, snap: Snapshot, chunk: list[Candidate], filters: Sequence[SqlFilter | None]
    ) -> dict[int, Row]:
        out: dict[int, Row] = {}
        for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
            ids = [c.id for c in chunk if snap.store_of(c.part) == n]
            if ids:
                sql, params = (condition.sql, condition.params) if condition else ("1", ())
                out.update(store.catalog.fetch(ids, sql=sql, params=params))
        return out

    def _verify_bytes(
        self, snap: Snapshot, chunk: list[Candidate], rows: dict[int, Row], images: Bytes
    ) -> None:
        """No hit leaves without its checksum having been verified."""
        for n, store in enumerate(snap.stores):
            mine = [i for i, c in enumerate(chunk) if snap.store_of(c.part) == n and c.id in rows]
            if not mine:
                continue
            wrong = wrong_checksums(np.ascontiguousarray(images[mine]), store.uuid)
            for index in wrong.tolist():
                candidate = chunk[mine[index]]
                row = rows[candidate.id]
                segment = store.segments.get(row.segment_id)
                if store.files.durable:
                    where = segment.where if segment else "a partition"
                    raise damaged_record(where, candidate.slot, candidate.id)
                del rows[candidate.id]  # a ring slot was overwritten while it was read

    def _hit(self, candidate: Candidate, row: Row, image: Bytes, query: Query) -> Hit:
        header = image[:MUTABLE_OFFSET + 24].view(RECORD_DTYPE)
        tier = self._router.by_code(int(header[0]["tier"])).name
        similarity, lexical = np.float32(candidate.similarity), candidate.lexical
        return Hit(
            record=to_record(row, header[0], tier),
            score=candidate.fused + lexical,
            explainer=lambda: _explain(header, similarity, lexical, query),
        )

    def _snapshot(self, stores: tuple[Store, ...], views: tuple[View, ...]) -> Snapshot:
        """The views as a kernel table, patched where a view has changed."""
        cached = self._cached
        if cached is None:
            fresh = make_snapshot(stores, views, self._kernel)
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
            int(n) for n in result.drops
        )
        used = len(snap.table) if select is None else len(select)
        return ScanStats(
            scanned=result.scanned, dropped_state=state, dropped_filter=dropped_filter,
            dropped_tags=tags, dropped_valence=valence, dropped_strength=strength,
            dropped_similarity=similarity, skipped_bound=bound, scored=result.scored,
            partitions=used, partitions_skipped=len(snap.table) - used, backend=self._kernel.name,
        )


def _query_of(request: RecallRequest) -> Query:
    selection = request.selection
    any_masks = [tag_mask(tag) for tag in selection.any_tags]
    overlap = selection.bloom_all
    for mask in any_masks:
        overlap |= mask
    return make_query(
        now_ms=request.now_ms, vector=request.vector, profile=request.profile,
        tags_all=selection.bloom_all, any_masks=any_masks, overlap_mask=overlap,
        valence_min=request.valence[0], valence_max=request.valence[1],
        event_min_ms=selection.min_ms, event_max_ms=selection.max_ms,
        importance_floor=request.min_importance, drop_flags=request.drop_flags,
        modality_mask=request.modality_mask, category_mask=request.category_mask,
        mood=request.mood,
    )


def _from_scan(result: ScanResult) -> dict[tuple[int, int], Candidate]:
    return {
        (part, slot): Candidate(record_id, part, slot, score, similarity)
        for record_id, part, slot, score, similarity in zip(
            result.ids.tolist(), result.part.tolist(), result.slot.tolist(),
            result.scores.tolist(), result.similarity.tolist(), strict=True,
        )
        if score > -np.inf
    }


def _id_in(image: Bytes) -> int:
    return int(image[8:16].view("<u8")[0])


def _images(snap: Snapshot, chunk: list[Candidate]) -> Bytes:
    """(n, stride) u8 copies of the candidates' records."""
    out = np.empty((len(chunk), snap.table.stride), dtype=np.uint8)
    for n, candidate in enumerate(chunk):
        out[n] = snap.table.parts[candidate.part].data[candidate.slot]
    return out


def _explain(
    header: NDArray[np.void], similarity: np.float32, lexical: float, query: Query
) -> Explanation:
    """The terms of one score, computed by the reference formula."""
    values = score_terms(header, np.array([similarity], dtype=np.float32), query)
    profile = query.profile
    weights = profile.weights()
    raw = {name: float(values[name][0]) for name, weight in weights.items() if weight}
    terms = {name: weights[name] * value for name, value in raw.items()}
    if profile.fusion == "multiplicative":
        terms["similarity"] = max(0.0, terms.get("similarity", 0.0))
    modifiers = {
        name: float(values[name][0])
        for name in ("confidence", "tier", "category", "mood", "unresolved", "consolidated")
        if float(values[name][0]) != 1.0
    }
    return Explanation(
        profile=profile.name, fusion=profile.fusion, values=raw, terms=terms,
        modifiers=modifiers, lexical=lexical, score=float(values["score"][0]) + lexical,
    )
