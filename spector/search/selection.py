"""Chooses among hits: different texts, few of each session, none far behind the best."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from spector.kernel.contract import cosine_table, dots, squared
from spector.language.statements import (
    ends_with_question,
    may_instruct,
)
from spector.layout import CERTAIN_BYTE
from spector.records import Explanation, Hit
from spector.search.features import header_column
from spector.search.ordering import Ranked
from spector.search.origins import origin_of
from spector.search.snapshot import (
    Candidate,
    Snapshot,
    candidate_of,
    found_of,
    units_of,
    vectors_of,
    wording_in,
)

#: the tier of beliefs: those that bear on a cue score close together, and the rest is noise
SEMANTIC: Final = "semantic"
#: share of the best score that a hit of that tier must have
SEMANTIC_CUT: Final = 0.5
#: the same of any memory where little is wanted: in a context, in a selective recall
CUT: Final = 0.6


def without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Hits in their order, one for all that have equal words of one user, agent and origin.

    The newest stands in the place, and with the score, of the best; ``also`` names the others.
    Only case, white space and a full stop may differ: one more sign or question mark can matter.
    Linear in the length of the texts.
    """
    alike: dict[str, list[Hit]] = {}
    for hit in hits:
        alike.setdefault(wording_in(hit), []).append(hit)
    if len(alike) == len(hits):
        return list(hits)
    groups: dict[object, list[Hit]] = {}
    for words, some in alike.items():
        for hit in some:
            alone = len(some) == 1
            scope = None if alone else (_scope_of(hit), origin_of(hit))
            groups.setdefault((words, scope), []).append(hit)
    standing = {id(some[0]): _newest(some) for some in groups.values()}
    return [standing[id(hit)] for hit in hits if id(hit) in standing]


def _newest(some: list[Hit]) -> Hit:
    """The newest of hits with equal words, in the place of the first."""
    if len(some) == 1:
        return some[0]
    best, newest = some[0], max(some, key=lambda hit: (_time_of(hit), hit.id))
    also = sorted({each for hit in some for each in (hit.id, *hit.also)} - {newest.id})
    return with_score(newest, best.score, best.explainer, tuple(also))


def _scope_of(hit: Hit) -> tuple[str | None, str | None]:
    """User and agent, without a record being made for them."""
    if hit._found is None:
        return hit.user_id, hit.agent_id
    return found_of(hit).scope


def _time_of(hit: Hit) -> int:
    return hit.record.event_ms if hit._found is None else found_of(hit).event_ms


def own_scores(hits: Sequence[Hit]) -> list[float]:
    """(n,) scores without the evidence of a name or an id, which exceeds all other."""
    out = []
    for hit in hits:
        candidate = candidate_of(hit)
        named = candidate.evidence.get("name", 0.0) if candidate is not None else 0.0
        out.append(hit.score - named)
    return out


def near_the_best(
    hits: Sequence[Hit], share: float, tier: str | None = SEMANTIC, *, best: float
) -> list[Hit]:
    """Hits in their order without those of a tier that are far behind the best of all.

    Args:
        share: of the best score that a hit must have, names and ids apart; what is named stays.
            Nothing is left out where no score is above 0: there is nothing to be a share of.
        tier: name of the tier whose hits may be left out; None for all.
        best: of the `own_scores` of a recall, also of hits that are not shown.
    """
    scores = own_scores(hits)
    least = share * best
    if least <= 0:
        return list(hits)
    return [
        hit
        for hit, score in zip(hits, scores, strict=True)
        if score >= least or score < hit.score or (tier is not None and hit.tier != tier)
    ]


