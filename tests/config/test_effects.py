"""Fields of knowledge and association change what their section describes.

Mechanism: one store for each value; nothing else differs. Damage without it: a field that is
accepted and ignored. Guard: the direction and, where the rule is exact, the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.knowledge import Changes
from spector.records import Percept
from spector.store.payloads import encode
from tests.api.helpers import ids
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def mind(**sections: Any) -> Memory:
    return spector.open(
        ":memory:",
        embedder=FakeEmbedder(),
        clock=ManualClock(NOW),
        config=Config.preset("spector", **sections),
    )


def knowing(**fields: Any) -> Memory:
    return mind(knowledge=fields)


def associating(**fields: Any) -> Memory:
    return mind(association=fields)


def test_a_new_source_adds_a_step_of_confidence() -> None:
    for step, wanted in ((0.05, 0.75), (0.2, 0.9), (0.0, 0.7)):
        with knowing(fact_step=step) as memory:
            a, b = memory.remember("a"), memory.remember("b")
            memory.facts.add("Ada", "works_at", "Acme", source=a, confidence=0.7)
            fact = memory.facts.add("Ada", "works_at", "Acme", source=b)
            assert fact.confidence == pytest.approx(wanted)


def test_activation_spreads_as_configured() -> None:
    def reached(**fields: Any) -> dict[int, float]:
        with knowing(**fields) as memory:
            a, b, c = (memory.remember(f"note {n}") for n in range(3))
            memory.graph.link(a, b, "causes", weight=0.9)
            memory.graph.link(b, c, "causes", weight=0.5)
            found = dict(memory.graph.activate(a)["episodes"])
            assert found == dict(
                memory.graph.activate(a, decay=fields.get("spread_decay", 0.5))["episodes"]
            )
            return {(b.id, c.id).index(each): value for each, value in found.items()}

    assert reached() == pytest.approx({0: 0.45, 1: 0.1125})
    assert reached(spread_decay=0.2) == pytest.approx({0: 0.18})
    assert reached(spread_threshold=0.2) == pytest.approx({0: 0.45})
    assert reached(spread_hops=1) == pytest.approx({0: 0.45})


def test_ranks_and_what_is_central_follow_the_configuration() -> None:
    def ranks(**fields: Any) -> tuple[list[float], bool]:
        with knowing(**fields) as memory:
            a, b, c = (memory.remember(f"note {n}") for n in range(3))
            memory.graph.link(a, b, "causes")
            memory.graph.link(c, b, "causes")
            found = list(memory.graph.pagerank([a, b, c]).values())
            return found, memory.graph.central(a)

    assert ranks() == (pytest.approx([0.2128, 0.5745, 0.2128], abs=1e-4), False)
    assert ranks(pagerank_damping=0.0)[0] == pytest.approx([1 / 3] * 3)
    once = (1 - 0.85) / 3 + 0.85 / 9
    assert ranks(pagerank_iterations=1)[0][0] == pytest.approx(once)
    assert ranks(pagerank_relative=False)[1]
    assert not ranks(pagerank_relative=False, pagerank_protection=0.5)[1]


def test_a_concept_keeps_so_many_references() -> None:
    for most, kept in ((200, 4), (3, 3), (1, 1)):
        with knowing(max_refs=most) as memory:
            mug, _ = memory.concepts.find_or_create("mug")
            episodes = [memory.remember(f"mug {n}") for n in range(4)]
            for each in episodes[:2]:
                memory.concepts.add_ref(mug.id, "episodes", each)
            for each in episodes[2:]:
                memory.concepts.reinforce(mug.id, each)
            found = memory.concepts.of(mug.id)
            assert found.memory_refs["episodes"] == tuple(ids(episodes[-kept:]))


def test_a_concept_is_grounded_from_so_many_episodes() -> None:
    for enough, grounded in ((8, False), (4, True), (5, False)):
        with knowing(ground_from=enough) as memory:
            mug, _ = memory.concepts.find_or_create("mug")
            for n in range(4):
                memory.concepts.add_ref(mug.id, "episodes", memory.remember(f"mug {n}"))
            assert bool(memory.concepts.ground(mug.id)) is grounded


def test_concepts_are_related_from_a_share_of_common_episodes() -> None:
    for least, related in ((0.2, True), (0.7, False)):
        with knowing(jaccard=least) as memory:
            mug, table = (memory.concepts.find_or_create(name)[0] for name in ("mug", "table"))
            for n in range(10):
                episode = memory.remember(f"scene {n}")
                if n < 8:
                    memory.concepts.add_ref(mug.id, "episodes", episode)
                if n > 1:
                    memory.concepts.add_ref(table.id, "episodes", episode)
            memory.concepts.ground(mug.id)
            assert bool(memory.graph.edges(mug.id, kinds=["related_to"])) is related


def test_learnings_gain_and_lose_as_configured() -> None:
    with knowing(learning_success=0.3, learning_failure=0.4) as memory:
        learning = memory.learnings.add("keep it small", "success_pattern")
        assert memory.learnings.validate(learning.id, True).confidence == pytest.approx(0.8)
        assert memory.learnings.validate(learning.id, False).confidence == pytest.approx(0.4)


def test_a_procedure_is_trusted_after_so_many_executions() -> None:
    for trust, first in ((10, "often"), (2, "rarely")):
        with knowing(procedure_trust=trust) as memory:
            for name, outcomes in (("often", [True] * 9 + [False]), ("rarely", [True] * 2)):
                made = memory.procedures.add(name, ["go"], triggers=["deploy"])
                for success in outcomes:
                    memory.procedures.record_outcome(made.id, success)
            assert memory.procedures.for_situation(["deploy"])[0].name == first


def entity_bonus(memory: Memory) -> float:
    told = memory.remember("Redis crashed")
    memory.remember("the river rose")
    memory.facts.learn(told)
    found = memory.recall("Redis", profile="cognitive", k=1)[0]
    return found.explain().evidence.get("entity", 0.0)


def pair_bonus(memory: Memory) -> float:
    memory.remember_many(["the river rose", "the brook rose"])
    for _ in range(2):
        memory.recall("rose", learn=True, associate=True)
    found = memory.recall("rose", profile="cognitive", associate=True)
    return found[0].explain().evidence.get("coactivation", 0.0)


@pytest.mark.parametrize(
    ("fields", "bonus", "wanted"),
    [
        ({}, entity_bonus, 0.10),
        ({"entity": 0.25}, entity_bonus, 0.25),
        ({"entity": 0.0}, entity_bonus, 0.0),
        ({}, pair_bonus, 0.0),
        ({"coactivation_from": 2}, pair_bonus, 0.05),
        ({"coactivation_from": 2, "coactivation": 0.2}, pair_bonus, 0.2),
    ],
)
def test_a_bonus_is_as_great_as_configured(
    fields: dict[str, Any], bonus: Callable[[Memory], float], wanted: float
) -> None:
    with associating(**fields) as memory:
        assert bonus(memory) == pytest.approx(wanted, abs=1e-6)


def test_expansion_follows_the_configuration() -> None:
    def added(expand: bool | None = None, **fields: Any) -> dict[int, tuple[int, float]]:
        with associating(**fields) as memory:
            seed, one, two, turn = (memory.remember(text) for text in ("river", "xx", "yy", "zz"))
            memory.graph.link(seed, one, "causes", weight=0.6)
            memory.graph.link(one, two, "causes", weight=0.8)
            memory.graph.link(seed, turn, "followed_by", weight=1.0)
            hits = memory.recall("river", k=1, expand=expand)
            return {
                (one.id, two.id, turn.id).index(hit.id): (
                    hit.graph_distance,
                    round(hit.score / hits[0].score, 3),
                )
                for hit in hits[1:]
            }

    assert added() == {}
    assert added(expand=True) == {0: (1, 0.42), 2: (1, 0.21)}
    assert added(True, expand_factor=0.5) == {0: (1, 0.3), 2: (1, 0.15)}
    assert added(True, expand_weight=0.7) == {2: (1, 0.21)}
    assert added(True, adjacency=1.0) == {0: (1, 0.42), 2: (1, 0.7)}
    assert added(True, expand_top=0) == {}
    assert added(True, expand_hops=2)[1] == (2, 0.235)


def test_a_recall_expands_where_the_configuration_says_so() -> None:
    for on, count in ((False, 1), (True, 2)):
        with associating(expand=on) as memory:
            seed, other = memory.remember("river"), memory.remember("xx")
            memory.graph.link(seed, other, "causes")
            assert len(memory.recall("river", k=1)) == count
            assert len(memory.recall("river", k=1, expand=False)) == 1


def test_an_entity_that_many_mention_ties_nothing() -> None:
    for most, found in ((25, 4), (3, 1)):
        with associating(max_entity_mentions=most) as memory:
            told = [memory.remember(f"Redis crashed {n}") for n in range(4)]
            memory.facts.learn(told)
            hits = memory.recall("Redis crashed 0", k=1, expand=True)
            assert len(hits) == found


def test_what_is_less_similar_than_configured_is_no_hit() -> None:
    with associating(min_similarity=0.5) as memory:
        memory.remember_many(["the river rose", "a coffee at noon"])
        assert [hit.text for hit in memory.recall("the river rose")] == ["the river rose"]
    with associating() as memory:
        memory.remember_many(["the river rose", "a coffee at noon"])
        assert len(memory.recall("the river rose", cut=0)) == 2


def test_a_context_of_concepts_has_the_limits_of_the_configuration() -> None:
    for fields, count, level in (
        ({}, 3, 1),
        ({"concept_limit": 2}, 2, 1),
        ({"budget_ms": 0}, 3, 3),
    ):
        with associating(**fields) as memory:
            names = ["mug", "cup", "jar"]
            for name in names:
                memory.concepts.find_or_create(name)
            entries = memory.concepts.context(Percept(objects=tuple(names)))
            assert len(entries) == count
            assert max(each["level"] for each in entries) >= level


def test_predictions_look_at_so_many_episodes() -> None:
    for most in (20, 2):
        with associating(completion_episodes=most) as memory:
            mug, _ = memory.concepts.find_or_create("mug")
            for n in range(5):
                episode = memory.remember(f"grasped the mug {n}")
                _tool_of(memory, episode.id)
                memory.concepts.add_ref(mug.id, "episodes", episode)
            found = memory.graph.complete(Percept(objects=("mug",)), limit=50)
            assert len(found) == min(most, 5)


def _tool_of(memory: Memory, record_id: int) -> None:
    def decide(reader: Any, now_ms: int) -> Changes:
        changes = Changes()
        text = encode("episode", {"tool": "grasp", "success": True})
        changes.put("payload", id=record_id, sort="episode", json=text)
        return changes

    memory._parts.knowledge.commit(decide)
