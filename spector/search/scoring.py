"""A search by the kernel's score alone, widened until no filter has cut its answer short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.config import Config
from spector.kernel.contract import REACH, Query, Ranking, ScanResult, dots
from spector.lexical import WordView
from spector.records import Hit, ScanStats
from spector.search.features import (
    NOWHERE,
    FeatureTable,
    all_features,
    deviation,
    features_of,
    mixed_vectors,
    places_of,
    rows_in,
)
from spector.search.fusion import Corpus, fuse
from spector.search.named import LexicalQuery
from spector.search.newer import (
    LOOKED_AT,
    has_value_asked,
    move_newer_first,
    newer_values,
    newer_versions,
)
from spector.search.ordering import Modifier, Ranked, confirmed, scanned_hits
from spector.search.plan import (
    AllowedRecords,
    Plan,
    allowed_records,
    is_unfiltered,
)
from spector.search.selection import DEEP, WINDOW, demote_floods, is_doubted, trusted_candidates
from spector.search.signals import SignalCollector
from spector.search.snapshot import Answer, Candidate, Snapshot
from spector.search.standing import Standing
from spector.search.words import LexicalChannel

#: candidates that are confirmed one by one before the catalog resolves a filter for all records
MOST_CANDIDATES: Final = 2048
#: records taken from the scan before it is known whether more are needed: of a filter that only
#: the catalog knows, and beyond those wanted of one that the gate applies too, which lets few
#: strangers pass unless what it leaves is rare
_CANDIDATES, _STRANGERS = 128, 4
#: filters of which it is remembered how many candidates they took
_REMEMBERED: Final = 256
#: evidence of the memory whose id the cue is
_IDENTITY: Final = 100.0


def best_by_score(plan: Plan) -> Answer:
    """The best by score; the memory whose id the cue is comes first."""
    first = hit_of_id(plan) if plan.request.lexical else None
    answer = _best(plan)
    if first is None:
        return answer
    rest = [each for each in answer.hits if each.id != first.id]
    return Answer((first, *rest)[: plan.k], answer.stats)


def _best(plan: Plan) -> Answer:
    k, query, filtered = plan.k, plan.query, plan.is_filtered
    gate = (k, query.tags_all, *query.any_masks.tolist())
    want, allow = _first_count(plan, gate) if filtered else k, None
    while True:
        result = plan.scan(want, allow)
        ordered = scanned_hits(plan.snap, result.hits)
        hits, dropped = confirmed(plan, ordered, k)
        if len(result) < want or len(hits) == k:
            # every record that passes the filters has been considered, or enough were
            if filtered and allow is None:
                _remember(plan, gate, k + 2 * dropped + _STRANGERS)
            break
        if allow is None and want < _CANDIDATES:
            want = _CANDIDATES
        elif allow is None and want < MOST_CANDIDATES and not plan.request.selection.keys:
            want = max(MOST_CANDIDATES, 2 * want)
        elif allow is None and filtered:
            # exact from here on; nothing more will be dropped by it
            allow, want = allowed_records(plan).allow, max(want, k)
        elif dropped:
            want = 2 * want + dropped
        else:
            break
    return Answer(tuple(hits), plan.stats(result))


def _first_count(plan: Plan, gate: tuple[int, ...]) -> int:
    """How many to ask of the first scan through a filter: a few too many cost it more time than
    all that the gate does, and too few a second scan."""
    if plan.request.selection.where or (len(gate) == 2 and not gate[1]):
        return max(plan.k, _CANDIDATES)
    return max(plan.k, plan.means.enough.get(gate, plan.k + _STRANGERS))


def _remember(plan: Plan, gate: tuple[int, ...], candidates: int) -> None:
    enough = plan.means.enough
    if len(enough) >= _REMEMBERED:
        enough.clear()
    enough[gate] = min(candidates, MOST_CANDIDATES)


def hit_of_id(plan: Plan) -> Hit | None:
    """The memory whose id the cue is, if there is one and it passes the filters."""
    record_id = plan.request.reading.record_id
    if record_id is None:
        return None
    found = hits_of(plan, [record_id], {"name": _IDENTITY})
    return found[0] if found else None


def hits_of(
    plan: Plan,
    ids: Sequence[int],
    evidence: Mapping[str, float] | None = None,
    *,
    most: int | None = None,
) -> list[Hit]:
    """Those of some memories that pass every gate and filter of a plan, in their order.

    Args:
        most: so many of them, the first; None for all.
    """
    snap, more = plan.snap, sum((evidence or {}).values())
    made: dict[int, Candidate] = {}
    for n, store in enumerate(snap.stores):
        places: list[tuple[int, int, int]] = []
        for found, (segment_id, slot) in store.catalog.places_of(ids).items():
            part = snap.position_of(n, segment_id, slot)
            if plan.mask is None or plan.mask[part]:
                places.append((found, part, slot))
        if not places:
            continue
        sims = np.zeros(len(places), np.float32)
        scores = snap.kernel.score(
            snap.table,
            plan.query,
            [part for _, part, _ in places],
            [slot for _, _, slot in places],
            similarity=sims,
        ).tolist()
        for (found, part, slot), score, sim in zip(places, scores, sims.tolist(), strict=True):
            if score > -np.inf:
                made[found] = Candidate(
                    found, n, part, slot, score, sim, dict(evidence or {}), score + more
                )
    ordered = [made[each] for each in ids if each in made]
    count = len(ordered) if most is None else most
    return confirmed(plan, ordered, count)[0] if ordered else []


# A search by the kernel's score and all evidence: words, people, dates, the turns around.

#: makes the modifier of one ranking; None where it changes nothing
MakeModifier = Callable[[Plan, Ranked], Modifier | None]


class _Found(NamedTuple):
    """The hits of a ranking, the statistics of its scan, the ranking itself, and the instructions
    that were set aside in it, best first."""

    hits: list[Hit]
    stats: ScanStats
    ranked: Ranked
    instructions: Sequence[Candidate]


class EvidenceSearch:
    """Ranks the candidates of a plan, confirms the best, and decides their final order."""

    def __init__(
        self,
        config: Config,
        lexical: LexicalChannel,
        standing: Standing,
        modifiers: Sequence[MakeModifier],
    ) -> None:
        """``modifiers``: change the scores of candidates after all evidence, before the first k."""
        self._config = config
        self._lexical = lexical
        self._standing = standing
        self._ranker = CandidateRanker(config)
        self._signals = SignalCollector()
        self._modifiers = modifiers

    def drop_caches(self) -> None:
        self._ranker.drop_caches()
        self._signals.drop_caches()

    def answer(self, plan: Plan) -> Answer:
        """The best by all evidence, in their final order, with signals."""
        cue = self._lexical.query(plan)
        versions = plan.request.reading.asks_for_now and plan.request.profile.ranking.newer
        values = plan.request.profile.ranking.newer and has_value_asked(plan.request.cue.text or "")
        found = (self._of_small if self._ranker.is_small(cue.rows) else self._of_large)(plan, cue)
        hits = found.hits
        signals = partial(self._signals.signals, plan, cue, found.ranked, hits)
        if is_doubted(hits):
            hits = demote_floods(hits, partial(self._others, plan, cue, found.ranked))
        newer: dict[int, tuple[int, ...]] = {}
        if versions:
            newer = newer_versions(hits, plan.request.cue.text or "")
            hits = move_newer_first(hits, newer)
        if values:
            later = newer_values(hits[:LOOKED_AT], plan.request.cue.text or "")
            hits = move_newer_first(hits, later)
        first = hit_of_id(plan)
        if first is not None:
            hits = [first, *(hit for hit in hits if hit.id != first.id)]
        least = hits[0].score if hits else -np.inf
        wanted = [each for each in found.instructions if each.score > least]
        standing = confirmed(plan, wanted, 1)[0] if wanted else ()
        return Answer(tuple(hits), found.stats, signals, tuple(standing), newer)

    # -- ranking --------------------------------------------------------------------------------

    def _of_small(self, plan: Plan, cue: LexicalQuery) -> _Found:
        """The first hits of everything there is."""
        result = None
        if plan.select is not None or not is_unfiltered(plan.query) or _lacks_words(plan):
            result = plan.scan(plan.k)
        ranked = self._modify(plan, self._ranker.all_of(plan, cue, result))
        stats = plan.stats(result, len(ranked))
        instructions = self._standing.set_aside(plan, ranked)
        most = MOST_CANDIDATES if plan.is_filtered else None
        hits, _ = confirmed(plan, ranked, plan.k, distinct=True, most=most)
        if len(hits) < plan.k and most is not None and most < len(ranked):
            ranked.only(allowed_records(plan).codes)
            hits, _ = confirmed(plan, ranked, plan.k, distinct=True)
        return _Found(hits, stats, ranked, instructions)

    def _of_large(self, plan: Plan, cue: LexicalQuery) -> _Found:
        """The first hits of as many candidates as it takes."""
        first, by_words = max(plan.k, BY_SCORE), max(plan.k, BY_WORDS)
        allow: AllowedRecords | None = None
        want = first
        while True:
            result = plan.scan(want, allow.allow if allow else None)
            ranked = self._ranker.best_of(plan, cue, result, by_words, allow)
            instructions = self._standing.set_aside(plan, self._modify(plan, ranked))
            if allow is not None:
                ranked.only(allow.codes)
            hits, _ = confirmed(plan, ranked, plan.k, distinct=True)
            if len(hits) >= plan.k or len(result) < want:
                return _Found(hits, plan.stats(result), ranked, instructions)
            if plan.is_filtered and allow is None and want > first:
                allow = allowed_records(plan)
            else:
                want, by_words = 4 * want, 4 * by_words

    def _modify(self, plan: Plan, ranked: Ranked) -> Ranked:
        for make in self._modifiers:
            modifier = make(plan, ranked)
            if modifier is not None:
                ranked.modify(modifier)
        return ranked

    # -- order ----------------------------------------------------------------------------------

    def _others(self, plan: Plan, cue: LexicalQuery, ranked: Ranked) -> list[Hit]:
        """The best hits that are believed, beside a flood that may fill the candidates."""
        if not ranked.is_whole:
            ranked = self._of_large(replace(plan, k=DEEP), cue).ranked
        return confirmed(plan, trusted_candidates(plan.snap, ranked), WINDOW)[0]


def _lacks_words(plan: Plan) -> bool:
    """Whether there are records without words in the index: rows of the catalog are damaged."""
    live = sum([partition.live for view in plan.snap.views for partition in view.partitions])
    return live != sum([view.n_rows for view in plan.every])


# Chooses the candidates of a plan and ranks them by all evidence.
#
# A small store is ranked whole, so nothing can be missed. Of a large store the candidates are the
# best by the kernel's score, the best by words, and the neighbours of both in their sessions; more of
# them when more hits are wanted or a filter leaves too few. Filters are exact in both cases: what the
# catalog does not confirm is dropped, and before that can truncate an answer the catalog resolves the
# filter to a list of all records that pass.

#: candidates by score and by words, and how many of the latter must pass the filters; the scan of a
#: large store slows down with what it is asked for (bench/log/recall.md, "How many candidates")
BY_SCORE: Final = 64
BY_WORDS: Final = 128
_ENOUGH: Final = 48
_MOST_BY_WORDS: Final = 8192
#: memories whose cosines represent a large store
_SAMPLE: Final = 1000
#: users whose features or sample are kept
_USERS: Final = 8
#: the sample is taken anew when the store has grown or shrunk by this share
_DRIFT: Final = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """The features of all memories of all stores, as of a snapshot."""

    snap: Snapshot
    views: tuple[WordView, ...]
    tables: tuple[FeatureTable, ...]
    _corpus: dict[Any, Corpus] = field(default_factory=dict)

    def corpus(self, ranking: Ranking) -> Corpus:
        """Figures of all memories, which no cue changes."""
        key = (ranking.before, ranking.after, ranking.long_words)
        found = self._corpus.get(key)
        if found is None:
            rows = sum(view.n_rows for view in self.views)
            plain = _mean([features.spread_lengths(ranking) for features in self.tables], 1.0)
            more = _mean([features.field_lengths for features in self.tables], 0.0)
            found = self._corpus[key] = Corpus(rows, plain + more)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """What represents a large store: mixed unit vectors (n, dim) f32 and a mean length."""

    rows: tuple[int, ...]
    ranking: Ranking
    vectors: NDArray[np.float32]
    mean_length: float


class CandidateRanker:
    """Ranks candidates by all evidence. Thread-safe: what it keeps is replaced as a whole."""

    def __init__(self, config: Config) -> None:
        self._config = config
        #: of the last users, newest first
        self._whole: tuple[_Whole, ...] = ()
        self._samples: dict[tuple[str | None, ...], _Sample] = {}

    def drop_caches(self) -> None:
        """Keep nothing: a sample may hold vectors that were erased since."""
        self._whole, self._samples = (), {}

    def is_small(self, rows: int) -> bool:
        """Whether a store with so many rows is ranked whole."""
        return rows <= self._config.rank_all_records

    def all_of(self, plan: Plan, cue: LexicalQuery, result: ScanResult | None) -> Ranked:
        """The ranking of all memories of a small store; ``result`` adds records without words."""
        snap, views = plan.snap, plan.views
        kept = [each for each in self._whole if each.snap is snap]
        whole = next((each for each in kept if each.views == views), None)
        if whole is None:
            tables = tuple(
                [all_features(snap, n, view) for n, view in enumerate(views) if view.n_rows]
            )
            whole = _Whole(snap, views, tables)
            self._whole = (whole, *kept[: _USERS - 1])
        corpus = whole.corpus(plan.query.profile.ranking)
        ranked = fuse(plan, whole.tables, cue, corpus, result)
        ranked.is_whole = True
        return ranked

    def best_of(
        self,
        plan: Plan,
        cue: LexicalQuery,
        result: ScanResult,
        by_words: int,
        allow: AllowedRecords | None,
    ) -> Ranked:
        """The ranking of a large store's candidates: of ``result``, by words, and neighbours."""
        views, query = plan.views, plan.query
        sample = self._sample_of(plan.snap, views, query.profile.ranking)
        rows = sum([view.n_rows for view in views])
        corpus = Corpus(rows, sample.mean_length, _spread(sample, query))
        tables = tuple(
            [
                _candidates(plan, n, view, cue, result, by_words, allow)
                for n, view in enumerate(views)
                if view.n_rows
            ]
        )
        return fuse(plan, tables, cue, corpus, result)

    def _sample_of(self, snap: Snapshot, views: tuple[WordView, ...], ranking: Ranking) -> _Sample:
        """The sample, taken anew when the stores have drifted away from it."""
        users, rows = tuple([view.user for view in views]), tuple(view.n_rows for view in views)
        kept = self._samples.get(users)
        if (
            kept is not None
            and kept.ranking == ranking
            and len(kept.rows) == len(rows)
            and all(abs(a - b) <= _DRIFT * max(a, 1) for a, b in zip(kept.rows, rows, strict=True))
        ):
            return kept
        share = max(1.0, sum(rows) / _SAMPLE)
        tables = []
        for n, view in enumerate(views):
            if not view.n_rows:
                continue
            alive = np.flatnonzero(view.alive)
            chosen = (np.arange(int(len(alive) / share)) * share).astype(np.int64)
            tables.append(features_of(snap, n, view, alive[chosen]))
        mean = _mean([features.spread_lengths(ranking) for features in tables], 1.0)
        more = _mean([features.field_lengths for features in tables], 0.0)
        vectors = np.concatenate([mixed_vectors(snap, g, ranking.near) for g in tables])
        if len(self._samples) >= _USERS:
            self._samples = {}
        self._samples[users] = kept = _Sample(rows, ranking, vectors, mean + more)
        return kept


