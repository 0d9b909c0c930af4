"""Mechanism: every header field, flag, profile parameter and query argument moves the result.

Damage: a parameter without an effect, or with the opposite one, is a promise that nobody keeps.
Guard: one case for each, on every backend; a field without a case fails the enumeration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spector.kernel.contract.profile import Ranking, ScoringProfile
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.query import Query, make_query
from spector.kernel.contract.scanner import Kernel
from spector.layout import RECORD_DTYPE, Flag
from tests.kernel.blocks import DAY_MS, NOW_MS, headers_of, kernel_or_skip, one_record

CUE = np.array([1.0, 0.2, 0.0, 0.0])
DROPPED = None

#: every term has a weight and every modifier a value other than 1
EVERYTHING: dict[str, Any] = {
    "w_similarity": 0.5,
    "w_importance": 0.5,
    "w_retention": 0.5,
    "w_recency": 0.5,
    "w_activation": 0.5,
    "w_utility": 0.5,
    "w_tags": 0.5,
    "w_arousal": 0.5,
    "retention_curve": "ebbinghaus",
    "recency_scale_days": 30.0,
    "confidence_weight": 0.5,
    "unresolved_boost": 1.2,
    "consolidated_factor": 0.8,
    "tier_factors": ((2, 1.5),),
    "category_factors": ((3, 1.5),),
}


@pytest.fixture(params=["native", "numba", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def score(
    kernel: Kernel,
    record: dict[str, Any] | None = None,
    profile: dict[str, Any] | None = None,
    vector: Any = CUE,
    **query: Any,
) -> float | None:
    """Score of one record, None when a phase drops it."""
    part = one_record(record or {})
    chosen = ScoringProfile(**{**EVERYTHING, **(profile or {})})
    asked = make_query(
        **{"now_ms": NOW_MS, "vector": vector, "overlap_mask": 0xF0F, "profile": chosen, **query}
    )
    result = kernel.scan([part], asked, 1)
    return float(result.scores[0]) if len(result) else DROPPED


def rises(low: float | None, high: float | None) -> None:
    assert low is not None
    assert high is not None
    assert high > low


def both(kernel: Kernel, name: str, low: Any, high: Any, **more: Any) -> None:
    """The record scores higher with ``high`` in the field than with ``low``."""
    rises(score(kernel, {name: low}, **more), score(kernel, {name: high}, **more))


def tuned(kernel: Kernel, name: str, low: Any, high: Any, record: Any = None, **more: Any) -> None:
    """The record scores higher under a profile with ``high`` than with ``low``."""
    rises(score(kernel, record, {name: low}, **more), score(kernel, record, {name: high}, **more))


def same(kernel: Kernel, name: str, one: Any, other: Any) -> None:
    assert score(kernel, {name: one}) == score(kernel, {name: other}) is not None


def scan_ids(kernel: Kernel, *records: dict[str, Any]) -> list[int]:
    parts = [one_record(record) for record in records]
    return kernel.scan(parts, make_query(now_ms=NOW_MS, vector=CUE), 9).ids.tolist()


USED_S = NOW_MS // 1000

FIELDS: dict[str, Callable[[Kernel], object]] = {
    "version": lambda k: same(k, "version", 1, 2),
    "tier": lambda k: both(k, "tier", 1, 2),
    "category": lambda k: both(k, "category", 1, 3),
    "modality": lambda k: (
        rises(score(k, {"modality": 1}, modality_mask=0b110), np.inf),
        absent(score(k, {"modality": 3}, modality_mask=0b110)),
        absent(score(k, {"modality": 40}, modality_mask=0xFFFF_FFFF)),
    ),
    "scale": lambda k: both(k, "scale", 0.001, 0.007),
    "id": lambda k: equal(scan_ids(k, {"id": 9}, {"id": 4}, {"id": 5}), [4, 5, 9]),
    "event_ms": lambda k: both(k, "event_ms", NOW_MS - 9 * DAY_MS, NOW_MS - 8 * DAY_MS),
    "tags": lambda k: both(k, "tags", 0x00F, 0x10F),
    "centroid": lambda k: same(k, "centroid", 0, 9),
    "confidence": lambda k: both(k, "confidence", 10, 250),
    "reserved": lambda k: same(k, "reserved", 0, 9),
    "crc": lambda k: same(k, "crc", 0, 9),
    "flags": lambda k: both(k, "flags", 0, int(Flag.UNRESOLVED)),
    "valence": lambda k: both(k, "valence", -5, 5, mood=9),
    "arousal": lambda k: both(k, "arousal", 10, 11),
    "importance": lambda k: both(k, "importance", 0.5, 0.51),
    "stability_days": lambda k: both(k, "stability_days", 3.0, 4.0),
    "utility": lambda k: both(k, "utility", 0.5, 0.51),
    "access_count": lambda k: both(k, "access_count", 2, 3),
    "last_access_s": lambda k: both(k, "last_access_s", USED_S - 900_000, USED_S - 800_000),
}


def absent(value: float | None) -> None:
    assert value is DROPPED


def equal(got: Any, want: Any) -> None:
    assert got == want


@pytest.mark.parametrize("name", FIELDS)
def test_header_field_moves_the_score_as_documented(kernel: Kernel, name: str) -> None:
    FIELDS[name](kernel)


def test_every_header_field_has_a_case() -> None:
    assert set(FIELDS) == set(RECORD_DTYPE.names or ())


def test_vector_bytes_move_the_score(kernel: Kernel) -> None:
    near, far = one_record({}), one_record({}, np.array([0.0, 1.0, 0, 0]))
    query = make_query(now_ms=NOW_MS, vector=CUE, profile="similarity")
    rises(
        float(kernel.scan([far], query, 1).scores[0]),
        float(kernel.scan([near], query, 1).scores[0]),
    )


def test_never_accessed_counts_from_the_event(kernel: Kernel) -> None:
    event_s = (NOW_MS - 10 * DAY_MS) // 1000
    assert score(kernel, {"last_access_s": 0}) == score(kernel, {"last_access_s": event_s})


def gated(k: Kernel, flag: Flag) -> None:
    """Dropped unless asked for, and then like any other."""
    absent(score(k, {"flags": int(flag)}))
    assert score(k, {"flags": int(flag)}, drop_flags=0) == score(k) is not None


FLAGS: dict[Flag, Callable[[Kernel], object]] = {
    Flag.TOMBSTONE: lambda k: absent(score(k, {"flags": 1}, drop_flags=0)),
    Flag.PINNED: lambda k: (
        absent(score(k, {"importance": 0.1}, importance_floor=0.2)),
        absent(score(k, {"stability_days": 0.1}, retention_floor=0.2)),
        equal(
            score(k, {"importance": 0.1, "flags": 2}, importance_floor=0.2, retention_floor=0.9),
            score(k, {"importance": 0.1}),
        ),
        absent(score(k, {"flags": 2}, event_max_ms=0)),
    ),
    Flag.IMMUTABLE: lambda k: same(k, "flags", 0, int(Flag.IMMUTABLE)),
    Flag.FLASHBULB: lambda k: both(k, "flags", 0, int(Flag.FLASHBULB)),
    Flag.CONSOLIDATED: lambda k: both(k, "flags", int(Flag.CONSOLIDATED), 0),
    Flag.UNRESOLVED: lambda k: both(k, "flags", 0, int(Flag.UNRESOLVED)),
    Flag.SUPERSEDED: lambda k: gated(k, Flag.SUPERSEDED),
    Flag.DORMANT: lambda k: gated(k, Flag.DORMANT),
    Flag.QUARANTINED: lambda k: gated(k, Flag.QUARANTINED),
    Flag.AUXILIARY: lambda k: gated(k, Flag.AUXILIARY),
    Flag.NO_TEXT: lambda k: gated(k, Flag.NO_TEXT),
}


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_flag_does_what_it_says(kernel: Kernel, flag: Flag) -> None:
    FLAGS[flag](kernel)


def test_every_flag_has_a_case() -> None:
    assert set(FLAGS) == set(Flag)


def floor_case(k: Kernel) -> None:
    weak = {"stability_days": 1.0}
    assert score(k, weak, {"retention_floor": 0.0}) is not None
    absent(score(k, weak, {"retention_floor": 0.5}))


def fusion_case(k: Kernel) -> None:
    """Additive strength lifts an unrelated record; in a product nothing lifts a zero."""
    across = [0.0, 1.0, 0.0, 0.0]
    assert score(k, profile={"fusion": "additive"}, vector=across) > 0  # type: ignore[operator]
    assert score(k, profile={"fusion": "multiplicative"}, vector=across) == 0
    assert score(k, profile={"fusion": "multiplicative"}, vector=[-1.0, 0, 0, 0]) == 0


def curve_case(k: Kernel, name: str) -> None:
    """At x = 1 (10 days of both) each curve has its own value."""
    record = {"event_ms": NOW_MS - 10 * DAY_MS, "last_access_s": 0, "stability_days": 10.0}
    base = {"recency_scale_days": 10.0}
    order = ["ebbinghaus", "half_life", "power_law", "fsrs", "fsrs6"]
    scores = [score(k, record, {**base, name: curve}) for curve in order]
    assert scores == sorted(scores)  # type: ignore[type-var]
    assert len(set(scores)) == 5


PROFILE: dict[str, Callable[[Kernel], object]] = {
    "name": lambda k: equal(score(k, profile={"name": "a"}), score(k, profile={"name": "b"})),
    "fusion": fusion_case,
    "w_similarity": lambda k: tuned(k, "w_similarity", 0.1, 0.2),
    "w_importance": lambda k: tuned(k, "w_importance", 0.1, 0.2),
    "w_retention": lambda k: tuned(k, "w_retention", 0.1, 0.2),
    "w_recency": lambda k: tuned(k, "w_recency", 0.1, 0.2),
    "w_activation": lambda k: tuned(k, "w_activation", 0.1, 0.2),
    "w_utility": lambda k: tuned(k, "w_utility", 0.1, 0.2),
    "w_tags": lambda k: tuned(k, "w_tags", 0.1, 0.2),
    "w_arousal": lambda k: tuned(k, "w_arousal", 0.1, 0.2),
    # the read path adds the lexical term; the kernel must not
    "w_lexical": lambda k: equal(score(k, profile={"w_lexical": 0.9}), score(k)),
    # likewise
    "ranking": lambda k: equal(score(k, profile={"ranking": Ranking(near=0.0)}), score(k)),
    "retention_curve": lambda k: curve_case(k, "retention_curve"),
    "power_law_exponent": lambda k: rises(
        score(k, profile={"retention_curve": "power_law", "power_law_exponent": 0.9}),
        score(k, profile={"retention_curve": "power_law", "power_law_exponent": 0.2}),
    ),
    "recency_curve": lambda k: curve_case(k, "recency_curve"),
    "recency_scale_days": lambda k: tuned(k, "recency_scale_days", 5.0, 50.0),
    "activation_decay": lambda k: tuned(k, "activation_decay", 0.6, 0.4),
    "min_similarity": lambda k: (
        absent(score(k, profile={"min_similarity": 0.5}, vector=[0.0, 1, 0, 0])),
        rises(0.0, score(k, profile={"min_similarity": 0.5})),
        rises(0.0, score(k, profile={"min_similarity": 0.5}, vector=None)),
    ),
    "retention_floor": floor_case,
    "confidence_weight": lambda k: tuned(k, "confidence_weight", 0.6, 0.4),
    "mood_boost": lambda k: (
        tuned(k, "mood_boost", 1.0, 1.1, mood=3),
        equal(score(k, profile={"mood_boost": 2.0}), score(k)),
    ),
    "unresolved_boost": lambda k: (
        tuned(k, "unresolved_boost", 1.0, 1.1, record={"flags": int(Flag.UNRESOLVED)}),
        equal(score(k, profile={"unresolved_boost": 2.0}), score(k)),
    ),
    "consolidated_factor": lambda k: (
        tuned(k, "consolidated_factor", 0.5, 0.6, record={"flags": int(Flag.CONSOLIDATED)}),
        equal(score(k, profile={"consolidated_factor": 0.1}), score(k)),
    ),
    "flashbulb_retention": lambda k: tuned(
        k, "flashbulb_retention", 0.8, 0.9, record={"flags": int(Flag.FLASHBULB)}
    ),
    "tier_factors": lambda k: tuned(k, "tier_factors", ((1, 0.9),), ((1, 1.1), (2, 0.1))),
    "category_factors": lambda k: tuned(k, "category_factors", ((1, 0.9),), ((1, 1.1),)),
}


@pytest.mark.parametrize("name", PROFILE)
def test_profile_parameter_moves_the_score_as_documented(kernel: Kernel, name: str) -> None:
    PROFILE[name](kernel)


def test_every_profile_parameter_has_a_case() -> None:
    assert set(PROFILE) == set(ScoringProfile.__dataclass_fields__)


def admits(k: Kernel, good: dict[str, Any], bad: dict[str, Any]) -> None:
    """The standard record passes with one set of arguments and is dropped with the other."""
    assert score(k, **good) is not None
    absent(score(k, **bad))


EVENT = NOW_MS - 10 * DAY_MS
QUERY: dict[str, Callable[[Kernel], object]] = {
    "profile": lambda k: rises(score(k, profile={"w_utility": 0.0}), score(k)),
    "now_ms": lambda k: rises(score(k, now_ms=NOW_MS), score(k, now_ms=NOW_MS - DAY_MS)),
    "vector": lambda k: rises(score(k, vector=[0.0, 1, 0, 0]), score(k, vector=[1.0, 0, 0, 0])),
    "tags_all": lambda k: admits(k, {"tags_all": 0x81}, {"tags_all": 0x181}),
    "any_masks": lambda k: admits(k, {"any_masks": [0x100, 0x3]}, {"any_masks": [0x100, 0x201]}),
    "overlap_mask": lambda k: rises(score(k, overlap_mask=0xFF0), score(k, overlap_mask=0x1F)),
    "valence_min": lambda k: admits(k, {"valence_min": 20}, {"valence_min": 21}),
    "valence_max": lambda k: admits(k, {"valence_max": 20}, {"valence_max": 19}),
    "event_min_ms": lambda k: admits(k, {"event_min_ms": EVENT}, {"event_min_ms": EVENT + 1}),
    "event_max_ms": lambda k: admits(k, {"event_max_ms": EVENT + 1}, {"event_max_ms": EVENT}),
    "importance_floor": lambda k: admits(k, {"importance_floor": 0.5}, {"importance_floor": 0.6}),
    "retention_floor": lambda k: admits(k, {"retention_floor": 0.6}, {"retention_floor": 0.62}),
    "drop_flags": lambda k: (
        absent(score(k, {"flags": int(Flag.UNRESOLVED)}, drop_flags=int(Flag.UNRESOLVED))),
        rises(0.0, score(k, {"flags": int(Flag.UNRESOLVED)})),
    ),
    "modality_mask": lambda k: admits(k, {"modality_mask": 0b1}, {"modality_mask": 0b10}),
    "category_mask": lambda k: admits(k, {"category_mask": 0b10}, {"category_mask": 0b100}),
    "mood": lambda k: rises(score(k, mood=-3), score(k, mood=3)),
}
DERIVED = {"codes", "scale", "tables", "params"}


@pytest.mark.parametrize("name", QUERY)
def test_query_argument_moves_the_result_as_documented(kernel: Kernel, name: str) -> None:
    QUERY[name](kernel)


def test_every_query_argument_has_a_case() -> None:
    assert set(QUERY) | DERIVED == set(Query.__dataclass_fields__)


def test_negative_moods_agree_too_and_neutral_ones_never(kernel: Kernel) -> None:
    rises(score(kernel, {"valence": -4}), score(kernel, {"valence": -4}, mood=-100))
    assert score(kernel, {"valence": 0}, mood=5) == score(kernel, {"valence": 0}, mood=-5)


def test_a_memory_of_the_future_has_age_zero(kernel: Kernel) -> None:
    now = score(kernel, {"event_ms": NOW_MS, "last_access_s": 0})
    assert score(kernel, {"event_ms": NOW_MS + 99 * DAY_MS, "last_access_s": 0}) == now


def test_drops_are_counted_by_the_first_phase_that_objects(kernel: Kernel) -> None:
    allow_none = np.zeros(1, np.uint64)
    cases: list[tuple[dict[str, Any], dict[str, Any], Any]] = [
        ({"flags": 1, "tags": 0}, {"tags_all": 1}, None),
        ({"tags": 0}, {"tags_all": 1}, allow_none),
        ({"tags": 0, "valence": -9}, {"tags_all": 1, "valence_min": 0}, None),
        ({"valence": -9, "importance": 0.0}, {"valence_min": 0, "importance_floor": 0.5}, None),
        ({"importance": 0.0}, {"importance_floor": 0.5, "vector": [-1.0, 0, 0, 0]}, None),
        ({}, {"vector": [-1.0, 0, 0, 0]}, None),
    ]
    profile = ScoringProfile(min_similarity=0.0)
    for phase, (record, asked, allow) in enumerate(cases):
        part = one_record(record)
        part = type(part)(part.data, part.count, allow)
        query = make_query(**{"now_ms": NOW_MS, "vector": CUE, "profile": profile, **asked})
        result = kernel.scan([part], query, 5)
        assert result.drops.tolist() == [int(i == phase) for i in range(7)]
        assert (result.scanned, result.scored, len(result)) == (1, 0, 0)


def test_a_damaged_score_ranks_behind_every_number(kernel: Kernel) -> None:
    records = [one_record({"id": 1, "importance": value}) for value in (np.nan, np.inf)]
    poor = one_record({"id": 2, "confidence": 0, "importance": 0.0}, np.array([-1.0, 0, 0, 0]))
    result = kernel.scan([*records, poor], make_query(now_ms=NOW_MS, vector=CUE), 5)
    assert result.ids.tolist() == [2, 1, 1]
    assert result.scores[1:].tolist() == [-np.inf, -np.inf]


def test_similarity_is_the_cosine_of_the_quantised_vectors(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 100))
    part = one_record({}, a)
    result = kernel.scan([part], make_query(now_ms=NOW_MS, vector=b, profile="similarity"), 1)
    codes, scales = quantize(normalize(np.stack([a, b])))
    want = int(codes[0].astype(int) @ codes[1].astype(int)) * float(scales[0]) * float(scales[1])
    assert float(result.similarity[0]) == pytest.approx(want, abs=1e-6)
    assert float(headers_of(part.data)["scale"][0]) == float(scales[0])
