"""Merges the answers to the parts of a compound cue into one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from spector.language.cues import split_cue
from spector.providers import Embedder, embedded
from spector.recall.reading import read_cue
from spector.records import Explanation, Hit, HitList
from spector.search import POOL, Searcher
from spector.search.selection import with_score
from spector.search.view import Cue, Reading, RecallRequest

__all__ = ["answer_parts", "merge_answers"]


def answer_parts(
    searcher: Searcher,
    embedder: Embedder | None,
    request: RecallRequest,
    named: str,
    hits: HitList,
) -> HitList:
    """The answer to a cue, ``hits``, and to its parts; embeds only what has a part."""
    parts = split_cue(request.cue.text or "", searcher.speakers())
    if len(parts) == 1:
        return hits
    by_time = request.ranks_by_evidence and request.profile.ranking.by_time
    now_ms = request.now_ms if by_time else None

    def read(part: str) -> Reading:
        """Of the part, but for the present, which the whole cue asks about or not."""
        found = read_cue(part, named=named, topic=None, may_be_now=False, now_ms=now_ms)
        return replace(found, asks_for_now=request.reading.asks_for_now)

    vectors = [request.cue.vector] * len(parts)
    if embedder is not None:
        vectors = list(embedded(embedder, parts))
    found = searcher.recall_all(
        [
            replace(request, k=max(request.k, POOL)),
            *(
                replace(request, cue=Cue(part, vector), reading=read(part), k=POOL)
                for part, vector in zip(parts, vectors, strict=True)
            ),
        ]
    )
    return merge_answers(found, request.k)


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
