"""Recall: gate, scan, lexical channel, fusion, verification. Reads only; writes nothing.

The scan ranks every record that passes the gates by the fused score. Full-text candidates are
scored by the same formula and kernel, and their lexical evidence is added on the same scale. What
the Bloom filter let through by accident is dropped by asking the catalog; if that leaves too few,
the catalog resolves the whole filter to a bitmap and the scan runs again, so a filter never
truncates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import PartitionCorruptError
from spector.kernel.base import AllowList, Kernel, Part, PartTable, ScanResult
from spector.kernel.query import Query, make_query
from spector.kernel.reference import score_terms
from spector.kernel.tags import tag_mask
from spector.layout import MUTABLE_OFFSET, RECORD_DTYPE
from spector.read.lexical import best_score, match_query, match_terms, quoted
from spector.read.request import RecallRequest
from spector.records import Explanation, Hit, HitList, ScanStats
from spector.store.catalog import Row
from spector.store.compact import wrong_checksums
from spector.store.files import Bytes
from spector.store.filters import SqlFilter
from spector.store.hydrate import to_record
from spector.store.store import Store, View
from spector.tiers.router import TierRouter

__all__ = ["Reader"]

#: lexical evidence of a cue that is a record's id; above any sum of terms
_IDENTITY = 10.0
#: lexical evidence is full when a memory earns this share of what the whole cue could earn
#: (0 made every best match full evidence: the same on LoCoMo, 1.2 points less on PrefEval)
_COVERAGE = 0.6
_LEAST_EVIDENCE = 1e-6
#: attempts when writers move memories while they are being looked at
_ATTEMPTS = 40


class _Moved(Exception):  # noqa: N818 - never leaves this module
    """The catalog places a memory where the snapshot does not have it (yet)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """Views of all stores at one moment, as one table for the kernel."""

    stores: tuple[Store, ...]
    views: tuple[View, ...]
    table: PartTable
    #: (index of the store, segment id) -> position in the table
    position: dict[tuple[int, int], int]
    #: position -> index of the store
    store_of: tuple[int, ...]


@dataclass(slots=True)
class _Candidate:
    """A record that may become a hit."""

    id: int
    part: int
    slot: int
    fused: float
    similarity: float
    lexical: float = 0.0

    def order(self) -> tuple[float, int, int, int]:
        return (-(self.fused + self.lexical), self.id, self.part, self.slot)


