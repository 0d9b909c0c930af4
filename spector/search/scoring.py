"""Searches by the kernel's score alone, and by that and all evidence: words, people, dates.

A search is widened until no filter has cut its answer short. With evidence, on one scale,

    score = fused + w_lexical * sd * (w W + about - said_by + preference + form)
                  + w_similarity * (cosine mixed with neighbours - cosine)

``fused`` is the kernel's score, unchanged. ``sd`` is the standard deviation of the cue's similarity
over the store. Evidence is counted in deviations, so words and vectors are comparable in every
store, and are on the scale of the profile's cosines. See "Ranking research" in bench/log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I64
from spector.config import Config
from spector.kernel.contract import (
    DEFAULT_DROP_FLAGS,
    REACH,
    Kernel,
    Query,
    Ranking,
    ScanResult,
    ScoringProfile,
    dots,
    make_query,
)
from spector.lexical import WordView
from spector.records import Hit, HitList, ScanStats
from spector.search.features import (
    NOWHERE,
    TYPICAL_DEVIATION,
    FeatureTable,
    all_features,
    deviation,
    features_of,
    idf_of,
    length_norm,
    mark_rows,
    mix_neighbours,
    mixed_vectors,
    places_of,
    reciprocal_ranks,
)
from spector.search.newer import (
    LOOKED_AT,
    has_value_asked,
    move_newer_first,
    newer_values,
    newer_versions,
)
from spector.search.ordering import Modifier, Ranked, confirm, scanned_hits, unfeatured_hits
from spector.search.plan import (
    AllowedRecords,
    Plan,
    allowed_records,
    is_unfiltered,
)
from spector.search.selection import DEEP, WINDOW, demote_floods, is_doubted, trusted_candidates
from spector.search.signals import SignalCollector
from spector.search.snapshot import Candidate, Snapshot
from spector.search.standing import Standing
from spector.search.words import LexicalChannel, LexicalQuery, named_rows, overriding_score

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


def best_by_score(plan: Plan) -> HitList:
    """The best by score; the memory whose id the cue is comes first."""
    first = hit_of_id(plan) if plan.request.lexical else None
    answer = _best(plan)
    if first is None:
        return answer
    rest = [each for each in answer if each.id != first.id]
    return answer._holding([first, *rest][: plan.k])


def _best(plan: Plan) -> HitList:
    k, query, filtered = plan.k, plan.query, plan.is_filtered
    gate = (k, query.tags_all, *query.any_masks.tolist())
    want, allow = _first_count(plan, gate) if filtered else k, None
    while True:
        result = plan.scan(want, allow)
        ordered = scanned_hits(plan.snap, result.hits)
        hits, dropped = confirm(plan, ordered, k)
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
    return HitList(hits, plan.stats(result))


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
    return confirm(plan, ordered, count)[0] if ordered else []


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
        #: a store of up to so many memories is ranked whole
        self._rank_all = config.rank_all_records
        self._lexical, self._standing, self._modifiers = lexical, standing, modifiers
        self.drop_caches()

    def drop_caches(self) -> None:
        """Keep nothing: a sample may hold vectors that were erased since."""
        self._signals = SignalCollector()
        #: of the last users, newest first
        self._whole: tuple[_Whole, ...] = ()
        self._samples: dict[tuple[str | None, ...], _Sample] = {}

    def answer(self, plan: Plan, *, judged: bool) -> HitList:
        """The best by all evidence, in their final order; where it is ``judged``, with signals."""
        cue = self._lexical.query(plan)
        versions = plan.request.reading.asks_for_now and plan.request.profile.ranking.newer
        values = plan.request.profile.ranking.newer and has_value_asked(plan.request.cue.text or "")
        found = (self._of_small if cue.rows <= self._rank_all else self._of_large)(plan, cue)
        hits = found.hits
        signals = self._signals.signals(plan, cue, found.ranked, hits) if judged else None
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
        standing = confirm(plan, wanted, 1)[0] if wanted else ()
        return HitList(hits, found.stats, signals=signals, standing=tuple(standing), outdated=newer)

    # -- ranking --------------------------------------------------------------------------------

    def _of_small(self, plan: Plan, cue: LexicalQuery) -> _Found:
        """The first hits of everything there is."""
        result = None
        if plan.select is not None or not is_unfiltered(plan.query) or _lacks_words(plan):
            result = plan.scan(plan.k)
        ranked = self._modify(plan, self._all_of(plan, cue, result))
        stats = plan.stats(result, len(ranked))
        instructions = self._standing.set_aside(plan, ranked)
        most = MOST_CANDIDATES if plan.is_filtered else None
        hits, _ = confirm(plan, ranked, plan.k, distinct=True, most=most)
        if len(hits) < plan.k and most is not None and most < len(ranked):
            ranked.only(allowed_records(plan).codes)
            hits, _ = confirm(plan, ranked, plan.k, distinct=True)
        return _Found(hits, stats, ranked, instructions)

    def _of_large(self, plan: Plan, cue: LexicalQuery) -> _Found:
        """The first hits of as many candidates as it takes."""
        first, by_words = max(plan.k, BY_SCORE), max(plan.k, BY_WORDS)
        allow: AllowedRecords | None = None
        want = first
        while True:
            result = plan.scan(want, allow.allow if allow else None)
            ranked = self.best_of(plan, cue, result, by_words, allow)
            instructions = self._standing.set_aside(plan, self._modify(plan, ranked))
            if allow is not None:
                ranked.only(allow.codes)
            hits, _ = confirm(plan, ranked, plan.k, distinct=True)
            if len(hits) >= plan.k or len(result) < want:
                return _Found(hits, plan.stats(result), ranked, instructions)
            if plan.is_filtered and allow is None and want > first:
                allow = allowed_records(plan)
            else:
                want, by_words = 4 * want, 4 * by_words

    def _all_of(self, plan: Plan, cue: LexicalQuery, result: ScanResult | None) -> Ranked:
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
        mean_length = _mean_length(whole.tables, plan.query.profile.ranking)
        corpus = Corpus(sum(view.n_rows for view in views), mean_length)
        ranked = _fuse(plan, whole.tables, cue, corpus, result)
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
        return _fuse(plan, tables, cue, corpus, result)

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
        vectors = np.concatenate([mixed_vectors(snap, g, ranking.near) for g in tables])
        if len(self._samples) >= _USERS:
            self._samples = {}
        self._samples[users] = kept = _Sample(rows, ranking, vectors, _mean_length(tables, ranking))
        return kept

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
        return confirm(plan, trusted_candidates(plan.snap, ranked), WINDOW)[0]


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


class _Whole(NamedTuple):
    """The features of all memories of all stores, as of a snapshot."""

    snap: Snapshot
    views: tuple[WordView, ...]
    tables: tuple[FeatureTable, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """What represents a large store: mixed unit vectors (n, dim) f32 and a mean length."""

    rows: tuple[int, ...]
    ranking: Ranking
    vectors: NDArray[np.float32]
    mean_length: float


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
    return features_of(snap, n, view, mark_rows(len(view), [found, near.ravel()]))


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


def _mean_length(tables: Sequence[FeatureTable], ranking: Ranking) -> float:
    """Of memories with the turns around and the fields."""
    plain = _mean([features.spread_lengths(ranking) for features in tables], 1.0)
    return plain + _mean([features.field_lengths for features in tables], 0.0)


def _mean(arrays: Sequence[NDArray[np.float32]], none: float) -> float:
    """Of all numbers in some arrays; ``none`` if there are none."""
    values = np.concatenate(arrays)
    return float(np.mean(values, dtype=np.float64)) if len(values) else none


# Adds all evidence to the kernel's scores of given memories.

#: words of others are lowered by so many times the weight of ``about``: they rank behind nearly all
#: that the speaker has said, and are still found when he said nothing
_BY_OTHERS: Final = 2.0
#: of a cosine, with the rounding of codes
_HIGHEST: Final = np.float32(1.01)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Figures of all stores together.

    Attributes:
        rows: memories.
        mean_length: mean length with the turns around and the fields.
        spread: deviation of the cue's cosines, where it is not that of what is ranked.
    """

    rows: int
    mean_length: float
    spread: np.float32 | None = None