def limit_per_session(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Hits in their order without those beyond ``most`` of a session.

    Memories without a session are each their own.
    """
    seen: Counter[str] = Counter()
    out: list[Hit] = []
    for hit in hits:
        session = hit.session_id
        if session is not None:
            seen[session] += 1
            if seen[session] > most:
                continue
        out.append(hit)
    return out


def choose_diverse(hits: Sequence[Hit], count: int, weight: float) -> list[Hit]:
    """``count`` hits by maximal marginal relevance over their stored vectors, best first.

    Each next one is the best by ``weight * score - (1 - weight) * highest cosine with what was
    chosen`` (Carbonell and Goldstein 1998); scores are on the scale of cosines already. Ties go to
    the first.
    """
    if not hits:
        return []
    scores, vectors = np.array([hit.score for hit in hits], np.float32), vectors_of(hits)
    closest = np.full(len(hits), -np.inf, np.float32)
    left = np.ones(len(hits), np.bool_)
    chosen: list[Hit] = []
    while len(chosen) < min(count, len(hits)):
        newness = np.where(np.isfinite(closest), closest, 0)
        marginal = np.float32(weight) * scores - np.float32(1 - weight) * newness
        best = int(np.argmax(np.where(left, marginal, -np.inf)))
        chosen.append(hits[best])
        left[best] = False
        closest = np.maximum(closest, dots(vectors, vectors[best]))
    return chosen


# Floods: many memories of one doubtful origin do not push out what others say.
#
# A document that gets imported could fill the hits of a question with fifty paraphrases of it. So of
# one origin of little certainty, a share of the hits keeps its places and the rest ranks behind what
# others say about the cue, if they do. Where the origin repeats one statement, or the question, none
# of it ranks before them. The same holds for one statement of many such origins, which may be one
# origin under many names.

#: of the hits, for each such origin
_SHARE: Final = 4
#: others count from this share of the best score: a document that alone is about the cue keeps its
#: places
_ABOUT: Final = 0.5
#: candidates among which others are looked for, and how many of them the catalog confirms
_LOOKED_AT: Final = 8192
_CONFIRMED: Final = 256
#: candidates of a large store, which a flood may fill
DEEP: Final = 512
#: best hits that show whether an origin has too many
WINDOW: Final = 10
#: confidence, 0..255, of a writer that does not know what to believe
_HALF: Final = 128
#: mean cosine from which hits are one statement
_ONE_STATEMENT: Final = 0.75


def is_doubted(hits: Sequence[Hit]) -> bool:
    """Whether any hit is of little certainty."""
    return any(map(_is_doubted, hits))


def _is_doubted(hit: Hit) -> bool:
    """Less than fairly certain; or just so, and not the user's words."""
    confidence = found_of(hit).certainty
    return confidence < CERTAIN_BYTE or (
        confidence <= _HALF and not may_instruct(hit.role, None, hit.source)
    )


def trusted_candidates(snap: Snapshot, ranked: Ranked) -> list[Candidate]:
    """The best candidates that are certain enough from any origin, in their order."""
    rows = ranked.first_rows(min(len(ranked), _LOOKED_AT))
    certain = header_column(snap, ranked.part[rows], ranked.slot[rows], "confidence") > _HALF
    return [ranked[at] for at in np.flatnonzero(certain)[:_CONFIRMED].tolist()]


def demote_floods(hits: Sequence[Hit], others: Callable[[], Sequence[Hit]]) -> list[Hit]:
    """Hits with floods among the best of them behind what others say.

    Args:
        hits: best first, more than `WINDOW` of them where there are.
        others: gives the best hits that are believed; asked only when an origin has too much.
    """
    most = WINDOW // _SHARE
    if not _too_much(hits[:WINDOW], most) or hits[0].score <= 0:
        return list(hits)
    about = [hit for hit in others() if hit.score >= _ABOUT * hits[0].score][:WINDOW]
    if not about:
        return list(hits)
    flood, last = _too_much(hits, most), about[-1].score
    known = {hit.id for hit in hits}
    every = [*hits, *(hit for hit in about if hit.id not in known)]
    moved = [lower_below(hit, last, "origin") if hit.id in flood else hit for hit in every]
    return sorted(moved, key=lambda hit: -hit.score)


def _too_much(hits: Sequence[Hit], most: int) -> set[int]:
    """Ids of the hits that a doubted origin has beyond its share: all, where it is one statement.

    Also one statement that is made more often than that, by one origin or by several, as it is or
    each time a little otherwise.
    """
    doubted = [hit for hit in hits if _is_doubted(hit)]
    by_origin: dict[tuple[object, ...], list[Hit]] = {}
    for hit in doubted:
        by_origin.setdefault((hit.source, hit.role, hit.user_id, hit.agent_id), []).append(hit)
    out: set[int] = set()
    for mine in by_origin.values():
        if len(mine) > most:
            telling = (
                []
                if _is_one_statement(mine)
                else [hit for hit in mine if not ends_with_question(hit.text)]
            )
            out |= {hit.id for hit in mine} - {hit.id for hit in telling[:most]}
    if len(doubted) > most:
        units = units_of(doubted)
        alike = cosine_table(units, units) >= _ONE_STATEMENT
        if _is_one_statement(doubted):
            alike[:] = True
        flood = alike[alike.sum(axis=0) > most].any(axis=0)
        out |= {doubted[n].id for n in np.flatnonzero(flood).tolist()}
    return out


def _is_one_statement(hits: Sequence[Hit]) -> bool:
    return squared(units_of(hits).mean(axis=0)) >= _ONE_STATEMENT


# Moves a hit to just above or below another one, with a term that explains the difference.


def with_score(
    hit: Hit,
    score: float,
    explainer: Callable[[], Explanation],
    also: tuple[int, ...] | None = None,
) -> Hit:
    """The same memory with another score; its record is not made for that."""
    also = hit.also if also is None else also
    if hit._found is not None:
        return hit.hand_on(Hit.of(hit._found, score, explainer, also))
    return replace(hit, score=score, explainer=explainer, also=also)


def with_term(hit: Hit, more: float, term: str) -> Hit:
    """The hit with a term more, or more of it; its score is the sum of its terms to the last bit."""
    found = candidate_of(hit)
    if found is not None and found.score == hit.score:  # it was not moved before
        fused, known = found.fused, found.evidence
    else:
        why = hit.explain()
        fused, known = why.fused, why.evidence
    evidence = {**known, term: known.get(term, 0.0) + more}
    score = functools.reduce(operator.add, evidence.values(), fused)
    return with_score(hit, score, partial(_explain, hit, evidence))


def raise_above(hit: Hit, least: float, term: str) -> Hit:
    """The hit with a score just above ``least``; itself where it has one."""
    return hit if hit.score > least else _move(hit, least, term, math.inf)


def put_below(hit: Hit, most: float, term: str) -> Hit:
    """The hit with a score just below ``most``, whatever it has."""
    return _move(hit, most, term, -math.inf)


def lower_below(hit: Hit, most: float, term: str) -> Hit:
    """The hit with a score just below ``most``; itself where it has one."""
    return hit if hit.score < most else _move(hit, most, term, -math.inf)


def _move(hit: Hit, bound: float, term: str, towards: float) -> Hit:
    """The hit with a term that takes its score to the first reachable number beyond a bound."""
    more, step = bound - hit.score, math.ulp(max(abs(bound), abs(hit.score)))
    while True:
        more += math.copysign(step, towards)
        moved = with_term(hit, more, term)
        if (moved.score - bound) * math.copysign(1.0, towards) > 0:
            return moved
        step *= 2


def _explain(hit: Hit, evidence: dict[str, float]) -> Explanation:
    return replace(hit.explain(), evidence=dict(evidence))
