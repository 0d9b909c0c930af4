"""Moves a hit to just above or below another one, with a term that explains the difference."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from spector.records import Explanation, Hit
from spector.search.view import candidate_of

__all__ = ["lower_below", "put_below", "raise_above", "with_score"]


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
    found = candidate_of(hit)
    if found is not None and found.score == hit.score:  # it was not moved before
        fused, known = found.fused, found.evidence
    else:
        why = hit.explain()
        fused, known = why.fused, why.evidence
    more, step = bound - hit.score, math.ulp(max(abs(bound), abs(hit.score)))
    while True:
        more += math.copysign(step, towards)
        evidence = {**known, term: known.get(term, 0.0) + more}
        score = functools.reduce(operator.add, evidence.values(), fused)
        if (score - bound) * math.copysign(1.0, towards) > 0:
            break
        step *= 2
    return with_score(hit, score, partial(_explain, hit, evidence))


def _explain(hit: Hit, evidence: dict[str, float]) -> Explanation:
    return replace(hit.explain(), evidence=dict(evidence))
