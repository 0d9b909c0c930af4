"""From outcomes to the figures of a run and its page.

Mechanism: metrics of arms; tables, words and plots. Damage if
wrong: a page that tells other figures than were measured, or leaves an arm out. Guard: outcomes
whose figures are plain, a run of every arm on a small set.
"""

from __future__ import annotations

import pickle
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.recall import __main__ as command
from bench.recall import report
from bench.recall.arms import ARMS
from bench.recall.evaluate import ask_all
from bench.recall.figures import arm_figures
from bench.recall.ledger import digest_of_code
from bench.recall.vectors import Vectors, vectors_of
from tests.bench.recall_samples import Recording, a_set


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return vectors_of(a_set(), Recording(), tmp_path)


# -- the page ---------------------------------------------------------------------------------


@pytest.fixture
def run(vectors: Vectors) -> dict[str, Any]:
    data = a_set()
    asked = {name: ask_all(name, arm, data, vectors) for name, arm in ARMS.items()}
    return {
        "versions": {"spector": "0"},
        "commit": "c" * 40,
        "dirty": False,
        "started": "2026-11-22T09:00:00Z",
        "embedder": "e",
        "elapsed_s": 1.0,
        "bm25": {"k1": 1.2, "b": 0.75, "stop": "s", "stem": "t"},
        "machine": {"cpu": "cpu", "cores": 2},
        "load_average": [0.5, 0.6],
        "times": {},
        "sets": {
            "locomo": {
                "title": "LoCoMo, turns",
                "digest": "d",
                "stores": 2,
                "items": 8,
                "questions": 3,
                "notes": [],
                "arms": arm_figures(data, asked, 5),
            }
        },
    }


def test_the_page_has_every_arm(run: dict[str, Any]) -> None:
    page = report.docs_page(run)
    for arm in ARMS.values():
        assert f"|{arm.title}|" in page
    assert "nan" not in page.lower().split()


def test_figures_are_those_of_the_outcomes(run: dict[str, Any]) -> None:
    told = run["sets"]["locomo"]["arms"]["bm25"]
    assert told["all"]["questions"] == 3
    assert told["all"]["any"] == 1
    assert told["categories"]["y"]["questions"] == 1
    assert told["returned_to_unanswerable"] == 1
    assert "gain" not in told
    assert len(run["sets"]["locomo"]["arms"]["dense"]["gain"]["any"]) == 3


def test_evidence_that_is_always_the_same_gets_no_threshold(vectors: Vectors) -> None:
    data = a_set()
    asked = ask_all("dense", ARMS["dense"], data, vectors)
    told = arm_figures(data, {"dense": asked}, 5)["dense"]["abstention"]
    assert {"with_threshold", "lost_any"} <= set(told)
    same = replace(asked, foreign=[replace(each, top_score=1.0) for each in asked.foreign])
    told = arm_figures(data, {"dense": same}, 5)["dense"]["abstention"]
    assert set(told) == {"false_returns"}


# -- one run, one code ------------------------------------------------------------------------


def test_a_page_is_made_of_one_code_only(run: dict[str, Any], tmp_path: Path) -> None:
    """Mechanism: a table of times was put beside figures of another commit by hand. Damage: a page
    that compares what was never the same program."""
    page = tmp_path / "page.md"
    run |= {"code": "c0de", "code_at_the_end": "c0de"}
    run["sets"]["locomo"]["code"] = "c0de"
    report.write_page(run, page)
    words = page.read_text("utf-8")
    assert "code c0de, 2026-11-22, on 2 cores of cpu" in words
    mixed: list[dict[str, Any]] = [
        {"code_at_the_end": "other"},
        {"times": {"code": "other"}},
        {"times": {"commit": "older, of a run that had no digest"}},
        {"sets": {"locomo": {**run["sets"]["locomo"], "code": "other"}}},
        {"code": "other"},
    ]
    for change in mixed:
        with pytest.raises(report.MixedError, match="measure all of it again"):
            report.write_page({**run, **change}, page)
    run.pop("code")
    with pytest.raises(report.MixedError):
        report.write_page(run, page)
    assert page.read_text("utf-8") == words


def test_a_set_is_told_with_the_code_it_was_measured_with(tmp_path: Path) -> None:
    """Also what a process of its own hands back: it must survive being pickled."""
    options = Namespace(arms=["bm25"], parts=["arms"], again=False, jobs=1)
    (told,) = command._told_of([a_set()], Recording(), tmp_path, "run", options).values()
    assert told.name == "locomo"
    assert told.figures["code"] == digest_of_code()
    assert (tmp_path / "runs" / "run-locomo.jsonl").exists()
    assert pickle.loads(pickle.dumps(told)) == told
    again = command._told_of([a_set()], Recording(), tmp_path, "next", options)["locomo"]
    assert again.reused == 1
    assert again.figures["code"] == told.figures["code"]
    assert again.figures["arms"]["bm25"]["folds"] == told.figures["arms"]["bm25"]["folds"]


def test_the_plot_shows_the_sets_that_were_asked(run: dict[str, Any]) -> None:
    text = report.plot(run)
    assert text.startswith("<svg")
    assert "turns" in text
