"""Rows of what is observed are computed from gold of which malformed ids are repaired.

Damage without it: evidence that is not counted, so that dropping it looks free.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.cognition.feelings import turkish_feelings, valence
from bench.cognition.observed import classes, evidence_ids, observed
from bench.cognition.statements import data


def test_malformed_ids_of_evidence_are_repaired() -> None:
    found = evidence_ids([{"evidence": ["D8:6; D9:17", "D30:05", "D:11:26"]}, {"category": 5}])
    assert found == {"D8:6", "D9:17", "D30:5", "D11:26"}


def test_equal_valences_count_half() -> None:
    assert valence(np.array([1.0, 0.0]), np.array([1, 0])) == 1.0
    assert valence(np.array([0.5, 0.5]), np.array([1, 0])) == 0.5
    assert valence(np.array([0.0, 1.0]), np.array([1, 0])) == 0.0


@pytest.mark.parametrize(
    ("text", "kind", "stopped"),
    [
        ("I'm a nurse.", "fact", None),
        ("sounds good", "smalltalk", "small_talk"),
        ("What is it?", "question", "question"),
        ("<a>b</a>", "code", "code"),
    ],
)
def test_what_is_observed(text: str, kind: str, stopped: str | None) -> None:
    assert observed(text) == (kind, stopped)


def test_a_set_that_is_not_here_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECTOR_DATA", "/no/such/folder")
    scores = turkish_feelings()
    assert [each.reached for each in scores] == [False, False]
    assert all(each.found == "no data here" for each in scores)


@pytest.mark.skipif(not (data() / "locomo").is_dir(), reason="needs SPECTOR_DATA")
@pytest.mark.slow
def test_kept_messages_are_measured() -> None:
    scores = classes()
    assert {each.row for each in scores} == {17}
    assert len(scores) == 6
