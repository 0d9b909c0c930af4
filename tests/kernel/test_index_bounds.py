"""Mechanism: one term of a bound over blocks or partitions is missing or has the wrong sign.

Damage: what only that term makes good is ruled out, and never found again by that recall.
Guard: for each term a few records that nothing else lifts, with vectors against the cue so that no
margin hides the fault; centres that move all estimates by several standard errors; partitions
that one phase shuts out but for a record that changed later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.kernel.contract.index import ScanIndex, centre_of
from spector.kernel.contract.profile import ScoringProfile
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.query import make_query
from spector.kernel.contract.scanner import Kernel, Part
from spector.kernel.dispatch import load_kernel
from spector.layout import HEADER_BYTES, Flag
from tests.kernel.blocks import DAY_MS, NOW_MS, headers_of, make_rows
from tests.kernel.test_index_scan import assert_same_answer, kernel

__all__ = ["kernel"]

ROWS, DIM, TAG = 2048, 64, 1 << 7
#: of the last block of an indexed partition
LIFTED = np.arange(1700, 1700 + 12 * 20, 20)
#: more than any term but the right one can make up for, and enough to miss nothing by chance
ERRORS = 4.0

WHAT_CHANGES = set(
    ("access_count last_access_s importance utility stability_days arousal valence flags").split()
)


def only(**weights: Any) -> ScoringProfile:
    return ScoringProfile(**{"w_similarity": 0.2, **weights})


#: name: profile, what all records have, what lifts a few of them
LIFTS: dict[str, tuple[ScoringProfile, dict[str, Any], dict[str, Any]]] = {
    "uses": (only(w_activation=1.0), {}, {"access_count": 10**9}),
    "last use": (only(w_retention=1.0), {}, {"last_access_s": NOW_MS // 1000 - 3600}),
    "event": (only(w_recency=1.0), {}, {"event_ms": NOW_MS - 3_600_000}),
    "importance": (only(w_importance=1.0), {}, {"importance": 1}),
    "some importance": (only(w_importance=1.0), {}, {"importance": 0.3}),
    "importance beyond 1": (only(w_importance=1.0), {}, {"importance": 40}),
    "importance of what is negative": (
        only(w_importance=1.0),
        {"importance": -3},
        {"importance": -2.5},
    ),
    "utility": (only(w_utility=1.0), {}, {"utility": 1}),
    "stability": (only(w_retention=1.0), {}, {"stability_days": 30_000}),
    "arousal": (only(w_arousal=1.0), {}, {"arousal": 255}),
    "flashbulb": (
        only(w_retention=1.0, flashbulb_retention=1.0),
        {},
        {"flags": Flag.FLASHBULB},
    ),
    "shared tags": (only(w_tags=1.0), {}, {"tags": TAG | 0xF000}),
    "confidence": (
        only(w_importance=1.0, confidence_weight=0.7),
        {"importance": 1},
        {"confidence": 255},
    ),
    "tier": (only(w_importance=1.0, tier_factors=((3, 2.0),)), {"importance": 1}, {"tier": 3}),
    "category": (
        only(w_importance=1.0, category_factors=((5, 2.0),)),
        {"importance": 1},
        {"category": 5},
    ),
    "mood": (only(w_importance=1.0, mood_boost=2.0), {"importance": 1}, {"valence": 90}),
    "unresolved": (
        only(w_importance=1.0, unresolved_boost=2.0),
        {"importance": 1},
        {"flags": Flag.UNRESOLVED},
    ),
    "not consolidated": (
        only(w_importance=1.0, consolidated_factor=0.4),
        {"importance": 1, "flags": Flag.CONSOLIDATED},
        {"flags": 0},
    ),
    "a small factor on what is negative": (
        ScoringProfile(w_similarity=1.0, consolidated_factor=0.1),
        {},
        {"flags": Flag.CONSOLIDATED},
    ),
}


def alike(rng: np.random.Generator, part: int, vectors: NDArray[Any]) -> NDArray[np.uint8]:
    """Records that differ in their vectors (n, dim) only; one in 64 has a tag."""
    rows = make_rows(rng, len(vectors), vectors.shape[1])
    header = headers_of(rows)
    for name in tuple(
        ("utility importance arousal valence category tier flags last_access_s confidence").split()
    ):
        header[name] = 0
    header["id"] = np.arange(len(rows)) + part * ROWS + 1
    header["event_ms"] = NOW_MS - 300 * DAY_MS
    header["access_count"], header["stability_days"] = 1, 3
    header["tags"] = np.where(np.arange(len(rows)) % 64 == 0, TAG, 0)
    codes, header["scale"] = quantize(normalize(vectors.astype(np.float32)))
    rows[:, HEADER_BYTES : HEADER_BYTES + vectors.shape[1]] = codes.view(np.uint8)
    return rows


def fill(rows: NDArray[np.uint8], at: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        headers_of(rows)[name][at] = value


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["append", "update", "refresh"])
@pytest.mark.parametrize("lift", LIFTS)
def test_what_one_term_alone_lifts_is_found(kernel: Kernel, lift: str, how: str) -> None:
    profile, common, values = LIFTS[lift]
    if how != "append" and not values.keys() <= WHAT_CHANGES:
        pytest.skip("nothing that changes")
    rng = np.random.default_rng(5)
    cue = normalize(rng.standard_normal((1, DIM)).astype(np.float32))[0]
    # the floor comes from what has no index
    vectors = normalize(rng.standard_normal((ROWS + 700, DIM)).astype(np.float32))
    vectors -= (0.9 * vectors @ cue + 0.3)[:, None] * cue
    first, rows = alike(rng, 1, vectors[ROWS:]), alike(rng, 0, vectors[:ROWS])
    against = alike(rng, 0, rng.standard_normal((len(LIFTED), DIM)) * 0.1 / 8 - cue)
    headers_of(rows)["scale"][LIFTED] = headers_of(against)["scale"]
    rows[LIFTED, HEADER_BYTES:] = against[:, HEADER_BYTES:]
    headers_of(rows)["tags"][LIFTED] = TAG
    fill(first, slice(None), common)
    fill(rows, slice(None), common)
    if how == "append":
        fill(rows, LIFTED, values)
    index = ScanIndex.create(kernel, DIM, ROWS, None)
    index.append(rows)
    if how != "append":
        fill(rows, LIFTED, values)
    if how == "update":
        index.update(rows, LIFTED)
    if how == "refresh":
        index.refresh(rows)
    parts = [Part(first, len(first)), Part(rows, ROWS, index=index.image)]
    for tags in (0, TAG):
        query = make_query(
            now_ms=NOW_MS,
            vector=cue,
            profile=profile,
            tags_all=tags,
            mood=5,
            overlap_mask=0xF000,
            recall_confidence=ERRORS,
            index_from_rows=0,
        )
        got = assert_same_answer(kernel, kernel.prepare(parts), query, 10, f"{lift} {tags}")
        assert set(got.slot.tolist()) <= set(LIFTED.tolist()), "nothing was lifted"


@pytest.mark.sampled
@pytest.mark.parametrize("tags", [0, TAG], ids=["all", "few"])
@pytest.mark.parametrize("dim", [64, 384])
def test_estimates_count_what_cue_and_centre_share(kernel: Kernel, dim: int, tags: int) -> None:
    """A quarter of a cosine, which is most at a centre of length 1/2: six standard errors."""
    rng = np.random.default_rng(dim)
    middle = normalize(rng.standard_normal((1, dim)).astype(np.float32))[0]
    found = wanted = 0
    parts = []
    for number, count in enumerate((700, 6144)):
        away = normalize(rng.standard_normal((count, dim)).astype(np.float32))
        rows = alike(rng, 2 * number, 0.5 * middle + 0.866 * away)
        index = ScanIndex.create(kernel, dim, count, centre_of(rows, dim))
        index.append(rows)
        parts.append(Part(rows, count, index=index.image if number else None))
    for _ in range(12):
        query = make_query(
            now_ms=NOW_MS,
            vector=middle + 0.1 * rng.standard_normal(dim) / np.sqrt(dim),
            profile=ScoringProfile(w_similarity=1.0),
            tags_all=tags,
            recall_confidence=2.0,
            index_from_rows=0,
        )
        want = load_kernel("reference").scan(parts, query, 10)
        found += len(set(want.ids.tolist()) & set(kernel.scan(parts, query, 10).ids.tolist()))
        wanted += len(want)
    assert found >= 0.93 * wanted


SHUT: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "too dark": ({"valence_min": 50}, {"valence": 40}, {"valence": 50}),
    "too bright": ({"valence_max": -50}, {"valence": -40}, {"valence": -50}),
    "too old": ({"event_min_ms": NOW_MS}, {"event_ms": NOW_MS - 1}, {"event_ms": NOW_MS}),
    "too young": ({"event_max_ms": NOW_MS}, {"event_ms": NOW_MS}, {"event_ms": NOW_MS - 1}),
    "too weak": ({"importance_floor": 0.5}, {"importance": 0.4}, {"importance": 0.5}),
    "pinned": ({"importance_floor": 0.5}, {"importance": 0.4}, {"flags": Flag.PINNED}),
    "damaged": ({"importance_floor": 0.5}, {"importance": 0.4}, {"importance": np.nan}),
    "no floor": ({"importance_floor": 0.0}, {"importance": -1}, {"importance": 0.1}),
}


@pytest.mark.parametrize("how", ["append", "update", "refresh"])
@pytest.mark.parametrize("shut", SHUT)
def test_a_partition_that_a_phase_shuts_out_opens_for_one_record(
    kernel: Kernel, shut: str, how: str
) -> None:
    options, common, opens = SHUT[shut]
    if how != "append" and not opens.keys() <= WHAT_CHANGES:
        pytest.skip("nothing that changes")
    rng = np.random.default_rng(9)
    rows = alike(rng, 0, rng.standard_normal((1100, DIM)))
    headers_of(rows)["tags"][1027] = TAG
    headers_of(rows)["flags"][::3] = Flag.TOMBSTONE
    fill(rows, slice(None), common)
    allow = np.full(18, ~np.uint64(0))
    for one in (None, 1027):  # not a tombstone, in the last block
        index = ScanIndex.create(kernel, DIM, 1100)
        if one is not None and how == "append":
            fill(rows, one, opens)
        index.append(rows)
        if one is not None and how != "append":
            fill(rows, one, opens)
            index.update(rows, np.array([one])) if how == "update" else index.refresh(rows)
        for tags in (0, TAG):
            for part in (
                Part(rows, 1100, index=index.image),
                Part(rows, 1100, allow, index=index.image),
            ):
                query = make_query(
                    now_ms=NOW_MS,
                    vector=rng.standard_normal(DIM),
                    tags_all=tags,
                    index_from_rows=0,
                    **options,
                )
                assert_same_answer(kernel, kernel.prepare([part]), query, 10, f"{shut} {tags}")
