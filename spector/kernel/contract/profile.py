"""Weights of the terms of a memory's score: one formula, many presets."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidInputError
from spector.layout import Category, TierCode
from spector.messages import shown
from spector.records import FSRS6_DECAY, FSRS6_FACTOR

if TYPE_CHECKING:
    from spector._types import F32


# Weights of the evidence that the read path adds to the kernel's score.
#
# Every term is measured in standard deviations of the store's similarities, so that words, people and
# vectors can be summed without normalising: nothing is divided by a maximum or an ideal. The
# numbers were found on LoCoMo, BEAM, MADial and PrefEval at once, with folds held out (bench/log,
# "Ranking research"); each term can be switched off by 0.

#: turns before and after one whose words count as its own, in part
REACH: Final = 4
_MOST: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Constants of the evidence that the read path adds; hashable, part of a profile.

    ``near`` is the share that the vectors of the turns before and after have in a memory's
    similarity. ``before`` and ``after`` are the shares of their words, nearest first, taken before
    BM25 saturates; a turn of more than ``long_words`` words gives less of each.

    What a cue is decides how much its words count: ``words_fact`` for a question about what was
    said, ``words_talk`` for a situation, ``words_request`` for a wish ("recommend me ...").
    """

    near: float = 0.3
    words_fact: float = 0.4
    words_talk: float = 0.2
    words_request: float = 0.15
    before: tuple[float, ...] = (0.6, 0.4, 0.25, 0.15)
    after: tuple[float, ...] = (0.3, 0.2, 0.15, 0.1)
    long_words: float = 20.0
    k1: float = 0.6
    b: float = 0.75
    #: the cue is about the memory's speaker
    about: float = 1.7
    #: "on 3 May 2024", "last week": memories of that time stand first, if there are any
    by_time: bool = True
    #: the memory states a preference of the user, and the cue is a request
    preference: float = 0.5
    #: taken from texts shorter than ``short_words``, by the logarithm of their share
    short: float = 0.8
    short_words: float = 30.0
    #: taken from short questions, which ask for what others answer
    question: float = 2.0
    question_words: float = 30.0
    #: given for each of up to two words of time
    time_words: float = 0.2
    #: a cue that is a word or two and no question puts the few memories first that have them all;
    #: any cue those with an identifier of it (INC-2219)
    by_name: bool = True
    #: of two statements that answer one question about how things are the newer one comes first
    newer: bool = True
    #: "rrf": ranks by cosine and by words instead of the sum, 1 / (rrf_k + rank) each
    fusion: Literal["sum", "rrf"] = "sum"
    rrf_k: float = 60.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("before", "after"):
                _check_shares(each.name, value)
                object.__setattr__(self, each.name, tuple(map(float, value)))
            elif each.name in ("by_name", "by_time", "newer"):
                if not isinstance(value, bool):
                    raise InvalidInputError(
                        f"Ranking.{each.name} must be True or False, got {shown(value)}"
                    )
            elif each.name == "fusion":
                if value not in ("sum", "rrf"):
                    raise InvalidInputError(
                        f"Ranking.fusion is {shown(value)}", hint="choose sum or rrf"
                    )
            else:
                _check_number(f"Ranking.{each.name}", value, 0.0, _MOST)
                if value == 0 and each.name in _POSITIVE:
                    raise InvalidInputError(
                        f"Ranking.{each.name} is 0", hint="it divides; pass a positive number"
                    )

    def words(self, kind: str) -> float:
        """Weight of the words of a cue of this kind."""
        return float(getattr(self, f"words_{kind}"))


#: what a term is divided by
_POSITIVE: Final = frozenset({"long_words", "short_words", "question_words"})


def _check_shares(name: str, value: object) -> None:
    if not isinstance(value, tuple) or len(value) > REACH:
        raise InvalidInputError(
            f"Ranking.{name} is {shown(value)}", hint=f"pass a tuple of up to {REACH} shares"
        )
    for share in value:
        _check_number(f"Ranking.{name}", share, 0.0, _MOST)


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
            _check_number(f"ScoringProfile.{name}", getattr(self, name), low, high)
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
            f"{name} must be a finite number in {low:g}..{high:g}, got {shown(value)}"
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
        _check_number(f"ScoringProfile.{name}", factor, *_FACTOR_RANGE)
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


# Forgetting curves, exactly and as lookup tables.
#
# The hot loop never calls exp or pow. A table holds a curve at 64 points per octave of x over
# [2^-20, 2^20); the index is the exponent and the top six mantissa bits of the float32 x itself,
# the other 17 bits interpolate linearly. Every curve therefore costs the same, and every backend
# that does these few float32 operations in this order gets the same bits.

