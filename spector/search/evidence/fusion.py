"""The kernel's score and the evidence of the read path, added up on one scale.

    score = fused + w_lexical * sd * (w W + about - said_by + preference + form)
                  + w_similarity * (likeness with neighbours - cosine)

``fused`` is the kernel's score and stays what it is. ``sd`` is the standard deviation of the cue's
likeness over the store: evidence is counted in deviations, which makes words and vectors comparable
whatever the store, and puts them on the scale of the profile's cosines. See "Ranking research" in
bench/log for where each term comes from and what it buys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel import get_kernel
from spector.kernel.contract import (
    DEFAULT_DROP_FLAGS,
    Query,
    Ranking,
    Scanner,
    ScanResult,
    ScoringProfile,
    make_query,
)
from spector.language.words import Term, is_sign
from spector.lexical import Lookup
from spector.search.evidence.named import FEW, Aliased, Name
from spector.search.view import (
    TYPICAL_DEVIATION,
    FeatureTable,
    NormCache,
    Ranked,
    Snapshot,
    beyond,
    deviation,
    idf_of,
    length_norm,
    mixed,
    reciprocal_ranks,
)

__all__ = ["Corpus", "Fuser", "LexicalQuery", "is_open", "overriding_score"]

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

#: words that a cue which only names something has at most; longer ones ask something about it
_NAME_WORDS: Final = 2
#: memories whose texts are read for a number beside the word for its kind
_READ: Final = 64
#: what others have said falls by so many times the weight of ``about``: behind nearly all that the
#: speaker has said, and still there when he said nothing
_BY_OTHERS: Final = 2.0
#: of a cosine, with the rounding of codes
_HIGHEST: Final = np.float32(1.01)
#: what the factors of a usual profile (mood, tier, category, ...) multiply out to at most
_HIGHEST_MODIFIER: Final = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalQuery:
    """What a cue asks for beyond its vector.

    Attributes:
        kind: "fact", "talk" or "request": how much words count.
        terms: what is looked up; ``words`` has their postings, by store.
        about: code of the one speaker that the cue is about, by store; -1 for nobody.
        said_by: code of the one speaker whose words are asked for ("what did I say about ..."), by
            store; -1 for nobody.
        is_name: the cue is a word or two and no question, see
        `spector.language.cues.intent.is_name`.
        names: what names memories, see `identifying`.
        aliased: what the cue has of the aliases of memories, see
        `spector.search.evidence.named.aliased`.
    """

    kind: str
    terms: tuple[Term, ...]
    words: tuple[Lookup, ...]
    about: tuple[int, ...] = ()
    said_by: tuple[int, ...] = ()
    is_name: bool = False
    names: tuple[Name, ...] = ()
    aliased: Aliased | None = None
    _df: list[I64] = field(default_factory=list, repr=False, compare=False)

    def df(self) -> I64:
        """(t,) memories of all stores that have each term."""
        if not self._df:
            first, *others = (lookup.df for lookup in self.words)
            self._df.append(sum(others, first))
        return self._df[0]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Figures of all stores together.

    Attributes:
        rows: memories.
        mean_length: mean length with the turns around and the fields.
        spread: deviation of the cue's likeness, where it is not that of what is ranked.
    """

    rows: int
    mean_length: float
    spread: np.float32 | None = None


