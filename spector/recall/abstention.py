"""Abstention: when a recall should return nothing, and which hits stand out.

*Is there an answer at all* is decided by three signals: the share of the cue's words that a memory
covers, the z-score of the most similar memory among unrelated questions (`baseline`), and unknown
names. Fused scores do not separate questions that have an answer from those that have none. *Which
hits matter* is decided by fused scores, compared with the best one and with the crowd behind it,
for contexts and selective recalls alike. Constants and measurements: bench/log, "What stands out",
"Silence above chance".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spector.config import Config
from spector.records import Hit, HitList, Signals
from spector.search import CUT, SEMANTIC, RecallRequest, near_the_best, own_scores

#: hits that a recall should have for ``relevances``: the best, and as many of the crowd
CROWD: Final = 40
#: the best counts at most twice the lead of the third: a memory asked for by name must not make all
#: others look irrelevant
_LEAD: Final = 2.0
#: weight, in hits squared, of the prior that the crowd is as far behind the last hit as that is
#: behind the best: few hits do not show the crowd behind them
_UNSEEN: Final = 32.0
#: messages that are returned where an answer is doubtful, and how many of them a belief counts as:
#: beliefs that bear on a cue are denser, and the cut leaves little else
_IN_DOUBT: Final = 2
_BELIEF: Final = 0.5
#: share of the cue's words from which there is no doubt
_COVERED: Final = 0.95
#: fewer memories are never withheld
_FEWEST: Final = 4
#: limits of a z-score, and the one assumed of an unknown model
_LEAST_LIKE: Final = -1.0
_MOST_LIKE: Final = 8.0
_LIKELY: Final = 4.0
#: a question of fact has few answers; a situation or a request has more, and their relevance falls
#: off later
_MANY: Final = 0.75


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to return nothing.

    Attributes:
        probability: that the store has an answer; 1 where that is not judged.
    """

    silent: bool
    probability: float
    reason: str


def judge(signals: Signals | None, below: float) -> Verdict:
    """Whether to return nothing.

    Args:
        signals: of the recall. Nothing is withheld without them (no cue, no words), of fewer than
            four memories, and of a part of a large store that was not measured.
        below: the probability under which nothing is returned, 0..1; 0 never withholds.
            docs/recall.md has what is lost at which.
    """
    if signals is None or not signals.measured:
        return Verdict(False, 1.0, "")
    if signals.memories is not None and signals.memories < _FEWEST:
        return Verdict(False, 1.0, "")
    probability = 1.0 / (1.0 + math.exp(-log_odds(signals)))
    if probability >= below:
        return Verdict(False, probability, "")
    side = "below" if (signals.likeness or 0.0) < 0 else "above"
    like = (
        ""
        if signals.likeness is None
        else (f", the closest memory is {abs(signals.likeness):.1f} SD {side} unrelated questions")
    )
    name = ", and a name in the cue is unknown" if signals.unknown_name else ""
    return Verdict(
        True,
        probability,
        f"nothing seems to answer this (probability {probability:.2f}, limit {below:g}):"
        f" {signals.coverage:.0%} of the cue's words are covered{like}{name}",
    )


def least_relevance(signals: Signals | None, least: float) -> float:
    """The least relevance of a hit: ``least`` for questions of fact, else three quarters of it."""
    return least if signals is not None and signals.kind == "fact" else _MANY * least


