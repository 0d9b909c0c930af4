"""Concepts of episodes, taken over run by run: the same in any size of run, and once each.

Mechanism: a run is read in one moment and is one commit. Damage without it: an episode that counts
twice after a kill, concepts that depend on how far a cycle came. Guard: runs of every size against
one run over everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.knowledge import plan_merge
from spector.layout import Flag
from spector.write import ConceptExtractor
from tests.facets.test_erasure import commit, is_left, mention
from tests.fakes import FakeEmbedder

#: enough for every run of these tests
ALL = 1_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        yield memory


def extractor(memory: Memory) -> ConceptExtractor:
    return memory._parts.extractor


def store(memory: Memory, text: str, user: str | None = None, **episode: Any) -> int:
    return memory.layers["episodes"].store(text, episode=episode, user_id=user)


def concepts(memory: Memory) -> dict[tuple[str | None, str, str], tuple[int, dict[str, Any]]]:
    """(user, name, category) -> how often it was reinforced, and its references."""
    return {
        (each.record.user_id, each.name, each.category): (
            each.reinforcement_count,
            dict(each.memory_refs),
        )
        for each in memory.concepts.find(limit=ALL)
    }


def filled(memory: Memory, count: int = 20) -> list[int]:
    things, people = ("mug", "Coffee Pot", "çay bardağı", "kettle"), ("Ada", "Ümit")
    return [
        store(
            memory,
            f"episode {n}",
            ("a", "b", None)[n % 3],
            objects=[things[n % 4], things[n % 3]],
            people=[people[n % 2]],
            goal="grasp_the_mug" if n % 2 else None,
            tool="leftHand",
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("limit", [1, 3, 7, 20, 21])
def test_runs_of_any_size_give_the_same_concepts(tmp_path: Path, limit: int) -> None:
    answers = []
    for size in (ALL, limit):
        with spector.open(tmp_path / f"mind{size}", embedder=FakeEmbedder()) as memory:
            ids = filled(memory)
            places = {each: n for n, each in enumerate(ids)}
            at, read = 0, 0
            while True:
                done = extractor(memory).extract_concepts(at, size)
                read += done.memories
                if done.memories < size:
                    break
                assert done.last_id > at
                at = done.last_id
            assert read == len(ids)
            answers.append(
                {
                    key: (count, [places[each] for each in references["episodes"]])
                    for key, (count, references) in concepts(memory).items()
                }
            )
            assert memory.check().ok
    assert answers[0] == answers[1]
    assert len(answers[0]) > 20


def test_a_run_is_repeated_without_effect_and_takes_over_what_is_new(memory: Memory) -> None:
    filled(memory, 6)
    first = extractor(memory).extract_concepts(0, ALL)
    before = concepts(memory)
    again = extractor(memory).extract_concepts(0, ALL)
    assert concepts(memory) == before
    assert set(first.made) == set(first.concepts) == set(again.concepts)
    assert again.made == ()
    assert extractor(memory).extract_concepts(first.last_id, ALL).memories == 0
    new = store(memory, "one more", "a", objects=["mug"])
    assert extractor(memory).extract_concepts(again.last_id, ALL).memories == 1
    count, references = concepts(memory)["a", "mug", "object"]
    assert references["episodes"][-1] == new
    assert count == before["a", "mug", "object"][0] + 1


def test_a_name_that_is_as_good_as_another_leads_to_its_concept(memory: Memory) -> None:
    """The same words in another order, or a sign more, are alike by more than 0.92."""
    a = store(memory, "a", objects=["red mug"])
    extractor(memory).extract_concepts(0, ALL)
    b = store(memory, "b", objects=["red mug red mug", "blue pot", "blue pot blue pot"])
    done = extractor(memory).extract_concepts(a, ALL)
    found = {
        name: (count, refs["episodes"]) for (_, name, _), (count, refs) in concepts(memory).items()
    }
    assert found == {"red mug": (2, (a, b)), "blue pot": (1, (b,))}
    assert len(done.made) == 1
    assert memory.concepts.of("blue pot blue pot") is None  # a name would outlive its memory
    memory.forget(a, purge=True, verify=True)
    found = {each.name for each in memory.concepts.find()}
    assert found == {"blue pot"}, "no memory that is left says the name of the other one"


def test_references_beyond_two_hundred_lose_their_place_first_in_first_out(memory: Memory) -> None:
    ids = [store(memory, f"e{n}", objects=["mug"]) for n in range(5)]
    extractor(memory).extract_concepts(0, ALL)
    more = [store(memory, f"f{n}", objects=["mug"]) for n in range(198)]
    extractor(memory).extract_concepts(ids[-1], ALL)
    count, references = concepts(memory)[None, "mug", "object"]
    assert count == 203
    assert references["episodes"] == tuple([*ids, *more][3:])
    many = [store(memory, f"g{n}", objects=["pot"]) for n in range(203)]
    extractor(memory).extract_concepts(more[-1], ALL)
    assert concepts(memory)[None, "pot", "object"] == (203, {"episodes": tuple(many[3:])})
    assert memory.check().ok


def test_an_entity_is_a_concept_from_five_memories_in_three_sessions(memory: Memory) -> None:
    def mention(name: str, sessions: str, user: str) -> list[int]:
        ids = [
            memory.remember(f"{name} lives in Kars, note {n}.", session_id=each, user_id=user).id
            for n, each in enumerate(sessions)
        ]
        memory.facts.learn(ids)
        return ids

    ada = mention("Ada Lovelace", "xyzzy", "a")
    mention("Grace Hopper", "xyyy", "a")
    mention("Ada Lovelace", "xxxyy", "b")
    extractor(memory).extract_concepts(0, 3)
    extractor(memory).extract_concepts(0, ALL)
    found = {key: refs for key, (_, refs) in concepts(memory).items() if key[1] != "Kars"}
    assert found == {("a", "Ada Lovelace", "person"): {"episodes": tuple(ada)}}
    more = mention("Ada Lovelace", "z", "b")
    extractor(memory).extract_concepts(more[0] - 1, ALL)
    assert len(concepts(memory)["b", "Ada Lovelace", "person"][1]["episodes"]) == 6


def test_a_concept_goes_with_the_only_memory_that_said_its_name(memory: Memory) -> None:
    """Others mention the entity by the name that it was merged from."""
    ids = [memory.remember(f"note {n}", session_id="xyz"[n % 3]).id for n in range(6)]
    [kept] = mention(memory, memory.get(ids[0]), "Zebulon Quirk")
    for each in ids[1:]:
        [other] = mention(memory, memory.get(each), "Old Quetzal")
    commit(memory, lambda reader, changes: plan_merge(reader, changes, kept, other))
    extractor(memory).extract_concepts(0, ALL)
    assert [name for _, name, _ in concepts(memory)] == ["Zebulon Quirk"]
    receipt = memory.forget(ids[0], purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.complete
    assert concepts(memory) == {}
    assert not is_left(memory, "zebulon")
    extractor(memory).extract_concepts(0, ALL)
    assert [name for _, name, _ in concepts(memory)] == ["Old Quetzal"]
    assert memory.check().ok


def test_no_concept_has_memories_of_two_users(memory: Memory) -> None:
    ids = filled(memory, 30)
    owner = {each: ("a", "b", None)[n % 3] for n, each in enumerate(ids)}
    extractor(memory).extract_concepts(0, ALL)
    found = concepts(memory)
    assert {user for user, _, _ in found} == {"a", "b", None}
    for (user, _, _), (_, references) in found.items():
        assert {owner[each] for each in references["episodes"]} == {user}


def test_a_retired_concept_wakes_when_it_is_met_again(memory: Memory) -> None:
    store(memory, "a", objects=["mug"])
    (concept,) = extractor(memory).extract_concepts(0, ALL).made
    memory._parts.changer.set_flag(concept, Flag.DORMANT, True)
    b = store(memory, "b", objects=["mug"])
    extractor(memory).extract_concepts(b - 1, ALL)
    assert not memory.get(concept).flags & Flag.DORMANT
