"""A search by the kernel's score and all evidence: words, people, dates, the turns around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from spector.config import Config
from spector.records import Hit, ScanStats
from spector.search.candidates import BY_SCORE, BY_WORDS, CandidateRanker
from spector.search.evidence import LexicalChannel, LexicalQuery, SignalCollector
from spector.search.score_search import MOST_CANDIDATES, ScoreSearch
from spector.search.selection import (
    DEEP,
    LOOKED_AT,
    MOST_VERSIONS,
    WINDOW,
    Standing,
    demote_floods,
    extend_series,
    has_value_asked,
    is_doubted,
    move_newer_first,
    newer_values,
    newer_versions,
    trusted_candidates,
)
from spector.search.view import (
    Answer,
    Candidate,
    Confirmer,
    Modifier,
    Plan,
    Ranked,
    allowed_by_keys,
    allowed_records,
    is_unfiltered,
)

__all__ = ["EvidenceSearch", "MakeModifier"]

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
        stores: int,
        config: Config,
        confirmer: Confirmer,
        lexical: LexicalChannel,
        standing: Standing,
        by_score: ScoreSearch,
        modifiers: Sequence[MakeModifier],
    ) -> None:
        self._config = config
        self._confirmer = confirmer
        self._lexical = lexical
        self._standing = standing
        self._by_score = by_score
        self._ranker = CandidateRanker(stores, config)
        self._signals = SignalCollector()
        self._modifiers = tuple(modifiers)

    def drop_caches(self) -> None:
        self._ranker.drop_caches()
        self._signals.drop_caches()

    def answer(self, plan: Plan) -> Answer:
        """The best by all evidence, in their final order, with signals."""
        cue = self._lexical.query(plan)
        versions = plan.request.reading.asks_for_now and plan.request.profile.ranking.newer
        values = plan.request.profile.ranking.newer and has_value_asked(plan.request.cue.text or "")
        found = (self._of_small if self._ranker.is_small(cue.rows) else self._of_large)(plan, cue)
        hits, signals = found.hits, None
        if not plan.request.reading.is_survey:  # of everything, nothing is judged
            signals = self._signals.signals(plan, cue, found.ranked, hits)
        if is_doubted(hits):
            hits = demote_floods(hits, partial(self._others, plan, cue, found.ranked))
        newer: dict[int, tuple[int, ...]] = {}
        if versions:
            text = plan.request.cue.text or ""
            newer = newer_versions(hits[:LOOKED_AT], text)
            if 2 * len(newer) >= LOOKED_AT:  # a series, whose newest may be farther behind
                newer = extend_series(newer, hits[:MOST_VERSIONS], text)
            hits = move_newer_first(hits, newer)
        if values:
            later = newer_values(hits[:LOOKED_AT], plan.request.cue.text or "")
            hits = move_newer_first(hits, later)
        first = self._by_score.hit_of_id(plan)
        if first is not None:
            hits = [first, *(hit for hit in hits if hit.id != first.id)]
        least = hits[0].score if hits else -np.inf
        wanted = [each for each in found.instructions if each.score > least]
        standing = self._confirmer.first(plan, wanted, 1)[0] if wanted else ()
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
        some = ranked.top(MOST_CANDIDATES) if plan.is_filtered else ranked
        hits, _ = self._confirmer.first(plan, some, plan.k, distinct=True)
        if len(hits) < plan.k and len(some) < len(ranked):
            ranked.only(allowed_records(plan).codes)
            hits, _ = self._confirmer.first(plan, ranked, plan.k, distinct=True)
        return _Found(hits, stats, ranked, instructions)

    def _of_large(self, plan: Plan, cue: LexicalQuery) -> _Found:
        """The first hits of as many candidates as it takes."""
        first, by_words = max(plan.k, BY_SCORE), max(plan.k, BY_WORDS)
        allow = allowed_by_keys(plan)
        want = first
        while True:
            result = plan.scan(want, allow.allow if allow else None)
            ranked = self._ranker.best_of(plan, cue, result, by_words, allow)
            instructions = self._standing.set_aside(plan, self._modify(plan, ranked))
            if allow is not None:
                ranked.only(allow.codes)
            hits, _ = self._confirmer.first(plan, ranked, plan.k, distinct=True)
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
        return self._confirmer.first(plan, trusted_candidates(plan.snap, ranked), WINDOW)[0]


def _lacks_words(plan: Plan) -> bool:
    """Whether there are records without words in the index: rows of the catalog are damaged."""
    live = sum([partition.live for view in plan.snap.views for partition in view.partitions])
    return live != sum([view.n_rows for view in plan.every])
