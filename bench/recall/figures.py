"""The numbers that a run saves of its outcomes: plain dictionaries, shares in 0..1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.recall.abstention import false_returns, held_out_abstention
from bench.recall.evaluate import Asked
from bench.recall.metrics import METRICS, Outcome, any_at, by_category, frac_at, mean, summary
from bench.recall.paired import Difference, difference, interval
from bench.recall.shape import DataSet, folds
from bench.results import round_to

#: what every arm is compared with
YARDSTICK: Final = "bm25"
_HEADLINES: Final = ("any", "all", "frac")


def arm_figures(data: DataSet, asked: Mapping[str, Asked], fold_count: int) -> dict[str, Any]:
    """Arm -> its metrics, those of each category, its distance from BM25, its silence."""
    parts = folds(data, fold_count)
    figures = {}
    for name, each in asked.items():
        row: dict[str, Any] = {
            **metrics_of(each.outcomes),
            "folds": [
                round_to(mean(frac_at, [o for o in each.outcomes if o.group in set(part)]))
                for part in parts
            ],
        }
        if YARDSTICK in asked and name != YARDSTICK:
            row["gain"] = {
                metric: _as_list(
                    difference(asked[YARDSTICK].outcomes, each.outcomes, METRICS[metric])
                )
                for metric in _HEADLINES
            }
        row |= _silence(each, parts)
        figures[name] = row
    return figures


def metrics_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The metrics of all questions, their intervals, and the metrics of each category."""
    return {
        "all": _rounded(summary(outcomes)),
        "interval": {
            metric: _as_list(interval(outcomes, METRICS[metric])) for metric in _HEADLINES
        },
        "categories": {
            category: _rounded(summary(part)) for category, part in by_category(outcomes).items()
        },
    }


def _silence(each: Asked, parts: Sequence[Sequence[str]]) -> dict[str, Any]:
    """False returns as the arm is, and by a threshold on its evidence found on other folds."""
    out: dict[str, Any] = {}
    if each.unanswerable:
        out["returned_to_unanswerable"] = round_to(false_returns(each.unanswerable))
    if each.foreign:
        returned = false_returns(each.foreign)
        out["abstention"] = {"false_returns": round_to(returned)}
        if returned < 1:  # it is silent by itself
            return out
        # evidence that hardly ever differs can separate nothing
        scores = [found.top_score for found in each.foreign if found.top_score is not None]
        if scores and scores.count(max(scores)) <= len(scores) / 2:
            held = held_out_abstention(each.outcomes, each.foreign, any_at, parts)
            out["abstention"] |= {
                "with_threshold": round_to(held.false_returns),
                "lost_any": round_to(held.lost),
            }
    return out


def _as_list(found: Difference) -> list[float]:
    return [round_to(found.mean), round_to(found.low), round_to(found.high)]


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round_to(value) for name, value in values.items()}