def _fuse(
    plan: Plan,
    tables: Sequence[FeatureTable],
    cue: LexicalQuery,
    corpus: Corpus,
    result: ScanResult | None,
) -> Ranked:
    """The ranked rows of some tables with all evidence, and hits of a scan that are in none.

    Args:
        result: its hits beyond the tables (records that the catalog has no words of) rank by
            the kernel's score alone.
    """
    snap, query, profile = plan.snap, plan.query, plan.query.profile
    weight = plan.word_weight
    fused, similarity, dots = _scores(plan, tables)
    mixed = _mixed_cosines(plan, tables, dots, profile.ranking.near)
    spread = corpus.spread
    if spread is None:
        spread = deviation(mixed) if query.vector is not None else TYPICAL_DEVIATION
    gone = fused == -np.inf if len(fused) and fused.min() == -np.inf else None
    idf = idf_of(cue.df(), corpus.rows)
    found = [
        _terms_of(snap.kernel, each, cue, corpus, idf, weight, profile.ranking) for each in tables
    ]
    evidence = {name: _join([each[name] for each, _ in found]) for name in found[0][0]}
    named = named_rows(snap, tables, [own for _, own in found], cue, profile, gone)
    words = evidence.get("words")
    scale = np.float32(profile.w_lexical) * spread
    evidence = {name: values * scale for name, values in evidence.items()}
    if query.vector is not None:
        evidence["near"] = np.float32(profile.w_similarity) * (mixed - similarity)
    if profile.ranking.fusion == "rrf":
        evidence = _by_ranks(evidence, tables, fused, mixed, profile)
    if named is not None:
        evidence["name"] = named.astype(np.float32) * np.float32(overriding_score(profile))
    ranked = Ranked(
        _join([each.ids for each in tables]),
        _join([np.full(len(each), each.store, np.int64) for each in tables]),
        _join([each.part[: len(each)] for each in tables]),
        _join([each.slot[: len(each)] for each in tables]),
        fused,
        similarity,
        evidence,
        [] if result is None else unfeatured_hits(snap, tables, result),
    )
    ranked.mixed = mixed
    if words is not None:
        full = max(float(np.sum(idf)), 1e-9) * weight
        if named is not None:  # a name that is found covers the cue, whatever else it says
            words = np.where(named, np.nextafter(np.float32(full), np.float32(0)), words)
        # the best evidence of words among what may be an answer, by that of all its terms
        ranked.words, ranked.full = words, full
        ranked.coverage = max(0.0, _highest(words, gone)) / full
    if query.vector is not None:
        ranked.cosine = max(-1.0, _highest(mixed, gone))
    return ranked


