"""``spector reflect``: what a night would do, does, and takes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spector
from spector import ManualClock
from spector.cli.main import main
from tests.facets.test_erasure import mention
from tests.sleep.nights import BEGIN, themes_in


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


def test_a_dry_run_tells_first_what_would_rest_and_be_made_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty lines of ids whose strength would change hid all else."""
    where = str(tmp_path / "akıl")
    with spector.open(where, embedder=None, dim=4, clock=ManualClock(BEGIN)) as memory:
        for n in range(70):
            memory.remember(
                f"şey {n}", importance=0.1 if n > 60 else 0.6, vector=[1.0, n, 0.0, 0.0]
            )
        for n in range(4):
            tea = memory.remember(
                f"Çayı {n} şekerli severim.",
                category="preference",
                importance=0.6,
                vector=[0.0, 0.0, 1.0, n / 100],
            )
            mention(memory, tea, "Çay")
    assert main(["reflect", where, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("would ")]
    assert len(told) <= 50
    assert any("would put to rest (forget)" in line and "faded: şey 6" in line for line in told)
    assert any("would make (consolidate)" in line and "Çayı 0 şekerli" in line for line in told)
    kinds = ["strength" in line or "rehearse" in line for line in told]
    assert kinds == sorted(kinds)
    assert not any(line.startswith("sealed") for line in lines)
    counts = []
    for options in (["--dry-run"], []):
        assert main(["reflect", where, "--json", *options]) == 0
        steps = json.loads(capsys.readouterr().out)["steps"]
        counts.append({each["name"]: each["changed"] for each in steps if each["name"] != "seal"})
    assert counts[0] == counts[1]
    assert counts[0]["consolidate"] == 1


def test_steps_are_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reflect", str(path), "--steps", "upkeep"]) == 0
    assert "cycle" not in capsys.readouterr().out
    assert main(["reflect", str(path), "--steps", "dacay"]) != 0
    assert "decay" in capsys.readouterr().err


def test_a_night_of_the_shell_can_embed_what_it_words_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A theme that is brought up to date needs a vector: the command opened without embedder."""
    where = tmp_path / "mind"
    with spector.open(where, clock=ManualClock(BEGIN)) as memory:
        for each in ("moored in Foça", "has two masts", "leaks a little", "was sold to a baker"):
            mention(memory, memory.remember(f"The Lyra {each}.", user_id="ada"), "Lyra")
            if each == "leaks a little":
                memory.reflect()
    assert main(["reflect", str(where)]) == 0, capsys.readouterr().err
    with spector.open(where, mode="r") as memory:
        (theme,) = themes_in(memory)
    assert "baker" in theme.text
