"""The bench of sleep counts what it says, and its plot shows what was counted.

Damage without it: a theme that counts for every message that it was made of, a goal that is called
reached by the wrong figure, a plot that is empty. Guard: a small store, and figures of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import spector
from bench.cognition import consolidation, forgetting, years
from bench.cognition.night import Hashed, message
from bench.rivals import svg
from spector import Config, ManualClock, SleepConfig


def test_a_theme_counts_for_what_it_quotes_and_not_for_its_sources() -> None:
    clock = ManualClock(years.BEGIN)
    texts = {f"t{n}": f"Mehmet carved spoon {n} on Friday [2025-12-0{n}]. " + "And so on. " * 40
             for n in range(9)}  # fmt: skip
    config = Config(sleep=SleepConfig(summary_tokens=60))
    with spector.open(":memory:", embedder=Hashed(), clock=clock, config=config) as memory:
        made = memory.remember_many(
            [{"text": text, "session_id": "one", "metadata": {"item": name}}
             for name, text in texts.items()]
        )  # fmt: skip
        clock.advance(days=1)
        memory.reflect("consolidate")
        theme = next(each for each in memory.records() if each.write_source == "dream")
        owners = {each.id: frozenset([each.metadata["item"]]) for each in made}
        found = consolidation.quoted(memory, owners)[theme.id]
        said = {name for name, text in texts.items() if text.split(".")[0] in theme.text}
        assert said <= found
        assert 0 < len(said) < 9


def test_months_that_lose_what_is_guarded_miss_their_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"set": "own", "share": 0.5, "whole": 100, "kept": 96, "active": [60, 50], "total": 100,
           "guarded": {"rules": 3}, "lost": {"rules": 0}, "through": 97}  # fmt: skip
    monkeypatch.setattr(forgetting, "FILE", tmp_path / "found.json")
    found = []
    for lost in (0, 1):
        bad = {**row, "lost": {"rules": lost}}
        both = [bad, {**bad, "share": 0.3, "kept": 80}]
        forgetting.FILE.write_text(json.dumps({"months": both}))
        found.append([each.reached for each in forgetting.forgetting_rows()])
    assert found == [[True, False], [False, False]]


def test_a_curve_has_a_line_for_each_series_and_axes_of_round_numbers() -> None:
    page = svg.curves("t", "days", "memories", {"a": [(0, 0), (730, 1234)]},
                      {"b, %": [(0, 100.0), (730, 50.0)]})  # fmt: skip
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
