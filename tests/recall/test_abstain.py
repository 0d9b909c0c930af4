"""Saying less: what is irrelevant, and when there is no answer at all.

Damage guarded against: memories of something else handed to a model as if they answered; a right
answer withheld. Each decision is moved by each of its inputs in the documented direction.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.config import Config
from spector.language.statements.form import names_of
from spector.recall.abstention import (
    CROWD,
    choose_hits,
    judge,
    least_relevance,
    log_odds,
    relevances,
)
from spector.records import HitList, Signals
from tests.cases import Cases
from tests.recall.test_quote import hit

cases = Cases(__file__)

BELOW = Config().abstain_below
#: an answer far ahead, a few near it, and a crowd that thins out
LIKELY = [3.0, 2.4, 2.0, *(1.6 - 0.02 * n for n in range(CROWD - 3))]

SCORES = st.lists(st.floats(-5, 5), min_size=1, max_size=60)


def test_the_best_stands_out_and_the_crowd_does_not() -> None:
    found = relevances(LIKELY)
    assert found[0] == 1.0
    assert 0.7 < found[1] < 1.0
    assert all(value < 0.4 for value in found[15:])


@given(SCORES)
def test_relevance_is_within_its_range_and_rises_with_the_score(scores: list[float]) -> None:
    found = relevances(scores)
    assert all(0.0 <= value <= 1.0 for value in found)
    assert found[scores.index(max(scores))] == 1.0
    pairs = sorted(zip(scores, found, strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(pairs))


@pytest.mark.parametrize("count", [8, 10, 12, 19, 20, 30, 39])
def test_of_a_few_hits_those_far_behind_are_left_out(count: int) -> None:
    """Ten hits or fewer were all kept, so in a small store nothing was ever cut."""
    found = relevances([3.0 - 2.4 * n / count for n in range(count)])
    assert min(found[:2]) >= 0.7
    assert found[-1] < 0.55


def test_a_memory_asked_for_by_name_does_not_hide_the_others() -> None:
    named = [103.0, *LIKELY[1:]]
    assert relevances(named)[1] >= 0.7
    assert relevances(named)[:5] == pytest.approx(relevances([2.8, *LIKELY[1:]])[:5], abs=0.2)


@cases("more", "less")
def test_each_signal_counts_in_its_direction(more: dict[str, Any], less: dict[str, Any]) -> None:
    common: dict[str, Any] = {"coverage": 0.5, "likeness": 1.5}
    assert log_odds(Signals(**{**common, **more})) > log_odds(Signals(**{**common, **less}))


def test_a_cue_that_nothing_accounts_for_is_answered_with_silence() -> None:
    verdict = judge(Signals(coverage=0.1, likeness=0.5), BELOW)
    assert verdict.silent
    assert "10% of the cue's words are covered" in verdict.reason
    assert "0.5 SD above unrelated questions" in verdict.reason
    assert not judge(Signals(coverage=0.9, likeness=0.5), BELOW).silent


def test_an_answer_in_other_words_is_not_withheld() -> None:
    """Coverage alone decided: "Where does she work?" was met with silence, the cashier or not."""
    assert not judge(Signals(coverage=0.0, likeness=5.0, memories=225), BELOW).silent
    assert judge(Signals(coverage=0.0, likeness=3.0, memories=225, unknown_name=True), BELOW).silent


def test_the_raw_cosine_decides_nothing() -> None:
    """Models differ in their cosines; only what unrelated questions have is compared."""
    found = {log_odds(Signals(coverage=0.4, likeness=1.0, cosine=x)) for x in (None, 0.1, 0.9)}
    assert len(found) == 1


def test_where_nobody_knows_what_a_cosine_says_words_and_names_decide() -> None:
    """Vectors that a caller gives, of no embedder: an answer in other words is not withheld."""
    assert not judge(Signals(cosine=0.2), BELOW).silent
    assert judge(Signals(cosine=0.9, unknown_name=True), BELOW).silent
    assert judge(Signals(), BELOW).silent, "without vectors there are words alone"


def test_of_a_situation_or_a_request_more_is_kept_than_of_a_fact() -> None:
    assert least_relevance(Signals(kind="fact"), 0.6) == 0.6
    talk, request = (least_relevance(Signals(kind=kind), 0.6) for kind in ("talk", "request"))
    assert talk == request < 0.6
    assert least_relevance(None, 0.0) == least_relevance(Signals(), 0.0) == 0.0


@cases("cue", "names")
def test_names_are_words_with_a_capital_inside_of_a_sentence(cue: str, names: list[str]) -> None:
    assert names_of(cue) == names


# -- what is worth having -----------------------------------------------------------------------


def hits_of(*scores: float, tier: str = "episodic", **signals: Any) -> HitList:
    """Hits with these scores in this order, that likeness was asked for."""
    found = [hit(f"memory {n}", n=n + 1) for n in range(len(scores))]
    return HitList(
        [
            replace(each, score=score, record=replace(each.record, tier=tier))
            for each, score in zip(found, scores, strict=True)
        ],
        signals=Signals(**{"cosine": 0.5, "coverage": 1.0, "likeness": 6.0, **signals}),
    )


def kept(hits: HitList, *, always: bool = False, cut: float = 0.6, **config: float) -> list[int]:
    chosen_by = Config(**{"context_abbreviated": 0.0, **config})  # type: ignore[arg-type]
    _, found = choose_hits(hits, len(hits), chosen_by, cut=cut, always=always)
    return [each.id for each, _, reason in found if not reason]


@pytest.mark.parametrize("tier", ["episodic", "semantic"])
def test_what_is_far_behind_the_best_is_left_out_in_every_tier(tier: str) -> None:
    assert kept(hits_of(3.0, 2.0, 1.7, 1.0, tier=tier)) == [1, 2]
    assert kept(hits_of(3.0, 2.0, 1.7, 1.0, tier=tier), cut=0.3) == [1, 2, 3, 4]
    without = hits_of(3.0, 2.0, 1.7, 1.0, tier=tier, cosine=None)
    assert kept(without) == [1, 2, 3, 4], "scores do not say how well a memory fits"


def test_what_stands_before_one_that_is_near_stays() -> None:
    """Memories of a day that the cue names stand in turn with the best, whatever their scores."""
    assert kept(hits_of(0.5, 3.0, 0.4, 2.5, 0.3)) == [1, 2, 3, 4]


def test_always_cuts_beliefs_only() -> None:
    assert kept(hits_of(3.0, 2.0, 1.0), always=True) == [1, 2, 3]
    assert kept(hits_of(3.0, 2.0, 1.0, tier="semantic"), always=True) == [1, 2]


def test_in_doubt_two_are_kept_and_more_as_the_odds_rise() -> None:
    counts = [
        len(kept(hits_of(*[2.0] * 20, coverage=0.5, likeness=like), context_sure=0.7))
        for like in (0.0, 2.0, 4.0, 6.0, 8.0)
    ]
    assert counts[0] == 2
    assert counts == sorted(counts)
    assert counts[-1] > 4
    doubtful = hits_of(*[2.0] * 20, coverage=0.5, likeness=2.0)
    assert len(kept(doubtful, context_sure=0.0)) == 20
    assert len(kept(doubtful, always=True)) == 20
    assert len(kept(hits_of(*[2.0] * 20, coverage=0.95, likeness=1.0))) == 20, "all its words"


def test_a_belief_counts_half() -> None:
    assert len(kept(hits_of(*[2.0] * 9, tier="semantic", coverage=0.5, likeness=1.0))) == 4
