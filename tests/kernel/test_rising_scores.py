"""Mechanism: a straight scan does not compute the terms of a record that its cosine, importance
and utility cannot lift into a full heap.

Damage: a limit that is a hair too low loses the best memory, and most data never show it. Guard:
records in the order of their scores, the worst first, so that every one has to enter the heap
and has the floor right below it; with weights and header numbers of any size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from spector.kernel.base import Kernel, Part, PartTable
from spector.kernel.profile import PROFILES, ScoringProfile
from spector.kernel.query import DEFAULT_DROP_FLAGS, make_query
from spector.layout import Flag
from tests.kernel.blocks import NOW_MS, damage, headers_of, kernels, make_rows
from tests.kernel.test_backends_agree import scan_everywhere

DIM, ROWS, K = 65, 300, 3
WIDE = ScoringProfile(
    w_similarity=1000.0, w_importance=1000.0, w_retention=1000.0, w_recency=1000.0,
    w_activation=1000.0, w_utility=1000.0, w_tags=1000.0, w_arousal=1000.0, mood_boost=100.0,
    unresolved_boost=100.0, consolidated_factor=0.01,
    tier_factors=((1, 100.0),), category_factors=((2, 100.0),),
)  # fmt: skip
#: headers alone are worth more than any cosine
HEADERS = ScoringProfile(w_similarity=0.01, w_importance=1.0, w_utility=1.0)
CHOSEN = {**PROFILES, "wide": WIDE, "headers": HEADERS}


@pytest.fixture
def backends() -> Iterator[list[Kernel]]:
    found = kernels()
    yield found
    if any(kernel.name == "native" for kernel in found):
        from spector.kernel.native import set_caps

        set_caps()


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("forged", [False, True], ids=["sound", "forged"])
def test_every_record_enters_when_scores_rise(
    name: str, forged: bool, backends: list[Kernel]
) -> None:
    rng = np.random.default_rng([25, len(name), forged])
    rising = 0
    for n in range(4):
        rows = make_rows(rng, ROWS, DIM)
        headers_of(rows)["flags"] &= ~np.uint16(DEFAULT_DROP_FLAGS | Flag.TOMBSTONE)
        headers_of(rows)["id"] = rng.permutation(ROWS) + 1
        if forged:
            damage(rng, rows)
        cue = rng.standard_normal(DIM)
        query = make_query(
            now_ms=NOW_MS, vector=cue, profile=CHOSEN[name], mood=n % 3 - 1, overlap_mask=0xFFFF
        )
        all_of_them = backends[0].scan([Part(rows, len(rows))], query, len(rows))
        order = all_of_them.slot[::-1]
        table = PartTable([Part(rows[order], len(order))])
        found = scan_everywhere(backends, table, query, K, f"{name} {n}")
        last = len(order) - 1
        assert found.slot.tolist() == [last, last - 1, last - 2]
        rising += int((np.diff(all_of_them.scores[np.isfinite(all_of_them.scores)]) < 0).sum())
    assert rising > ROWS
