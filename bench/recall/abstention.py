"""Abstention: false returns to unanswerable questions, and what silence costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.recall.metrics import Metric, Outcome, mean

#: share of unanswerable cues that must return nothing
SILENCE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Abstention:
    """``false_returns``: share of foreign cues that brought anything back. ``lost``: how much of
    the metric the answerable questions lose by the same threshold."""

    false_returns: float
    lost: float
    thresholds: tuple[float, ...]


def false_returns(foreign: Sequence[Outcome]) -> float:
    """Share of cues whose answer is not in the store that nevertheless brought something back."""
    return mean(lambda each: float(each.returned > 0), foreign)


def at_threshold(
    outcomes: Sequence[Outcome],
    foreign: Sequence[Outcome],
    metric: Metric,
    thresholds: Mapping[str, float],
) -> tuple[float, float]:
    """(false returns, metric lost) when answers whose best score is below the threshold of their
    group are withheld."""

    def returns(each: Outcome) -> bool:
        return each.top_score is not None and each.top_score >= thresholds[each.group]

    lost = mean(lambda each: 0.0 if returns(each) else metric(each), outcomes)
    return mean(lambda each: float(returns(each)), foreign), lost


def threshold_for(foreign: Sequence[Outcome], silence: float = SILENCE) -> float:
    """The least score that keeps ``silence`` of these cues quiet."""
    scores = sorted(-math.inf if each.top_score is None else each.top_score for each in foreign)
    quiet = math.ceil(silence * len(scores))
    return float(np.nextafter(scores[quiet - 1], math.inf)) if quiet else -math.inf


def held_out_abstention(
    outcomes: Sequence[Outcome],
    foreign: Sequence[Outcome],
    metric: Metric,
    folds: Sequence[Sequence[str]],
    silence: float = SILENCE,
) -> Abstention:
    """Each fold is judged by the threshold that the other folds' foreign cues asked for."""
    thresholds: dict[str, float] = {}
    for fold in folds:
        value = threshold_for([each for each in foreign if each.group not in fold], silence)
        thresholds.update(dict.fromkeys(fold, value))
    quiet, lost = at_threshold(outcomes, foreign, metric, thresholds)
    return Abstention(quiet, lost, tuple(thresholds[fold[0]] for fold in folds))
