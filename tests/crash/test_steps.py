"""Upkeep killed at any step leaves the store as before or converted, and can be run again."""

from __future__ import annotations

import pytest

from tests.crash.harness import in_fresh_process

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("scenario", ["migration", "change_of_model", "reordering"])
def test_killed_at_each_step(scenario: str) -> None:
    found = in_fresh_process(f"tests.crash.steps:{scenario}")
    assert found["wrong"] == {}, found
    assert found["steps"] > 20
