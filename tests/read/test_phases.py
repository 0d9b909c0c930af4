"""Mechanism: candidates of a large store are looked for with a looser estimate than answers are.

Damage: what was asked for exactly is estimated after all.
Guard: nothing that was asked exactly, by the recall or by the configuration, gets an estimate.
"""

from __future__ import annotations

import pytest

from spector.config import Config
from spector.kernel.profile import get_profile
from spector.read.phases import query_of
from spector.read.request import EVERYTHING, RecallRequest


@pytest.mark.parametrize(
    ("exact", "configured", "most", "expected"),
    [(False, 3.0, None, 3.0), (False, 3.0, 1.0, 1.0), (False, 0.5, 1.0, 0.5), (False, 0.0, 1.0, 0),
     (True, 3.0, 1.0, 0.0), (True, 3.0, None, 0.0)],
)  # fmt: skip
def test_a_looser_estimate_never_takes_the_place_of_an_exact_answer(
    exact: bool, configured: float, most: float | None, expected: float
) -> None:
    request = RecallRequest(
        cue=None, vector=None, k=3, selection=EVERYTHING, profile=get_profile("balanced"),
        now_ms=0, exact=exact,
    )
    config = Config(recall_confidence=configured)
    query = query_of(request, config, 2, *(() if most is None else (most,)))
    assert float(query.params["recall_confidence"][0]) == expected