OCTAVES: Final = 40
STEPS: Final = 64
#: the last point is stored twice, so that reading the next entry never needs a branch
TABLE_SIZE: Final = OCTAVES * STEPS + 2
#: float32 bits of 2^-20, the table's first x
LOW_BITS: Final = (127 - 20) << 23
#: mantissa bits that are left for interpolation
FRACTION_BITS: Final = 17
FRACTION_MASK: Final = (1 << FRACTION_BITS) - 1
#: offset of 2^20, the table's last x
LAST_OFFSET: Final = (OCTAVES * STEPS) << FRACTION_BITS
FRACTION_SCALE: Final = np.float32(2.0**-FRACTION_BITS)
#: seconds are scaled by 2^-14 before the activation table, so it spans 1/64 s .. 544 years
ACTIVATION_SCALE: Final = np.float32(2.0**-14)
MIN_STABILITY_DAYS: Final = np.float32(1e-6)

_LOWEST_X: Final = np.float32(2.0**-20)


def retention(
    elapsed_days: ArrayLike,
    stability_days: ArrayLike,
    curve: Curve = Curve.EBBINGHAUS,
    exponent: float = 0.5,
) -> NDArray[np.float64]:
    """Probability that a memory is retained: the exact curve, in float64.

    Args:
        elapsed_days: days since the last access, any shape; below 0 counts as 0.
        stability_days: days, broadcastable; below 1e-6 counts as 1e-6.
        curve: see `Curve`; ``exponent`` applies to the power law only.

    Returns:
        float64 in [0, 1] of the broadcast shape.

    Source: Ebbinghaus (UCMA), FSRS with its factor of 9 (Cognitive Memory v9), FSRS-6, power law.
    """
    elapsed = np.maximum(np.asarray(elapsed_days, np.float64), 0.0)
    stability = np.maximum(np.asarray(stability_days, np.float64), float(MIN_STABILITY_DAYS))
    return _curve_at(elapsed / stability, Curve(curve), exponent)


#: the same, where the name of this module is in the way
retained = retention


def activation(
    access_count: ArrayLike, age_seconds: ArrayLike, decay: float = 0.5
) -> NDArray[np.float64]:
    """ACT-R base-level activation squashed to 0..1: the exact function, in float64.

    ``sigmoid(ln n - d ln age)`` is algebraically ``n / (n + age^d)``, which needs no logarithm.
    Counts below 1 count as 1, ages below one second as one second.

    Source: Anderson's ACT-R as used by Cognitive Memory v9, d = 0.5.
    """
    count = np.maximum(np.asarray(access_count, np.float64), 1.0)
    age = np.maximum(np.asarray(age_seconds, np.float64), 1.0)
    return np.asarray(count / (count + age**decay), np.float64)


def build_table(curve: Curve, exponent: float = 0.5) -> F32:
    """The curve at 64 points per octave: (TABLE_SIZE,) float32, to be read by `lookup`.

    The first entry is the curve at 0, because every smaller x reads it. Absolute error of a
    lookup against the exact curve: below 2e-5 for the smooth ones; the power law's steps become
    ramps over the last 1/64 of their octave. FSRS-6 falls no lower than 0.118, at the last entry.
    """
    x = _grid()
    table = _curve_at(x, Curve(curve), exponent)
    table[0] = 1.0
    return table.astype(np.float32)


def build_activation_table(decay: float) -> F32:
    """``age_s ** decay`` (age clamped to >= 1 s) at ``x = age_s * 2^-14``: (TABLE_SIZE,) f32."""
    age_s = np.maximum(_grid() / float(ACTIVATION_SCALE), 1.0)
    return np.asarray(age_s**decay, np.float32)


def lookup(table: F32, x: F32) -> F32:
    """Read a table at x (n,) float32 -> (n,) float32; the definition all backends follow.

    x below 2^-20 (NaN included) reads the first entry, x from 2^20 on the last.
    """
    x = np.asarray(x, np.float32)
    inside = np.where(x >= _LOWEST_X, x, _LOWEST_X)
    offset = np.minimum(inside.view(np.int32) - np.int32(LOW_BITS), np.int32(LAST_OFFSET))
    fraction = (offset & FRACTION_MASK).astype(np.float32) * FRACTION_SCALE
    index = offset >> FRACTION_BITS
    low = table[index]
    return np.asarray(low + (table[index + 1] - low) * fraction, np.float32)


def _grid() -> NDArray[np.float64]:
    points = np.minimum(np.arange(TABLE_SIZE), OCTAVES * STEPS).astype(np.float64)
    octave, step = np.divmod(points, float(STEPS))
    return np.asarray(np.exp2(octave - 20.0) * (1.0 + step / STEPS), np.float64)


def _curve_at(x: NDArray[Any], curve: Curve, exponent: float) -> NDArray[np.float64]:
    if curve is Curve.EBBINGHAUS:
        values = np.exp(-x)
    elif curve is Curve.FSRS:
        values = (1.0 + x / 9.0) ** -2.0
    elif curve is Curve.FSRS6:
        values = (1.0 + FSRS6_FACTOR * x) ** -FSRS6_DECAY
    elif curve is Curve.HALF_LIFE:
        values = np.exp2(-x)
    else:
        octave = np.floor(np.log2(np.maximum(x, 2.0**-20)))
        middle = np.exp2(np.minimum(octave, 20.0) + 0.5)
        values = np.where(x < 2.0**-20, 1.0, (1.0 + middle) ** -exponent)
    return np.asarray(values, np.float64)
