"""How recall is judged.

Mechanism: ranks of gold items to any@k, all@k, frac@k, MRR, precision; paired bootstrap; folds;
thresholds of silence. Damage if wrong: a change that hurts is kept, one that helps is thrown away.
Guard: every figure here was worked out by hand.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from bench.recall.abstention import at_threshold, false_returns, held_out_abstention, threshold_for
from bench.recall.metrics import (
    Answer,
    Outcome,
    all_at,
    any_at,
    by_category,
    estimated_tokens,
    frac_at,
    judged,
    mean,
    precision_at,
    ranked,
    reciprocal_rank,
    summary,
)
from bench.recall.paired import difference, interval
from bench.recall.shape import DataSet, Item, Question, Store, folds

LENGTHS = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0}


def question(gold: str, name: str = "q", category: str = "kind", group: str = "g") -> Question:
    return Question(name, "store", "cue?", category, tuple(gold), None, group)


def outcome(
    *ranks: int | None,
    name: str = "q",
    group: str = "g",
    category: str = "kind",
    score: float | None = 1.0,
    returned: int = 10,
) -> Outcome:
    return Outcome(name, category, group, ranks, returned, 0.0, score, 0.0)


def test_ranks_count_from_one_and_what_did_not_come_back_has_none() -> None:
    told = judged(question("bdz"), Answer(tuple("abcd"), (4.0, 3.0, 2.0, 1.0)), LENGTHS)
    assert told.ranks == (2, 4, None)
    assert (told.returned, told.tokens, told.top_score) == (4, 15.0, 4.0)


def test_tokens_and_returned_are_of_the_first_k_but_ranks_of_all() -> None:
    told = judged(question("d"), Answer(tuple("abcd"), (4.0, 3.0, 2.0, 1.0)), LENGTHS, k=2)
    assert (told.ranks, told.returned, told.tokens, told.ids) == ((4,), 2, 3.0, ("a", "b"))


def test_an_empty_answer_has_no_score_and_costs_nothing() -> None:
    told = judged(question("a"), Answer((), ()), LENGTHS)
    assert (told.ranks, told.returned, told.tokens, told.top_score) == ((None,), 0, 0.0, None)
    assert any_at(told) == all_at(told) == frac_at(told) == precision_at(told) == 0


def test_an_item_that_comes_back_twice_is_a_fault_of_the_arm() -> None:
    with pytest.raises(AssertionError, match="twice"):
        judged(question("a"), Answer(("a", "a"), (1.0, 1.0)), LENGTHS)


@pytest.mark.parametrize(
    ("ranks", "k", "some", "every", "share", "mrr", "precision"),
    [
        ((3,), 10, 1, 1, 1, 1 / 3, 1 / 10),
        ((3,), 2, 0, 0, 0, 0, 0),
        ((1, 4, 11, None), 10, 1, 0, 2 / 4, 1, 2 / 10),
        ((1, 4, 11, None), 3, 1, 0, 1 / 4, 1, 1 / 3),
        ((2, 10), 10, 1, 1, 1, 1 / 2, 2 / 10),
        ((None, None), 10, 0, 0, 0, 0, 0),
    ],
)
def test_metrics_equal_the_values_worked_out_by_hand(
    ranks: tuple[int | None, ...],
    k: int,
    some: float,
    every: float,
    share: float,
    mrr: float,
    precision: float,
) -> None:
    told = outcome(*ranks)
    assert any_at(told, k) == some
    assert all_at(told, k) == every
    assert frac_at(told, k) == pytest.approx(share)
    assert reciprocal_rank(told, k) == pytest.approx(mrr)
    assert precision_at(told, k) == pytest.approx(precision)


def test_precision_is_of_what_was_returned_not_of_what_was_asked_for() -> None:
    assert precision_at(outcome(1, returned=2)) == 1 / 2
    assert precision_at(outcome(None, returned=0)) == 0


def test_a_question_without_gold_has_no_recall() -> None:
    with pytest.raises(AssertionError, match="without gold"):
        any_at(outcome())


def test_a_summary_is_over_questions_and_noise_over_items() -> None:
    told = summary([outcome(1, 2), outcome(None, returned=2), outcome(4, 20)])
    assert told["questions"] == 3
    assert told["any"] == pytest.approx(2 / 3)
    assert told["all"] == pytest.approx(1 / 3)
    assert told["frac"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert told["mrr"] == pytest.approx((1 + 0 + 0.25) / 3)
    # 22 came back, 3 of them gold
    assert told["noise"] == pytest.approx(19 / 3)
    assert math.isinf(summary([outcome(None)])["noise"])


def test_silence_counts_only_where_nothing_came_back() -> None:
    assert summary([outcome(None), outcome(None, returned=0)])["silent"] == 0.5


def test_categories_keep_every_question_once() -> None:
    several = [outcome(1, category="x"), outcome(2, category="y"), outcome(None, category="x")]
    parts = by_category(several)
    assert {name: len(part) for name, part in parts.items()} == {"x": 2, "y": 1}
    assert mean(any_at, parts["x"]) == 0.5


def test_tokens_are_words_and_marks_times_a_constant() -> None:
    assert estimated_tokens("Hey, Bob!") == pytest.approx(4 * 0.98)
    assert estimated_tokens("") == 0


def test_equal_scores_rank_by_row_and_minus_infinity_never() -> None:
    assert ranked(np.array([1.0, 3.0, 3.0, -np.inf, 2.0]), 10) == [1, 2, 4, 0]
    assert ranked(np.array([1.0, 3.0, 3.0]), 1) == [1]


# -- differences ------------------------------------------------------------------------------


def test_a_difference_is_paired_by_question_and_not_by_place() -> None:
    this = [outcome(1, name="p"), outcome(None, name="q")]
    that = [outcome(1, name="q"), outcome(1, name="p")]
    found = difference(this, that, any_at)
    assert found.mean == 0.5


def test_arms_that_were_asked_different_questions_cannot_be_compared() -> None:
    with pytest.raises(AssertionError, match="same questions"):
        difference([outcome(1, name="p")], [outcome(1, name="p"), outcome(1, name="q")], any_at)


def test_an_interval_is_of_groups_not_of_questions() -> None:
    """Two groups of 50 questions that disagree: every draw is 0, a half or 1, whatever the
    number of questions; drawing questions would tell about 0.4 to 0.6."""
    both = [outcome(1, name=f"a{n}", group="a") for n in range(50)]
    both += [outcome(None, name=f"b{n}", group="b") for n in range(50)]
    found = interval(both, any_at, resamples=500)
    assert (found.low, found.mean, found.high) == (0.0, 0.5, 1.0)
    assert not found.is_clear


def test_a_gain_in_every_group_is_clear_and_repeats() -> None:
    this = [outcome(None, name=f"{n}", group=f"{n % 4}") for n in range(40)]
    that = [outcome(1, name=f"{n}", group=f"{n % 4}") for n in range(40)]
    found = difference(this, that, any_at, resamples=200)
    assert (found.low, found.mean, found.high) == (1, 1, 1)
    assert found.is_clear
    assert not difference(this, this, any_at, resamples=200).is_clear
    mixed = [*that[:13], *this[13:]]
    assert difference(this, mixed, any_at) == difference(this, mixed, any_at)


# -- folds ------------------------------------------------------------------------------------


def some_set(sizes: dict[str, int]) -> DataSet:
    item = Item("a", "text", "Ann", "s", datetime(2024, 1, 1, tzinfo=UTC), 0)
    asked = [
        question("a", f"{group}{n}", group=group)
        for group, size in sizes.items()
        for n in range(size)
    ]
    return DataSet("made up", "made up", (Store("store", (item,)),), tuple(asked))


def test_folds_are_of_whole_groups_each_in_one_and_nearly_equal() -> None:
    data = some_set({"p": 9, "q": 5, "r": 4, "s": 3, "t": 3})
    parts = folds(data, 3)
    assert sorted(each for part in parts for each in part) == list("pqrst")
    assert parts == [("p",), ("q", "t"), ("r", "s")]
    assert folds(data, 3) == parts
    assert len(folds(data, 50)) == 5


# -- silence ----------------------------------------------------------------------------------


def test_false_returns_count_cues_and_not_items() -> None:
    assert false_returns([outcome(returned=10), outcome(returned=0)]) == 0.5


def test_a_threshold_keeps_the_wanted_share_quiet_and_no_more() -> None:
    foreign = [outcome(score=score) for score in (0.1, 0.2, 0.3, 0.4, None)]
    value = threshold_for(foreign, 0.8)
    assert 0.3 < value <= 0.3 + 1e-12
    assert threshold_for(foreign, 0) == -math.inf


def test_silence_costs_what_the_withheld_answers_would_have_earned() -> None:
    own = [
        outcome(1, score=0.9),
        outcome(1, score=0.2),
        outcome(None, score=0.1),
        outcome(None, score=0.8),
    ]
    foreign = [outcome(score=0.3), outcome(score=0.6)]
    assert at_threshold(own, foreign, any_at, {"g": 0.5}) == (0.5, 0.25)


def test_a_fold_uses_the_threshold_of_the_others() -> None:
    own = [outcome(1, score=0.5, group="a"), outcome(1, score=0.5, group="b")]
    foreign = [outcome(score=0.9, group="a"), outcome(score=0.1, group="b")]
    found = held_out_abstention(own, foreign, any_at, [("a",), ("b",)], silence=1.0)
    # a is judged by b's 0.1, which lets a's stranger through; b by a's 0.9, which silences all
    assert (found.false_returns, found.lost) == (0.5, 0.5)
    assert found.thresholds == pytest.approx((0.1, 0.9))
