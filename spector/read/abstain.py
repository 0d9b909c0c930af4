"""Saying less: when a recall had better return nothing, and how far a hit stands out.

Two different questions. *Is there an answer at all* is decided by how many of the cue's words a
memory accounts for, by how far the likest memory stands above what the store's memories have in
common anyway (`usual`), and by names that nobody knows: fused scores do not separate questions that
have an answer from those that have none. *Which of the hits matter* is decided by fused scores,
compared with those of the crowd behind the best. Constants and measurements: bench/LOG.md, "Ranking
research", "What stands out" and "Silence by the store's own likeness".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spector.records import HitList, Signals

__all__ = [
    "CROWD", "Verdict", "evidence", "judge", "least_of", "relevances", "selected",
]

#: hits that a recall should have for ``relevances``: the best, and as many of the crowd
CROWD: Final = 40
#: the best counts for no more than twice the lead of the third: a memory asked for by name must not
#: make all others look irrelevant
_LEAD: Final = 2.0
#: weight, in hits squared, of the belief that the crowd is as far behind the last hit as that is
#: behind the best: what a few hits have behind them cannot be seen
_UNSEEN: Final = 32.0
#: of so few memories none is withheld
_FEWEST: Final = 4
#: log odds for an answer that a store of no memories would have, and the size at which half is left
_BENEFIT: Final = 3.0
_HALF: Final = 8.0
#: deviations beyond which likeness says no more
_LEAST_LIKE: Final = -1.0
_MOST_LIKE: Final = 5.0
#: a question of fact has few answers; what bears on a situation or a request is more, and the
#: relevance of memories that help falls off later
_MANY: Final = 0.75


@dataclass(frozen=True, slots=True)
class Verdict:
    """``probability``: that the store has an answer, 1 where the question does not arise."""

    silent: bool
    probability: float
    reason: str


def judge(signals: Signals | None, below: float) -> Verdict:
    """Whether to return nothing.

    Args:
        signals: of the recall. Nothing is withheld without them (no cue, no words), for a cue that
            is no question of fact, of fewer than four memories, and of a part of a large store that
            was not measured.
        below: the probability under which nothing is returned, 0..1; 0 never withholds. At 0.12, 84
            of 100 LoCoMo questions asked of another conversation bring nothing back, and one of 100
            that have an answer is lost; docs/recall.md has the measurement.
    """
    if signals is None or signals.kind != "fact" or not signals.measured:
        return Verdict(False, 1.0, "")
    if signals.memories is not None and signals.memories < _FEWEST:
        return Verdict(False, 1.0, "")
    probability = 1.0 / (1.0 + math.exp(-evidence(signals)))
    if probability >= below:
        return Verdict(False, probability, "")
    like = "" if signals.likeness is None else (
        f", the likest memory stands {signals.likeness:.1f} deviations above the usual likeness"
    )
    name = ", and a name in it is unknown" if signals.unknown_name else ""
    return Verdict(
        True, probability,
        f"no memory accounts for the cue: its words are covered by {signals.coverage:.2f}"
        f"{like}{name}; probability of an answer {probability:.2f}, below {below:g}",
    )  # fmt: skip


def least_of(signals: Signals | None, least: float) -> float:
    """The relevance from which a hit is worth having: of facts ``least``, else three quarters."""
    return least if signals is not None and signals.kind == "fact" else _MANY * least


def selected(hits: HitList, k: int, *, below: float, least: float) -> HitList:
    """The hits that are worth returning: none when nothing seems to answer, else what stands out.

    Args:
        hits: of one recall, at least ``CROWD`` where there are so many; the best k are considered.
        below: see ``judge``. least: relevance of a hit that is kept, 0..1, see ``least_of``.
    """
    verdict = judge(hits.signals, below)
    if verdict.silent and hits:
        kept, reason = [], verdict.reason
    else:
        from_here = least_of(hits.signals, least)
        relevance = relevances([hit.score for hit in hits])[:k]
        kept = [hit for hit, value in zip(hits, relevance, strict=False) if value >= from_here]
        reason = hits.reason
    return HitList(
        kept, hits.stats, signals=hits.signals, abstained=bool(hits) and verdict.silent,
        reason=reason, standing=hits.standing,
    )  # fmt: skip


def evidence(signals: Signals) -> float:
    """Log odds that a memory answers the cue.

    Likeness is counted in deviations of the store's own (`usual`), so the constants belong to no
    model and to no kind of text: a question that shares no word with its answer is not withheld if
    the answer is liker to it than memories are to each other. Fitted on questions of five LoCoMo
    conversations, put to their own store and to the other four, and on the paraphrases of
    bench/recall; the fewer memories there are, the more is let through. Without vectors words
    decide alone.
    """
    covered, name = min(signals.coverage, 1.0), float(signals.unknown_name)
    benefit = 0.0
    if signals.memories is not None:
        benefit = _BENEFIT * _HALF / (_HALF + signals.memories)
    if signals.likeness is None:
        return 9.35 * covered - 4.14 * name - 3.2 + benefit
    like = min(max(signals.likeness, _LEAST_LIKE), _MOST_LIKE)
    return 5.5 * covered + 1.45 * like - 3.9 * name - 3.5 + benefit


def relevances(scores: Sequence[float]) -> list[float]:
    """How far each hit stands out from the crowd: (n,) in 0..1, rising with the scores.

    Args:
        scores: (n,) of one recall, in any order, on any linear scale; n of ``CROWD`` or more.

    The root of the share of the best one's lead over the mean of ranks 21 to 40; of fewer hits the
    lower half is the crowd, and a little further away, because it may be no crowd at all. Ratios of
    differences do not change with the scale, so this is the same for every profile and model. The
    root puts 0.7 and 0.55 where they do most: on LoCoMo 5 of 40 hits are above 0.7 (any@ 86.7; the
    best five: 85.4) and 9 above 0.55 (92.7; the best ten: 92.6).
    """
    if not scores:
        return []
    ordered = sorted(scores, reverse=True)[:CROWD]
    best, last, count = ordered[0], ordered[-1], len(ordered)
    crowd = ordered[count // 2 :]
    floor = sum(crowd) / len(crowd)
    if count < CROWD // 2:
        unseen = _UNSEEN / (_UNSEEN + count * count)
        floor += unseen * (2 * last - best - floor)
    lead = min(best - floor, _LEAD * (ordered[min(2, count - 1)] - floor))
    if lead <= 0:  # all alike, or one far ahead of others that are all alike
        return [1.0 if score >= best else 0.0 for score in scores]
    return [math.sqrt(min(1.0, max(0.0, (score - floor) / lead))) for score in scores]
