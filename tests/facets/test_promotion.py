"""Patterns become concepts, unless they may be chance: causal links, trends, foreign sources.

Mechanism: associations learn from outcomes; candidates pass a gate over outcomes and times; each
promotion is one commit. Damage without it: knowledge made of noise, or a tool that always works
never becomes any. Guard: the statements of the design, repetition without effect, sources that lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import spector
from spector import Config, InvalidInputError, Memory, PromotionCandidate, SleepConfig
from spector.knowledge import Changes, KnowledgeReader
from spector.knowledge.concepts import phases_of, plan_rhythms
from spector.knowledge.induction import associations_of, is_same_pattern
from spector.knowledge.lessons import ConceptUse, concepts_to_retire, plan_moved_references
from spector.write import Prepared
from tests.facets.promoting import promote
from tests.fakes import FakeEmbedder

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
DAY_MS = 86_400_000


def again(memory: Memory, path: Path, **sleep: Any) -> Memory:
    """The same store under other settings of sleep."""
    memory.close()
    config = Config(sleep=SleepConfig(**sleep))
    return spector.open(path / "mind", embedder=FakeEmbedder(), config=config)


def lived(
    memory: Memory,
    outcomes: Sequence[bool],
    *,
    tool: str = "grasp",
    hours: Any = None,
    user: str | None = None,
    **details: Any,
) -> list[int]:
    """Episodes with these outcomes, an hour apart or at these hours."""
    at = range(len(outcomes)) if hours is None else hours
    ids = [
        memory.layers["episodes"].store(
            f"{tool} {n} {user}",
            event_time=START + timedelta(hours=float(hour)),
            user_id=user,
            episode={"tool": tool, "success": good, **details},
        )
        for n, (good, hour) in enumerate(zip(outcomes, at, strict=True))
    ]
    memory._parts.extractor.extract_concepts(ids[0] - 1, 1_000)
    return ids


def reading(memory: Memory) -> Any:
    store = memory._parts.store
    with store.catalog.reading() as db:
        yield KnowledgeReader(db, store.catalog.path)


def associations(memory: Memory) -> dict[tuple[str, str], tuple[float, int]]:
    for reader in reading(memory):
        return {
            (each.scope, each.name): (each.strength, each.observations)
            for each in associations_of(reader)
        }
    raise AssertionError


def patterns(memory: Memory, category: str = "causal_pattern") -> dict[str, Any]:
    return {each.name: each for each in memory.concepts.find(category=category)}


# -- associations -----------------------------------------------------------------------------


def test_five_successes_are_a_strength_of_0832(memory: Memory) -> None:
    lived(memory, [True] * 5, objects=["mug"], goal="grasp_the_mug")
    found = associations(memory)
    assert set(found) == {
        ("", "grasp → success"),
        ("", "grasp mug → success"),
        ("", "grasp grasp mug → success"),
    }
    for strength, observations in found.values():
        assert strength == pytest.approx(0.83193)
        assert observations == 5


def test_failures_weaken_and_every_episode_counts_once(memory: Memory) -> None:
    ids = lived(memory, [True, False, True])
    assert associations(memory)["", "grasp → success"] == (pytest.approx(0.447), 3)
    memory._parts.extractor.extract_concepts(0, 1_000)
    memory._parts.extractor.extract_from(ids)
    assert associations(memory)["", "grasp → success"] == (pytest.approx(0.447), 3)


def test_associations_are_of_one_user_and_go_with_their_last_episode(memory: Memory) -> None:
    mine = lived(memory, [True] * 3, user="a")
    lived(memory, [False] * 2, user="b")
    assert associations(memory)["a", "grasp → success"] == (pytest.approx(0.657), 3)
    assert associations(memory)["b", "grasp → success"] == (0.0, 2)
    memory.forget(mine[:2])
    assert ("a", "grasp → success") in associations(memory)
    memory.forget(mine[2])
    assert {scope for scope, _ in associations(memory)} == {"b"}
    assert memory.check().ok


def test_an_association_of_other_fields_is_a_damaged_row(memory: Memory) -> None:
    lived(memory, [True])

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        for item, row in reader.items_of("association").items():
            changes.item(item, "association", row["scope"], {**row["json"], "zeal": 1})
        return changes

    memory._parts.knowledge.commit(decide)
    with pytest.raises(spector.CatalogCorruptError, match="zeal"):
        associations(memory)


def test_episodes_without_a_tool_or_an_outcome_teach_no_cause(memory: Memory) -> None:
    store = memory.layers["episodes"].store
    store("a", episode={"tool": "grasp"})
    store("b", episode={"success": True, "objects": ["mug"]})
    memory._parts.extractor.extract_concepts(0, 10)
    assert associations(memory) == {}


# -- promotion --------------------------------------------------------------------------------


def test_eight_regular_successes_become_a_concept_of_eight_episodes(memory: Memory) -> None:
    ids = lived(memory, [True] * 8, objects=["mug"], people=["Ada"], user="u")
    done = promote(memory)
    assert (len(done.made), done.rejected) == (3, {})
    concept = patterns(memory)["grasp → success"]
    assert concept.record.user_id == "u"
    assert concept.memory_refs == {"episodes": tuple(ids)}
    assert concept.properties["objects"] == ["mug"]
    assert concept.properties["people"] == ["Ada"]
    edges = memory.graph.edges(concept.id)
    by_kind: dict[str, set[int]] = {}
    for each in edges:
        other = each.target if each.source == concept.id else each.source
        by_kind.setdefault(each.kind, set()).add(other)
    assert by_kind["derived_from"] == by_kind["instance_of"] == set(ids)
    things = {each.id for each in (memory.concepts.of("mug"), memory.concepts.of("Ada")) if each}
    assert by_kind["associates"] == things
    first = min(things)
    (tie,) = memory.graph.edges(first, kinds=["correlates_with"])
    assert ({tie.source, tie.target}, tie.weight) == (things, 1.0)
    assert memory.check().ok


def test_a_second_run_changes_nothing_and_a_new_source_reinforces(memory: Memory) -> None:
    lived(memory, [True] * 4)
    first = promote(memory)
    before = patterns(memory)
    again = promote(memory)
    assert (again.made, again.met) == ((), first.made)
    assert patterns(memory) == before
    more = lived(memory, [True], hours=[30])
    promote(memory)
    after = patterns(memory)["grasp → success"]
    assert after.reinforcement_count == 5
    assert after.memory_refs["episodes"][-1] == more[0]
    assert after.properties["observations"] == 5
    assert len([each for each in memory.graph.edges(after.id) if each.kind == "derived_from"]) == 5


def test_a_promoted_pattern_goes_with_any_of_its_sources_and_is_made_anew(memory: Memory) -> None:
    ids = lived(memory, [True] * 4)
    promote(memory)
    report = memory.forget(ids[3], purge=True, verify=True)
    assert len(report.derived) == 1, "its words may be those of the erased one"
    assert patterns(memory) == {}
    promote(memory)
    assert patterns(memory)["grasp → success"].memory_refs == {"episodes": tuple(ids[:3])}
    memory.forget(ids[:3])
    assert patterns(memory) == {}
    assert memory.check().ok


@pytest.mark.parametrize(
    ("successes", "count", "reason"), [(17, 30, "random"), (27, 30, ""), (4, 5, ""), (30, 30, "")]
)
def test_random_outcomes_at_random_times_are_rejected(
    memory: Memory, tmp_path: Path, successes: int, count: int, reason: str
) -> None:
    chance = np.random.default_rng(5)
    outcomes = [n < successes for n in range(count)]
    chance.shuffle(outcomes)
    hours = np.cumsum(chance.exponential(20.0, count))
    ids = lived(memory, outcomes, hours=hours)

    class Source:
        def get_promotion_candidates(
            self, min_confidence: float = 0.6, min_observations: int = 3
        ) -> list[PromotionCandidate]:
            return [
                PromotionCandidate(
                    pattern_name="grasping leads to joy",
                    category="causal_pattern",
                    confidence=0.8,
                    source_memory_ids=tuple(ids),
                )
            ]

    def reasons(memory: Memory) -> dict[str, str]:
        return {each.name: each.reason for each in memory._parts.promoter.promotions()}

    end = memory.concepts.add_source(Source())
    assert reasons(memory)["grasping leads to joy"] == reason
    end()
    assert "grasping leads to joy" not in reasons(memory)
    for settings in ({"randomness_gate": False}, {"randomness_from": 31}):
        with again(memory, tmp_path, **settings) as other:
            other.concepts.add_source(Source())
            assert reasons(other)["grasping leads to joy"] == ""


def test_random_outcomes_at_regular_times_pass(memory: Memory) -> None:
    """Noise is what is random in both."""
    outcomes = [n % 2 == 0 for n in range(30)]
    ids = lived(memory, outcomes)
    candidate = PromotionCandidate(
        pattern_name="x leads to y",
        category="causal_pattern",
        confidence=0.8,
        source_memory_ids=tuple(ids),
    )
    memory.concepts.add_source(_Source([candidate]))
    found = {each.name: each.reason for each in memory._parts.promoter.promotions()}
    assert found["x leads to y"] == ""


class _Source:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get_promotion_candidates(self, min_confidence: float, min_observations: int) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def candidate(ids: Any, **changes: Any) -> PromotionCandidate:
    fields = {
        "pattern_name": "tea calms",
        "category": "habit",
        "confidence": 0.7,
        "source_memory_ids": ids,
        "metadata": {"seen": 3},
    }
    return PromotionCandidate(**{**fields, **changes})


def test_a_foreign_source_is_promoted_like_any_other(memory: Memory) -> None:
    ids = tuple(memory.remember(f"tea {n}", user_id="u").id for n in range(3))
    memory.concepts.add_source(_Source([candidate(ids)]))
    done = promote(memory)
    assert (len(done.made), done.met, done.rejected) == (1, (), {})
    found = memory.concepts.of("tea calms")
    assert (found.category, found.properties["seen"], found.record.user_id) == ("habit", 3, "u")
    assert found.memory_refs == {"episodes": ids}
    memory.concepts.find_or_create("tea calms", "habit", provenance="direct_ingestion", user_id="u")
    assert promote(memory).met == done.made
    known = memory.concepts.of("tea calms")
    assert known.provenance == "hybrid"


def test_what_a_foreign_source_must_not_say_is_rejected_with_a_reason(memory: Memory) -> None:
    a = [memory.remember(f"a {n}", user_id="a").id for n in range(3)]
    b = memory.remember("b", user_id="b").id
    gone = memory.remember("gone", user_id="a").id
    memory.forget(gone)
    answers = {
        "scopes": [candidate((a[0], a[1], b))],
        "unknown": [candidate((*a, gone)), candidate((*a, 5)), candidate(())],
        "confidence": [candidate(tuple(a), confidence=0.59)],
        "observations": [candidate((a[0], a[0], a[1]))],
        "malformed": [
            None,
            "x",
            candidate(tuple(a), confidence=float("nan")),
            candidate(tuple(a), confidence=1.5),
            candidate(tuple(a), confidence=True),
            candidate(tuple(a), pattern_name=" "),
            candidate(tuple(a), pattern_name="a\x00b"),
            candidate(tuple(a), pattern_name="x" * 1_001),
            candidate("123"),
            candidate(("1",)),
            candidate((-1,)),
            candidate((1 << 63,)),
            candidate(3),
            candidate(tuple(a), metadata={"x": float("nan")}),
            candidate(tuple(a), metadata={"x": object()}),
            candidate(tuple(a), category=7),
        ],
    }
    for reason, candidates in answers.items():
        for each in candidates:
            end = memory.concepts.add_source(_Source([each]))
            assert promote(memory).rejected == {reason: 1}, each
            end()
    assert memory.concepts.find() == []


def test_a_source_that_fails_stops_no_other(memory: Memory) -> None:
    ids = tuple(memory.remember(f"tea {n}").id for n in range(3))
    memory.concepts.add_source(_Source(RuntimeError("out of order")))
    memory.concepts.add_source(_Source(7))
    memory.concepts.add_source(_Source([candidate(ids)]))
    assert len(promote(memory).made) == 1
    with pytest.raises(InvalidInputError, match="source of promotions"):
        memory.concepts.add_source(object())  # type: ignore[arg-type]


def test_patterns_are_told_apart_by_their_words() -> None:
    assert is_same_pattern("grasp mug → success", "Grasp the_mug → Success")
    assert not is_same_pattern("grasp mug → success", "grasp cup → success")
    assert not is_same_pattern("stat:tool:grasp:success", "stat:tool:navigate:success")


# -- operations -------------------------------------------------------------------------------


def declining(memory: Memory, days: int = 10, user: str | None = None) -> list[int]:
    """Four uses a day, of which fewer and fewer succeed."""
    outcomes = [n < 4 - 4 * day / days for day in range(days) for n in range(4)]
    hours = [24 * day + n for day in range(days) for n in range(4)]
    return lived(memory, outcomes, tool="navigate", hours=hours, user=user)


def test_a_declining_tool_is_found(memory: Memory) -> None:
    ids = declining(memory, user="u")
    done = promote(memory)
    found = patterns(memory, "operational_pattern")
    assert set(found) == {"stat:tool:navigate:success"}
    concept = found["stat:tool:navigate:success"]
    assert concept.properties["slope_per_day"] < -0.05
    assert concept.properties["r2"] > 0.8
    (statistic,) = done.statistics
    record = memory.get(statistic)
    assert record.text.startswith("navigate success falls: slope=-0.")
    assert record.user_id == "u"
    edges = memory.graph.edges(statistic)
    assert {each.target for each in edges if each.kind == "computed_from"} == set(ids)
    assert {each.target for each in edges if each.kind == "quantifies"} == {concept.id}
    assert {each.target for each in edges if each.kind == "statistically_confirms"} == {concept.id}
    again = promote(memory)
    assert (again.made, again.statistics) == ((), ())
    more = lived(memory, [False] * 4, tool="navigate", hours=range(240, 244), user="u")
    promote(memory)
    assert memory.get(statistic).text.endswith("/44 on 11 days)")
    sources = memory.graph.edges(statistic, kinds=["computed_from"])
    assert {each.target for each in sources} == {*ids, *more}
    assert memory.check().ok


@pytest.mark.parametrize("days", [7, 8])
def test_a_trend_needs_eight_days(memory: Memory, days: int) -> None:
    declining(memory, days)
    promote(memory)
    assert len(patterns(memory, "operational_pattern")) == (days == 8)


def test_a_steady_tool_has_no_trend(memory: Memory) -> None:
    outcomes = [n % 4 != day % 2 for day in range(12) for n in range(4)]
    hours = [24 * day + n for day in range(12) for n in range(4)]
    lived(memory, outcomes, hours=hours)
    promote(memory)
    assert patterns(memory, "operational_pattern") == {}


# -- rhythm -----------------------------------------------------------------------------------


def rhythms(memory: Memory, scope: str = "", zone: str = "UTC") -> dict[int, float]:
    ids = [each.id for each in memory.concepts.find()]

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        return plan_rhythms(reader, ids, ZoneInfo(zone), now_ms, scope=scope)

    fields = {"tier": "semantic", **({"user_id": scope} if scope else {})}
    memory._parts.knowledge.commit(decide, [Prepared("time of day", fields)])
    for reader in reading(memory):
        return phases_of(reader, ids)
    raise AssertionError


def test_eight_uses_at_twenty_hours_have_a_phase(memory: Memory) -> None:
    hours = [24 * n + 12.3 for n in range(8)]  # 20:18
    lived(memory, [True] * 8, hours=hours, objects=["tea"], user="u")
    tea = memory.concepts.of("tea")
    assert rhythms(memory, "u")[tea.id] == pytest.approx(20.0)
    (edge,) = memory.graph.edges(tea.id, kinds=["phase_locked_to"])
    assert edge.note == {"phase": 20.0, "coupling": 1.0}
    target = memory.concepts.of("time of day")
    assert (edge.target, target.record.user_id) == (target.id, "u")
    assert rhythms(memory, "u", "Europe/Istanbul")[tea.id] == pytest.approx(23.0)
    assert memory.concepts.stats()["concepts"] == 3  # tea, the tool, the time of day
    assert memory.check().ok


def test_seven_uses_or_any_hour_have_no_phase_and_a_lost_one_goes(memory: Memory) -> None:
    ids = lived(memory, [True] * 8, hours=[24 * n + 12 for n in range(8)], objects=["tea"])
    assert len(rhythms(memory)) == 2
    lived(memory, [True] * 24, hours=[24 * n + n for n in range(24)], objects=["tea"])
    assert rhythms(memory) == {}
    memory.forget(ids[0])
    assert memory.check().ok


# -- ageing -----------------------------------------------------------------------------------


def test_weak_unused_concepts_are_retired_after_thirty_days() -> None:
    now = 100 * DAY_MS
    uses = [
        ConceptUse(1, 0.59, now - 30 * DAY_MS),
        ConceptUse(2, 0.59, now - 30 * DAY_MS + 1),
        ConceptUse(3, 0.60, 0),
        ConceptUse(4, 0.5, 0, is_protected=True),
    ]
    assert concepts_to_retire(uses, now) == {1: "age"}
    assert concepts_to_retire(uses, now, max_age_days=1.0) == {1: "age", 2: "age"}


def test_over_the_capacity_the_least_sure_go_first_and_those_of_the_hour_last() -> None:
    now = 100 * DAY_MS
    uses = [ConceptUse(n, 0.7 + n / 100, now - n) for n in range(1, 9)]
    uses.append(ConceptUse(9, 0.5, now, phase=20.0))
    uses.append(ConceptUse(10, 0.5, now, is_protected=True))
    assert concepts_to_retire(uses, now, most=10) == {}
    assert concepts_to_retire(uses, now, most=8) == {9: "capacity", 1: "capacity"}
    assert concepts_to_retire(uses, now, most=8, hour=20.6) == {1: "capacity", 2: "capacity"}
    assert concepts_to_retire(uses, now, most=8, hour=8.0) == {9: "capacity", 1: "capacity"}
    assert set(concepts_to_retire(uses, now, most=0)) == set(range(1, 10))
    late = [ConceptUse(1, 0.7, now, phase=23.5), ConceptUse(2, 0.8, now)]
    assert concepts_to_retire(late, now, most=1, hour=0.2) == {2: "capacity"}


# -- moving -----------------------------------------------------------------------------------


def test_references_follow_a_memory_that_is_replaced(memory: Memory) -> None:
    a, b, c = lived(memory, [True] * 3, objects=["mug"])
    new = memory.remember("a and b in one").id

    def move(gone: int, kept: int) -> list[int]:
        moved: list[int] = []

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            moved[:] = plan_moved_references(reader, changes, gone, kept)
            return changes

        memory._parts.knowledge.commit(decide)
        return moved

    mug = memory.concepts.of("mug")
    assert mug.id in move(a, new)
    found = memory.concepts.of("mug")
    assert found.memory_refs == {"episodes": (new, b, c)}
    assert found.reinforcement_count == 3
    move(b, new)
    move(new, new)
    found = memory.concepts.of("mug")
    assert found.memory_refs == {"episodes": (new, c)}
    memory.forget([a, b])
    assert memory.check().ok
    again = memory.concepts.reinforce(found.id, new)
    assert again.reinforcement_count == 3
