"""Mechanism: a scan rules memories out by estimates.

Damage: what was asked for exactly is estimated after all.
Guard: nothing that was asked exactly, by the recall or by the configuration, gets an estimate.
"""

from __future__ import annotations

import pytest

from spector.config import Config
from spector.kernel.contract.profile import get_profile
from spector.search.view.cue import Cue
from spector.search.view.plan import query_of
from spector.search.view.request import EVERYTHING, RecallRequest


@pytest.mark.parametrize(
    ("exact", "configured", "expected"),
    [(False, 3.0, 3.0), (False, 0.0, 0.0), (True, 3.0, 0.0), (True, 0.0, 0.0)],
)
def test_an_estimate_never_takes_the_place_of_an_exact_answer(
    exact: bool, configured: float, expected: float
) -> None:
    request = RecallRequest(
        cue=Cue(None, None),
        k=3,
        selection=EVERYTHING,
        profile=get_profile("balanced"),
        now_ms=0,
        exact=exact,
    )
    config = Config(recall_confidence=configured)
    query = query_of(request, config)
    assert float(query.params["recall_confidence"][0]) == expected
