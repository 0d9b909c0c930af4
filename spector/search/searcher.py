"""The read path over all tiers of a memory: plans run in order, in one snapshot. Writes nothing.

Stages: a request becomes a plan (`make_plan`), the plan a ranking, the ranking an answer. The
kernel's scan ranks every record that passes the filters. For a cue with words, evidence is added on
the same scale and decides the order. The catalog drops what a Bloom filter let through by accident.
If that leaves too few, the catalog resolves the whole filter to a list of records and the scan runs
again, so a filter never truncates an answer.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from spector.config import Config
from spector.errors import CatalogCorruptError, PartitionCorruptError, StoreError
from spector.kernel.contract import Kernel, Scanner, get_profile
from spector.language.cues import Kind
from spector.language.statements import USERS, Speakers
from spector.language.words import plain
from spector.layout import Flag
from spector.records import Hit, HitList
from spector.search.associations import (
    ASSOCIATIVE,
    describe,
    has_knowledge,
    in_order,
    is_bare_node,
    themes_of_cue,
    widened,
)
from spector.search.features import NormCache
from spector.search.plan import Means, Plan, make_plan
from spector.search.probes import is_like
from spector.search.request import Cue, RecallRequest, within
from spector.search.scoring import EvidenceSearch, best_by_score
from spector.search.selection import (
    choose_diverse,
    limit_per_session,
    near_the_best,
    own_scores,
    without_repeats,
)
from spector.search.snapshot import (
    Moved,
    Snapshot,
    make_snapshot,
    patch_snapshot,
    vectors_of,
)
from spector.search.standing import MOST, Embed, Standing
from spector.search.words import LexicalChannel
from spector.store.core import View
from spector.tiers import TierRouter

#: further attempts before writers of this process are made to wait
_ATTEMPTS: Final = 8
#: hits that all stages see, however few are wanted: k only says how many of them are shown
POOL: Final = 40
#: the same where everything is asked for: a flood of similar memories must not be all that is seen
_SURVEY_POOL: Final = 256
#: each pool behind the first is larger by
_DEEPER: Final = 4
#: what restricts an answer, beside it
_MOST_LIMITS: Final = 3

#: as a number: an operation with a flag is one of Python's
_SUPERSEDED: Final = int(Flag.SUPERSEDED)
#: lets themes pass, and sources of theirs that rest
_WITH_THEMES: Final = ~int(Flag.AUXILIARY | Flag.DORMANT)
T = TypeVar("T")
#: what is made in one snapshot; the flag: the catalog alone says what is superseded
_Make = Callable[[Snapshot, bool], T]


class Searcher:
    """Answers recalls. Thread-safe, takes no lock while it scans."""

    def __init__(
        self,
        router: TierRouter,
        scanner: Scanner,
        kernel: Kernel,
        config: Config,
        *,
        embed: Embed | None = None,
    ) -> None:
        """``scanner``: scans, on several threads where that is faster. ``kernel``: does all else."""
        self._stores = tuple(router.stores())
        norms = tuple([NormCache() for _ in self._stores])
        self._means, self._kernel = Means(router, scanner, config, norms, enough={}), kernel
        self._lexical, self._standing = LexicalChannel(self._stores), Standing(embed)
        self._by_evidence = EvidenceSearch(config, self._lexical, self._standing, ASSOCIATIVE)
        self._cached: Snapshot | None = None

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

        def make(snap: Snapshot, by_catalog: bool) -> list[HitList]:
            return [self._answer(snap, request, by_catalog) for request in requests]

        return self._in_one_moment(requests, make)

    def unconditional_instructions(self, request: RecallRequest, most: int) -> list[Hit]:
        """The newest instructions that hold whatever a cue is about, in the scope of a recall."""
        if not (request.lexical and request.profile.w_lexical):
            return []
        return self.look(request, lambda plan: self._standing.unconditional(plan, most))

    def look(self, request: RecallRequest, find: Callable[[Plan], T]) -> T:
        """What ``find`` makes of a request's plan, in one snapshot; no evidence, no order of ours."""

        def make(snap: Snapshot, by_catalog: bool) -> T:
            views = self._lexical.at(snap)
            return find(make_plan(snap, views, request, self._means, by_catalog=by_catalog))

        return self._in_one_moment([request], make)

    def expect(self, texts: Iterable[str]) -> None:
        """Make ready for texts that are about to be written; see `Standing.expect`."""
        self._standing.expect(texts)

    def speakers(self) -> Speakers:
        """The speakers that were known when a cue was last looked up in words."""
        return self._lexical.known_speakers()

    def drop_caches(self) -> None:
        """Forget what was made of memories to rank others; the next recall makes it anew."""
        self._by_evidence.drop_caches()
        self._standing.drop_caches()

    def close(self) -> None:
        """Keep nothing of the stores, which are closed: no map, no words, no cache."""
        self._cached = None
        self._lexical.drop_caches()
        self._means.enough.clear()
        self.drop_caches()

    # -- moments --------------------------------------------------------------------------------

    def _in_one_moment(self, requests: Sequence[RecallRequest], make: _Make[T]) -> T:
        """What is made for requests in one snapshot; `recall_all` says when it is made again."""
        by_flags = any(each.drop_flags & _SUPERSEDED for each in requests)
        for attempt in range(_ATTEMPTS + 1):
            for store in self._stores if attempt else ():
                if not store.files.durable:
                    store.await_view()
            with contextlib.suppress(Moved):
                return self._attempt(make, by_catalog=attempt > 0, by_flags=by_flags)
        with self._stores[0].still(), contextlib.suppress(Moved):  # writers of this process wait
            return self._attempt(make, by_catalog=True, by_flags=by_flags)
        raise StoreError(
            "memories kept moving while they were recalled", hint="try again in a moment"
        )

    def _attempt(self, make: _Make[T], *, by_catalog: bool, by_flags: bool) -> T:
        """What is made in one snapshot.

        Args:
            by_flags: what is superseded matters.

        Raises:
            Moved: it must be made again.
        """
        made, views = self._in_snapshot(make, by_catalog, ())
        for store, view in zip(self._stores, views, strict=True):
            # on disk what a snapshot shows stays while it is looked at, but for that flag; and
            # nothing can have moved away from where nothing was looked at
            if store.files.durable and (by_catalog or not by_flags):
                continue
            if view.partitions and store.retire_epoch() != view.retire_epoch:
                raise Moved("a memory moved while it was looked at")
        return made

    def _in_snapshot(
        self, make: _Make[T], by_catalog: bool, views: tuple[View, ...]
    ) -> tuple[T, tuple[View, ...]]:
        """What is made, and the views of all stores; those given are held already."""
        if len(views) == len(self._stores):
            return make(self._snapshot(views), by_catalog), views
        with self._stores[len(views)].snapshot() as view:
            return self._in_snapshot(make, by_catalog, (*views, view))

    def _snapshot(self, views: tuple[View, ...]) -> Snapshot:
        """The views as a kernel table, patched where a view has changed."""
        cached = self._cached
        if cached is None:
            fresh = make_snapshot(self._stores, views, self._kernel)
        elif cached.views == views:  # the same objects: views have no other equality
            return cached
        else:
            fresh = patch_snapshot(cached, views)
        self._cached = fresh
        return fresh

    # -- one request in one snapshot --------------------------------------------------------------

    def _answer(self, snap: Snapshot, request: RecallRequest, by_catalog: bool) -> HitList:
        """The best k, and the instructions that stand beside them."""
        by_words = request.ranks_by_evidence
        views = self._lexical.at(snap) if by_words else ()
        plan = make_plan(snap, views, request, self._means, by_catalog=by_catalog)
        if not by_words:
            return self._first(plan)
        matching = self._standing.matching(plan)
        if matching:
            plan = replace(plan, beside=tuple([hit.id for hit in matching]))
        found = self._first(plan)
        wanted = [hit for hit in found.standing if hit.id not in plan.beside]
        most = MOST if plan.request.reading.kind is Kind.REQUEST else 1
        found.standing = (*wanted, *matching)[:most]
        found.limits = self._limits_beside(plan, found.standing)
        wide = plan.of(replace(request, drop_flags=request.drop_flags & _WITH_THEMES))
        found._themes = tuple(themes_of_cue(wide))
        describe(wide, [hit for hit, _ in found._themes])
        return found

    def _limits_beside(self, plan: Plan, standing: Iterable[Hit]) -> tuple[Hit, ...]:
        """What restricts what may be suggested for the cue, by the user's own words."""
        request, probes, out = plan.request, plan.request.probes, dict[int, Hit]()
        if probes is None:
            return ()
        for limits, others in request.limits:
            near = replace(
                request,
                cue=Cue(None, limits.mean(axis=0)),
                asking=None,
                profile=get_profile("similarity"),
            )
            hits = best_by_score(replace(plan.of(near), k=POOL))
            for hit, stored in zip(hits, vectors_of(hits) if hits else (), strict=True):
                vector = stored[: limits.shape[1]]  # a row is padded
                if _is_own(hit) and is_like(vector, limits, others, probes):
                    out.setdefault(hit.id, hit)
        for hit in standing:
            out.pop(hit.id, None)
        return tuple(out.values())[:_MOST_LIMITS]

    def _first(self, plan: Plan) -> HitList:
        """The first k of the order that a cue gives all memories: fewer are the beginning of more.

        All that compares hits or moves one sees the same pool, whatever k is; only then it is cut.
        """
        request, survey = plan.request, plan.request.reading.is_survey
        answer, depth = self._pool(plan, self._depth_of(plan))
        pool = self._different(plan, answer)
        if request.mmr is not None:
            pool = choose_diverse(pool, max(plan.k, POOL), request.mmr)
        hits, added = widened(plan, pool)
        hits, ties = in_order(plan, hits)
        missing = plan.k - len(hits) + len(added)
        if missing > 0 and len(answer) >= depth:
            hits = [*hits, *self._behind(plan, hits, answer, depth, missing)]
        hits = _cut(hits, plan.k, added)
        found = answer._holding(hits)
        # a score says how well a memory fits the cue where words and similarity both count
        is_about = request.cue.vector is not None and request.ranks_by_evidence
        if request.cut and not survey and is_about and request.profile.w_similarity:
            near = near_the_best(hits, request.cut, best=max(own_scores(pool), default=0.0))
            kept = {*added, *(hit.id for hit in near)}
            ranked = [hit.id for hit in hits if hit.id not in added]
            found = found._holding([hit for hit in hits if hit.id in kept])
            found._left_out = tuple([n for n, each in enumerate(ranked) if each not in kept])
        describe(plan, found)
        newer = dict(found.outdated)
        for first, second, _ in ties:
            newer[second] = (*newer.get(second, ()), first)
        found.outdated = newer
        return found

    def _pool(self, plan: Plan, depth: int) -> tuple[HitList, int]:
        """The first pool, and its depth: damage behind the first k hides none of these.

        Raises:
            PartitionCorruptError, CatalogCorruptError: one of the first k is damaged.
        """
        try:
            return self._run_passes(plan, depth, judged=True), depth
        except (PartitionCorruptError, CatalogCorruptError):
            if depth <= plan.k:
                raise
        return self._run_passes(plan, plan.k, judged=True), plan.k

    def _depth_of(self, plan: Plan) -> int:
        """Hits of the first pool: what is wanted where nothing compares them with one another."""
        request = plan.request
        if request.reading.is_survey:
            return _SURVEY_POOL
        is_scan = request.cue.text is None and request.mmr is None and request.per_session is None
        return plan.k if is_scan and not has_knowledge(plan) else POOL

    def _behind(
        self, plan: Plan, hits: Sequence[Hit], answer: HitList, depth: int, count: int
    ) -> list[Hit]:
        """Hits behind those of a pool, out of ever larger ones."""
        most, out = self._means.config.max_k, list[Hit]()
        while len(out) < count and len(answer) >= depth and depth < most:
            known = {each for hit in (*hits, *answer, *out) for each in (hit.id, *hit.also)}
            depth = min(_DEEPER * depth, most)
            answer = self._run_passes(plan, depth)
            fresh = [hit for hit in answer if hit.id not in known]
            more = [
                hit
                for hit in self._different(plan, [*hits, *out, *fresh])
                if known.isdisjoint((hit.id, *hit.also))
            ]
            weight = plan.request.mmr
            out += more if weight is None else choose_diverse(more, count - len(out), weight)
        return out

    def _different(self, plan: Plan, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Hits in their order: of equal words one, few of each session."""
        request = plan.request
        if request.cue.text is not None and request.lexical:  # a vector asks for memories
            hits = without_repeats(hits)
        if request.per_session is not None:
            hits = limit_per_session(hits, request.per_session)
        return hits

    def _run_passes(self, plan: Plan, depth: int, *, judged: bool = False) -> HitList:
        """The best of a plan, with what is from the time that the cue names before the rest."""
        plan = replace(plan, k=depth)
        answer = self._search(plan, judged=judged and not plan.request.reading.is_survey)
        request, span = plan.request, plan.request.reading.span
        narrow = None if span is None else within(request.selection, span)
        if narrow is None or not answer:
            return answer
        of_time = self._search(plan.of(replace(request, selection=narrow)))
        if of_time and request.reading.is_survey:
            return of_time  # "what did we talk about last week?": all of that time
        return _with_time_first(answer, of_time)

    def _search(self, plan: Plan, *, judged: bool = False) -> HitList:
        """``judged``: with signals, which take as long as reading a thousand vectors."""
        if plan.request.ranks_by_evidence and any(view.n_rows for view in plan.views):
            return self._by_evidence.answer(plan, judged=judged)
        return best_by_score(plan)


def _is_own(hit: Hit) -> bool:
    """Whether the user said what a hit says."""
    is_user = plain(hit.record.role or "user").strip() in USERS and not hit.record.source
    return is_user and not is_bare_node(hit.record)


def _cut(hits: Sequence[Hit], k: int, added: Collection[int]) -> Sequence[Hit]:
    """The first k, and what was added to them, which takes no place."""
    if not added:
        return hits[:k]
    first = {hit.id for hit in [hit for hit in hits if hit.id not in added][:k]}
    return [hit for hit in hits if hit.id in first or hit.id in added]


def _with_time_first(answer: HitList, of_time: HitList) -> HitList:
    """The best of a time and the best of all in turn, the former first.

    The time in a cue is a guess, unlike a filter: what happened then may have been told of later.
    So it takes half of the places at most, and none where no memory is from then.
    """
    turns = itertools.chain.from_iterable(itertools.zip_longest(of_time, answer))
    chosen: dict[int, Hit] = {}
    for hit in turns:
        if hit is not None:
            chosen.setdefault(hit.id, hit)
    return answer._holding(chosen.values())
