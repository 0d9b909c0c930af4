"""Signals of a cue as a whole, over the memories that pass the filters of its plan.

One user's volume must not make another user's recall abstain. So everything is judged by what
passes the filters: how many memories there are, how similar they are to unrelated questions, how
much of the cue the best of them covers, how similar the closest one is. Counted in deviations from
the cosines of unrelated questions (`probes`), a cosine means the same in every store and for every
model. Of many that may pass, a sample is confirmed by the catalog; it depends on the memories
alone, not on earlier recalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.kernel.contract import cosine_table, dots, norm
from spector.lexical import WordView
from spector.records import Hit, Signals
from spector.search.features import find_places, unit_vectors
from spector.search.ordering import Ranked
from spector.search.plan import Plan, allowed_records
from spector.search.snapshot import Snapshot, vectors_of
from spector.search.words import LexicalQuery, names_unknown
from spector.store.catalog import pad_ids

#: memories whose cosines represent all
SAMPLE: Final = 256
#: fewer memories give no level
_FEWEST: Final = 4
#: the smallest deviation: probes with equal cosines measure nothing
_LEAST: Final = 0.02
#: a stored vector is of length 1, or all zeros where nothing was embedded
_SOME: Final = 0.5
#: memories of a large store that are looked at for those that pass
_LOOKED_AT: Final = 4096
#: of fewer that pass, although not all were looked at, nothing is said
_ENOUGH: Final = 32
#: the best are put to the catalog in chunks, the first that passes counts; at most so many
_CHUNK: Final = 32
_MOST: Final = 512
#: filters whose answer is kept until the store changes
_FILTERS: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Passing:
    """The memories that pass a filter, whatever the cue.

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

    def __init__(self) -> None:
        self._kept: tuple[Snapshot | None, dict[Any, _Passing]] = (None, {})

    def drop_caches(self) -> None:
        self._kept = (None, {})

    def signals(
        self, plan: Plan, cue: LexicalQuery, ranked: Ranked, hits: Sequence[Hit]
    ) -> Signals:
        """The signals of a plan's cue.

        Args:
            hits: the best ``plan.k`` that pass, or all that do.
        """
        # help with something new is wanted of what is known about the one who asks
        unknown_name = cue.kind == "fact" and names_unknown(plan.views, cue)
        is_all = plan.request.is_scoped and len(hits) < plan.k
        passing = _of_hits(plan, hits) if is_all else self._passing(plan, ranked)
        coverage: float = ranked.coverage
        closest: float | None = ranked.cosine
        if plan.request.is_scoped:
            if passing.ids is not None:
                rows = ranked.rows_of(passing.ids)
            elif _is_exact(plan, ranked):
                rows = ranked.passing()
            else:
                rows = _best_rows(plan, ranked, hits)
            coverage, closest = ranked.signals_of(rows)
        closest = _of_whole_cue(plan, closest, hits)
        return Signals(
            kind=str(cue.kind),
            coverage=coverage,
            cosine=closest,
            unknown_name=unknown_name,
            likeness=z_score(closest, passing.level),
            memories=max(passing.memories, len(hits)),
            measured=passing.measured,
        )

    def _passing(self, plan: Plan, ranked: Ranked) -> _Passing:
        """The same for every cue, so it is kept for those that follow."""
        request, query = plan.request, plan.query
        key = (
            request.filter_key,
            plan.filters if request.is_scoped else (),
            ranked.allowed is None,
            query.retention_floor and (query.profile, query.now_ms),
            None if request.probes is None else request.probes[:, 0].tobytes(),
        )
        snapshot, kept = self._kept
        if snapshot is not plan.snap or len(kept) >= _FILTERS:
            kept = {}
            self._kept = (plan.snap, kept)
        found = kept.get(key)
        if found is None:
            found = kept[key] = (_of_whole if ranked.is_whole else _of_large)(plan, ranked)
        return found


def _is_exact(plan: Plan, ranked: Ranked) -> bool:
    """Whether all that passes is known without the catalog, or what does not may count as well."""
    return ranked.allowed is not None or not (plan.is_filtered and plan.request.is_scoped)


def z_score(cosine: float | None, level: tuple[float, float] | None) -> float | None:
    """Deviations that a cosine lies above a mean, see `level_of`; None without either."""
    if cosine is None or level is None:
        return None
    mean, deviation = level
    return (cosine - mean) / max(deviation, _LEAST)


def level_of(
    vectors: NDArray[np.float32], probes: NDArray[np.float32]
) -> tuple[float, float] | None:
    """Mean and standard deviation of the cosines of (n, dim) f32 unit rows with those of probes,
    (p, dim) f32.

    Rows of zeros are left out. None for fewer than four rows. O(n p dim).
    """
    some = vectors[np.einsum("nd,nd->n", vectors, vectors) > _SOME]
    if len(some) < _FEWEST:
        return None
    cosines = cosine_table(probes, some[:, : probes.shape[1]])  # stored ones are padded
    return float(cosines.mean(dtype=np.float64)), float(cosines.std(dtype=np.float64))


def _level(
    plan: Plan, part: NDArray[np.uint32], slot: NDArray[np.uint32]
) -> tuple[float, float] | None:
    """`level_of` memories at some places, which are read only where there are probes."""
    probes = plan.request.probes
    return None if probes is None else level_of(unit_vectors(plan.snap, part, slot), probes)


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced positions below ``count``: all of them, or ``most``."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def _of_whole_cue(plan: Plan, closest: float | None, hits: Sequence[Hit]) -> float | None:
    """The highest cosine with the cue as it is, which unrelated questions are compared with."""
    vector = plan.request.cue.vector
    if vector is None or plan.request.asking is None or not hits:
        return None if plan.query.vector is None else closest
    rows = vectors_of(hits)[:, : len(vector)]  # stored ones are padded
    return float(dots(rows, vector).max()) / max(norm(vector), 1e-12)


