"""The score of a memory, in float64 and from what a user was told: no bytes, no kernel, no tables.

A score is an interval, because the power law's steps are ramps over the last 64th of an octave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spector.kernel.contract.profile import Curve, ScoringProfile
from spector.kernel.contract.quantization import scope_tag, tag_mask
from spector.layout import TierCode
from spector.records import MemoryRecord

_DAY_MS = 86_400_000.0
Interval = tuple[float, float]


@dataclass(frozen=True)
class Asked:
    """A recall as the model understands it."""

    profile: ScoringProfile
    now_ms: int
    #: whole numbers up to 127, one of them +-127: their int8 codes are they themselves
    vector: tuple[int, ...] | None
    tags: Sequence[str] = ()
    any_tags: Sequence[str] = ()
    user_id: str | None = None
    mood: float = 0.0


def cosine(a: Sequence[int], b: Sequence[int]) -> float:
    norms = sum(x * x for x in a) * sum(x * x for x in b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(norms)


def score(record: MemoryRecord, vector: Sequence[int] | None, asked: Asked) -> Interval:
    """The fused score without full text, as docs and ``ScoringProfile`` say it."""
    p, now = asked.profile, asked.now_ms
    idle_days = max(0, now - last_use_ms(record)) / _DAY_MS
    event_days = max(0, now - record.event_ms) / _DAY_MS
    retention = curve(p.retention_curve, idle_days / record.stability_days, p.power_law_exponent)
    if record.flashbulb:
        retention = (
            max(retention[0], p.flashbulb_retention),
            max(retention[1], p.flashbulb_retention),
        )
    recency = curve(p.recency_curve, event_days / p.recency_scale_days, p.power_law_exponent)
    sim = 0.0
    if asked.vector is not None and vector is not None:
        sim = cosine(vector, asked.vector)
    low, high = (
        p.w_importance * record.importance
        + p.w_retention * retention[end]
        + p.w_recency * recency[end]
        + p.w_activation * activation(record.access_count, idle_days, p.activation_decay)
        + p.w_utility * record.utility
        + p.w_tags * overlap(record, asked)
        + p.w_arousal * record.arousal
        for end in (0, 1)
    )
    factor = _modifiers(record, asked)
    if p.fusion == "additive":
        base = p.w_similarity * sim
        return factor * (base + low), factor * (base + high)
    base = p.w_similarity * (1.0 if asked.vector is None else max(0.0, sim))
    return factor * base * (1 + low), factor * base * (1 + high)


def _modifiers(record: MemoryRecord, asked: Asked) -> float:
    p = asked.profile
    factor = 1 - p.confidence_weight * (1 - record.confidence)
    factor *= dict(p.tier_factors).get(int(TierCode[record.tier.upper()]), 1.0)
    factor *= dict(p.category_factors).get(int(record.category), 1.0)
    factor *= p.mood_boost if round(127 * asked.mood) * round(127 * record.valence) > 0 else 1.0
    return factor * (p.unresolved_boost if record.unresolved else 1.0)


def last_use_ms(record: MemoryRecord) -> int:
    """Never used (before 1970 no use can be noted): as if when it happened."""
    return record.last_access_s * 1000 or record.event_ms


def curve(kind: Curve, x: float, exponent: float) -> Interval:
    if kind is Curve.POWER_LAW_BUCKETS:
        return _steps(x, exponent)
    value = {
        Curve.EBBINGHAUS: lambda: math.exp(-x),
        Curve.FSRS: lambda: (1 + x / 9) ** -2,
        Curve.FSRS6: lambda: (1 + (0.9 ** (-1 / 0.1542) - 1) * x) ** -0.1542,
        Curve.HALF_LIFE: lambda: 0.5**x,
    }[kind]()
    return value, value


def _steps(x: float, exponent: float) -> Interval:
    if x < 2.0**-20:
        return 1.0, 1.0

    def step(octave: int) -> float:
        return float((1 + 2 ** (min(octave, 20) + 0.5)) ** -exponent)

    octave = math.floor(math.log2(x))
    place = x / 2.0**octave
    low = step(octave + 1) if place > 2 - 1 / 60 else step(octave)
    high = step(octave - 1) if place < 1 + 1e-6 else step(octave)
    return low, high


def activation(count: int, idle_days: float, decay: float) -> float:
    uses = max(count, 1)
    return float(uses / (uses + max(idle_days * 86_400, 1.0) ** decay))


def overlap(record: MemoryRecord, asked: Asked) -> float:
    """Which share of the cue's filter bits the memory's filter has."""
    mine, wanted = bloom(record), 0
    for tag in (*asked.tags, *asked.any_tags):
        wanted |= tag_mask(tag)
    if asked.user_id is not None:
        wanted |= tag_mask(scope_tag("user", asked.user_id))
    return (mine & wanted).bit_count() / max(wanted.bit_count(), 1)


def bloom(record: MemoryRecord) -> int:
    mask = 0
    scopes: tuple[tuple[Any, str | None], ...] = (
        ("user", record.user_id),
        ("agent", record.agent_id),
        ("session", record.session_id),
    )
    for tag in (*record.tags, *(scope_tag(kind, name) for kind, name in scopes if name)):
        mask |= tag_mask(tag)
    return mask