class Fuser:
    """Adds the evidence to the kernel's scores of given memories."""

    def __init__(self, kernel: Scanner, stores: int) -> None:
        self._kernel = kernel
        self._norms = [NormCache() for _ in range(stores)]

    def ranked(
        self, snap: Snapshot, tables: Sequence[FeatureTable], query: Query, asked: LexicalQuery,
        corpus: Corpus, result: ScanResult | None, select: NDArray[np.bool_] | None = None,
    ) -> Ranked:
        """The ranked rows of some grounds in their order, and hits of a scan that are not in them.

        Args:
            result: what it has beyond the grounds (records that the catalog has no words of) ranks
                by the kernel's score alone.
            select: (partitions,) which of the table are searched; None for all.
        """
        profile = query.profile
        fused, similarity, dots = self._scores(snap, tables, query, select)
        likeness = self._mixed(snap, tables, dots, profile.ranking.near)
        spread = corpus.spread
        if spread is None:
            spread = deviation(likeness) if query.vector is not None else TYPICAL_DEVIATION
        gone = fused == -np.inf if len(fused) and fused.min() == -np.inf else None
        evidence, named = self._terms(snap, tables, asked, corpus, profile, gone)
        words = evidence.get("words")
        full = max(float(np.sum(idf_of(asked.df(), corpus.rows))), 1e-9)
        full *= profile.ranking.words(asked.kind)
        scale = np.float32(profile.w_lexical) * spread
        evidence = {name: values * scale for name, values in evidence.items()}
        if query.vector is not None:
            evidence["near"] = np.float32(profile.w_similarity) * (likeness - similarity)
        if profile.ranking.fusion == "rrf":
            evidence = _by_ranks(evidence, tables, fused, likeness, profile)
        if named is not None:
            evidence["name"] = named.astype(np.float32) * np.float32(overriding_score(profile))
        ranked = Ranked(
            _joined([g.ids for g in tables]),
            _joined([np.full(len(g), g.store, np.int64) for g in tables]),
            _joined([g.part[: len(g)] for g in tables]),
            _joined([g.slot[: len(g)] for g in tables]),
            fused, similarity, evidence, [] if result is None else beyond(snap, tables, result),
        )
        ranked.likeness = likeness
        if words is not None:
            if named is not None:  # who is named is found, whatever else the cue says
                words = np.where(named, np.nextafter(np.float32(full), np.float32(0)), words)
            # the best evidence of words among what may be an answer, by that of all its terms
            ranked.words, ranked.full = words, full
            ranked.coverage = max(0.0, _highest(words, gone)) / full
        if query.vector is not None:
            ranked.cosine = max(-1.0, _highest(likeness, gone))
        return ranked

    # -- likeness -----------------------------------------------------------------------------

    def _scores(
        self, snap: Snapshot, tables: Sequence[FeatureTable], query: Query,
        select: NDArray[np.bool_] | None,
    ) -> tuple[F32, F32, F32]:
        """Kernel scores and cosines of the ranked rows, and cosines of all rows, ground by ground.

        The gates of a query are for answers; what stands around one is its context either way, but
        for memories that sleep or are in quarantine.
        """
        part = _joined([features.part for features in tables])
        slot = _joined([features.slot for features in tables])
        similarity = np.zeros(len(part), np.float32)
        if select is None and all(len(features) == len(features.rows) for features in tables):
            ranked: slice | NDArray[np.bool_] = slice(None)
            fused = self._kernel.score(snap.table, query, part, slot, similarity=similarity)
        else:
            ranked = np.concatenate([_ranked_mask(features) for features in tables])
            at = np.flatnonzero(ranked if select is None else ranked & select[part])
            some = np.zeros(len(at), np.float32)
            fused = np.full(len(part), -np.inf, np.float32)
            fused[at] = self._kernel.score(
                snap.table, query, part[at], slot[at], similarity=some
            )
            similarity[at] = some
        dots = similarity
        if query.vector is not None and not (is_open(query) and isinstance(ranked, slice)):
            dots = np.zeros(len(part), np.float32)
            self._kernel.score(snap.table, bare_query(query.vector, query.now_ms), part, slot,
                               similarity=dots)
        if len(fused) and np.isnan(fused.min()):
            fused[np.isnan(fused)] = -np.inf
        sound = _sound(similarity)
        return fused[ranked], sound[ranked], sound if dots is similarity else _sound(dots)

    def _mixed(
        self, snap: Snapshot, tables: Sequence[FeatureTable], dots: F32, share: float
    ) -> F32:
        """(N,) cosines with neighbours."""
        out: list[F32] = []
        start = 0
        for features in tables:
            mine = dots[start : start + len(features.rows)]
            start += len(features.rows)
            norms = features.norms(snap, share, self._norms[features.store]) if share else mine
            out.append(mixed(mine, features.around, norms, share))
        return _joined(out)

    # -- words and the rest ---------------------------------------------------------------------

    def _terms(
        self, snap: Snapshot, tables: Sequence[FeatureTable], asked: LexicalQuery, corpus: Corpus,
        profile: ScoringProfile, gone: NDArray[np.bool_] | None,
    ) -> tuple[dict[str, F32], NDArray[np.bool_] | None]:
        """Evidence by term, (N,) f32 each, in deviations; and which rows the cue names."""
        ranking = profile.ranking
        found = [_terms_of(features, asked, corpus, ranking) for features in tables]
        return (
            {name: _joined([each[name] for each, _ in found]) for name in found[0][0]},
            _named(snap, tables, [own for _, own in found], asked, profile, gone),
        )


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; a single one as it is, which most stores have."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _sound(cosines: F32) -> F32:
    """Cosines, 0 in place of those that damaged vectors have: they must not reach their neighbours.

    The record itself is verified before it is shown.
    """
    if not len(cosines) or (cosines.max() <= _HIGHEST and cosines.min() >= -_HIGHEST):
        return cosines  # none: a comparison with what is no number is false
    return np.where(np.abs(cosines) <= _HIGHEST, cosines, np.float32(0))


