"""Recall: gate, scan, words, fusion, verification. Reads only; writes nothing.

The scan ranks every record that passes the gates by the fused score of the kernel. For a cue with
words, the evidence of the read path (``fuse``) is added on the same scale and decides the order.
What the Bloom filter let through by accident is dropped by asking the catalog; if that leaves too
few, the catalog resolves the whole filter to a bitmap and the scan runs again, so a filter never
truncates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import StoreError
from spector.kernel.contract import AllowList, Query, Scanner, ScanResult, norm
from spector.language.cues import Kind
from spector.language.statements import Speakers
from spector.language.time import Span, hull, when
from spector.layout import Flag
from spector.lexical import WordView
from spector.records import Hit, HitList
from spector.search.candidates import BY_SCORE, BY_WORDS, CandidateRanker
from spector.search.evidence import (
    LexicalChannel,
    LexicalQuery,
    SignalCollector,
    id_in,
    is_open,
    is_scoped,
    kind_of,
)
from spector.search.selection import (
    DEEP,
    LOOKED_AT,
    MOST,
    MOST_VERSIONS,
    WINDOW,
    Embed,
    Standing,
    believed,
    choose_diverse,
    continued,
    is_doubted,
    is_looked_for,
    limit_per_session,
    move_newer_first,
    near_the_best,
    outdated,
    without_floods,
    without_repeats,
)
from spector.search.view import (
    Candidate,
    Confirmer,
    Moved,
    Ranked,
    Reach,
    RecallRequest,
    Snapshot,
    allowed,
    conditions,
    from_hits,
    lacks_words,
    make_snapshot,
    partitions_of,
    patched_snapshot,
    query_of,
    scored_all,
    stats_of,
    vectors_of,
    within,
)
from spector.store.catalog import SqlFilter
from spector.store.core import View
from spector.tiers import TierRouter

__all__ = ["Searcher"]

#: candidates that are confirmed one by one before the catalog resolves a filter for all records
_CANDIDATES_BEFORE_BITMAP = 2048
#: records taken from the scan before it is known whether more are needed: of a filter that only
#: the catalog knows, and beyond those wanted of one that the gate applies too, which lets few
#: strangers pass unless what it leaves is rare
_CANDIDATES, _STRANGERS = 128, 16
#: filters of which it is remembered how many candidates they took
_REMEMBERED = 256
#: further attempts before writers of this process are made to wait
_ATTEMPTS = 8
#: hits among which different ones are looked for: so many times those wanted, and at least
_POOL, _LEAST_POOL = 4, 40
#: the same where everything is asked for: a flood of alike memories must not be all that is seen
_SURVEY_POOL = 256
#: hits whose vectors are fed back
_FEEDBACK_HITS = 3
#: no place on earth is further from UTC: its days are not those that a time is made of
_ZONES_MS: Final = 14 * 3_600_000
#: evidence of the memory whose id the cue is
_IDENTITY = 100.0


_Known = tuple[
    tuple[WordView, ...], LexicalQuery, list[int] | None, NDArray[np.bool_] | None
]


#: what is made of one request in one snapshot
_Answer = Callable[[Snapshot, RecallRequest], HitList]


class Searcher:
    """The read path over all tiers of a memory. Thread-safe, takes no lock while it scans."""

    def __init__(
        self, router: TierRouter, kernel: Scanner, config: Config, *, embed: Embed | None = None
    ) -> None:
        self._router = router
        self._stores = tuple(router.stores())
        self._kernel = kernel
        self._config = config
        self._confirmer = Confirmer(router, kernel)
        self._lexical = LexicalChannel(self._stores)
        self._ranker = CandidateRanker(kernel, len(self._stores), config)
        self._signals = SignalCollector(kernel)
        self._standing = Standing(router, kernel, self._confirmer, config, embed)
        self._cached: Snapshot | None = None
        #: hits wanted and tags of the gate -> candidates that were enough the last time
        self._enough: dict[tuple[int, ...], int] = {}

    def recall(self, request: RecallRequest) -> HitList:
        """The best k records, or fewer when fewer pass; see `recall_all`."""
        return self.recall_all([request])[0]

    def recall_all(self, requests: Sequence[RecallRequest]) -> list[HitList]:
        """The answers to several requests as of one moment.

        Partitions and catalog are of one moment, and what a later one leaves behind stays until no
        recall needs it. But what is superseded meanwhile is flagged in place, and what takes its
        place is not there yet: then the recall is done again, and has the catalog say what is
        superseded, which is of that moment whatever is written. Only a store in memory knows no
        moments: when a memory changes there, the recall starts over, in the end with the writers of
        this process made to wait.

        Raises:
            StoreError: memories kept moving; never an answer that may lack one.
        """
        return self._answers(requests, self._picked)

    def always(self, request: RecallRequest, most: int) -> HitList:
        """The newest instructions that hold whatever a cue is about, in the scope of a recall."""
        if not is_looked_for(request):
            return HitList()
        return self._answers(
            [request],
            lambda snap, asked: HitList(
                self._standing.always(snap, self._lexical.at(snap), asked, most)
            ),
        )[0]

    def expect(self, texts: Iterable[str]) -> None:
        """Make ready for texts that are about to be written; see `Standing.expect`."""
        self._standing.expect(texts)

    def _answers(self, requests: Sequence[RecallRequest], answer: _Answer) -> list[HitList]:
        hits = self._attempt(requests, answer)
        if hits is not None:
            return hits
        requests = [replace(request, by_catalog=True) for request in requests]
        for _ in range(_ATTEMPTS):
            for store in self._stores:
                if not store.files.durable:
                    store.await_view()
            hits = self._attempt(requests, answer)
            if hits is not None:
                return hits
        with self._stores[0].lock:  # writers of this process wait for once
            hits = self._attempt(requests, answer)
        if hits is None:
            raise StoreError(
                "memories kept moving while they were recalled", hint="try again in a moment"
            )
        return hits

    def let_go(self) -> None:
        """Forget what was made of memories to rank others; the next recall makes it anew."""
        self._ranker.let_go()
        self._signals.let_go()
        self._standing.let_go()

    def close(self) -> None:
        """Keep nothing of the stores, which are closed: no map, no words, no cache."""
        self._cached = None
        self._enough.clear()
        self._lexical.let_go()
        self._signals.let_go()
        self._standing.let_go()
        self._ranker = CandidateRanker(self._kernel, len(self._stores), self._config)

    def speakers(self) -> Speakers:
        """Who was known to speak when a cue was last looked up in words."""
        return self._lexical.known_speakers()

    def _attempt(
        self, requests: Sequence[RecallRequest], answer: _Answer
    ) -> list[HitList] | None:
        """Recalls in one snapshot; None when they must be done again."""
        try:
            hits, views = self._in_snapshot(requests, answer, ())
        except Moved:
            return None
        by_flags = any(
            request.drop_flags & Flag.SUPERSEDED and not request.by_catalog for request in requests
        )
        settled = all(
            # on disk what a snapshot shows stays while it is looked at, but for that flag; and
            # nothing can have moved away from where nothing was looked at
            (store.files.durable and not by_flags)
            or not view.partitions
            or store.retire_epoch() == view.retire_epoch
            for store, view in zip(self._stores, views, strict=True)
        )
        return hits if settled else None

    def _in_snapshot(
        self, requests: Sequence[RecallRequest], answer: _Answer, views: tuple[View, ...]
    ) -> tuple[list[HitList], tuple[View, ...]]:
        """The hits and the views of all stores; those given are held already."""
        if len(views) == len(self._stores):
            snap = self._snapshot(views)
            return [answer(snap, request) for request in requests], views
        with self._stores[len(views)].snapshot() as view:
            return self._in_snapshot(requests, answer, (*views, view))

    def _picked(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """The best k, and the instructions that stand beside them."""
        if request.cue is None or not is_looked_for(request):
            return self._best(snap, request)
        if not request.kind:
            request = replace(request, kind=str(kind_of(request)))
        fitting = self._standing.fitting(snap, self._lexical.at(snap), request)
        hits = self._best(snap, replace(request, beside=tuple(hit.id for hit in fitting)))
        asked = [hit for hit in hits.standing if hit.id not in {each.id for each in fitting}]
        most = MOST if kind_of(request) is Kind.REQUEST else 1
        hits.standing = (*asked, *fitting)[:most]
        return hits

    def _best(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """The best k: of equal words one, few of each session, the most different ones, none far
        behind; as many as there are candidates for."""
        wanted, most = request.k, self._config.max_k
        survey = request.topic is not None and request.topic.is_survey
        widely = survey or request.mmr is not None or request.per_session is not None
        least = _SURVEY_POOL if survey else _LEAST_POOL
        want = min(max(_POOL * wanted, least), most) if widely else wanted
        while True:
            hits = self._recall_in(snap, replace(request, k=want))
            picked = limit_per_session(_distinct(request, hits), request.per_session)
            if len(picked) >= wanted or len(hits) < want or want >= most:
                break
            want = min(4 * want, most)
        if request.mmr is not None:
            picked = choose_diverse(picked, wanted, request.mmr)
        picked = picked[:wanted]
        if request.cut and not survey and _is_about(request):
            picked = near_the_best(picked, request.cut)
        return hits._holding(picked)

    def _recall_in(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """The answer in one snapshot; memories of the time that the cue names stand first."""
        ranking = request.profile.ranking
        if ranking.feedback and request.vector is not None and request.profile.w_lexical:
            request = self._with_feedback(snap, request)
        if request.cue is None or not (request.lexical and request.profile.w_lexical):
            return self._answer(snap, request)
        hits = self._answer(snap, request)
        span = _named_time(request) if ranking.by_time and hits else None
        narrow = within(request.selection, span) if span is not None else None
        if narrow is None:
            return hits
        narrowed = replace(request, selection=narrow, scoped=is_scoped(request))
        then = self._answer(snap, narrowed)
        if then and request.topic is not None and request.topic.is_survey:
            return then  # "what did we talk about last week?": all that there is, of that time
        return _of_time_first(hits, then, request.k)

    def _with_feedback(self, snap: Snapshot, request: RecallRequest) -> RecallRequest:
        """The request with a cue vector that is nearer to its own best hits (Rocchio)."""
        assert request.vector is not None, "asked by the caller"
        share = request.profile.ranking.feedback
        ranking = replace(request.profile.ranking, feedback=0.0)
        plain = replace(request, profile=replace(request.profile, ranking=ranking))
        hits = self._recall_in(snap, replace(plain, k=_FEEDBACK_HITS))
        if not hits:
            return plain
        unit = request.vector / np.float32(norm(request.vector))
        mean = vectors_of(hits)[:, : len(unit)].mean(axis=0)
        return replace(plain, vector=(unit + np.float32(share) * mean).astype(np.float32))

    def _answer(self, snap: Snapshot, request: RecallRequest) -> HitList:
        """The best of a snapshot, with evidence where the cue has words that count."""
        query = query_of(request, self._config, snap.format_version)
        filters = conditions(snap, request)
        if request.cue is not None and request.lexical:
            if request.profile.w_lexical:
                return self._weighed(snap, request, query, filters)
            if id_in(request.cue) is not None:
                hit = self._by_id(snap, request, query, filters)
                if hit is not None:
                    found = self._scanned(snap, request, query, filters)
                    rest = [each for each in found if each.id != hit.id]
                    return HitList([hit, *rest][: request.k], found.stats)
        return self._scanned(snap, request, query, filters)

    def _scanned(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None],
    ) -> HitList:
        """By the kernel's score alone, widened until no filter has truncated the answer."""
        select = partitions_of(self._router, snap, request)
        filtered = any(f is not None for f in filters)
        gate = (request.k, query.tags_all, *query.any_masks.tolist())
        want = self._candidates(request, gate) if filtered else request.k
        allow: AllowList | None = None
        while True:
            result = self._kernel.scan(snap.table, query, want, allow=allow, select=select)
            ordered = from_hits(snap, result.hits)
            hits, dropped = self._confirmer.first(snap, request.k, query, filters, ordered)
            if len(result) < want or len(hits) == request.k:
                # every record that passes the gates has been considered, or enough were
                if filtered and allow is None:
                    self._remember(gate, request.k + 2 * dropped + _STRANGERS)
                break
            if allow is None and want < _CANDIDATES:
                want = _CANDIDATES
            elif allow is None and want < _CANDIDATES_BEFORE_BITMAP:
                want = max(_CANDIDATES_BEFORE_BITMAP, 2 * want)
            elif allow is None and filtered:
                # exact from here on; nothing more will be dropped by it
                allow, want = allowed(snap, request).allow, max(want, request.k)
            elif dropped:
                want = 2 * want + dropped
            else:
                break
        return HitList(hits, stats_of(snap, select, result, self._kernel.name))

    def _candidates(self, request: RecallRequest, gate: tuple[int, ...]) -> int:
        """How many to ask of the first scan through a filter: a few too many cost it more time than
        all that the gate does, and too few a second scan."""
        if request.selection.where is not None or (len(gate) == 2 and not gate[1]):
            return max(request.k, _CANDIDATES)
        return max(request.k, self._enough.get(gate, request.k + _STRANGERS))

    def _remember(self, gate: tuple[int, ...], candidates: int) -> None:
        if len(self._enough) >= _REMEMBERED:
            self._enough.clear()
        self._enough[gate] = min(candidates, _CANDIDATES_BEFORE_BITMAP)

    def _weighed(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None],
    ) -> HitList:
        """By the kernel's score and all evidence."""
        select = partitions_of(self._router, snap, request)
        chosen = None
        if select is not None:
            chosen = np.zeros(len(snap.table), np.bool_)
            chosen[select] = True
        views = self._lexical.at(snap)
        if not any(view.n_rows for view in views):
            return self._scanned(snap, request, query, filters)
        reach = Reach(snap, views, self._kernel, query, filters, chosen)
        asked = self._lexical.asked(views, request, reach)
        wide = request
        if request.newest and query.profile.ranking.newer:
            wide = replace(request, k=max(request.k, LOOKED_AT))
        if self._ranker.is_small(views):
            result = None
            if select is not None or not is_open(query) or lacks_words(snap, views):
                result = self._kernel.scan(snap.table, query, request.k, select=select)
            ranked = self._ranker.all_of(snap, views, query, asked, result, chosen)
            if result is None:  # every record was scored, but for those whose state forbids it
                result = scored_all(snap, len(ranked))
            apart = self._standing.set_aside(snap, views, ranked, request)
            hits = self._confirmed(snap, wide, query, filters, ranked)
        else:
            hits, result, ranked, apart = self._best_of_large(
                snap, wide, query, filters, (views, asked, select, chosen)
            )
        signals = None
        if request.topic is None or not request.topic.is_survey:  # of everything, nothing is judged
            signals = self._signals.signals(
                snap, request, query, filters, (views, asked, chosen), ranked, hits[: request.k]
            )
        if is_doubted(hits):
            known = (views, asked, select, chosen)
            hits = self._without_floods(snap, wide, query, filters, known, ranked, hits)
        newer: dict[int, tuple[int, ...]] = {}
        if wide is not request:
            newer = outdated(hits[:LOOKED_AT], request.cue or "")
            if 2 * len(newer) >= LOOKED_AT:  # a series, whose newest may be farther behind
                more = self._confirmer.first(snap, MOST_VERSIONS, query, filters, ranked)[0]
                seen = {hit.id for hit in hits}
                hits = [*hits, *(hit for hit in more if hit.id not in seen)]
                newer = continued(newer, hits[:MOST_VERSIONS], request.cue or "")
            hits = move_newer_first(hits, newer)
        first = self._by_id(snap, request, query, filters)
        if first is not None:
            hits = [first, *(hit for hit in hits if hit.id != first.id)]
        least = hits[0].score if hits else -np.inf
        asked_for = [each for each in apart if each.score > least]
        standing, _ = self._confirmer.first(snap, 1, query, filters, asked_for)
        return HitList(
            hits, stats_of(snap, select, result, self._kernel.name), signals=signals,
            standing=tuple(standing), outdated=newer,
        )

    def _without_floods(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], known: _Known, ranked: Ranked, hits: list[Hit],
    ) -> list[Hit]:
        """The hits with floods of one origin behind what others say about the cue."""

        def others() -> list[Hit]:
            deep = ranked
            if not ranked.is_whole:
                more = replace(request, k=min(max(request.k, DEEP), self._config.max_k))
                deep = self._best_of_large(snap, more, query, filters, known)[2]
            some = believed(snap, deep)
            return self._confirmer.first(snap, request.k, query, filters, some)[0]

        if len(hits) < WINDOW:
            hits = self._confirmer.first(snap, WINDOW, query, filters, ranked)[0]
        return without_floods(hits, request.k, others)

    def _confirmed(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], ranked: Ranked,
    ) -> list[Hit]:
        """The first k of everything there is."""
        filtered = any(f is not None for f in filters)
        some = ranked.top(_CANDIDATES_BEFORE_BITMAP) if filtered else ranked
        hits, _ = self._confirmer.first(
            snap, request.k, query, filters, some, distinct=_is_of_words(request)
        )
        if len(hits) >= request.k or len(some) == len(ranked):
            return hits
        ranked.only(allowed(snap, request).codes)
        return self._confirmer.first(
            snap, request.k, query, filters, ranked, distinct=_is_of_words(request)
        )[0]

    def _best_of_large(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None], known: _Known,
    ) -> tuple[list[Hit], ScanResult, Ranked, Sequence[Candidate]]:
        """The first k of as many candidates as it takes; and the instructions among them."""
        views, asked, select, chosen = known
        filtered = any(f is not None for f in filters)
        want, by_words, allow = max(2 * request.k, BY_SCORE), max(request.k, BY_WORDS), None
        while True:
            result = self._kernel.scan(
                snap.table, query, want, allow=allow.allow if allow else None, select=select
            )
            ranked = self._ranker.best_of(
                snap, views, query, asked, result, chosen, by_words, allow
            )
            apart = self._standing.set_aside(snap, views, ranked, request)
            if allow is not None:
                ranked.only(allow.codes)
            hits, _ = self._confirmer.first(
                snap, request.k, query, filters, ranked, distinct=_is_of_words(request)
            )
            if len(hits) >= request.k or len(result) < want:
                return hits, result, ranked, apart
            if filtered and allow is None:
                allow = allowed(snap, request)
            else:
                want, by_words = 4 * want, 4 * by_words

    def _by_id(
        self, snap: Snapshot, request: RecallRequest, query: Query,
        filters: Sequence[SqlFilter | None],
    ) -> Hit | None:
        """The memory whose id the cue is, if there is one and it passes the gates."""
        record_id = id_in(request.cue)
        if record_id is None:
            return None
        select = partitions_of(self._router, snap, request)
        for n, store in enumerate(snap.stores):
            for found, (segment_id, slot) in store.catalog.places_of([record_id]).items():
                part = snap.position_of(n, segment_id, slot)
                if select is not None and part not in select:
                    continue
                sims = np.zeros(1, np.float32)
                score = float(
                    self._kernel.score(snap.table, query, [part], [slot], similarity=sims)[0]
                )
                if score == -np.inf:
                    continue
                only = Candidate(
                    found, n, part, slot, score, float(sims[0]), {"name": _IDENTITY},
                    score + _IDENTITY,
                )
                hits, _ = self._confirmer.first(snap, 1, query, filters, [only])
                if hits:
                    return hits[0]
        return None

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


