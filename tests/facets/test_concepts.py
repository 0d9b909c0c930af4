"""Concepts: one for all spellings, sure by distinct sources, tied to its memories in order.

Mechanism: payload, names, and links with ordinals. Damage without it: a concept per spelling, a
source that counts twice, references without end. Guard: the statements of the design.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, Memory, UnknownRecordError
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def make(memory: Memory, name: str, category: str = "object", **given: object) -> int:
    return memory.concepts.find_or_create(name, category, **given)[0].id  # type: ignore[arg-type]


@cases("names")
def test_all_spellings_are_one_concept(memory: Memory, names: tuple[str, ...]) -> None:
    found = [memory.concepts.find_or_create(each, "object") for each in names]
    assert [made for _, made in found] == [True, False, False]
    assert len({each.id for each, _ in found}) == 1
    concept = memory.concepts.of(names[2])
    assert (concept.name, concept.confidence, concept.reinforcement_count) == (names[0], 0.5, 0)
    assert memory.concepts.find_or_create(names[0], "person")[1]


def test_a_concept_is_kept_as_it_was_given(memory: Memory, tmp_path: Path) -> None:
    made, _ = memory.concepts.find_or_create(
        "Kettle",
        definition="boils water",
        properties={"colour": "red", "parts": ["lid"]},
        provenance="direct_ingestion",
        user_id="u",
        agent_id="a",
    )
    assert made.record.text == "Kettle: boils water"
    assert (made.record.tier, made.record.user_id, made.record.agent_id) == ("semantic", "u", "a")
    assert made.record.category is spector.Category.ENTITY
    pattern = make(memory, "tea needs water", "causal_pattern")
    assert memory.get(pattern).category is spector.Category.PATTERN
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        found = again.concepts.of(made.id)
        assert found.to_dict() == made.to_dict()
        assert again.check().ok


def test_words_that_are_alike_join(memory: Memory) -> None:
    one = make(memory, "mug", definition="holds hot coffee in the morning at work")
    two, made = memory.concepts.find_or_create(
        "big mug", definition="holds hot coffee in the morning at work"
    )
    assert (two.id, made) == (one, False)
    assert memory.concepts.find_or_create("BigMug")[0].id == one  # by its other name now
    other = make(memory, "mug", "person", definition="holds hot coffee in the morning at work")
    assert other != one
    assert make(memory, "bicycle", definition="rides to the lake") != one


def test_near_concepts_are_found(memory: Memory) -> None:
    near = make(memory, "kettle", definition="boils water for tea")
    make(memory, "bicycle", definition="rides to the lake")
    assert [each.id for each in memory.concepts.similar("kettle: boils water for tea")] == [near]
    assert memory.concepts.similar("an unrelated thing") == []
    assert len(memory.concepts.similar("kettle", min_likeness=-1.0, limit=1)) == 1


def test_two_provenances_are_a_hybrid(memory: Memory) -> None:
    make(memory, "mug")
    assert memory.concepts.find_or_create("mug")[0].provenance == "episodic_consolidation"
    found, _ = memory.concepts.find_or_create("mug", provenance="agent_inference")
    assert found.provenance == "hybrid"
    assert memory.concepts.find_or_create("mug")[0].provenance == "hybrid"


@pytest.mark.parametrize(("count", "confidence"), [(1, 0.6), (4, 0.7), (9, 0.8), (25, 0.99)])
def test_each_source_reinforces_once(memory: Memory, count: int, confidence: float) -> None:
    concept = make(memory, "mug")
    episodes = memory.remember_many([f"episode {n}" for n in range(count)])
    for each in (*episodes, *episodes):
        memory.concepts.reinforce(concept, each)
    found = memory.concepts.of(concept)
    assert found.confidence == pytest.approx(confidence)
    assert found.reinforcement_count == count
    assert found.memory_refs == {"episodes": tuple(each.id for each in episodes)}


def test_references_keep_their_order_and_the_first_goes(memory: Memory) -> None:
    concept = make(memory, "mug")
    episodes = [each.id for each in memory.remember_many([f"e {n}" for n in range(203)])]
    for each in (*episodes[:200], episodes[0]):
        last = memory.concepts.add_ref(concept, "episodes", each)
    assert last.memory_refs["episodes"] == tuple(episodes[:200])  # a known one is not moved
    memory.concepts.reinforce(concept, episodes[0])
    for each in episodes[200:]:
        last = memory.concepts.add_ref(concept, "HIPPOCAMPUS", each)
    assert last.memory_refs["episodes"] == tuple(episodes[3:])
    assert memory.check().ok
    # out of its place it still has been counted
    assert memory.concepts.reinforce(concept, episodes[0]).reinforcement_count == 1
    assert memory.concepts.add_ref(concept, "episodes", episodes[0]).memory_refs["episodes"] == (
        *episodes[4:],
        episodes[0],
    )


def test_references_are_removed_and_go_with_their_memories(memory: Memory) -> None:
    concept = make(memory, "mug")
    a, b, c = (each.id for each in memory.remember_many(["a", "b", "c"]))
    for each in (a, b, c):
        memory.concepts.add_ref(concept, "episodes", each)
    assert memory.concepts.remove_ref(concept, "episodes", b)
    assert not memory.concepts.remove_ref(concept, "episodes", b)
    memory.forget(a)
    found = memory.concepts.of(concept)
    assert found.memory_refs == {"episodes": (c,)}


def test_concepts_are_found_by_name_category_and_property(memory: Memory) -> None:
    red = make(memory, "mug", properties={"colour": "Red", "size": 3})
    blue = make(memory, "cup", properties={"colour": "blue", "size": 3})
    ada = make(memory, "Ada", "person")
    find = memory.concepts.find
    assert [e.id for e in find()] == [red, blue, ada]
    assert [e.id for e in find(category="Object")] == [red, blue]
    assert [e.id for e in find(property=("colour", "red"))] == [red]
    assert [e.id for e in find(property=("size", 3), limit=1)] == [red]
    assert [e.id for e in find(name="CUP", property=("size", 3))] == [blue]
    assert find(name="cup", category="person") == []
    memory.concepts.find_or_create("mug", properties={"colour": "green"})
    assert find(property=("colour", "red")) == []
    assert [e.id for e in find(property=("colour", "green"))] == [red]


def test_users_share_no_concept(memory: Memory) -> None:
    a = make(memory, "mug", user_id="a")
    b = make(memory, "mug", user_id="b")
    assert a != b
    found = memory.concepts.of("mug", user_id="b")
    assert found.id == b
    assert memory.concepts.of("mug", user_id="c") is None
    foreign = memory.remember("x", user_id="b")
    for call in (memory.concepts.reinforce, lambda c, r: memory.concepts.add_ref(c, "episodes", r)):
        with pytest.raises(InvalidInputError, match="same user"):
            call(a, foreign)


def test_what_no_concept_can_be(memory: Memory) -> None:
    concept, plain = make(memory, "mug"), memory.remember("plain")
    for call in (
        lambda: memory.concepts.find_or_create(""),
        lambda: memory.concepts.find_or_create("_"),
        lambda: memory.concepts.find_or_create("x", provenance="rumour"),
        lambda: memory.concepts.find_or_create("x", properties={"a": float("nan")}),
        lambda: memory.concepts.find_or_create("x", properties=["a"]),  # type: ignore[arg-type]
        lambda: memory.concepts.find(property="colour"),  # type: ignore[arg-type]
        lambda: memory.concepts.of(plain.id),
        lambda: memory.concepts.add_ref(concept, "", plain),
        lambda: memory.concepts.add_ref(concept, "concepts", concept),
    ):
        with pytest.raises(InvalidInputError):
            call()
    with pytest.raises(UnknownRecordError):
        memory.concepts.reinforce(concept, 1 << 50)
    assert len(memory) == 2


def test_episodes_name_their_concepts(memory: Memory) -> None:
    store = memory.layers["episodes"].store
    a = store(
        "a",
        episode={
            "objects": ["Coffee Mug"],
            "people": ["Ada"],
            "goal": "grasp_the_mug",
            "tool": "leftHand",
        },
    )
    b = store("b", episode={"objects": ["coffee_mug"], "tool": "left.hand"})
    plain = memory.remember("plain")
    found = {(e.name, e.category): e for e in memory.concepts.extract([a, b, plain.id])}
    assert set(found) == {
        ("Coffee Mug", "object"),
        ("Ada", "person"),
        ("grasp", "object"),
        ("mug", "object"),
        ("left", "action"),
        ("hand", "action"),
    }
    assert found["Coffee Mug", "object"].memory_refs == {"episodes": (a, b)}
    assert found["Ada", "person"].reinforcement_count == 1
    again = {e.name: e for e in memory.concepts.extract([a, b])}
    assert again["Coffee Mug"].reinforcement_count == 2
    assert memory.concepts.extract(plain.id) == []


def test_extracted_concepts_go_with_their_last_episode(memory: Memory) -> None:
    store = memory.layers["episodes"].store
    a = store("a", episode={"objects": ["mug", "cup", "jug"]}, user_id="u")
    b = store("b", episode={"objects": ["mug"]}, user_id="u")
    own = memory.concepts.find_or_create("jug", user_id="u")[0].id
    memory.concepts.extract([a, b])
    asked = memory.concepts.find_or_create("cup", user_id="u")[0].id
    memory.forget(a)
    assert {e.name for e in memory.concepts.find()} == {"mug", "cup", "jug"}
    memory.forget(b)
    assert {e.id for e in memory.concepts.find()} == {own, asked}
    assert memory.check().ok
