"""The demonstration: every claim holds with the real embedder, and a claim that fails is reported.

Damage guarded against: a demo that says [ok] whatever happens, and sample data that does not read.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from spector.cli.main import main
from spector.importers import iter_messages
from tests.cli.conftest import Run

SAMPLE = Path(str(files("spector.cli") / "data" / "sample_conversation.jsonl"))


def test_sample_conversation_is_as_long_and_varied_as_promised() -> None:
    turns = list(iter_messages(SAMPLE))
    days = [turn["event_time"].date() for turn in turns]
    tags = Counter(tag for turn in turns for tag in turn["tags"])
    assert len(turns) >= 150
    assert (min(days), max(days)) == (date(2026, 9, 7), date(2026, 10, 18))
    assert days == sorted(days)
    assert len({turn["session_id"] for turn in turns}) >= 15
    assert {turn["role"] for turn in turns} == {"user", "assistant"}
    for tag in ("preference", "decision", "correction", "procedure", "incident", "smalltalk"):
        assert tags[tag] >= 4, tag
    assert len({turn["text"] for turn in turns}) == len(turns), "no line is a copy"


def test_every_claim_holds_with_the_real_embedder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["demo", str(tmp_path / "mind"), "--json"])
    report = json.loads(capsys.readouterr().out)
    failed = [claim for step in report["steps"] for claim in step["claims"] if not claim["ok"]]
    assert failed == []
    assert (code, report["ok"]) == (0, True)
    assert len(report["steps"]) == 16
    assert report["elapsed_s"] < 60
    # a named place is kept, and the command line can go on with it
    assert main(["recall", str(tmp_path / "mind"), "E_LEASE_STALE", "-k", "1"]) == 0
    assert "E_LEASE_STALE" in capsys.readouterr().out


@pytest.mark.slow
def test_a_claim_that_does_not_hold_fails_the_demo(run: Run) -> None:
    """With a model that knows no meaning, the claims about meaning must be reported as failed."""
    result = run("demo")
    assert result.code == 1
    assert "[FAILED]" in result.out
    assert "claims FAILED:" in result.out
    assert "[ok] no hit contains 4417 any more" in result.out, "what needs no meaning still holds"


def test_demo_refuses_a_place_that_is_not_empty(run: Run, filled: Path) -> None:
    result = run("demo", filled)
    assert result.code == 2
    assert "is not empty" in result.err


def test_demo_leaves_nothing_behind_unless_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run("demo", "--json")
    assert list(tmp_path.iterdir()) == []
    kept = run("demo", "--keep", "--json").json["store"]
    assert Path(kept, "catalog.db").exists()
