"""Concepts of episodes, taken over run by run: the same in any size of run, and once each.

Mechanism: a run is read in one moment and is one commit. Damage without it: an episode that counts
twice after a kill, concepts that depend on how far a cycle came. Guard: runs of every size against
one run over everything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, InvalidInputError, KnowledgeConfig, Memory
from spector.knowledge import plan_merge
from spector.layout import Flag
from spector.sleep import daemon as working
from spector.write import ConceptExtractor
from tests.facets.test_erasure import commit, is_left, mention
from tests.fakes import FakeEmbedder
from tests.threads import at_once

#: enough for every run of these tests
ALL = 1_000


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


def test_references_beyond_two_hundred_lose_their_place_first_in_first_out(
    memory: Memory,
) -> None:
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


# -- A worker takes episodes over as concepts, and no write waits for it ---------------------------
#
# Mechanism: a bounded queue fed after commits, a cursor that says what has been taken over. Damage
# without it: a write that waits for a model, episodes that are lost when the queue is full,
# concepts of what was purged. Guard: a model that stands still, a queue that overflows, closing in
# between.


WORKING = Config(knowledge=KnowledgeConfig(extract="worker"))


class Gate(FakeEmbedder):
    """An embedder that stands still on single words, as names of concepts are, while it is shut."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.fails = False

    def embed(self, texts: Sequence[str]) -> Any:
        if threading.current_thread().name == "spector-concepts":
            assert self.open.wait(60)
            if self.fails:
                raise RuntimeError("the model is out of order")
        return super().embed(texts)


def opened(path: Path, embedder: Any = None, config: Config = WORKING, **more: Any) -> Memory:
    return spector.open(path / "mind", embedder=embedder or FakeEmbedder(), config=config, **more)


def store_episode(memory: Memory, name: str, **more: Any) -> int:
    return memory.layers["episodes"].store(f"I saw {name}", episode={"objects": [name]}, **more)


def names(memory: Memory) -> set[str]:
    return {each.name for each in memory.concepts.find(limit=10_000)}


def _await_taken(memory: Memory) -> None:
    """Until the worker has taken everything from the queue."""
    deadline = time.monotonic() + 30
    while memory.concepts.stats()["queue"] and time.monotonic() < deadline:
        time.sleep(0.01)


def test_episodes_become_concepts_by_themselves(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert memory.concepts.stats()["running"]
        ids = [
            store_episode(memory, "mug"),
            store_episode(memory, "pot", user_id="u"),
            store_episode(memory, "mug"),
        ]
        assert memory.concepts.flush(60)
        assert names(memory) == {"mug", "pot"}
        mug = memory.concepts.of("mug")
        assert mug.memory_refs == {"episodes": (ids[0], ids[2])}
        found = memory.concepts.stats()
        assert (found["queue"], found["overflows"], found["last_error"]) == (0, 0, None)
        assert memory.check().ok


def test_no_write_waits_for_the_worker_and_an_overflow_is_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "MOST_WAITING", 10)
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.open.clear()
        store_episode(memory, "thing0")
        _await_taken(memory)  # the worker is stuck with it all the while
        for n in range(1, 40):
            store_episode(memory, f"thing{n}")
        assert not memory.concepts.flush(0.05)
        found = memory.concepts.stats()
        assert (found["queue"], found["overflows"]) == (10, 29)
        gate.open.set()
        assert memory.concepts.flush(60)
        assert names(memory) == {f"thing{n}" for n in range(40)}
        assert memory.concepts.stats()["queue"] == 0


def test_what_is_purged_leaves_the_queue(tmp_path: Path) -> None:
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.open.clear()
        first = store_episode(memory, "first")
        _await_taken(memory)
        doomed = store_episode(memory, "zebulon")
        kept = store_episode(memory, "kept")
        receipt = memory.forget([first, doomed], purge=True, verify=True).receipt
        assert memory.concepts.stats()["queue"] == 1
        gate.open.set()
        assert memory.concepts.flush(60)
        assert receipt.complete
        assert names(memory) == {"kept"}
        assert memory.get(kept).text == "I saw kept"
        assert memory.check().ok


def test_what_was_stored_without_a_worker_is_caught_up_once(tmp_path: Path) -> None:
    with opened(tmp_path, config=Config()) as memory:
        ids = [store_episode(memory, f"thing{n % 7}") for n in range(250)]
        assert names(memory) == set()
    with opened(tmp_path) as memory:
        assert memory.concepts.flush(60)
        assert names(memory) == {f"thing{n}" for n in range(7)}
        assert memory._parts.extractor.cursor() >= ids[-1]
        assert memory.concepts.stats()["extracted"] == 250
    with opened(tmp_path) as memory:
        assert memory.concepts.flush(60)
        assert memory.concepts.stats()["extracted"] == 0
        store_episode(memory, "thing8")
        assert memory.concepts.flush(60)
        assert memory.concepts.stats()["extracted"] == 1
        assert memory.check().ok


def test_flush_does_the_work_of_sleep_where_there_is_no_worker(tmp_path: Path) -> None:
    with opened(tmp_path, config=Config()) as memory:
        store_episode(memory, "mug")
        assert not memory.concepts.stats()["running"]
        assert memory.concepts.flush()
        assert names(memory) == {"mug"}
    with opened(tmp_path, config=Config(knowledge=KnowledgeConfig(extract="off"))) as memory:
        store_episode(memory, "pot")
        assert memory.concepts.flush()
        assert names(memory) == {"mug"}
        for wrong in (-1, float("nan"), "1"):
            with pytest.raises(InvalidInputError):
                memory.concepts.flush(wrong)  # type: ignore[arg-type]


def test_a_model_that_fails_is_tried_again_and_costs_nothing(tmp_path: Path) -> None:
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.fails = True
        store_episode(memory, "mug")
        deadline = time.monotonic() + 60
        while memory.concepts.stats()["last_error"] is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "out of order" in memory.concepts.stats()["last_error"]
        assert not memory.concepts.flush(0.0)
        gate.fails = False
        assert memory.concepts.flush(60)
        assert names(memory) == {"mug"}


def test_writers_and_the_worker_lose_nothing_together(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:

        def write(who: int) -> None:
            for n in range(25):
                store_episode(memory, f"thing{n % 5}", user_id=f"u{who}")

        at_once(write, range(4))
        assert memory.concepts.flush(60)
        for who in range(4):
            found = [
                each for each in memory.concepts.find(limit=100) if each.record.user_id == f"u{who}"
            ]
            assert {each.name: each.reinforcement_count for each in found} == {
                f"thing{n}": 5 for n in range(5)
            }
        assert memory.check().ok