def choose_hits(
    hits: HitList, k: int, config: Config, *, cut: float = CUT, always: bool = False
) -> tuple[Verdict, list[tuple[Hit, float, str]]]:
    """The best k hits and which of them are worth having: one rule for contexts and selections.

    A hit is worth having when it stands out from the crowd and is not far behind the best; where an
    answer is doubtful, only the first few are.

    Args:
        hits: of one recall, at least ``CROWD`` where there are so many; the best k are considered.
        cut: share of the best score that each must have; for beliefs only where many hits cover a
            topic together, and with ``always``.
        always: even when none of them seems to answer.

    Returns:
        The verdict, and unless it is silent each hit, its relevance, and why it is left out ("").
    """
    signals = hits.signals
    verdict = judge(signals, 0.0 if always else config.abstain_below)
    if verdict.silent:
        return verdict, []
    # of a survey each hit is as good an answer as the other
    values = [1.0] * k if hits.is_survey else relevances([hit.score for hit in hits])
    least = least_relevance(signals, config.context_abbreviated)
    # without a cosine scores do not say how well a memory fits the cue
    fits = signals is not None and signals.cosine is not None
    wide = isinstance(hits.request, RecallRequest) and hits.request.is_wide
    few = signals is not None and (signals.memories or _FEWEST) < _FEWEST
    tier = SEMANTIC if always or wide or few else None
    best = max(own_scores(hits[:CROWD]), default=0.0)
    near = {hit.id for hit in (near_the_best(hits, cut, tier, best=best) if fits else hits)}
    # what ranks before a near one was moved there for another reason: a time, a newer version
    last = max((n for n, hit in enumerate(hits[:CROWD]) if hit.id in near), default=-1)
    room = math.inf if always else _room(signals, verdict.probability, config.context_sure)
    doubt = f"an answer is doubtful (probability {verdict.probability:.2f}): no more are returned"
    found, taken = [], 0.0
    for n, (hit, value) in enumerate(zip(hits[:k], values, strict=False)):
        is_near = hit.id in near or (not tier and n <= last)
        reason = "" if is_near else "its score is far below the best"
        if not reason and value < least:
            reason = f"relevance {value:.2f} is below {least:g}"
        if not reason:
            taken += _BELIEF if hit.tier == SEMANTIC else 1.0
            reason = doubt if taken > room else ""
        found.append((hit, value, reason))
    return verdict, found


def _room(signals: Signals | None, probability: float, sure: float) -> float:
    """How many messages to return: two in doubt, and more as the odds of an answer rise."""
    if signals is None or signals.coverage >= _COVERED or probability >= 1.0 or sure <= 0.0:
        return math.inf
    odds = probability * (1.0 - sure) / (sure * (1.0 - probability))
    return int(_IN_DOUBT * max(1.0, odds))


def select_hits(hits: HitList, k: int, config: Config, cut: float) -> HitList:
    """The hits that are worth returning: none when nothing seems to answer, see `choose_hits`."""
    if not hits:  # which says why
        return hits
    verdict, found = choose_hits(hits, k, config, cut=cut)
    silent = verdict.silent
    kept = [hit for hit, _, reason in found if not reason]
    ranked = [reason for hit, _, reason in found if not hit.graph_distance]
    out = hits._holding(kept, abstained=silent, reason=verdict.reason if silent else hits.reason)
    out._left_out = tuple([n for n, reason in enumerate(ranked) if reason])
    return out


def log_odds(signals: Signals) -> float:
    """Log odds that a memory answers the cue.

    Similarity is a z-score among unrelated questions (`baseline`), so the constants depend on no
    model and no kind of text: a question that shares no word with its answer is not withheld if the
    answer is more similar to it than chance, however similar the memories are to one another.
    Without vectors words decide alone; with an uncalibrated model a likely z-score is assumed.
    """
    covered, name = min(signals.coverage, 1.0), float(signals.unknown_name)
    if signals.likeness is None and signals.cosine is None:
        return 9.35 * covered - 4.14 * name - 3.2
    like = _LIKELY if signals.likeness is None else signals.likeness
    like = min(max(like, _LEAST_LIKE), _MOST_LIKE)
    return 2.0 * covered + 0.45 * like - 3.0 * name - 1.4


def relevances(scores: Sequence[float]) -> list[float]:
    """The relevance of each hit, (n,) in 0..1: how far it stands out from the crowd.

    Args:
        scores: (n,) of one recall, on any linear scale; the first ``CROWD`` say what stands out.

    The root of the share of the best one's lead over the mean of ranks 21 to 40; of fewer hits the
    lower half is the crowd, and a little further away, because it may not be a crowd at all. Ratios
    of differences do not change with the scale, so this is the same for every profile and model.
    """
    if not scores:
        return []
    ordered = sorted(scores[:CROWD], reverse=True)
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