def _terms_of(
    features: FeatureTable, asked: LexicalQuery, corpus: Corpus, ranking: Ranking
) -> tuple[dict[str, F32], NDArray[np.uint8]]:
    """Evidence of one ground, and (t, n) how often each memory has each word itself."""
    out: dict[str, F32] = {}
    n, t = len(features), len(asked.terms)
    weight = ranking.words(asked.kind)
    own = np.zeros((t, n), np.uint8)
    if t:
        lookup = asked.words[features.store]
        lines = features.words.field_lines(features.field_numbers(), lookup)
        counts = features.words.counts(features.rows, lookup, lines)
        own, fields = counts[:, :n], None
        for at, there in lines:
            fields = np.zeros((t, n), np.uint8) if fields is None else fields
            fields[at] = there[:n]
        if weight:
            length = features.spread_lengths(ranking) + features.field_lengths
            out["words"] = np.float32(weight) * get_kernel().words_around(
                features.surroundings(ranking), counts, fields,
                idf_of(asked.df(), corpus.rows) * np.float32(ranking.k1 + 1),
                length_norm(length, corpus.mean_length, ranking),
            )
    if any(code >= 0 for code in asked.about) and ranking.about:
        spoken = features.speakers() == asked.about[features.store]
        if asked.about[features.store] < 0:
            spoken[:] = False
        out["about"] = np.float32(ranking.about) * spoken.astype(np.float32)
    if any(code >= 0 for code in asked.said_by):
        out["said_by"] = np.float32(-_BY_OTHERS * ranking.about) * _others(features, asked)
    if asked.kind == "fact" and (ranking.short or ranking.question or ranking.time_words):
        out |= features.of_forms(ranking)
    elif asked.kind == "request" and ranking.preference:
        out["preference"] = np.float32(ranking.preference) * features.forms().prefers
    return out, own


def _others(features: FeatureTable, asked: LexicalQuery) -> F32:
    """(n,) 1 for what somebody else than the speaker asked for has said; words that nobody is known
    to have said may be anyone's."""
    wanted = asked.said_by[features.store]
    if wanted < 0:
        return np.zeros(len(features), np.float32)
    named = np.array([bool(name) for name in features.words.speakers()], np.bool_)
    spoken = features.speakers()
    return np.asarray((spoken != wanted) & named[spoken], np.float32)


def _highest(values: F32, gone: NDArray[np.bool_] | None) -> float:
    """The highest value of what may be an answer; what may not is ``gone``, if anything is."""
    some = values if gone is None else values[~gone]
    return float(some.max(initial=-np.inf))


def bare_query(vector: F32, now_ms: int) -> Query:
    """Cosines alone, of everything that is awake."""
    return make_query(
        now_ms=now_ms, vector=vector, profile="similarity", drop_flags=DEFAULT_DROP_FLAGS
    )


def is_open(query: Query) -> bool:
    """True when nothing but flags can keep a memory out."""
    profile = query.profile
    return (
        query.tags_all == 0 and not len(query.any_masks)
        and query.valence_min == -128 and query.valence_max == 127
        and query.event_min_ms is None and query.event_max_ms is None
        and query.importance_floor == 0 and query.retention_floor == 0
        and query.modality_mask == 0 and query.category_mask == 0
        and profile.min_similarity <= -1 and query.drop_flags == DEFAULT_DROP_FLAGS
    )


