"""The page of cognition says what was measured, losses included.

Damage without it: a row that misses its goal and is called reached. Guard: scores of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.cognition import nights
from bench.cognition.__main__ import main, page_of, renewed
from bench.cognition.facts import changed_pairs
from bench.cognition.rows import Score, spans_of, untyped_f1
from bench.cognition.score import scores
from bench.cognition.speed import Costs, measured, messages
from bench.data import data_root
from bench.judge.hands import RELATIONS, TURKISH, auc, balanced, overlap_auc, pairs_of, replaces


def test_a_row_that_misses_its_goal_says_so() -> None:
    page = page_of(
        [
            Score(4, "names", "57.0", "51.9", "56", True),
            Score(5, "isim", "23.5", "50.8", "58", False),
        ]
    )
    assert "| 4 | names | 57.0 | 51.9 | 56 | yes |" in page
    assert "| 5 | isim | 23.5 | 50.8 | 58 | no |" in page
    assert page.endswith("Goals missed: 1 of 2.\n")


def test_a_row_that_is_computed_with_another_takes_the_place_of_its_old_self() -> None:
    def facts(found: str) -> list[Score]:
        return [Score(n, "changed", found, "9", "92", False) for n in (11, 12)]

    page = page_of([Score(4, "names", "57.0", "51.9", "56", True), *facts("1")])
    assert renewed(page, [11], facts("2")) == page_of(
        [Score(4, "names", "57.0", "51.9", "56", True), *facts("2")]
    )


@pytest.mark.parametrize(
    ("false", "lost", "reached"), [(0.02, 0.02, True), (0.021, 0.0, False), (0.0, 0.021, False)]
)
def test_a_row_is_reached_by_all_of_its_figures(false: float, lost: float, reached: bool) -> None:
    (found,) = scores("gate random", false=false, lost=lost)
    assert (found.row, found.floor, found.goal) == (13, "0.14 · -", "0.02 · 0.02")
    assert found.found == f"{false:.4f} · {lost:.4f}"
    assert found.reached is reached


def test_a_bound_may_be_another_figure_and_be_shown_as_words() -> None:
    for observed, reached in ((93.0, True), (92.0, False)):
        (found,) = scores("present", observe=observed, remember=92.0)
        assert (found.goal, found.reached) == ("above", reached)


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("O B-X I-X O", [(1, 3)]),
        ("B-X B-X", [(0, 1), (1, 2)]),
        ("I-X O", [(0, 1)]),
        ("O O", []),
        ("O B-X", [(1, 2)]),
    ],
)
def test_spans_of_labels(labels: str, spans: list[tuple[int, int]]) -> None:
    assert list(spans_of(labels.split())) == spans


def test_f1_of_what_is_found() -> None:
    words = "Yesterday Ayşe went to Ankara with Redis".split()
    right = ["O", "B-PERSON", "O", "O", "B-GPE", "O", "B-ORG"]
    assert untyped_f1([(words, right)]) == 1.0
    assert untyped_f1([(words, ["O"] * 7)]) == 0.0
    assert untyped_f1([(words, ["O", "B-PERSON", *["O"] * 5])]) == pytest.approx(0.5)


def test_without_data_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", "/no/such/folder")
    assert main([]) == 1
    assert "SPECTOR_DATA" in capsys.readouterr().err


def test_ties_of_an_auc_count_half() -> None:
    for odds, right in (([1.0, 0.0], 1.0), ([0.5, 0.5], 0.5), ([0.0, 1.0], 0.0)):
        assert auc(np.array(odds), np.array([True, False])) == right


# -- The bench of sleep counts what it says, and its plot shows what was counted -------------------
#
# Damage without it: a theme that counts for every message that it was made of, a goal that is
# called reached by the wrong figure, a plot that is empty. Guard: a small store, and figures of
# our own.


def test_months_that_lose_what_is_guarded_miss_their_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "set": "own",
        "share": 0.5,
        "whole": 100,
        "kept": 96,
        "active": [60, 50],
        "total": 100,
        "guarded": {"rules": 3},
        "lost": {"rules": 0},
    }
    monkeypatch.setattr(nights, "FILE", tmp_path / "found.json")
    found = []
    for lost in (0, 1):
        bad = {**row, "lost": {"rules": lost}}
        both = [bad, {**bad, "share": 0.3, "kept": 80}]
        nights.FILE.write_text(json.dumps({"months": both}))
        found.append([each.reached for each in nights.rows()])
    assert found == [[True, False], [False, False]]


# -- The row of speed compares times of the same messages in one run -------------------------------
#
# Damage without it: a ratio of two runs, or of messages that only one side got. Guard: counts of a
# small run, and figures of our own.


def test_ratios_are_of_medians_and_of_the_same_messages() -> None:
    found = Costs([(1.0, True), (3.0, True), (9.0, False)], [2.0, 2.0, 4.0], [(4.0, 2.0)] * 2)
    assert found.single() == 1.5
    assert found.single(stored=True) == 1.0
    assert found.throughput() == 0.5
    assert found.share_stored() == pytest.approx(2 / 3)


@pytest.mark.slow
@pytest.mark.skipif(not (data_root() / "memorybank_en").is_dir(), reason="needs SPECTOR_DATA")
def test_each_message_is_timed_on_both_sides(tmp_path: Path) -> None:
    assert len(messages()) > 1000
    found = measured(tmp_path, records=200, singles=12, rounds=1)
    assert len(found.observed) == len(found.remembered) == 12
    assert len(found.batches) == 1
    assert found.single() > 0


# -- Facts are paired by their wording -------------------------------------------------------------


def test_facts_of_one_wording_with_two_values_are_a_pair() -> None:
    lines = [
        "The mayor of Ghent is Ann.",
        "Ann was born in Bruges.",
        "The mayor of Ghent is Bob.",
        "The mayor of Ghent is Bob.",
    ]
    assert list(changed_pairs(lines)) == [
        ("The mayor of Ghent is Ann", "The mayor of Ghent is Bob"),
        ("The mayor of Ghent is Ann", "The mayor of Ghent is Bob"),
    ]


# -- The pairs of the balanced hands cannot be told apart by their lengths and shared words --------
#
# Damage without it: a judge learns how a set was made instead of what a sentence does to another.
# Guard: a classifier on lengths and overlap alone, leaving hands out, and the same one on pairs
# that were made to give it away.


def test_lengths_and_shared_words_alone_tell_little_of_a_relation() -> None:
    assert overlap_auc(list(balanced().values())) < 0.60
    assert overlap_auc([rows for hand, rows in pairs_of().items() if hand in TURKISH]) < 0.60


def test_a_set_that_is_given_away_by_its_lengths_is_found_out() -> None:
    given = [
        [{**row, "new": row["new"] + " and so it is" * replaces(row)} for row in rows]
        for rows in balanced().values()
    ]
    assert overlap_auc(given) > 0.70


@pytest.mark.parametrize("hand", sorted(balanced()))
def test_a_balanced_hand_has_every_relation_and_no_pair_twice(hand: str) -> None:
    rows = pairs_of()[hand]
    assert len({(row["old"], row["new"]) for row in rows}) == len(rows) == 200
    assert [sum(row["relation"] == one for row in rows) for one in RELATIONS] == [
        15,
        40,
        60,
        25,
        60,
    ]