class Reader:
    """The read path over all tiers of a memory. Thread-safe, takes no lock while it scans."""

    def __init__(self, router: TierRouter, kernel: Kernel, config: Config) -> None:
        self._router = router
        self._kernel = kernel
        self._config = config
        self._cached: _Snapshot | None = None

    def recall(self, request: RecallRequest) -> HitList:
        """The best k records, or fewer when fewer pass.

        The scan reads one moment's partitions, the catalog answers for a later one. When a memory
        moved in between, the two must not be mixed, so the recall starts over.
        """
        moved: _Moved | None = None
        for _ in range(_ATTEMPTS):
            snapshot = self._snapshot()
            try:
                hits = self._recall_once(snapshot, request)
            except _Moved as found:
                moved = found
            else:
                moved = None
                if all(
                    store.retire_epoch() == view.retire_epoch
                    for store, view in zip(snapshot.stores, snapshot.views, strict=True)
                ):
                    return hits
            for store in snapshot.stores:
                store.await_view()
        if moved is not None:
            raise PartitionCorruptError(str(moved), hint="run: spector check PATH")
        return hits

    # -- one attempt --------------------------------------------------------------------------

    def _recall_once(self, snap: _Snapshot, request: RecallRequest) -> HitList:
        query = _query_of(request)
        select = self._select(snap, request)
        filters = self._filters(snap, request)
        allow = None
        wide = request.lexical or any(f is not None for f in filters)
        want = max(request.k, self._config.candidates) if wide else request.k
        while True:
            result = self._kernel.scan(snap.table, query, want, allow=allow, select=select)
            found = _from_scan(result)
            self._add_lexical(snap, request, query, filters, found)
            hits, dropped = self._verified(snap, request, query, filters, found)
            if len(hits) >= request.k or len(result) < want or not dropped:
                break
            if allow is None and any(f is not None for f in filters):
                # exact from here on; nothing more will be dropped by it
                allow = self._allow(snap, self._filters(snap, request, whole_store=True))
            else:
                want = 2 * want + dropped
        return HitList(hits, self._stats(snap, select, result))

    def _select(self, snap: _Snapshot, request: RecallRequest) -> list[int] | None:
        """Positions of partitions that can hold an answer; None for all of them."""
        selection = request.selection
        if selection.tiers is None and selection.min_ms is None and selection.max_ms is None:
            return None
        tiers = self._router.select(selection.tiers)
        low = -(1 << 62) if selection.min_ms is None else selection.min_ms
        high = 1 << 62 if selection.max_ms is None else selection.max_ms
        return [
            snap.position[n, partition.segment_id]
            for n, view in enumerate(snap.views)
            for partition in self._router.partitions(view, tiers, min_ms=low, max_ms=high)
        ]

    def _filters(
        self, snap: _Snapshot, request: RecallRequest, *, whole_store: bool = False
    ) -> list[SqlFilter | None]:
        """Per store: what the catalog has to confirm of a candidate."""
        return [
            request.selection.exact(
                now_ms=request.now_ms if store.catalog.has_validity() else None,
                whole_store=whole_store,
            )
            for store in snap.stores
        ]

    def _allow(self, snap: _Snapshot, filters: Sequence[SqlFilter | None]) -> AllowList:
        """Exactly the records that satisfy the filters."""
        parts: list[int] = []
        slots: list[int] = []
        counts = snap.table.counts
        for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
            sql, params = (condition.sql, condition.params) if condition else ("1", ())
            for segment_id, slot, _ in store.catalog.places(sql, params):
                position = snap.position.get((n, segment_id))
                if position is not None and slot < counts[position]:
                    parts.append(position)
                    slots.append(slot)
        return AllowList.from_records(snap.table, parts, slots)

    def _add_lexical(
        self, snap: _Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], found: dict[tuple[int, int], _Candidate],
    ) -> None:
        """Put full-text matches, scored by the same formula, among the candidates."""
        evidence = self._lexical_evidence(snap, request, filters)
        if not evidence:
            return
        fresh = [place for place in evidence if place not in found]
        if fresh:
            parts = np.array([place[0] for place in fresh], dtype=np.uint32)
            slots = np.array([place[1] for place in fresh], dtype=np.uint32)
            sims = np.zeros(len(fresh), dtype=np.float32)
            scores = self._kernel.score(snap.table, query, parts, slots, similarity=sims)
            for place, score, sim in zip(fresh, scores.tolist(), sims.tolist(), strict=True):
                if score > -np.inf:
                    found[place] = _Candidate(evidence[place][0], *place, score, sim)
        for place, (_, weight) in evidence.items():
            if place in found:
                found[place].lexical = weight

    def _lexical_evidence(
        self, snap: _Snapshot, request: RecallRequest, filters: Sequence[SqlFilter | None]
    ) -> dict[tuple[int, int], tuple[int, float]]:
        """(part, slot) -> (id, weighted evidence) of the best full-text matches."""
        if request.cue is None or not request.lexical:
            return {}
        terms = match_terms(request.cue) if request.profile.w_lexical else []
        text, counts = request.cue.strip(), snap.table.counts
        tiers = request.selection.tiers
        codes = None if tiers is None else [tier.code for tier in self._router.select(tiers)]
        limit = max(self._config.lexical_candidates, request.k)
        out: dict[tuple[int, int], tuple[int, float]] = {}
        for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
            sql, params = _with_scan_gates(request, condition, codes)
            chosen, ideal = self._weigh_terms(store, snap.views[n], terms)
            expression = match_query(chosen)
            rows: list[tuple[int, int, int, float]] = []
            if expression:
                rows = store.catalog.matches(expression, limit, sql=sql, params=params)
            scale = request.profile.w_lexical / max([ideal, *(row[3] for row in rows)])
            evidence = [(*row[:3], scale * max(0.0, row[3])) for row in rows]
            if text.isdecimal() and len(text) < 19:
                row = store.catalog.fetch([int(text)], sql=sql, params=params).get(int(text))
                if row is not None:
                    evidence.append((row.id, row.segment_id, row.slot, _IDENTITY))
            for record_id, segment_id, slot, weight in evidence:
                position = snap.position.get((n, segment_id))
                if position is not None and slot < counts[position]:
                    out[position, slot] = (record_id, weight)
        return out

    def _weigh_terms(
        self, store: Store, view: View, terms: list[str]
    ) -> tuple[list[str], float]:
        """The terms to look up, and the BM25 score of a short memory that had them all.

        At most ``Config.lexical_matches`` records are ranked: BM25 costs about a microsecond a
        match, counting a twentieth of it, and a word that very many memories share says next to
        nothing about which one is meant. So the commonest terms are left out first.
        """
        total = sum(partition.live for partition in view.partitions)
        if not total or not terms:
            return [], _LEAST_EVIDENCE
        budget = self._config.lexical_matches
        limit = max(total, budget) + 1 if total <= budget else budget + 1
        found = {term: store.catalog.count_matches(quoted(term), limit) for term in terms}
        chosen: list[str] = []
        for term in sorted(terms, key=found.__getitem__):
            if total > budget and found[term] > budget:
                break
            budget -= found[term] if total > self._config.lexical_matches else 0
            chosen.append(term)
        ideal = sum(best_score(found[term], total) for term in terms if found[term])
        return chosen, max(_COVERAGE * ideal, _LEAST_EVIDENCE)

    # -- from candidates to hits ----------------------------------------------------------------

    def _verified(
        self, snap: _Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], found: dict[tuple[int, int], _Candidate],
    ) -> tuple[list[Hit], int]:
        """The first k candidates that the catalog confirms, and how many it did not."""
        ordered = sorted(found.values(), key=_Candidate.order)
        hits: list[Hit] = []
        seen: set[int] = set()
        dropped = 0
        step = max(request.k, 16)
        for start in range(0, len(ordered), step):
            chunk = [c for c in ordered[start : start + step] if c.id not in seen]
            rows = self._rows(snap, chunk, filters)
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

    def _is_old(self, snap: _Snapshot, candidate: _Candidate, row: Row, image: Bytes) -> bool:
        """True for the slot that a memory has left for another one of this snapshot.

        Such a slot keeps its bytes until the next checkpoint, for scans that cannot see the new
        one. Its score belongs to the old text, which must not be shown beside the new one.
        """
        position = snap.position.get((snap.store_of[candidate.part], row.segment_id))
        known = position is not None and row.slot < snap.table.counts[position]
        if position is None or not known or _id_in(image) != candidate.id:
            raise _Moved(f"memory {candidate.id} is not where the catalog says")
        if (position, row.slot) == (candidate.part, candidate.slot):
            return False
        there = snap.table.parts[position].data[row.slot]
        if _id_in(there) != candidate.id:
            raise _Moved(f"memory {candidate.id} is not where the catalog says")
        return True

    def _rows(
        self, snap: _Snapshot, chunk: list[_Candidate], filters: Sequence[SqlFilter | None]
    ) -> dict[int, Row]:
        out: dict[int, Row] = {}
        for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
            ids = [c.id for c in chunk if snap.store_of[c.part] == n]
            if ids:
                sql, params = (condition.sql, condition.params) if condition else ("1", ())
                out.update(store.catalog.fetch(ids, sql=sql, params=params))
        return out

    def _verify_bytes(
        self, snap: _Snapshot, chunk: list[_Candidate], rows: dict[int, Row], images: Bytes
    ) -> None:
        """No hit leaves without its checksum having been verified."""
        for n, store in enumerate(snap.stores):
            mine = [i for i, c in enumerate(chunk) if snap.store_of[c.part] == n and c.id in rows]
            if not mine:
                continue
            wrong = wrong_checksums(np.ascontiguousarray(images[mine]), store.uuid)
            for index in wrong.tolist():
                candidate = chunk[mine[index]]
                row = rows[candidate.id]
                segment = store.segments.get(row.segment_id)
                if store.files.durable:
                    raise PartitionCorruptError(
                        f"{segment.where if segment else 'a partition'} slot {candidate.slot}: "
                        "the record's checksum does not match",
                        hint="run: spector check PATH",
                    )
                del rows[candidate.id]  # a ring slot was overwritten while it was read

    def _hit(self, candidate: _Candidate, row: Row, image: Bytes, query: Query) -> Hit:
        header = image[:MUTABLE_OFFSET + 24].view(RECORD_DTYPE)
        tier = self._router.by_code(int(header[0]["tier"])).name
        similarity, lexical = np.float32(candidate.similarity), candidate.lexical
        return Hit(
            record=to_record(row, header[0], tier),
            score=candidate.fused + lexical,
            explainer=lambda: _explain(header, similarity, lexical, query),
        )

    # -- snapshots ------------------------------------------------------------------------------

    def _snapshot(self) -> _Snapshot:
        """The current views as a kernel table, rebuilt only when a view has changed."""
        stores = tuple(self._router.stores())
        views = tuple(store.view() for store in stores)
        cached = self._cached
        if cached is not None and all(a is b for a, b in zip(cached.views, views, strict=True)):
            return cached
        parts: list[Part] = []
        position: dict[tuple[int, int], int] = {}
        store_of: list[int] = []
        for n, view in enumerate(views):
            for partition in view.partitions:
                position[n, partition.segment_id] = len(parts)
                store_of.append(n)
                parts.append(Part(partition.data, partition.slots))
        snapshot = _Snapshot(
            stores, views, self._kernel.prepare(parts), position, tuple(store_of)
        )
        self._cached = snapshot
        return snapshot

    def _stats(
        self, snap: _Snapshot, select: list[int] | None, result: ScanResult
    ) -> ScanStats:
        state, dropped_filter, tags, valence, strength, similarity = (
            int(n) for n in result.drops
        )
        used = len(snap.table) if select is None else len(select)
        return ScanStats(
            scanned=result.scanned, dropped_state=state, dropped_filter=dropped_filter,
            dropped_tags=tags, dropped_valence=valence, dropped_strength=strength,
            dropped_similarity=similarity, scored=result.scored, partitions=used,
            partitions_skipped=len(snap.table) - used, backend=self._kernel.name,
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


def _from_scan(result: ScanResult) -> dict[tuple[int, int], _Candidate]:
    return {
        (part, slot): _Candidate(record_id, part, slot, score, similarity)
        for record_id, part, slot, score, similarity in zip(
            result.ids.tolist(), result.part.tolist(), result.slot.tolist(),
            result.scores.tolist(), result.similarity.tolist(), strict=True,
        )
        if score > -np.inf
    }


def _with_scan_gates(
    request: RecallRequest, condition: SqlFilter | None, tier_codes: Sequence[int] | None
) -> tuple[str, tuple[str | int, ...]]:
    """The filter for full-text candidates: time and tier too, which a scan settles by partition."""
    selection = request.selection
    if selection.min_ms is None and selection.max_ms is None and tier_codes is None:
        return (condition.sql, condition.params) if condition else ("1", ())
    both = selection.with_times(condition, tier_codes)
    return both.sql, both.params


def _id_in(image: Bytes) -> int:
    return int(image[8:16].view("<u8")[0])


def _images(snap: _Snapshot, chunk: list[_Candidate]) -> Bytes:
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
