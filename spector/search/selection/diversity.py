"""Chooses among hits: different texts, few of each session, none far behind the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from spector.records import Hit
from spector.search.selection.origins import origin_of
from spector.search.selection.rescoring import with_score
from spector.search.view import candidate_of, choose_by_mmr, found_of, vectors_of, wording_in

__all__ = [
    "CUT",
    "SEMANTIC",
    "SEMANTIC_CUT",
    "choose_diverse",
    "limit_per_session",
    "near_the_best",
    "own_scores",
    "without_repeats",
]

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
    """``count`` hits by maximal marginal relevance over their stored vectors, best first."""
    if not hits:
        return []
    scores = np.array([hit.score for hit in hits], np.float32)
    return [hits[n] for n in choose_by_mmr(scores, vectors_of(hits), count, weight)]
