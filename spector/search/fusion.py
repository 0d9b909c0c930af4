"""Adds up the kernel's score and all evidence of a candidate on one scale.

    score = fused + w_lexical * sd * (w W + about - said_by + preference + form)
                  + w_similarity * (cosine mixed with neighbours - cosine)

``fused`` is the kernel's score, unchanged. ``sd`` is the standard deviation of the cue's similarity
over the store. Evidence is counted in deviations, so words and vectors are comparable in every
store, and are on the scale of the profile's cosines. See "Ranking research" in
bench/log for where each term comes from and what it buys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32
from spector.kernel.contract import (
    DEFAULT_DROP_FLAGS,
    Kernel,
    Ranking,
    ScanResult,
    ScoringProfile,
    make_query,
)
from spector.search.features import (
    TYPICAL_DEVIATION,
    FeatureTable,
    deviation,
    idf_of,
    length_norm,
    mix_neighbours,
    reciprocal_ranks,
)
from spector.search.named import LexicalQuery, named_rows, overriding_score
from spector.search.ordering import Ranked, unfeatured_hits
from spector.search.plan import Plan, is_unfiltered
from spector.search.snapshot import Snapshot

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


def fuse(
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
    mixed = _mixed_cosines(snap, tables, dots, profile.ranking.near)
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


def _mixed_cosines(snap: Snapshot, tables: Sequence[FeatureTable], dots: F32, share: float) -> F32:
    """(N,) cosines with each vector mixed with its neighbours'."""
    out: list[F32] = []
    start = 0
    for features in tables:
        mine = dots[start : start + len(features.rows)]
        start += len(features.rows)
        norms = features.norms(snap, share) if share else mine
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
