"""The page of cognition says what was measured, losses included.

Damage without it: a row that misses its goal and is called reached. Guard: scores of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cognition import nights
from bench.cognition.__main__ import main, page_of
from bench.cognition.rows import Score
from bench.cognition.score import scores


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


def test_without_data_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", "/no/such/folder")
    assert main([]) == 1
    assert "SPECTOR_DATA" in capsys.readouterr().err


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