def _mixed_cosines(plan: Plan, tables: Sequence[FeatureTable], dots: F32, share: float) -> F32:
    """(N,) cosines with each vector mixed with its neighbours'."""
    out: list[F32] = []
    start = 0
    for features in tables:
        mine = dots[start : start + len(features.rows)]
        start += len(features.rows)
        cache = plan.means.norms[features.store]
        norms = features.norms(plan.snap, share, cache) if share else mine
        out.append(mix_neighbours(mine, features.around, norms, share))
    return _join(out)


def _scores(plan: Plan, tables: Sequence[FeatureTable]) -> tuple[F32, F32, F32]:
    """Kernel scores and cosines of the ranked rows, and cosines of all rows, table by table.

    The filters of a query apply to answers. Neighbours count as context whether they pass or not,
    but for dormant and quarantined memories.
    """
    snap, query = plan.snap, plan.query
    part = _join([features.part for features in tables])
    slot = _join([features.slot for features in tables])
    similarity = np.zeros(len(part), np.float32)
    if plan.mask is None and all(len(features) == len(features.rows) for features in tables):
        ranked: slice | NDArray[np.bool_] = slice(None)
        fused = snap.kernel.score(snap.table, query, part, slot, similarity=similarity)
    else:
        ranked = np.concatenate([np.arange(len(each.rows)) < len(each) for each in tables])
        at = np.flatnonzero(ranked if plan.mask is None else ranked & plan.mask[part])
        some = np.zeros(len(at), np.float32)
        fused = np.full(len(part), -np.inf, np.float32)
        fused[at] = snap.kernel.score(snap.table, query, part[at], slot[at], similarity=some)
        similarity[at] = some
    dots = similarity
    if query.vector is not None and not (is_unfiltered(query) and isinstance(ranked, slice)):
        dots = np.zeros(len(part), np.float32)
        # of everything that is awake, and of what rests where it is asked for
        bare = make_query(
            now_ms=query.now_ms,
            vector=query.vector,
            profile="similarity",
            drop_flags=DEFAULT_DROP_FLAGS & int(query.drop_flags),
        )
        snap.kernel.score(snap.table, bare, part, slot, similarity=dots)
    if len(fused) and np.isnan(fused.min()):
        fused[np.isnan(fused)] = -np.inf
    sound = _sound(similarity)
    return fused[ranked], sound[ranked], sound if dots is similarity else _sound(dots)


