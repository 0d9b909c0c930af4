"""Chooses the candidates of a plan and ranks them by all evidence.

A small store is ranked whole, so nothing can be missed. Of a large store the candidates are the
best by the kernel's score, the best by words, and the neighbours of both in their sessions; more of
them when more hits are wanted or a filter leaves too few. Filters are exact in both cases: what the
catalog does not confirm is dropped, and before that can truncate an answer the catalog resolves the
filter to a list of all records that pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.config import Config
from spector.kernel.contract import REACH, Query, Ranking, ScanResult, dots
from spector.lexical import WordView
from spector.search.evidence import Corpus, Fuser, LexicalQuery
from spector.search.view import (
    NOWHERE,
    AllowedRecords,
    FeatureTable,
    Plan,
    Ranked,
    Snapshot,
    all_features,
    deviation,
    features_of,
    is_unfiltered,
    mark_rows,
    mixed_vectors,
    places_of,
)

__all__ = ["BY_SCORE", "BY_WORDS", "CandidateRanker"]


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

    def __init__(self, stores: int, config: Config) -> None:
        self._config = config
        self._fuser = Fuser(stores)
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
        ranked = self._fuser.ranked(plan, whole.tables, cue, corpus, result)
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
        return self._fuser.ranked(plan, tables, cue, corpus, result)

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
    return features_of(snap, n, view, mark_rows(len(view), [found, near.ravel()]))


def _best_by_words(
    plan: Plan,
    n: int,
    view: WordView,
    cue: LexicalQuery,
    count: int,
    allow: AllowedRecords | None,
) -> I64:
    """Rows with the best BM25; more of them until enough pass the filters."""
    if not cue.terms or not len(view):
        return np.zeros(0, np.int64)
    snap, ranking = plan.snap, plan.query.profile.ranking
    mask = None
    if allow is not None:
        mask = allow.allow.admits(*places_of(snap, n, view, np.arange(len(view))))
    while True:
        rows, _ = view.best(cue.words[n], k=count, allow=mask, k1=ranking.k1, b=ranking.b)
        if len(rows) < count or count >= _MOST_BY_WORDS or is_unfiltered(plan.query):
            return rows
        part, slot = places_of(snap, n, view, rows)
        there = slot != NOWHERE
        scores = snap.kernel.score(snap.table, plan.query, part[there], slot[there])
        if int(np.count_nonzero(scores > -np.inf)) >= _ENOUGH:
            return rows
        count *= 4


def _spread(sample: _Sample, query: Query) -> np.float32 | None:
    if query.vector is None:
        return None
    # stored ones are padded
    return deviation(dots(sample.vectors[:, : len(query.vector)], query.vector))


def _mean(arrays: Sequence[NDArray[np.float32]], none: float) -> float:
    """Of all numbers in some arrays; ``none`` if there are none."""
    values = np.concatenate(arrays)
    return float(np.mean(values, dtype=np.float64)) if len(values) else none