def _candidates(
    plan: Plan,
    n: int,
    view: WordView,
    cue: LexicalQuery,
    result: ScanResult,
    by_words: int,
    allow: AllowedRecords | None,
) -> FeatureTable:
    """The candidates of one store: by score, by words, by alias, and their neighbours."""
    snap, parts = plan.snap, result.hits["part"]
    first = snap.offsets[n]
    mine = (parts >= first) & (parts < first + len(snap.views[n].partitions))
    by_score = view.rows(result.hits["id"][mine].astype(np.int64))
    found = np.concatenate(
        [
            by_score[by_score >= 0],
            _best_by_words(plan, n, view, cue, by_words, allow),
            cue.aliases.rows[n] if cue.aliases else np.zeros(0, np.int64),
        ]
    )
    near = view.neighbours(found, REACH)
    return features_of(snap, n, view, rows_in([found, near.ravel()]))


def _best_by_words(
    plan: Plan,
    n: int,
    view: WordView,
    cue: LexicalQuery,
    count: int,
    allow: AllowedRecords | None,
) -> I64:
    """Rows with the best BM25; more of them, that pass the filters, until these are enough."""
    if not cue.terms or not len(view):
        return np.zeros(0, np.int64)
    snap, ranking, least = plan.snap, plan.query.profile.ranking, count
    mask = None
    if allow is not None:
        mask = allow.allow.admits(*places_of(snap, n, view, np.arange(len(view))))
    while True:
        rows, _ = view.best(cue.words[n], k=count, allow=mask, k1=ranking.k1, b=ranking.b)
        if len(rows) < least or is_unfiltered(plan.query):
            return rows
        part, slot = places_of(snap, n, view, rows)
        passes = slot != NOWHERE
        passes[passes] = (
            snap.kernel.score(snap.table, plan.query, part[passes], slot[passes]) > -np.inf
        )
        inside = int(np.count_nonzero(passes))
        if inside >= _ENOUGH or len(rows) < count or count >= _MOST_BY_WORDS:
            passes[:least] = True
            wanted: I64 = rows[passes]
            return wanted
        count = min(max(2 * count, count * 5 * _ENOUGH // max(4 * inside, 1)), _MOST_BY_WORDS)


def _spread(sample: _Sample, query: Query) -> np.float32 | None:
    if query.vector is None:
        return None
    # stored ones are padded
    return deviation(dots(sample.vectors[:, : len(query.vector)], query.vector))


def _mean(arrays: Sequence[NDArray[np.float32]], none: float) -> float:
    """Of all numbers in some arrays; ``none`` if there are none."""
    values = np.concatenate(arrays)
    return float(np.mean(values, dtype=np.float64)) if len(values) else none
