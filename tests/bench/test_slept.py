"""The bench of sleep counts what it says, and its plot shows what was counted.

Damage without it: a theme that counts for every message that it was made of, a goal that is called
reached by the wrong figure, a plot that is empty. Guard: a small store, and figures of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.cognition import forgetting, years
from bench.cognition.night import message
from bench.rivals import svg


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
        "through": 97,
    }
    monkeypatch.setattr(forgetting, "FILE", tmp_path / "found.json")
    found = []
    for lost in (0, 1):
        bad = {**row, "lost": {"rules": lost}}
        both = [bad, {**bad, "share": 0.3, "kept": 80}]
        forgetting.FILE.write_text(json.dumps({"months": both}))
        found.append([each.reached for each in forgetting.forgetting_rows()])
    assert found == [[True, False], [False, False]]


def test_a_curve_has_a_line_for_each_series_and_axes_of_round_numbers() -> None:
    page = svg.curves(
        "t", "days", "memories", {"a": [(0, 0), (730, 1234)]}, {"b, %": [(0, 100.0), (730, 50.0)]}
    )
    assert page.count("<polyline") == 2
    assert page.count("stroke-dasharray") == 1
    assert ">2000<" in page
    assert ">100 %<" in page
    assert "nothing was measured" in svg.curves("t", "x", "y", {})


@pytest.mark.slow
def test_two_simulated_months_are_the_same_each_time() -> None:
    found = years.simulate(60, 0.5)
    assert found == years.simulate(60, 0.5)
    assert [each["day"] for each in found["months"]] == [30, 60]
    assert found["months"][-1]["dormant"] > 0
    assert 0.5 < found["months"][-1]["found"] <= 1.0
    assert years.plot(found).count("<polyline") == 6
    chance = np.random.default_rng(1)
    assert len({message(n, chance) for n in range(50)}) == 50