def _join(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; a single one as it is, which most stores have."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _sound(cosines: F32) -> F32:
    """Cosines with 0 for damaged vectors, which must not affect their neighbours.

    The record itself is verified before it becomes a hit.
    """
    if not len(cosines) or (cosines.max() <= _HIGHEST and cosines.min() >= -_HIGHEST):
        return cosines  # NaN fails both comparisons
    return np.where(np.abs(cosines) <= _HIGHEST, cosines, np.float32(0))


def _terms_of(
    kernel: Kernel,
    features: FeatureTable,
    cue: LexicalQuery,
    corpus: Corpus,
    idf: F32,
    weight: float,
    ranking: Ranking,
) -> tuple[dict[str, F32], NDArray[np.uint8]]:
    """Evidence by term, (n,) in deviations, and (t, n) how often each memory has each word itself.

    Args:
        idf: (t,) of the terms. weight: of the words.
    """
    out: dict[str, F32] = {}
    n, t = len(features), len(cue.terms)
    own = np.zeros((t, n), np.uint8)
    if t:
        lookup = cue.words[features.store]
        lines = features.words.field_lines(features.field_numbers, lookup)
        counts = features.words.counts(features.rows, lookup, lines)
        own, fields = counts[:, :n], None
        for at, there in lines:
            fields = np.zeros((t, n), np.uint8) if fields is None else fields
            fields[at] = there[:n]
        if weight:
            length = features.spread_lengths(ranking) + features.field_lengths
            out["words"] = np.float32(weight) * kernel.blended_bm25(
                features.surroundings(ranking),
                counts,
                fields,
                idf * np.float32(ranking.k1 + 1),
                length_norm(length, corpus.mean_length, ranking),
            )
    if any(code >= 0 for code in cue.about) and ranking.about:
        spoken = features.speakers == cue.about[features.store]
        if cue.about[features.store] < 0:
            spoken[:] = False
        out["about"] = np.float32(ranking.about) * spoken.astype(np.float32)
    if any(code >= 0 for code in cue.said_by):
        out["said_by"] = np.float32(-_BY_OTHERS * ranking.about) * _others(features, cue)
    if cue.kind == "fact" and (ranking.short or ranking.question or ranking.time_words):
        out |= features.of_forms(ranking)
    elif cue.kind == "request" and ranking.preference:
        out["preference"] = np.float32(ranking.preference) * features.forms.prefers
    return out, own


def _others(features: FeatureTable, cue: LexicalQuery) -> F32:
    """(n,) 1 for words of other speakers than the wanted one, 0 for words of unknown speakers."""
    wanted = cue.said_by[features.store]
    if wanted < 0:
        return np.zeros(len(features), np.float32)
    named = np.array([bool(name) for name in features.words.speakers()], np.bool_)
    spoken = features.speakers
    return np.asarray((spoken != wanted) & named[spoken], np.float32)


def _highest(values: F32, gone: NDArray[np.bool_] | None) -> float:
    """The highest value of what may be an answer; what may not is ``gone``, if anything is."""
    some = values if gone is None else values[~gone]
    return float(some.max(initial=-np.inf))


def _by_ranks(
    evidence: dict[str, F32],
    tables: Sequence[FeatureTable],
    fused: F32,
    mixed: F32,
    profile: ScoringProfile,
) -> dict[str, F32]:
    """Reciprocal ranks by cosine and by words in place of their values."""
    ids = np.concatenate([features.ids for features in tables])
    words = evidence.get("words", np.zeros(len(ids), np.float32))
    alive = np.where(fused > -np.inf, mixed + 2, 0)  # above 0 for every cosine
    k = profile.ranking.rrf_k
    ranks = reciprocal_ranks(alive, ids, k) + reciprocal_ranks(words, ids, k)
    with np.errstate(invalid="ignore"):
        return {"ranks": np.where(fused > -np.inf, ranks - fused, 0).astype(np.float32)}
