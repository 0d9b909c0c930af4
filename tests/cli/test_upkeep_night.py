"""``spector reflect``: what a night would do, does, and takes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spector
from spector import ManualClock
from spector.cli.main import main
from tests.sleep.nights import BEGIN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose memories are old by the clock of the command."""
    where = tmp_path / "mind"
    with spector.open(where, embedder=None, dim=4, clock=ManualClock(BEGIN)) as memory:
        for n in range(3):
            memory.remember(f"hm {n}", importance=0.1, vector=[1.0, n, 0.0, 0.0])
    return where


def test_a_night_is_proposed_done_and_taken_back(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reflect", str(path), "--dry-run"]) == 0
    assert "would strength (decay)" in capsys.readouterr().out
    assert main(["reflect", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cycle"] == 1
    assert {each["name"] for each in report["steps"]} >= {"decay", "forget", "upkeep"}
    assert main(["reflect", str(path), "--undo", "1"]) == 0
    assert "undo" in capsys.readouterr().out
    with spector.open(path, embedder=None, mode="r") as memory:
        assert [record.stability_days for record in memory] == pytest.approx([4.2] * 3)
    assert main(["reflect", str(path), "--undo", "1"]) != 0
    assert "not on record" in capsys.readouterr().err


def test_steps_are_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reflect", str(path), "--steps", "upkeep"]) == 0
    assert "cycle" not in capsys.readouterr().out
    assert main(["reflect", str(path), "--steps", "dacay"]) != 0
    assert "decay" in capsys.readouterr().err
