"""The bench of sleep counts what it says, and its plot shows what was counted.

Damage without it: a theme that counts for every message that it was made of, a goal that is called
reached by the wrong figure, a plot that is empty. Guard: a small store, and figures of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cognition import forgetting


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
