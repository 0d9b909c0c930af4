"""Mechanism: one term of a bound over blocks or partitions is missing or has the wrong sign.

Damage: what only that term makes good is ruled out, and never found again by that recall.
Guard: for each term records that nothing else lifts, in a block and in a partition of their own,
among many that are alike; and centres that move all estimates far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.kernel.base import Kernel, Part
from spector.kernel.profile import ScoringProfile
from spector.kernel.quantize import normalize, quantize
from spector.kernel.query import make_query
from spector.kernel.scan_index import ScanIndex, centre_of
from spector.layout import HEADER_BYTES
from tests.kernel.blocks import DAY_MS, NOW_MS, headers_of, make_rows
from tests.kernel.test_index_scan import assert_same_answer, kernel

__all__ = ["kernel"]

ROWS, TAG = 2048, 1 << 7


def alike(rng: np.random.Generator, part: int) -> NDArray[np.uint8]:
    """Records that differ in their vectors only, every eighth with a tag."""
    rows = make_rows(rng, ROWS, 64)
    header = headers_of(rows)
    for name in ("flags", "utility", "importance", "arousal", "valence", "category", "tier"):
        header[name] = 0
    header["id"] = np.arange(ROWS) + part * ROWS + 1
    header["event_ms"] = NOW_MS - 300 * DAY_MS
    header["last_access_s"], header["access_count"], header["stability_days"] = 0, 1, 3
    header["tags"] = np.where(np.arange(ROWS) % 50 == 0, TAG, 0)
    return rows


LIFTS: dict[str, tuple[ScoringProfile, dict[str, Any]]] = {
    "uses": (ScoringProfile(w_similarity=0.2, w_activation=1.0), {"access_count": 100_000}),
    "last use": (
        ScoringProfile(w_similarity=0.2, w_retention=1.0),
        {"last_access_s": NOW_MS // 1000 - 3600},
    ),
    "event": (ScoringProfile(w_similarity=0.2, w_recency=1.0), {"event_ms": NOW_MS - 3_600_000}),
    "importance": (ScoringProfile(w_similarity=0.2, w_importance=1.0), {"importance": 1}),
    "utility": (ScoringProfile(w_similarity=0.2, w_utility=1.0), {"utility": 1}),
    "stability": (ScoringProfile(w_similarity=0.2, w_retention=1.0), {"stability_days": 3000}),
    "arousal": (ScoringProfile(w_similarity=0.2, w_arousal=1.0), {"arousal": 255}),
}


@pytest.mark.parametrize("updated", [False, True], ids=["appended", "updated"])
@pytest.mark.parametrize("lift", LIFTS)
def test_what_one_term_alone_lifts_is_found(kernel: Kernel, lift: str, updated: bool) -> None:
    rng = np.random.default_rng(5)
    profile, values = LIFTS[lift]
    parts = []
    for number in range(2):
        rows = alike(rng, number)
        index = ScanIndex.create(kernel, 64, ROWS, centre_of(rows, 64))
        if updated:
            index.append(rows)
        if number == 1:  # twenty of the last block of the last partition
            chosen = np.arange(1600, 1600 + 400, 20)
            headers_of(rows)["tags"][chosen] = TAG if not updated else 0
            for name, value in values.items():
                headers_of(rows)[name][chosen] = value
            if updated:
                index.update(rows, chosen)
        if not updated:
            index.append(rows)
        parts.append(Part(rows, ROWS, index=index.image))
    table = kernel.prepare(parts)
    for vector in (rng.standard_normal(64), None):
        for tags in (0,) if updated else (0, TAG):
            query = make_query(
                now_ms=NOW_MS, vector=vector, profile=profile, tags_all=tags,
                recall_confidence=100.0, index_from_rows=0,
            )  # fmt: skip
            assert_same_answer(kernel, table, query, 10, f"{lift} {tags}")


@pytest.mark.parametrize("tags", [0, TAG], ids=["all", "few"])
@pytest.mark.parametrize("towards", [1.0, -1.0])
def test_far_centres_move_no_bound(kernel: Kernel, tags: int, towards: float) -> None:
    """The estimates lack what cue and centre share: up to a third of a cosine here."""
    rng = np.random.default_rng(8)
    rows = alike(rng, 0)
    common = normalize(rng.standard_normal((1, 64)).astype(np.float32))[0]
    vectors = normalize(common + 0.12 * rng.standard_normal((ROWS, 64)).astype(np.float32))
    codes, scales = quantize(vectors)
    headers_of(rows)["scale"] = scales
    rows[:, HEADER_BYTES : HEADER_BYTES + 64] = codes.view(np.uint8)
    index = ScanIndex.create(kernel, 64, ROWS, centre_of(rows, 64))
    index.append(rows)
    table = kernel.prepare([Part(rows, ROWS, index=index.image)])
    for _ in range(5):
        vector = towards * common + 0.1 * rng.standard_normal(64)
        query = make_query(
            now_ms=NOW_MS, vector=vector, profile=ScoringProfile(w_similarity=1.0), tags_all=tags,
            recall_confidence=6.0, index_from_rows=0,
        )  # fmt: skip
        assert_same_answer(kernel, table, query, 10, f"{towards} {tags}")
