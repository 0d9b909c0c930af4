"""The plan of one search: what it scores, which records pass, how many hits are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.config import Config
from spector.errors import CatalogCorruptError
from spector.kernel.contract import (
    DEFAULT_DROP_FLAGS,
    DROP_PHASES,
    AllowList,
    Query,
    Scanner,
    ScanResult,
    make_query,
    namespace_mask,
    tag_mask,
)
from spector.layout import CERTAIN_BYTE, Flag
from spector.lexical import WordView
from spector.records import ScanStats
from spector.search.features import NormCache, code_of, find_places, header_column
from spector.search.request import RecallRequest
from spector.search.snapshot import Snapshot
from spector.store.catalog import Row, SqlFilter, of_keys, of_sorts, pad_ids
from spector.store.payloads import NAMESPACES_TAGGED
from spector.tiers import TierRouter

#: as a number: an operation with a flag is one of Python's
_SUPERSEDED: Final = int(Flag.SUPERSEDED)
#: what the phases of a scan drop is called in its statistics
_DROPS: Final = tuple(
    "skipped_bound" if phase == "bound" else f"dropped_{phase}" for phase in DROP_PHASES
)


class Means(NamedTuple):
    """What every search of a memory is made with.

    Attributes:
        norms: by store.
        enough: hits wanted and tags of the gate -> candidates that were enough the last time. It
            only saves a second scan.
    """

    router: TierRouter
    scanner: Scanner
    config: Config
    norms: tuple[NormCache, ...]
    enough: dict[tuple[int, ...], int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """One search in one snapshot. Made by `make_plan`; every stage reads it, none changes it.

    Attributes:
        views: the words of every store at the moment of the snapshot, of the user whose memories
            are asked for alone; none where no words count.
        every: the same of all users.
        k: hits wanted.
        query: what the kernel scores, and the filters that it applies.
        word_weight: of the cue's words, in deviations.
        filters: per store, what the catalog must confirm of a candidate; None: nothing.
        select: ascending positions of the partitions that can hold an answer; None for all.
        mask: (partitions,) the same.
        by_catalog: the catalog alone says what is superseded, not the flags of the partitions.
        beside: memories that stand beside the hits, and are none.
    """

    snap: Snapshot
    views: tuple[WordView, ...]
    every: tuple[WordView, ...]
    means: Means
    request: RecallRequest
    k: int
    query: Query
    word_weight: float
    filters: tuple[SqlFilter | None, ...]
    select: list[int] | None
    mask: NDArray[np.bool_] | None
    by_catalog: bool
    beside: tuple[int, ...] = ()

    @property
    def is_filtered(self) -> bool:
        """Whether the catalog must confirm something."""
        return any(self.filters)

    def of(self, request: RecallRequest) -> Plan:
        """The plan of another request, for the same moment and as many hits."""
        plan = make_plan(self.snap, self.every, request, self.means, by_catalog=self.by_catalog)
        return replace(plan, k=self.k, beside=self.beside)

    def scan(self, count: int, allow: AllowList | None = None) -> ScanResult:
        """The best ``count`` records by the kernel's score."""
        return self.means.scanner.scan(
            self.snap.table, self.query, count, allow=allow, select=self.select
        )

    def passes(self, part: NDArray[np.uint32], slot: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """(n,) whether the kernel lets the records at some places through."""
        scores = self.snap.kernel.score(self.snap.table, self.query, part, slot)
        passing: NDArray[np.bool_] = scores > -np.inf
        return passing if self.mask is None else passing & self.mask[part]

    def stats(self, result: ScanResult | None, scored: int = 0) -> ScanStats:
        """The statistics of a scan; of all records, of which ``scored`` have a score, for None."""
        partitions, backend = len(self.snap.table.parts), self.means.scanner.name
        if result is None:  # their state forbids the others
            rows = int(self.snap.table.rows)
            return ScanStats(
                scanned=rows,
                dropped_state=rows - scored,
                scored=scored,
                partitions=partitions,
                backend=backend,
            )
        used = partitions if self.select is None else len(self.select)
        return ScanStats(
            scanned=result.scanned,
            scored=result.scored,
            partitions=used,
            partitions_skipped=partitions - used,
            backend=backend,
            **dict(zip(_DROPS, result.drops.tolist(), strict=True)),
        )


def make_plan(
    snap: Snapshot,
    views: tuple[WordView, ...],
    request: RecallRequest,
    means: Means,
    *,
    by_catalog: bool,
) -> Plan:
    """The plan of a request; ``views``: of all users."""
    select, mask = _partitions_of(means.router, snap, request), None
    if select is not None:
        mask = np.zeros(len(snap.table.parts), np.bool_)
        mask[select] = True
    return Plan(
        snap=snap,
        views=tuple([view.within(request.selection.user_id) for view in views]),
        every=views,
        means=means,
        request=request,
        k=request.k,
        query=query_of(
            request,
            means.config,
            by_catalog=by_catalog,
            by_namespace=_is_tagged(snap, request),
        ),
        word_weight=request.profile.ranking.words(request.reading.kind),
        filters=_conditions(snap, request, by_catalog=by_catalog),
        select=select,
        mask=mask,
        by_catalog=by_catalog,
    )


def query_of(
    request: RecallRequest,
    config: Config,
    *,
    by_catalog: bool = False,
    by_namespace: bool = False,
) -> Query:
    """The query of a scan."""
    selection = request.selection
    drop = request.drop_flags
    if by_catalog:
        drop &= ~_SUPERSEDED
    any_masks = [tag_mask(tag) for tag in selection.any_tags]
    tags_all = selection.bloom_all()
    overlap = tags_all
    for mask in any_masks:
        overlap |= mask
    if by_namespace and (keys := selection.keys) is not None:
        tags_all |= namespace_mask(keys.namespace, below=keys.below)
    return make_query(
        now_ms=request.now_ms,
        vector=request.vector,
        profile=request.profile,
        tags_all=tags_all,
        any_masks=any_masks,
        overlap_mask=overlap,
        valence_min=request.valence[0],
        valence_max=request.valence[1],
        event_min_ms=selection.min_ms,
        event_max_ms=selection.max_ms,
        importance_floor=request.min_importance,
        drop_flags=drop,
        modality_mask=request.modality_mask,
        category_mask=request.category_mask,
        mood=request.mood,
        recall_confidence=0.0 if request.exact else config.recall_confidence,
    )


def is_unfiltered(query: Query) -> bool:
    """True when nothing but flags can keep a memory out."""
    profile = query.profile
    return (
        query.tags_all == 0
        and not len(query.any_masks)
        and query.valence_min == -128
        and query.valence_max == 127
        and query.event_min_ms is None
        and query.event_max_ms is None
        and query.importance_floor == 0
        and query.retention_floor == 0
        and query.modality_mask == 0
        and query.category_mask == 0
        and profile.min_similarity <= -1
        and query.drop_flags == DEFAULT_DROP_FLAGS
    )


def _partitions_of(router: TierRouter, snap: Snapshot, request: RecallRequest) -> list[int] | None:
    """Positions of partitions that can hold an answer; None for all of them."""
    selection = request.selection
    if selection.tiers is None and selection.min_ms is None and selection.max_ms is None:
        return None
    tiers = router.select(selection.tiers)
    low = -(1 << 62) if selection.min_ms is None else selection.min_ms
    high = 1 << 62 if selection.max_ms is None else selection.max_ms
    return [
        snap.position(n, partition.segment_id)
        for n, view in enumerate(snap.views)
        for partition in router.partitions(view, tiers, min_ms=low, max_ms=high)
    ]


def _conditions(
    snap: Snapshot, request: RecallRequest, *, by_catalog: bool, whole_store: bool = False
) -> tuple[SqlFilter | None, ...]:
    """Per store: what the catalog has to confirm of a candidate."""
    superseded = not request.drop_flags & _SUPERSEDED
    keys, out = request.selection.keys, list[SqlFilter | None]()
    lasting = -1 if keys is None or "entry" not in snap.details(snap.lasting) else snap.lasting
    for n, store in enumerate(snap.stores):
        found = request.selection.exact(
            now_ms=request.now_ms if snap.has_validity(n, superseded=superseded) else None,
            whole_store=whole_store,
            replaced=request.replaced,
            ended=superseded,
            current=by_catalog and not superseded,
            whenever=request.ended,
            ends_ms=request.reading.ends_ms,
        )
        if store.catalog.ends.are_there():
            found = _alive(snap, n, found)
        found = of_sorts(store.catalog, found, request.sorts)
        if keys is not None:
            found = (
                of_keys(store.catalog, found, keys, gathers=whole_store)
                if n == lasting
                else SqlFilter("0", ())
            )
        out.append(found)
    return tuple(out)


def _alive(snap: Snapshot, n: int, condition: SqlFilter | None) -> SqlFilter | None:
    """A condition, and that a memory has not expired by now, whatever moment is asked for."""
    alive, now = snap.stores[n].catalog.ends.alive()
    if not alive:
        return condition
    known = SqlFilter("1", ()) if condition is None else condition
    return SqlFilter(f"({known.sql}){alive}", (*known.params, *now))


@dataclass(frozen=True, slots=True, eq=False)
class AllowedRecords:
    """Records that a filter lets through: ascending `code_of`, and as a list for the kernel."""

    codes: NDArray[np.uint64]
    allow: AllowList


def allowed_records(plan: Plan) -> AllowedRecords:
    """Exactly the records that satisfy the filters of a plan."""
    parts: list[int] = []
    slots: list[int] = []
    snap = plan.snap
    filters = _conditions(snap, plan.request, by_catalog=plan.by_catalog, whole_store=True)
    for n, (store, condition) in enumerate(zip(snap.stores, filters, strict=True)):
        sql, params = (condition.sql, condition.params) if condition else ("1", ())
        for segment_id, slot, _ in store.catalog.places(sql, params):
            parts.append(snap.position_of(n, segment_id, slot))
            slots.append(slot)
    codes = code_of(np.array(parts, np.uint32), np.array(slots, np.uint32))
    return AllowedRecords(np.sort(codes), AllowList.from_records(snap.table, parts, slots))


def _is_tagged(snap: Snapshot, request: RecallRequest) -> bool:
    """Whether the records of all memories with keys have the bits of their namespaces."""
    return request.selection.keys is not None and NAMESPACES_TAGGED in snap.details(snap.lasting)


# Filters given rows by a plan before anything is ranked: the kernel first, then the catalog.

#: memories in one query of the catalog
_CHUNK: Final = 32


def eligible_rows(
    plan: Plan, n: int, rows: I64, *, certain: bool = False
) -> Iterator[tuple[int, Row]]:
    """The rows that pass, with their memories, fetched as they are consumed.

    What does not pass has no influence: a name that only another user wrote does not count.

    Args:
        certain: only those that are at least fairly certain.
    """
    if not len(rows):
        return
    snap, view = plan.snap, plan.views[n]
    rows, part, slot = find_places(snap, n, view, rows)
    passing = plan.passes(part, slot)
    if certain:
        passing &= header_column(snap, part, slot, "confidence") >= CERTAIN_BYTE
    rows = rows[passing]
    condition = plan.filters[n]
    sql, params = (condition.sql, condition.params) if condition else ("1", ())
    for at in range(0, len(rows), _CHUNK):
        some = rows[at : at + _CHUNK].tolist()
        ids = view.ids(np.array(some, np.int64)).tolist()
        try:
            found = snap.stores[n].catalog.fetch(pad_ids(ids), sql=sql, params=params)
        except CatalogCorruptError:  # a damaged hit raises where it is shown
            continue
        yield from ((row, found[i]) for row, i in zip(some, ids, strict=True) if i in found)
