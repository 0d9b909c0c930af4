"""Mechanism: the formula of the design, written once more in float64 with nothing but `math`.

Damage: all backends could agree on a wrong formula.
Guard: scans agree with a record-by-record oracle that shares no code with the kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spector.kernel.contract.profile import Curve
from spector.kernel.contract.query import Query
from tests.kernel.blocks import (
    headers_of,
    kernel_or_skip,
    make_parts,
    make_rows,
    random_profile,
    random_query,
)

DIM = 24


def curve(kind: Curve, x: float, exponent: float) -> float | None:
    """Exact value; None on the short ramps between the power law's steps."""
    if kind is Curve.EBBINGHAUS:
        return math.exp(-x)
    if kind is Curve.FSRS:
        return (1 + x / 9) ** -2
    if kind is Curve.FSRS6:
        return (1 + (0.9 ** (-1 / 0.1542) - 1) * x) ** -0.1542
    if kind is Curve.HALF_LIFE:
        return 0.5**x
    if x < 2**-20:
        return 1.0
    octave = math.floor(math.log2(x))
    if x / 2**octave > 2 - 1 / 60 or octave >= 20 or octave < -19:
        return None
    return (1 + 2 ** (octave + 0.5)) ** -exponent


def passes(h: Any, allowed: bool, q: Query, retention: float) -> bool:
    if int(h["flags"]) & (q.drop_flags | 1) or not allowed:
        return False
    tags = int(h["tags"])
    if tags & q.tags_all != q.tags_all:
        return False
    if len(q.any_masks) and not any(tags & int(m) == int(m) for m in q.any_masks):
        return False
    if not q.valence_min <= h["valence"] <= q.valence_max:
        return False
    if q.event_min_ms is not None and h["event_ms"] < q.event_min_ms:
        return False
    if q.event_max_ms is not None and h["event_ms"] >= q.event_max_ms:
        return False
    if q.modality_mask and not q.modality_mask >> int(h["modality"]) & 1:
        return False
    if q.category_mask and not q.category_mask >> int(h["category"]) & 1:
        return False
    pinned = int(h["flags"]) & 2
    return bool(
        pinned or (h["importance"] >= q.importance_floor and retention >= q.retention_floor)
    )


def judge(row: Any, h: Any, allowed: bool, q: Query) -> tuple[float, float] | str | None:
    """(score, cosine), or None when dropped, or "unsure" beside a threshold or on a ramp."""
    p = q.profile
    days = 86_400_000.0
    event_age = max(0, q.now_ms - int(h["event_ms"])) / days
    used_ms = int(h["last_access_s"]) * 1000 or int(h["event_ms"])
    idle = max(0, q.now_ms - used_ms) / days
    retention = curve(
        p.retention_curve, idle / max(h["stability_days"], 1e-6), p.power_law_exponent
    )
    recency = curve(p.recency_curve, event_age / p.recency_scale_days, p.power_law_exponent)
    if retention is None or recency is None:
        return "unsure"
    if int(h["flags"]) & 8:
        retention = max(retention, p.flashbulb_retention)
    if q.retention_floor and abs(retention - q.retention_floor) < 1e-4:
        return "unsure"
    if not passes(h, allowed, q, retention):
        return None
    sim = 0.0
    if q.vector is not None:
        dot = sum(int(a) * int(b) for a, b in zip(row[64:].view("i1"), q.codes, strict=True))
        sim = dot * float(q.scale) * float(h["scale"])
        if abs(sim - p.min_similarity) < 1e-6:
            return "unsure"
        if sim < p.min_similarity and p.min_similarity > -1:
            return None
    uses = max(int(h["access_count"]), 1)
    overlap = (int(h["tags"]) & q.overlap_mask).bit_count() / max(q.overlap_mask.bit_count(), 1)
    rest = (
        p.w_importance * float(h["importance"])
        + p.w_retention * retention
        + p.w_recency * recency
        + p.w_activation
        / (1 + math.exp(-(math.log(uses) - p.activation_decay * math.log(max(idle * 86_400, 1)))))
        + p.w_utility * float(h["utility"])
        + p.w_tags * overlap
        + p.w_arousal * int(h["arousal"]) / 255
    )
    if p.fusion == "additive":
        score = p.w_similarity * sim + rest
    else:
        score = p.w_similarity * (max(sim, 0) if q.vector is not None else 1) * (1 + rest)
    score *= 1 - p.confidence_weight * (1 - int(h["confidence"]) / 255)
    score *= dict(p.tier_factors).get(int(h["tier"]), 1)
    score *= dict(p.category_factors).get(int(h["category"]), 1)
    score *= p.mood_boost if q.mood * int(h["valence"]) > 0 else 1
    score *= p.unresolved_boost if int(h["flags"]) & 32 else 1
    score *= p.consolidated_factor if int(h["flags"]) & 16 else 1
    return score, sim


@pytest.mark.parametrize("name", ["native", "numba", "reference"])
def test_scan_agrees_with_the_formula(name: str) -> None:
    kernel = kernel_or_skip(name)
    rng = np.random.default_rng(11)
    rows = make_rows(rng, 60, DIM)
    headers_of(rows)["id"] = rng.permutation(60) + 1
    profiles = [random_profile(rng) for _ in range(60)]
    compared = dropped = 0
    for number in range(250):
        query = random_query(rng, DIM, profiles, headers_of(rows))
        parts = make_parts(rng, rows)
        result = kernel.scan(parts, query, 1000)
        found = {
            (part, slot): (score, sim)
            for part, slot, score, sim in zip(
                result.part.tolist(),
                result.slot.tolist(),
                result.scores,
                result.similarity,
                strict=True,
            )
        }
        for index, part in enumerate(parts):
            for slot in range(part.count):
                bit = part.allow is None or bool(int(part.allow[slot // 64]) >> slot % 64 & 1)
                want = judge(part.data[slot], headers_of(part.data)[slot], bit, query)
                if want == "unsure":
                    continue
                got = found.get((index, slot))
                assert (got is None) == (want is None), (number, index, slot)
                dropped += want is None
                if got is not None:
                    assert got == pytest.approx(want, abs=1e-5, rel=1e-5), (number, index, slot)
                    compared += 1
    assert compared > 1000
    assert dropped > 1000