def _ranked_mask(features: FeatureTable) -> NDArray[np.bool_]:
    mask = np.zeros(len(features.rows), np.bool_)
    mask[: len(features)] = True
    return mask


def overriding_score(profile: ScoringProfile) -> float:
    """Evidence that no likeness and no strength can make up for, on the scale of the score."""
    rest = sum(profile.weights().values()) - profile.w_similarity
    span = 2 * profile.w_similarity + rest  # from cosine -1 and no strength to 1 and all of it
    if profile.fusion == "multiplicative":
        span = profile.w_similarity * (1 + rest)
    return span * _HIGHEST_MODIFIER + profile.w_lexical


def _named(
    snap: Snapshot, tables: Sequence[FeatureTable], own: Sequence[NDArray[np.uint8]],
    asked: LexicalQuery, profile: ScoringProfile, gone: NDArray[np.bool_] | None,
) -> NDArray[np.bool_] | None:
    """(N,) memories that a cue names, which come first: those with all words of a cue that is
    nothing but a name, when few have them, those with an identifier or number of any cue, and those
    whose alias is nearly all of it. Where the cue is nothing but emoji or characters, the vector
    says nothing, so all that have them. None when there are none.

    A question names whom it asks about, and what says no more than that name is no answer to it.

    Args:
        own: per store (t, n), how often each memory has each term in its own text.
        gone: (N,) what may be no hit, such as memories of other users: it is not counted.
    """
    if not profile.ranking.by_name:
        return None
    choices = list(asked.names)
    signs = bool(asked.terms) and asked.is_name and all(is_sign(t.text) for t in asked.terms)
    short = signs or 0 < len(asked.terms) <= _NAME_WORDS
    if asked.is_name and short and (asked.df() > 0).all():
        choices.append(Name(tuple(range(len(asked.terms)))))
    if not choices and not asked.aliased:
        return None
    named = np.zeros(sum(each.shape[1] for each in own), np.bool_)
    if asked.aliased:
        rows = asked.aliased.rows
        named |= np.concatenate([
            np.isin(each.rows[: len(each)], rows[each.store]) for each in tables
        ])
    for choice in choices:
        having = np.concatenate([(each[list(choice.terms)] > 0).all(axis=0) for each in own])
        if gone is not None:
            having &= ~gone
        if choice.number:
            having = _having_said(snap, tables, having, choice)
        if signs or np.count_nonzero(having) <= FEW:
            named |= having
    return named if named.any() else None


def _having_said(
    snap: Snapshot, tables: Sequence[FeatureTable], having: NDArray[np.bool_], name: Name
) -> NDArray[np.bool_]:
    """(N,) those of ``having``, a mask, in whose text a name stands; none of more than some."""
    out = np.zeros(len(having), np.bool_)
    if np.count_nonzero(having) > _READ:
        return out
    start = 0
    for features in tables:
        at = np.flatnonzero(having[start : start + len(features)])
        ids = features.ids[at].tolist()
        rows = snap.stores[features.store].catalog.fetch_stored(ids) if ids else {}
        out[start + at] = [each in rows and name.is_in(rows[each].text) for each in ids]
        start += len(features)
    return out


def _by_ranks(
    evidence: dict[str, F32], tables: Sequence[FeatureTable], fused: F32, likeness: F32,
    profile: ScoringProfile,
) -> dict[str, F32]:
    """Reciprocal ranks of likeness and of words in place of their values."""
    ids = np.concatenate([features.ids for features in tables])
    words = evidence.get("words", np.zeros(len(ids), np.float32))
    alive = np.where(fused > -np.inf, likeness + 2, 0)  # above 0 for every cosine
    k = profile.ranking.rrf_k
    ranks = reciprocal_ranks(alive, ids, k) + reciprocal_ranks(words, ids, k)
    with np.errstate(invalid="ignore"):
        return {"ranks": np.where(fused > -np.inf, ranks - fused, 0).astype(np.float32)}
