"""Saying less: what is irrelevant, and when there is no answer at all.

Damage guarded against: memories of something else handed to a model as if they answered; a right
answer withheld. Each decision is moved by each of its inputs in the documented direction.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.read.abstain import CROWD, evidence, judge, relevances
from spector.read.names import names_of
from spector.records import Signals

#: an answer far ahead, a few near it, and a crowd that thins out
LIKELY = [3.0, 2.4, 2.0, *(1.6 - 0.02 * n for n in range(CROWD - 3))]

SCORES = st.lists(st.floats(-5, 5), min_size=1, max_size=60)


def test_the_best_stands_out_and_the_crowd_does_not() -> None:
    found = relevances(LIKELY)
    assert found[0] == 1.0
    assert 0.7 < found[1] < 1.0
    assert all(value < 0.4 for value in found[15:])


@given(SCORES, st.floats(0.01, 100), st.floats(-50, 50))
def test_the_scale_of_the_scores_does_not_matter(
    scores: list[float], factor: float, offset: float
) -> None:
    """Equal scores must stay equal: the comparison is made on a grid that both scales hold."""
    scores = [round(score * 64) / 64 for score in scores]
    factor, offset = 2.0 ** round(math.log2(factor)), float(round(offset))
    moved = [factor * score + offset for score in scores]
    assert relevances(moved) == pytest.approx(relevances(scores), abs=1e-6)


@given(SCORES)
def test_relevance_is_within_its_range_and_rises_with_the_score(scores: list[float]) -> None:
    found = relevances(scores)
    assert all(0.0 <= value <= 1.0 for value in found)
    assert found[scores.index(max(scores))] == 1.0
    pairs = sorted(zip(scores, found, strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(pairs))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=10))
def test_ten_hits_are_no_crowd(scores: list[float]) -> None:
    if max(scores) - min(scores) > 1e-6:
        assert min(relevances(scores)) >= 0.7


def test_a_better_score_is_never_less_relevant() -> None:
    higher = [*LIKELY[:5], LIKELY[5] + 0.05, *LIKELY[6:]]
    assert relevances(higher)[5] > relevances(LIKELY)[5]


def test_a_memory_asked_for_by_name_does_not_hide_the_others() -> None:
    named = [103.0, *LIKELY[1:]]
    assert relevances(named)[1] >= 0.7
    assert relevances(named)[:5] == pytest.approx(relevances([2.8, *LIKELY[1:]])[:5], abs=0.2)


@pytest.mark.parametrize(
    ("more", "less"),
    [({"coverage": 0.8}, {"coverage": 0.4}), ({"cosine": 0.6}, {"cosine": 0.3}),
     ({"unknown_name": False}, {"unknown_name": True})],
)  # fmt: skip
def test_each_signal_counts_in_its_direction(more: dict[str, Any], less: dict[str, Any]) -> None:
    common: dict[str, Any] = {"coverage": 0.5, "cosine": 0.5}
    assert evidence(Signals(**{**common, **more})) > evidence(Signals(**{**common, **less}))


def test_the_published_constants() -> None:
    assert evidence(Signals(coverage=0.5, cosine=0.5)) == pytest.approx(2.1)
    assert evidence(Signals(coverage=0.5, unknown_name=True)) == pytest.approx(-2.665)


def test_a_cue_that_nothing_accounts_for_is_answered_with_silence() -> None:
    verdict = judge(Signals(coverage=0.3, cosine=0.25), 0.12)
    assert verdict.silent
    assert "covered by 0.30" in verdict.reason
    assert not judge(Signals(coverage=0.9, cosine=0.6), 0.12).silent


@pytest.mark.parametrize("kind", ["talk", "request"])
def test_only_facts_are_withheld(kind: str) -> None:
    nothing = Signals(kind=kind, unknown_name=True)
    assert not judge(nothing, 0.99).silent
    assert judge(Signals(unknown_name=True), 0.12).silent


def test_a_few_memories_are_never_withheld() -> None:
    assert not judge(Signals(unknown_name=True, memories=99), 0.12).silent
    assert judge(Signals(unknown_name=True, memories=100), 0.12).silent


@pytest.mark.parametrize(
    ("cue", "names"),
    [("What did Caroline and Melanie do?", ["Caroline", "Melanie"]), ("what did caroline do?", []),
     ("Caroline went where?", []), ("Hello! Caroline, where are you?", []),
     ("Did they visit Ankara'ya?", ["Ankara"]), ("What Did Caroline Do Last Year", []),
     ("Wann war Caroline hier und wer noch?", []), ("Where is NASA?", []), ("", []),
     ("Dün Ayşe ile İzmir'e mi gittik?", ["Ayşe", "İzmir"])],
)  # fmt: skip
def test_names_are_words_with_a_capital_inside_of_a_sentence(cue: str, names: list[str]) -> None:
    assert names_of(cue) == names


def test_zero_never_withholds_and_no_signals_are_no_reason() -> None:
    assert not judge(Signals(unknown_name=True), 0.0).silent
    assert not judge(None, 1.0).silent
