"""Merges the answers to the parts of a compound cue into one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from spector.records import Explanation, Hit, HitList
from spector.search import POOL
from spector.search.selection import with_score

__all__ = ["merge_answers"]


def merge_answers(lists: Sequence[HitList], k: int) -> HitList:
    """The best k of several answers by the mean of their scores above the last hit.

    A memory that is not in a list gets 0 from it. Reciprocal rank fusion was tried on the compound
    questions of LoCoMo and BEAM and loses to this, with K = 60 even to the whole cue.

    Args:
        lists: the answer to the whole cue first; it gives statistics and signals. The first `POOL`
            of each are merged; what the whole has behind them stays there.
        k: hits wanted.

    Returns:
        Hits, best first, ties by id. ``explain()`` says under "parts" what merging changed.
    """
    whole = lists[0]
    base = min((hit.score for hit in whole[:POOL]), default=0.0)
    above: dict[int, float] = {}
    first: dict[int, Hit] = {}
    for hits in [each[:POOL] for each in lists]:
        floor = min((hit.score for hit in hits), default=0.0)
        for hit in hits:
            first.setdefault(hit.id, hit)
            above[hit.id] = above.get(hit.id, 0.0) + (hit.score - floor) / len(lists)
    for hit in whole.standing:  # a part may have it as an ordinary hit
        above.pop(hit.id, None)
    best = sorted(above, key=lambda each: (-above[each], each))
    merged = [_rescore(first[each], base + above[each]) for each in best[:k]]
    rest = [hit for hit in whole[POOL:] if hit.id not in above]
    return whole._holding([*merged, *rest][:k])


def _rescore(hit: Hit, score: float) -> Hit:
    return with_score(hit, score, functools.partial(_explain, hit, score))


def _explain(hit: Hit, score: float) -> Explanation:
    why = hit.explain()
    return replace(why, evidence={**why.evidence, "parts": score - why.score})
