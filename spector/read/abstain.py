"""Saying less: when a recall had better return nothing, and how far a hit stands out.

Two different questions. *Is there an answer at all* is decided by how many of the cue's words a
memory accounts for and by raw likeness: fused scores do not separate questions that have an
answer from those that have none. *Which of the hits matter* is decided by fused scores, compared
with those of the crowd behind the best. Constants and measurements: bench/LOG.md, "Ranking
research" and "What stands out".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spector.records import HitList, Signals

__all__ = ["CALIBRATED_MODEL", "CROWD", "Verdict", "evidence", "judge", "relevances", "selected"]

#: whose cosines the constants are about
CALIBRATED_MODEL: Final = "all-MiniLM-L6-v2-int8"
#: hits that a recall should have for ``relevances``: the best, and as many of the crowd
CROWD: Final = 40
#: with so few hits all of them are above 0.7: there is no crowd to stand out from
_FEW: Final = 10
#: the best counts for no more than twice the lead of the third: a memory asked for by name must not
#: make all others look irrelevant
_LEAD: Final = 2.0
#: the constants are those of stores of hundreds; of so few memories none is worth withholding
_SMALL_STORE: Final = 100


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
            is no question of fact, and of fewer than 100 memories.
        below: the probability under which nothing is returned, 0..1; 0 never withholds. At 0.12,
            85 of 100 LoCoMo questions asked of another conversation bring nothing back, and
            1.1 points of those that have an answer are lost.
    """
    if signals is None or signals.kind != "fact":
        return Verdict(False, 1.0, "")
    if signals.memories is not None and signals.memories < _SMALL_STORE:
        return Verdict(False, 1.0, "")
    probability = 1.0 / (1.0 + math.exp(-evidence(signals)))
    if probability >= below:
        return Verdict(False, probability, "")
    name = ", and a name in it is unknown" if signals.unknown_name else ""
    return Verdict(
        True, probability,
        f"no memory accounts for the cue: its words are covered by {signals.coverage:.2f}{name}; "
        f"probability of an answer {probability:.2f}, below {below:g}",
    )  # fmt: skip


def selected(hits: HitList, k: int, *, below: float, least: float) -> HitList:
    """The hits that are worth returning: none when nothing seems to answer, else what stands out.

    Args:
        hits: of one recall, at least ``CROWD`` where there are so many; the best k are considered.
        below: see ``judge``. least: relevance of a hit that is kept, 0..1.
    """
    verdict = judge(hits.signals, below)
    if verdict.silent and hits:
        kept, reason = [], verdict.reason
    else:
        values = relevances([hit.score for hit in hits])
        kept = [hit for hit, value in zip(hits[:k], values, strict=False) if value >= least]
        reason = hits.reason
    return HitList(
        kept, hits.stats, signals=hits.signals, abstained=bool(hits) and verdict.silent,
        reason=reason,
    )  # fmt: skip


def evidence(signals: Signals) -> float:
    """Log odds that a memory answers the cue, for as many cues with an answer as without.

    Fitted on 1,020 questions of five LoCoMo conversations and 4,080 put to the wrong one. Without a
    likeness (another model has other cosines) it is nearly as good.
    """
    name = float(signals.unknown_name)
    if signals.cosine is None:
        return 9.35 * signals.coverage - 4.14 * name - 3.2
    return 7.2 * signals.coverage + 12.6 * signals.cosine - 3.9 * name - 7.8


def relevances(scores: Sequence[float]) -> list[float]:
    """How far each hit stands out from the crowd: (n,) in 0..1, rising with the scores.

    Args:
        scores: (n,) of one recall, in any order, on any linear scale; n of ``CROWD`` or more.

    The root of the share of the best one's lead over the mean of ranks 21 to 40. Ratios of
    differences do not change with the scale, so this is the same for every profile and model. The
    root puts 0.7 and 0.4 where they do most: on LoCoMo 5 of 40 hits are above 0.7 (any@ 86.1; the
    best five: 84.6) and 14 above 0.4 (95.1; the best fourteen: 94.1).
    """
    if not scores:
        return []
    ordered = sorted(scores, reverse=True)
    best, last, count = ordered[0], ordered[-1], len(ordered)
    crowd = ordered[CROWD // 2 : CROWD] or [last]
    floor = sum(crowd) / len(crowd)
    if count < CROWD // 2:  # the fewer, the further behind the last one an unseen crowd would be
        floor -= (best - last) * (CROWD // 2 - count) / _FEW
    lead = min(best - floor, _LEAD * (ordered[min(2, count - 1)] - floor))
    if lead <= 0:  # all alike, or one far ahead of others that are all alike
        return [1.0 if score >= best else 0.0 for score in scores]
    return [math.sqrt(min(1.0, max(0.0, (score - floor) / lead))) for score in scores]