def _of_large(plan: Plan, ranked: Ranked) -> _Passing:
    """By evenly spaced memories: those that pass the filters, confirmed by the catalog."""
    snap = plan.snap
    if ranked.allowed is not None:
        count = len(ranked.allowed)
        code = ranked.allowed[evenly_spaced(count, _LOOKED_AT)]
        ids = store = np.zeros(len(code), np.int64)  # not used
        part = (code >> np.uint64(32)).astype(np.uint32)
        slot = code.astype(np.uint32)
    else:
        count = sum(view.n_rows for view in plan.views)
        ids, store, part, slot = _spaced_over(snap, plan.views, count)
    looked = len(ids)
    some = np.flatnonzero(plan.passes(part, slot))
    passed = len(some)
    some = some[evenly_spaced(passed, SAMPLE)]
    ids, store, part, slot = ids[some], store[some], part[some], slot[some]
    kept = np.ones(len(ids), np.bool_)
    if not _is_exact(plan, ranked):
        kept = _confirm(plan, store, ids)
    seen = int(np.count_nonzero(kept))
    if seen < _ENOUGH and looked < count:
        return _Passing(None, seen, None, measured=False)
    memories = round(count * (passed / max(1, looked)) * (seen / max(1, len(ids))))
    return _Passing(None, memories, _level(plan, part[kept], slot[kept]))


def _of_hits(plan: Plan, hits: Sequence[Hit]) -> _Passing:
    """All that pass are hits."""
    ids = np.array([hit.id for hit in hits], np.int64)
    level, probes = None, plan.request.probes
    if len(hits) and probes is not None:
        order = np.argsort(ids)[evenly_spaced(len(ids), SAMPLE)].tolist()
        level = level_of(vectors_of([hits[n] for n in order]), probes)
    return _Passing(ids, len(hits), level)


def _of_whole(plan: Plan, ranked: Ranked) -> _Passing:
    """Everything was ranked, so what may pass is known, and mostly what does."""
    rows = ranked.passing()
    rows = rows[np.argsort(ranked.ids[rows])]
    memories = len(rows)
    some = rows[evenly_spaced(memories, SAMPLE)]
    ids = None
    if not _is_exact(plan, ranked):
        kept = some[_confirm(plan, ranked.store[some], ranked.ids[some])]
        if len(kept) < _ENOUGH and len(some) < memories:
            rows = rows[np.isin(ranked.codes(rows), allowed_records(plan).codes)]
            memories, ids = len(rows), ranked.ids[rows]
            kept = rows[evenly_spaced(memories, SAMPLE)]
        else:
            if len(some) == memories:
                ids = ranked.ids[kept]
            memories = round(memories * len(kept) / max(1, len(some)))
        some = kept
    return _Passing(ids, memories, _level(plan, ranked.part[some], ranked.slot[some]))


def _best_rows(plan: Plan, ranked: Ranked, hits: Sequence[Hit]) -> I64:
    """The ranked rows with the most words and the highest cosine that the catalog confirms."""
    out = [ranked.rows_of(np.array([hit.id for hit in hits], np.int64))]
    for values in ranked.values():
        rows = ranked.passing()
        rows = rows[rows < len(values)]
        least = values[out[0]].max(initial=-np.inf)
        rows = rows[values[rows] > least]
        rows = rows[np.lexsort((ranked.ids[rows], -values[rows]))][:_MOST]
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            passing = _confirm(plan, ranked.store[chunk], ranked.ids[chunk])
            if passing.any():
                out.append(chunk[passing][:1])
                break
    return np.concatenate(out)


def _spaced_over(
    snap: Snapshot, views: Sequence[WordView], count: int
) -> tuple[I64, I64, NDArray[np.uint32], NDArray[np.uint32]]:
    """Ids, stores and places of evenly spaced memories in the order of their ids."""
    at = evenly_spaced(count, _LOOKED_AT)
    found, first = list[tuple[Any, ...]](), 0
    for n, view in enumerate(views):
        mine = at[(at >= first) & (at < first + view.n_rows)] - first
        first += view.n_rows
        if not len(mine):
            continue
        alive = np.flatnonzero(view.alive)
        rows = alive[np.argsort(view.ids(alive), kind="stable")[mine]]
        rows, part, slot = find_places(snap, n, view, rows)
        found.append((view.ids(rows), np.full(len(rows), n, np.int64), part, slot))
    ids, stores, parts, slots = map(np.concatenate, zip(*found, strict=True))
    return ids, stores, parts, slots


def _confirm(plan: Plan, store: I64, ids: I64) -> NDArray[np.bool_]:
    """(n,) which of some memories their store's filter lets through."""
    out = np.zeros(len(ids), np.bool_)
    for n, condition in enumerate(plan.filters):
        mine = store == n
        if condition is None:
            out |= mine
        elif mine.any():
            wanted = pad_ids(ids[mine].tolist())
            marks = ",".join("?" * len(wanted))
            found = plan.snap.stores[n].catalog.places(
                f"record.id IN ({marks}) AND ({condition.sql})", (*wanted, *condition.params)
            )
            out |= mine & np.isin(ids, [record_id for _, _, record_id in found])
    return out
