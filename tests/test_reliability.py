"""The page of promises names tests that there are, and every label that a test counts under.

Damage without it: a promise whose test was renamed or removed still looks proved.
"""

from __future__ import annotations

import ast
import re

from tests.test_layers import REPO

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (REPO / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| label")
]
_LABEL = re.compile(r'\bproof\(\s*"([^"]+)"')


def test_every_promise_names_a_test_that_there_is() -> None:
    assert 0 < len(ROWS) <= 40
    for label, *_, tests in ROWS:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert named, label
        for path, function in named:
            tree = ast.parse((REPO / path).read_text(encoding="utf-8"))
            there = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
            assert function in there, f"{label}: {path}::{function}"


def test_every_label_that_a_test_counts_under_is_on_the_page() -> None:
    labels = {each.strip() for label, *_ in ROWS for each in label.split(",")}
    used = {
        label
        for path in (REPO / "tests").rglob("*.py")
        if path.name not in ("proof.py", "test_reliability.py")
        for label in _LABEL.findall(path.read_text(encoding="utf-8"))
    }
    assert used <= labels
