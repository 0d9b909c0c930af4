"""What is measured of an answer. All numbers are shares in 0..1 unless they say otherwise.

any@k: a gold item is among the first k. all@k: every gold item is. frac@k: the share of the gold
items that are. MRR@k: one over the rank of the first gold item, 0 beyond k. precision@k: the share
of what was returned (at most k) that is gold. "Recall" alone means the first three by turns in this
field, so it is not a name here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.recall.shape import Question
from bench.results import rank

#: what "the first k" is in the tables
K: Final = 10
_PIECE = re.compile(r"\w+|[^\w\s]")
#: tokens of an OpenAI model for a word or a mark of punctuation, on average (mean error 3.8 %)
_TOKENS_PER_PIECE: Final = 0.98


@dataclass(frozen=True, slots=True)
class Answer:
    """Item ids, best first, with scores that only compare within one arm and store.

    ``evidence``: how much speaks for there being an answer at all; None: the best score says it.
    ``tokens``: of what was really handed over; None: of the items.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    cpu_ms: float = 0.0
    evidence: float | None = None
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one question went. ``ranks`` of the gold items count from 1; None: not returned.

    ``returned`` and ``tokens`` are of the first k; ``top_score``, the answer's evidence or best
    score, is None when nothing came back.
    """

    question: str
    category: str
    group: str
    ranks: tuple[int | None, ...]
    returned: int
    tokens: float
    top_score: float | None
    cpu_ms: float
    ids: tuple[str, ...] = ()


Metric = Callable[[Outcome], float]


def judged(question: Question, answer: Answer, tokens: dict[str, float], k: int = K) -> Outcome:
    """The outcome of an answer; ``tokens`` are the lengths of the store's items."""
    assert len(set(answer.ids)) == len(answer.ids), f"{question.id}: an item came back twice"
    place = {each: n + 1 for n, each in enumerate(answer.ids)}
    first = answer.ids[:k]
    return Outcome(
        question=question.id,
        category=question.category,
        group=question.group,
        ranks=tuple(place.get(each) for each in question.gold),
        returned=len(first),
        tokens=_tokens(answer, tokens, first),
        top_score=_evidence(answer),
        cpu_ms=answer.cpu_ms,
        ids=first,
    )


def _tokens(answer: Answer, tokens: dict[str, float], first: Sequence[str]) -> float:
    return math.fsum(tokens[each] for each in first) if answer.tokens is None else answer.tokens


def _evidence(answer: Answer) -> float | None:
    if not answer.ids:
        return None
    return answer.scores[0] if answer.evidence is None else answer.evidence


def any_at(outcome: Outcome, k: int = K) -> float:
    return float(any(_within(outcome, k)))


def all_at(outcome: Outcome, k: int = K) -> float:
    return float(all(_within(outcome, k)))


def frac_at(outcome: Outcome, k: int = K) -> float:
    return sum(_within(outcome, k)) / len(outcome.ranks)


def reciprocal_rank(outcome: Outcome, k: int = K) -> float:
    found = [each for each in outcome.ranks if each is not None and each <= k]
    return 1 / min(found) if found else 0.0


def precision_at(outcome: Outcome, k: int = K) -> float:
    """0 when nothing was returned."""
    returned = min(outcome.returned, k)
    return sum(_within(outcome, k)) / returned if returned else 0.0


def _within(outcome: Outcome, k: int) -> list[bool]:
    assert outcome.ranks, f"{outcome.question}: a question without gold has no recall"
    return [each is not None and each <= k for each in outcome.ranks]


METRICS: Final[dict[str, Metric]] = {
    "any": any_at,
    "all": all_at,
    "frac": frac_at,
    "mrr": reciprocal_rank,
    "precision": precision_at,
}


def mean(metric: Metric, outcomes: Iterable[Outcome]) -> float:
    """The mean over questions; NaN for none."""
    values = [metric(each) for each in outcomes]
    return math.fsum(values) / len(values) if values else math.nan


def summary(outcomes: Sequence[Outcome], k: int = K) -> dict[str, float]:
    """Every metric over answerable questions, and what it costs the reader.

    ``noise`` is how many items that are not gold come with each that is; ``silent`` the share of
    questions that got nothing although there is an answer.
    """
    found = sum(sum(_within(each, k)) for each in outcomes)
    returned = sum(min(each.returned, k) for each in outcomes)
    times = sorted(each.cpu_ms for each in outcomes)
    return {
        "questions": len(outcomes),
        **{name: mean(metric, outcomes) for name, metric in METRICS.items()},
        "noise": (returned - found) / found if found else math.inf,
        "silent": mean(lambda each: float(each.returned == 0), outcomes),
        "tokens": math.fsum(each.tokens for each in outcomes) / max(len(outcomes), 1),
        "p50_cpu_ms": times[rank(0.50, len(times))] if times else math.nan,
        "p95_cpu_ms": times[rank(0.95, len(times))] if times else math.nan,
    }


def by_category(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by the category of their question, in the order of first appearance."""
    parts: dict[str, list[Outcome]] = {}
    for each in outcomes:
        parts.setdefault(each.category, []).append(each)
    return parts


def estimated_tokens(text: str) -> float:
    """About how many tokens a language model reads: words and punctuation x 0.98."""
    return len(_PIECE.findall(text)) * _TOKENS_PER_PIECE


def ranked(scores: np.ndarray, depth: int) -> list[int]:
    """Rows by falling score, at most ``depth``; ties by row, rows of -inf never.

    (n,) float -> row numbers.
    """
    order = np.argsort(-scores, kind="stable")[:depth]
    return [int(row) for row in order if scores[row] > -np.inf]
