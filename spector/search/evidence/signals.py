"""What a recall notices about its cue as a whole, among all memories or those that a filter leaves.

A user with two memories must not be met with silence for the sixty of somebody else. So with a
filter everything is judged by what passes it: how many memories there are, how like questions about
something else they are, how much of the cue the best of them covers, how like it the likest is. Of
many that may pass a sample is put to the catalog; it depends on the memories alone, not on earlier
recalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import Query, Scanner
from spector.lexical import WordView
from spector.records import Hit, Signals
from spector.search.evidence.baseline import (
    SAMPLE,
    SimilarityBaseline,
    above,
    evenly_spaced,
    in_order,
    level_of,
)
from spector.search.evidence.fusion import LexicalQuery
from spector.search.evidence.words import knows_names
from spector.search.view import (
    NOWHERE,
    Ranked,
    RecallRequest,
    Snapshot,
    allowed,
    places_of,
    unit_vectors,
    vectors_of,
)
from spector.store.catalog import SqlFilter, rounded

__all__ = ["SignalCollector", "is_scoped"]

I64 = NDArray[np.int64]

#: memories of a large store that are looked at for those that pass
_LOOKED_AT: Final = 4096
#: of fewer that pass, although not all were looked at, nothing is said
_ENOUGH: Final = 32
#: the best are put to the catalog in chunks, the first that passes counts; at most so many
_CHUNK: Final = 32
_MOST: Final = 512
#: filters whose answer is kept until the store changes
_FILTERS: Final = 64


def is_scoped(request: RecallRequest) -> bool:
    """Whether a caller asks among some memories only; the time in a cue is no such filter."""
    if request.scoped is not None:
        return request.scoped
    return not (
        request.selection.is_everything and request.valence == (-128, 127)
        and request.min_importance == 0 and not request.category_mask
        and not request.modality_mask
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Among:
    """What is left by a filter, whatever the cue.

    Attributes:
        ids: of all of them, where that is known.
        memories: how many there are. level: see `level_of`.
        measured: False when too few were seen to tell how like questions they are.
    """

    ids: I64 | None
    memories: int
    level: tuple[float, float] | None
    measured: bool = True


class SignalCollector:
    """Makes the signals of recalls. Thread-safe: what it keeps is replaced as a whole."""

    def __init__(self, kernel: Scanner) -> None:
        self._kernel = kernel
        self._baseline = SimilarityBaseline()
        self._kept: tuple[Snapshot | None, dict[Any, _Among]] = (None, {})

    def let_go(self) -> None:
        self._baseline.let_go()
        self._kept = (None, {})

    def signals(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], known: tuple[tuple[WordView, ...], LexicalQuery, Any],
        ranked: Ranked, hits: Sequence[Hit],
    ) -> Signals:
        """What was noticed.

        Args:
            filters: per store, what the catalog confirms of a candidate.
            known: words of all stores; the cue's; (partitions,) which are searched, None for all.
            hits: the best ``request.k`` that pass, or all that do.
        """
        views, asked, chosen = known
        # help with something new is wanted of what is known about whoever asks
        known_names = None
        if asked.kind == "fact":
            known_names = knows_names(views, asked, request.cue or "")
        names = {"known_name": known_names is True, "unknown_name": known_names is False}
        if not is_scoped(request):
            cosine = None if query.vector is None else ranked.cosine
            return Signals(
                kind=str(asked.kind), coverage=ranked.coverage, cosine=cosine,
                **names, likeness=self._baseline.deviations(snap, views, cosine, request.probes),
                memories=sum(view.n_rows for view in views),
            )
        if len(hits) < request.k:
            among = _of_hits(hits, request)
        else:
            among = self._among(snap, request, query, filters, (views, chosen), ranked)
        if among.ids is not None:
            rows = ranked.rows_of(among.ids)
        elif ranked.allowed is not None or _is_open(filters):
            rows = ranked.passing()
        else:
            rows = _best_rows(snap, filters, ranked, hits)
        coverage, likest = ranked.signals_of(rows)
        if query.vector is None:
            likest = None
        return Signals(
            kind=str(asked.kind), coverage=coverage, cosine=likest, **names,
            likeness=above(likest, among.level), memories=max(among.memories, len(hits)),
            measured=among.measured,
        )

    def _among(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], known: tuple[tuple[WordView, ...], Any],
        ranked: Ranked,
    ) -> _Among:
        """The same for every cue, so it is kept for those that follow."""
        key = (
            request.gates, tuple(filters), ranked.allowed is None,
            query.retention_floor and (query.profile, query.now_ms),
            None if request.probes is None else request.probes[:, 0].tobytes(),
        )  # fmt: skip
        snapshot, kept = self._kept
        if snapshot is not snap or len(kept) >= _FILTERS:
            kept = {}
            self._kept = (snap, kept)
        found = kept.get(key)
        if found is None:
            if ranked.is_whole:
                found = _of_ranked(snap, request, filters, ranked)
            else:
                found = self._of_large(snap, request, query, filters, known, ranked)
            kept[key] = found
        return found

    def _of_large(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], known: tuple[tuple[WordView, ...], Any],
        ranked: Ranked,
    ) -> _Among:
        """By memories at even distances: those that the gates let through, and the catalog."""
        views, chosen = known
        exact = ranked.allowed is not None or _is_open(filters)
        if ranked.allowed is not None:
            count = len(ranked.allowed)
            code = ranked.allowed[evenly_spaced(count, _LOOKED_AT)]
            ids = store = np.zeros(len(code), np.int64)  # nobody asks
            part = (code >> np.uint64(32)).astype(np.uint32)
            slot = code.astype(np.uint32)
        else:
            count = sum(view.n_rows for view in views)
            ids, store, part, slot = _at_even_distances(snap, views, count)
        looked = len(ids)
        passing = self._kernel.score(snap.table, query, part, slot) > -np.inf
        if chosen is not None:
            passing &= chosen[part]
        some = np.flatnonzero(passing)
        passed = len(some)
        some = some[evenly_spaced(passed, SAMPLE)]
        ids, store, part, slot = ids[some], store[some], part[some], slot[some]
        kept = np.ones(len(ids), np.bool_) if exact else _confirmed(snap, filters, store, ids)
        seen = int(np.count_nonzero(kept))
        if seen < _ENOUGH and looked < count:
            return _Among(None, seen, None, measured=False)
        memories = round(count * (passed / max(1, looked)) * (seen / max(1, len(ids))))
        level = level_of(unit_vectors(snap, part[kept], slot[kept]), request.probes)
        return _Among(None, memories, level)


def _of_hits(hits: Sequence[Hit], request: RecallRequest) -> _Among:
    """All that pass are hits."""
    ids = np.array([hit.id for hit in hits], np.int64)
    level = None
    if len(hits):
        order = np.argsort(ids)[evenly_spaced(len(ids), SAMPLE)].tolist()
        level = level_of(vectors_of([hits[n] for n in order]), request.probes)
    return _Among(ids, len(hits), level)


def _of_ranked(
    snap: Snapshot, request: RecallRequest, filters: Sequence[SqlFilter | None], ranked: Ranked
) -> _Among:
    """Everything was ranked, so what may pass is known, and mostly what does."""
    rows = ranked.passing()
    rows = rows[np.argsort(ranked.ids[rows])]
    memories = len(rows)
    some = rows[evenly_spaced(memories, SAMPLE)]
    ids = None
    if ranked.allowed is None and not _is_open(filters):
        kept = some[_confirmed(snap, filters, ranked.store[some], ranked.ids[some])]
        if len(kept) < _ENOUGH and len(some) < memories:
            rows = rows[np.isin(ranked.codes(rows), allowed(snap, request).codes)]
            memories, ids = len(rows), ranked.ids[rows]
            kept = rows[evenly_spaced(memories, SAMPLE)]
        else:
            if len(some) == memories:
                ids = ranked.ids[kept]
            memories = round(memories * len(kept) / max(1, len(some)))
        some = kept
    vectors = unit_vectors(snap, ranked.part[some], ranked.slot[some])
    return _Among(ids, memories, level_of(vectors, request.probes))


def _best_rows(
    snap: Snapshot, filters: Sequence[SqlFilter | None], ranked: Ranked, hits: Sequence[Hit]
) -> I64:
    """The ranked rows with the most words and the highest likeness that the catalog confirms."""
    out = [ranked.rows_of(np.array([hit.id for hit in hits], np.int64))]
    for values in ranked.values():
        rows = ranked.passing()
        rows = rows[rows < len(values)]
        least = values[out[0]].max(initial=-np.inf)
        rows = rows[values[rows] > least]
        rows = rows[np.lexsort((ranked.ids[rows], -values[rows]))][:_MOST]
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            passing = _confirmed(snap, filters, ranked.store[chunk], ranked.ids[chunk])
            if passing.any():
                out.append(chunk[passing][:1])
                break
    return np.concatenate(out)


def _at_even_distances(
    snap: Snapshot, views: Sequence[WordView], count: int
) -> tuple[I64, I64, NDArray[np.uint32], NDArray[np.uint32]]:
    """Ids, stores and places of memories at even distances in the order of their ids."""
    at = evenly_spaced(count, _LOOKED_AT)
    ids, stores, parts, slots, first = [], [], [], [], 0
    for n, view in enumerate(views):
        mine = at[(at >= first) & (at < first + view.n_rows)] - first
        first += view.n_rows
        if not len(mine):
            continue
        rows = in_order(view)[mine]
        part, slot = places_of(snap, n, view, rows)
        there = slot != NOWHERE
        ids.append(view.ids(rows[there]))
        stores.append(np.full(len(ids[-1]), n, np.int64))
        parts.append(part[there])
        slots.append(slot[there])
    return (
        np.concatenate(ids), np.concatenate(stores), np.concatenate(parts), np.concatenate(slots)
    )


def _is_open(filters: Sequence[SqlFilter | None]) -> bool:
    return all(each is None for each in filters)


def _confirmed(
    snap: Snapshot, filters: Sequence[SqlFilter | None], store: I64, ids: I64
) -> NDArray[np.bool_]:
    """(n,) which of some memories their store's filter lets through."""
    out = np.zeros(len(ids), np.bool_)
    for n, condition in enumerate(filters):
        mine = store == n
        if condition is None:
            out |= mine
        elif mine.any():
            wanted = rounded(ids[mine].tolist())
            marks = ",".join("?" * len(wanted))
            found = snap.stores[n].catalog.places(
                f"record.id IN ({marks}) AND ({condition.sql})", (*wanted, *condition.params)
            )
            out |= mine & np.isin(ids, [record_id for _, _, record_id in found])
    return out