def _distinct(request: RecallRequest, hits: HitList) -> list[Hit]:
    """One hit for equal words."""
    return without_repeats(hits) if _is_of_words(request) else hits


def _is_of_words(request: RecallRequest) -> bool:
    """Whoever asks by a vector alone asks for memories, not for words."""
    return request.cue is not None and request.lexical


def _is_about(request: RecallRequest) -> bool:
    """Whether a score says how well a memory fits the cue: words and likeness both count."""
    profile = request.profile
    return (
        request.cue is not None and request.vector is not None and request.lexical
        and bool(profile.w_lexical and profile.w_similarity)
    )


def _named_time(request: RecallRequest) -> Span | None:
    """The stretch that a cue names, widened by the zones; None when it names none."""
    time = when(request.cue or "", request.now_ms, kind=kind_of(request))
    if time is None:
        return None
    start, end = hull(time.spans)
    return Span(start - _ZONES_MS, end + _ZONES_MS)


def _of_time_first(hits: HitList, of_time: HitList, k: int) -> HitList:
    """The best of a time and the best of all in turn, the former first.

    The time in a cue is a guess, unlike a filter: what happened then may have been told of later.
    So it takes half of the places at most, and none where no memory is from then.
    """
    turns = itertools.chain.from_iterable(itertools.zip_longest(of_time, hits))
    chosen: dict[int, Hit] = {}
    for hit in turns:
        if hit is not None:
            chosen.setdefault(hit.id, hit)
    return hits._holding([*chosen.values()][: max(k, len(hits))])
