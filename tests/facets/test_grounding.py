"""Statistics of concepts, their context within a budget, and what their episodes foretell.

Mechanism: figures over the living episodes of a concept, each a memory. Damage without it: numbers
that no episode bears out, a context that comes too late. Guard: the statements of the design.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, Memory, StoreReadOnlyError
from spector.clock import ManualClock
from spector.errors import UnknownRecordError
from spector.records import Percept
from tests.fakes import FakeEmbedder

SALIENCE = [0.9, 0.7, 0.8, 0.6, 0.95, 0.75, 0.85, 0.69]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_770_000_000_000)


def lived(memory: Memory, n: int, **details: object) -> list[int]:
    """So many episodes."""
    return [
        memory.layers["episodes"].store(
            f"episode {len(memory)} of {n}",
            episode={
                name: value[at % len(value)] if isinstance(value, list) else value
                for name, value in details.items()
            },
        )
        for at in range(n)
    ]


def tied(memory: Memory, name: str, episodes: list[int]) -> int:
    concept = memory.concepts.find_or_create(name)[0].id
    for each in episodes:
        memory.concepts.reinforce(concept, each)
    return concept


def test_eight_episodes_say_something_in_numbers(memory: Memory) -> None:
    episodes = lived(memory, 8, salience=SALIENCE, success=[True] * 7 + [False], tool="grasp")
    concept = tied(memory, "mug", episodes)
    found = {each.code: each for each in memory.concepts.ground("mug")}
    salience, rate = found["mean_salience"], found["success_rate"]
    assert salience.values["mean"] == pytest.approx(statistics.fmean(SALIENCE), abs=1e-12)
    assert salience.values["std"] == pytest.approx(statistics.stdev(SALIENCE), abs=1e-12)
    assert salience.text == "mug salience: mean=0.78, std=0.12"
    assert (rate.text, rate.values["rate"]) == ("mug success rate: 0.875 (7/8)", 0.875)
    assert salience.confidence == pytest.approx(0.5 + 0.1 * 8**0.5)
    assert "mean_novelty" not in found
    assert salience.record.category is spector.Category.SUMMARY
    assert spector.Flag.AUXILIARY in salience.record.flags
    (quantified,) = memory.graph.edges(salience.id, kinds=["quantifies"])
    assert quantified.target == concept
    computed = memory.graph.edges(salience.id, direction="out", kinds=["computed_from"])
    assert [each.target for each in computed] == episodes
    assert memory.check().ok


def test_seven_say_nothing(memory: Memory) -> None:
    tied(memory, "mug", lived(memory, 7, salience=SALIENCE))
    assert memory.concepts.ground("mug") == []
    assert len(memory.layers["statistics"]) == 0


def test_forgotten_episodes_do_not_count(memory: Memory) -> None:
    episodes = lived(memory, 8, salience=0.5)
    tied(memory, "mug", episodes)
    memory.forget(episodes[3])
    assert memory.concepts.ground("mug") == []


def test_a_statistic_is_brought_up_to_date_in_place(memory: Memory) -> None:
    concept = tied(memory, "mug", lived(memory, 8, salience=0.5, novelty=0.25))
    before = {each.code: each for each in memory.concepts.ground(concept)}
    assert set(before) == {"mean_salience", "mean_novelty"}
    (fresh,) = lived(memory, 1, salience=0.95)
    memory.concepts.reinforce(concept, fresh)
    after = {each.code: each for each in memory.concepts.ground(concept)}
    assert {code: each.id for code, each in after.items()} == {
        code: each.id for code, each in before.items()
    }
    assert after["mean_salience"].values["mean"] == pytest.approx((8 * 0.5 + 0.95) / 9)
    assert after["mean_salience"].text == "mug salience: mean=0.55, std=0.15"
    assert memory.get(after["mean_salience"].id).text == after["mean_salience"].text
    assert spector.Flag.AUXILIARY in after["mean_salience"].record.flags
    assert after["mean_novelty"].values == before["mean_novelty"].values
    assert len(memory.layers["statistics"]) == 2
    assert memory.check().ok


def test_recalls_leave_statistics_out_unless_asked(memory: Memory) -> None:
    tied(memory, "mug", lived(memory, 8, salience=SALIENCE))
    (found,) = memory.concepts.ground("mug")
    cue = "mug salience: mean=0.78, std=0.12"
    assert found.id not in {hit.id for hit in memory.recall(cue, k=50)}
    assert found.id == memory.recall(cue, k=50, include=["derived"])[0].id


def test_statistics_go_with_their_concept_and_with_their_episodes(memory: Memory) -> None:
    episodes = lived(memory, 8, salience=SALIENCE)
    mug, cup = tied(memory, "mug", episodes), tied(memory, "cup", episodes)
    for each in ("mug", "cup"):
        memory.concepts.ground(each)
    memory.forget(mug)
    assert len(memory.layers["statistics"]) == 1
    memory.forget(episodes)
    assert len(memory.layers["statistics"]) == 0
    assert memory.concepts.of("cup", user_id=None) is not None
    assert memory.check().ok
    assert cup


@pytest.mark.parametrize(
    ("common", "own", "other", "weight"),
    [(6, 2, 2, 0.6), (3, 0, 0, 1.0), (2, 0, 0, None), (3, 10, 10, None), (3, 6, 6, 0.2)],
)
def test_concepts_that_share_episodes_are_related(
    memory: Memory, common: int, own: int, other: int, weight: float | None
) -> None:
    both = lived(memory, common)
    mug = tied(memory, "mug", both + lived(memory, own))
    cup = tied(memory, "cup", both + lived(memory, other))
    memory.concepts.ground("mug")
    memory.concepts.ground("cup")
    found = [each.weight for each in memory.graph.edges(mug, kinds=["related_to"])]
    assert found == ([] if weight is None else [pytest.approx(weight)])
    if weight is not None:
        memory.forget(both[1:])
        memory.concepts.ground("mug")
        assert memory.graph.edges(cup, kinds=["related_to"]) == []


def test_what_cannot_be_grounded(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UnknownRecordError, match="mug"):
        memory.concepts.ground("mug")
    plain = memory.remember("plain")
    with pytest.raises(InvalidInputError):
        memory.concepts.ground(plain.id)
    tied(memory, "mug", [plain.id])
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
        with pytest.raises(StoreReadOnlyError):
            reader.concepts.ground("mug")
        percept = Percept(objects=("mug",))
        assert reader.concepts.context(percept, budget_ms=60_000)[0]["level"] == 1


def test_context_within_its_budget(memory: Memory) -> None:
    episodes = lived(memory, 8, salience=SALIENCE, success=True)
    mug, cup = tied(memory, "mug", episodes), tied(memory, "cup", episodes[:6])
    tied(memory, "grasp", episodes[:1])
    memory.concepts.ground("mug")
    memory.graph.link(mug, cup, "is_a")
    percept = Percept(objects=("MUG", "table"), people=("cup",), goal="grasp_now")
    full = memory.concepts.context(percept, budget_ms=60_000)
    assert [each["name"] for each in full] == ["mug", "cup", "grasp"]
    assert {each["level"] for each in full} == {1}
    assert full[0]["properties"] == {
        "mean_salience": pytest.approx(0.78),
        "success_rate": 1.0,
    }
    assert full[0]["relationships"] == [
        {"type": "is_a", "target": "cup", "weight": 1.0},
        {"type": "related_to", "target": "cup", "weight": 0.75},
    ]
    assert {each["name"] for each in full[0]["layer_context"]} == {
        "mug salience",
        "mug success rate",
    }
    assert len(memory.concepts.context(percept, limit=1, budget_ms=60_000)) == 1


def test_context_without_a_budget_still_names(memory: Memory) -> None:
    names = [f"thing {n}" for n in range(5)]
    episodes = lived(memory, 8, salience=SALIENCE)
    for each in names:
        tied(memory, each, episodes)
    percept = Percept(objects=tuple(names))
    memory.concepts.context(percept, budget_ms=0)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        found = memory.concepts.context(percept, budget_ms=0)
        took.append(time.perf_counter() - start)
    assert [each["name"] for each in found] == names
    assert {(each["level"], each["episode_count"]) for each in found} == {(3, 8)}
    assert all(each["properties"] == {} and each["layer_context"] == [] for each in found)
    assert min(took) < 0.05  # 5 ms on a quiet machine


def test_episodes_foretell_what_comes(memory: Memory, clock: ManualClock) -> None:
    episodes = []
    for n in range(25):
        clock.advance(hours=1)
        episodes += lived(
            memory,
            1,
            tool="grasp",
            success=n % 2 == 0,
            goal="grasp_mug",
            decision_confidence=0.9 if n % 5 else None,
        )
    tied(memory, "mug", episodes)
    memory.concepts.ground("mug")
    found = memory.graph.complete(Percept(objects=("mug",), goal="grasp_mug"), limit=100)
    assert [each.source_episode_id for each in found] == episodes[:4:-1]
    assert [each.success for each in found[:3]] == [True, False, True]
    assert {each.confidence for each in found} == {0.9, 0.3}
    assert found[0].math_context["mug success rate"] == "mug success rate: 0.52 (13/25)"
    assert len(memory.graph.complete(Percept(objects=("mug",)))) == 5
    memory.forget(episodes[-1])
    (first, *_) = memory.graph.complete(Percept(objects=("mug",)))
    assert first.source_episode_id == episodes[-2]


def test_nothing_is_foretold_without_a_tool_or_a_concept(memory: Memory) -> None:
    tied(memory, "mug", lived(memory, 3, goal="x"))
    assert memory.graph.complete(Percept(objects=("mug",))) == []
    assert memory.graph.complete(Percept(objects=("cup",))) == []
    for bad in ("mug", Percept(objects="mug"), Percept(goal=1)):  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="percept"):
            memory.graph.complete(bad)  # type: ignore[arg-type]


def test_a_run_of_episodes_becomes_a_procedure(memory: Memory) -> None:
    tools = ["find", "edit", "make"]
    episodes = lived(memory, 3, tool=tools, success=True, goal="fix_build")
    made = memory.procedures.learn(episodes)
    assert (made.name, made.status) == ("fix_build", "draft")
    assert [each.action["tool"] for each in made.steps] == tools
    edges = memory.graph.edges(made.id, kinds=["derived_from"])
    assert [(each.target, each.weight) for each in edges] == [(each, 0.8) for each in episodes]
    assert [each.id for each in memory.procedures.for_situation(["build"])] == [made.id]
    again = memory.procedures.learn(lived(memory, 3, tool=tools, success=True))
    assert again.id == made.id
    assert memory.procedures.learn(lived(memory, 2, tool="x", success=False)) is None
