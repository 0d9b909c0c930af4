"""Weights of the terms of a memory's score: one formula, many presets.

Additive fusion:        ``score = (w_sim*sim + w_imp*imp + w_ret*ret + ...) * modifiers``
Multiplicative fusion:  ``score = w_sim*max(sim, 0) * (1 + w_imp*imp + ...) * modifiers``

The kernel applies all weights but ``w_lexical``: that is the weight of the evidence that the
read path adds, of words, people and dates, see `Ranking`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Final, Literal

from spector.errors import InvalidInputError
from spector.kernel.contract.evidence import Ranking
from spector.layout import Category, TierCode
from spector.messages import shown

__all__ = ["MOST_WEIGHT", "PROFILES", "Curve", "ScoringProfile", "get_profile"]


class Curve(enum.StrEnum):
    """Forgetting curves; x is age divided by stability (or by the recency scale)."""

    #: one step an octave of x: (1 + x)^-exponent at the octave's geometric middle
    POWER_LAW_BUCKETS = "power_law"
    #: exp(-x): falls to 1/e at x = 1
    EBBINGHAUS = "ebbinghaus"
    #: (1 + x / 9)^-2: heavy tail, 0.81 at x = 1
    FSRS = "fsrs"
    #: (1 + f x)^-0.1542 with f = 0.98: 0.9 at x = 1, and then an even heavier tail
    FSRS6 = "fsrs6"
    #: 2^-x: falls to one half at x = 1
    HALF_LIFE = "half_life"


MOST_WEIGHT: Final = 1000.0
_WEIGHT_RANGE = (0.0, MOST_WEIGHT)
_FACTOR_RANGE = (0.0, 100.0)
_RANGES: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "w_similarity": _WEIGHT_RANGE,
        "w_importance": _WEIGHT_RANGE,
        "w_retention": _WEIGHT_RANGE,
        "w_recency": _WEIGHT_RANGE,
        "w_activation": _WEIGHT_RANGE,
        "w_utility": _WEIGHT_RANGE,
        "w_tags": _WEIGHT_RANGE,
        "w_arousal": _WEIGHT_RANGE,
        "w_lexical": _WEIGHT_RANGE,
        "power_law_exponent": (1e-3, 10.0),
        "recency_scale_days": (1e-6, 1e6),
        "activation_decay": (1e-3, 2.0),
        "min_similarity": (-1.0, 1.0),
        "retention_floor": (0.0, 1.0),
        "confidence_weight": (0.0, 1.0),
        "mood_boost": _FACTOR_RANGE,
        "unresolved_boost": _FACTOR_RANGE,
        "consolidated_factor": _FACTOR_RANGE,
        "flashbulb_retention": (0.0, 1.0),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringProfile:
    """Weights and shapes of the fused score. Hashable: tables are cached per profile.

    Weights (>= 0; a term with weight 0 is not computed): similarity is a cosine in -1..1, all
    other terms lie in 0..1. Modifiers are factors around 1 that multiply the fused sum:

    - confidence: ``1 - confidence_weight * (1 - confidence)``
    - mood: ``mood_boost`` when the query's mood and the memory's valence have the same sign
    - unresolved, consolidated: by the record's flag
    - tier, category: pairs ``(code, factor)``; codes not listed count 1

    ``min_similarity`` and ``retention_floor`` drop records; pinned ones are exempt from the
    retention floor. Flashbulb records never show a retention below ``flashbulb_retention``.
    """

    name: str = "custom"
    fusion: Literal["additive", "multiplicative"] = "additive"
    w_similarity: float = 1.0
    w_importance: float = 0.0
    w_retention: float = 0.0
    w_recency: float = 0.0
    w_activation: float = 0.0
    w_utility: float = 0.0
    w_tags: float = 0.0
    w_arousal: float = 0.0
    w_lexical: float = 0.0
    retention_curve: Curve = Curve.POWER_LAW_BUCKETS
    power_law_exponent: float = 0.5
    recency_curve: Curve = Curve.HALF_LIFE
    recency_scale_days: float = 30.0
    activation_decay: float = 0.5
    min_similarity: float = -1.0
    retention_floor: float = 0.0
    confidence_weight: float = 0.0
    mood_boost: float = 1.1
    unresolved_boost: float = 1.0
    consolidated_factor: float = 1.0
    flashbulb_retention: float = 1.0
    tier_factors: tuple[tuple[int, float], ...] = ()
    category_factors: tuple[tuple[int, float], ...] = ()
    #: evidence that the read path adds where ``w_lexical`` is not 0
    ranking: Ranking = field(default_factory=Ranking)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError("ScoringProfile.name must be a non-empty string")
        if self.fusion not in ("additive", "multiplicative"):
            raise InvalidInputError(
                f"ScoringProfile.fusion is {shown(self.fusion)}",
                hint="choose additive or multiplicative",
            )
        for curve_name in ("retention_curve", "recency_curve"):
            object.__setattr__(self, curve_name, _curve(curve_name, getattr(self, curve_name)))
        for name, (low, high) in _RANGES.items():
            _check_number(name, getattr(self, name), low, high)
        if not isinstance(self.ranking, Ranking):
            raise InvalidInputError(
                f"ScoringProfile.ranking is {shown(self.ranking)}", hint="pass a spector.Ranking"
            )
        for name in ("tier_factors", "category_factors"):
            object.__setattr__(self, name, _pairs(name, getattr(self, name)))

    def weights(self) -> dict[str, float]:
        """Weight of each kernel term, by the names that ``score_terms`` uses."""
        return {
            field.name[2:]: getattr(self, field.name)
            for field in fields(self)
            if field.name.startswith("w_") and field.name != "w_lexical"
        }


def get_profile(name_or_profile: str | ScoringProfile) -> ScoringProfile:
    """The preset of this name, or the profile itself.

    Raises:
        InvalidInputError: no preset has this name; the hint lists those that exist.
    """
    if isinstance(name_or_profile, ScoringProfile):
        return name_or_profile
    found = PROFILES.get(name_or_profile) if isinstance(name_or_profile, str) else None
    if found is None:
        raise InvalidInputError(
            f"no scoring profile {shown(name_or_profile)}",
            hint=f"choose one of {', '.join(PROFILES)} or pass a ScoringProfile",
        )
    return found


def _curve(name: str, value: str) -> Curve:
    try:
        return Curve(value)
    except ValueError:
        raise InvalidInputError(
            f"ScoringProfile.{name} is {shown(value)}",
            hint=f"choose one of {', '.join(curve.value for curve in Curve)}",
        ) from None


def _check_number(name: str, value: object, low: float, high: float) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not low <= value <= high:  # type: ignore[arg-type,operator]
        raise InvalidInputError(
            f"ScoringProfile.{name} must be a finite number in {low:g}..{high:g}, got"
            f" {shown(value)}"
        )


def _pairs(name: str, value: object) -> tuple[tuple[int, float], ...]:
    """Sorted (code, factor) pairs from a mapping or an iterable of pairs, so profiles hash."""
    try:
        items = value.items() if isinstance(value, Mapping) else tuple(value)  # type: ignore[arg-type]
        pairs = {int(code): float(factor) for code, factor in items}
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"ScoringProfile.{name} must hold (code, factor) pairs, got {shown(value)}"
        ) from None
    for code, factor in pairs.items():
        if not 0 <= code <= 255:
            raise InvalidInputError(f"ScoringProfile.{name}: code {code} is not in 0..255")
        _check_number(name, factor, *_FACTOR_RANGE)
    return tuple(sorted(pairs.items()))


#: Presets. The seed documents name their ranking formulas; each is reproduced by one entry.
PROFILES: Final[Mapping[str, ScoringProfile]] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            # The default: similarity and all other evidence on one scale (``w_lexical`` is
            # ``w_similarity``), the strengths of a memory break near ties. With strengths three
            # times as heavy LoCoMo's any@10 falls from 91.9 to 91.6, all@10 of questions of several
            # hops from 33.8 to 31.8: questions are about old turns as often as about new ones.
            ScoringProfile(
                name="balanced",
                w_similarity=0.80,
                w_importance=0.10,
                w_retention=0.005,
                w_recency=0.01,
                w_activation=0.005,
                w_utility=0.03,
                w_tags=0.05,
                w_lexical=0.80,
                confidence_weight=0.2,
            ),
            # Pure cosine: what a vector index would answer.
            ScoringProfile(name="similarity", mood_boost=1.0),
            # Vital memories before chatter on the same topic. Importance multiplies similarity: as
            # a summand it ranked vital memories on any topic above those that the cue is about.
            ScoringProfile(
                name="importance",
                fusion="multiplicative",
                w_similarity=0.25,
                w_importance=2.0,
                w_utility=0.30,
                w_arousal=0.15,
                w_lexical=0.50,
            ),
            # Newer before older memories on the same topic, and before slightly better matches.
            ScoringProfile(
                name="recent",
                w_similarity=0.60,
                w_recency=0.30,
                w_retention=0.05,
                w_lexical=0.60,
                recency_scale_days=7.0,
            ),
            # Spector, tier stores: the document names a fused multiplicative hot loop over
            # importance, power-law decay and tag overlap without numbers; these are ours.
            ScoringProfile(
                name="spector",
                fusion="multiplicative",
                w_importance=0.50,
                w_retention=0.30,
                w_tags=0.20,
                w_lexical=1.00,
                tier_factors=((TierCode.SEMANTIC, 1.05), (TierCode.PROCEDURAL, 1.05)),
            ),
            # UCMA, unified retrieval: its "half-life" divides inside exp(), so it is 1/e here too.
            ScoringProfile(
                name="ucma",
                w_similarity=0.40,
                w_importance=0.25,
                w_recency=0.20,
                w_retention=0.15,
                retention_curve=Curve.EBBINGHAUS,
                recency_curve=Curve.EBBINGHAUS,
                recency_scale_days=7.0,
                mood_boost=1.0,
            ),
            # Cognitive Memory v9, hybrid search. The lexical weight stands where it had RRF:
            # ranks do not exist inside a scan; it comes to 0.15 or so for the best words of a usual
            # cue. Sub-tier boosts became category factors.
            ScoringProfile(
                name="cognitive",
                w_similarity=0.40,
                w_activation=0.30,
                w_importance=0.15,
                w_lexical=0.15,
                retention_curve=Curve.FSRS,
                confidence_weight=0.3,
                category_factors=((Category.PATTERN, 1.1), (Category.PROCEDURE, 1.05)),
            ),
            # Cognitive Memory v9, utility scoring: relevance leads, the rest break ties.
            ScoringProfile(
                name="utility",
                w_similarity=0.60,
                w_utility=0.20,
                w_importance=0.20,
                retention_curve=Curve.FSRS,
            ),
        )
    }
)
