"""Saying less: when a recall had better return nothing, and how far a hit stands out.

Two different questions. *Is there an answer at all* is decided by how many of the cue's words a
memory accounts for, by how far the likest memory stands above what questions about something else
have with the store (`usual`), and by names that nobody knows: fused scores do not separate
questions that have an answer from those that have none. *Which of the hits matter* is decided by
fused scores, compared with those of the best and of the crowd behind it, for contexts and
selective recalls alike. Constants and measurements: bench/log, "What stands out", "Silence above
chance" and "Known names and doubt".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spector.config import Config
from spector.records import Hit, HitList, Signals
from spector.search.selection import CUT, SEMANTIC, near_the_best
from spector.search.view import RecallRequest

__all__ = ["CROWD", "Verdict", "chosen", "evidence", "judge", "least_of", "relevances", "selected"]

#: hits that a recall should have for ``relevances``: the best, and as many of the crowd
CROWD: Final = 40
#: the best counts for no more than twice the lead of the third: a memory asked for by name must not
#: make all others look irrelevant
_LEAD: Final = 2.0
#: weight, in hits squared, of the belief that the crowd is as far behind the last hit as that is
#: behind the best: what a few hits have behind them cannot be seen
_UNSEEN: Final = 32.0
#: messages that are worth having where it is doubtful whether any of them answers, and what one
#: belief counts: what bears on a cue is denser there, and the cut leaves little else
_IN_DOUBT: Final = 2
_BELIEF: Final = 0.5
#: share of the cue's words that are all but all of them: then there is no doubt
_COVERED: Final = 0.95
#: of so few memories none is withheld
_FEWEST: Final = 4
#: deviations beyond which likeness says no more, and those of an answer of an unknown model
_LEAST_LIKE: Final = -1.0
_MOST_LIKE: Final = 8.0
_LIKELY: Final = 4.0
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
        signals: of the recall. Nothing is withheld without them (no cue, no words), of fewer than
            four memories, and of a part of a large store that was not measured. Every kind of cue
            is judged.
        below: the probability under which nothing is returned, 0..1; 0 never withholds. At 0.35, 85
            of 100 LoCoMo questions asked of another conversation bring nothing back, 35 with the
            names of that one, and 1.5 that have an answer are lost; docs/recall.md has more.
    """
    if signals is None or not signals.measured:
        return Verdict(False, 1.0, "")
    if signals.memories is not None and signals.memories < _FEWEST:
        return Verdict(False, 1.0, "")
    probability = 1.0 / (1.0 + math.exp(-evidence(signals)))
    if probability >= below:
        return Verdict(False, probability, "")
    like = "" if signals.likeness is None else (
        f", the likest memory stands {signals.likeness:.1f} deviations above chance"
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


def chosen(
    hits: HitList, k: int, config: Config, *, cut: float = CUT, always: bool = False
) -> tuple[Verdict, list[tuple[Hit, float, str]]]:
    """What contexts and selective recalls are made of: one rule for both.

    A hit is worth having when it stands out from the crowd, is not far behind the best, and is
    among the first where it is doubtful that any of them answers.

    Args:
        hits: of one recall, at least ``CROWD`` where there are so many; the best k are considered.
        cut: share of the best score that each must have; where many are to cover a topic between
            them, and with ``always``, beliefs only.
        always: also when none of them seems to answer.

    Returns:
        Whether to say nothing, and if not each hit, its relevance, and why it is left out ("").
    """
    signals = hits.signals
    verdict = judge(signals, 0.0 if always else config.abstain_below)
    if verdict.silent:
        return verdict, []
    # of a survey each is as good an answer as the other
    values = [1.0] * k if hits.is_survey else relevances([hit.score for hit in hits])
    least = least_of(signals, config.context_abbreviated)
    # without a cosine scores do not say how well a memory fits the cue
    fits = signals is not None and signals.cosine is not None
    wide = isinstance(hits.request, RecallRequest) and hits.request.is_wide
    few = signals is not None and (signals.memories or _FEWEST) < _FEWEST
    tier = SEMANTIC if always or wide or few else None
    near = {hit.id for hit in (near_the_best(hits[:k], cut, tier) if fits else hits[:k])}
    # what stands before one that is near was put there for more than its score: a time, an age
    last = max((n for n, hit in enumerate(hits[:k]) if hit.id in near), default=-1)
    room = math.inf if always else _room(signals, verdict.probability, config.context_sure)
    doubt = f"probability of an answer {verdict.probability:.2f}: no more are worth having"
    found, taken = [], 0.0
    for n, (hit, value) in enumerate(zip(hits[:k], values, strict=False)):
        is_near = hit.id in near if tier else n <= last
        reason = "" if is_near else "its score is far below the best"
        if not reason and value < least:
            reason = f"relevance {value:.2f} is below {least:g}"
        if not reason:
            taken += _BELIEF if hit.tier == SEMANTIC else 1.0
            reason = doubt if taken > room else ""
        found.append((hit, value, reason))
    return verdict, found


def _room(signals: Signals | None, probability: float, sure: float) -> float:
    """How many messages are worth having: two in doubt, and more as the odds of an answer rise."""
    if signals is None or signals.coverage >= _COVERED or probability >= 1.0 or sure <= 0.0:
        return math.inf
    odds = probability * (1.0 - sure) / (sure * (1.0 - probability))
    return int(_IN_DOUBT * max(1.0, odds))


def selected(hits: HitList, k: int, config: Config, cut: float) -> HitList:
    """The hits that are worth returning: none when nothing seems to answer, see `chosen`."""
    verdict, found = chosen(hits, k, config, cut=cut)
    silent = verdict.silent and bool(hits)
    kept = [hit for hit, _, reason in found if not reason]
    return hits._holding(kept, abstained=silent, reason=verdict.reason if silent else hits.reason)


def evidence(signals: Signals) -> float:
    """Log odds that a memory answers the cue.

    Likeness is counted in deviations of what unrelated questions have with the store (`usual`), so
    the constants belong to no model and to no kind of text: a question that shares no word with its
    answer is not withheld if the answer is liker to it than chance makes memories, and it does not
    matter how alike they are to each other. Without vectors words decide alone; where nobody knows
    what a cosine says, a likely one is assumed.
    """
    covered, name = min(signals.coverage, 1.0), float(signals.unknown_name)
    if signals.likeness is None and signals.cosine is None:
        return 9.35 * covered - 4.14 * name - 3.2
    like = _LIKELY if signals.likeness is None else signals.likeness
    like = min(max(like, _LEAST_LIKE), _MOST_LIKE)
    # whoever is named is known, and of what is asked about them little is
    little = min(0.0, 7.0 * covered - 4.0) if signals.known_name else 0.0
    return 2.0 * covered + 0.45 * like + little - 3.0 * name - 1.4


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
