"""A reader in another process sees a memory with all that belongs to it, or nothing of it.

Mechanism: memory, payload, edges and links are one commit, and a reader looks at one moment. Damage
without it: a fact without its triple, an episode without its details, an edge to nowhere. Guard: a
writer that changes knowledge all the time, every row looked at beside it; facets in mode="r".
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory, Percept, StoreClosedError, StoreFailedError, StoreReadOnlyError
from spector.clock import ManualClock
from tests.crash.harness import in_fresh_process, scratch
from tests.crash.workload import START, TINY
from tests.interrupts.sweep import cut_at
from tests.knowing import Vectors, deeds, known_rows, rows_of_store
from tests.proof import Proof, seed


def _beside(proof: Proof, seconds: float, looks: int) -> None:
    found: dict[str, Any] = in_fresh_process(
        "tests.facets.beside:run", seconds=seconds, looks=looks, seed=seed(3)
    )
    assert found["wrong"] == [], (seed(3), found)
    assert found["looks"] >= looks
    assert found["moments"] > looks // 4, "the writer stood still"
    proof("T13", looks_at_knowledge=found["looks"], seeds=str(seed(3)))


def test_a_reader_sees_memory_and_payload_of_one_commit(proof: Proof) -> None:
    _beside(proof, 1.0, 12)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reader_sees_memory_and_payload_of_one_commit_for_long(proof: Proof) -> None:
    _beside(proof, 60.0, 500)


def test_facets_answer_in_a_reading_process_and_change_nothing(tmp_path: Path) -> None:
    ids: dict[str, int] = {}
    with spector.open(tmp_path / "mind", embedder=Vectors()) as memory:
        for name, do in deeds(memory, ids):
            if name == "graph.unlink":
                break
            do()
        rows = rows_of_store(memory)
        answers = _answers(memory, ids)
        with spector.open(tmp_path / "mind", embedder=Vectors(), mode="r") as reader:
            assert _answers(reader, ids) == answers
            for name, do in deeds(reader, dict(ids)):
                with pytest.raises(StoreReadOnlyError):
                    do()
                assert rows_of_store(reader) == rows, name
            with pytest.raises(StoreReadOnlyError):
                reader.concepts.ground("mug")
        assert rows_of_store(memory) == rows


def _answers(memory: spector.Memory, ids: dict[str, int]) -> list[Any]:
    percept = Percept(objects=("mug",))
    return [
        memory.facts.query(user_id="u"),
        memory.facts.about("ada"),
        memory.graph.kinds(),
        memory.graph.edges(ids["knowone"]),
        memory.graph.neighbours(ids["knowone"]),
        memory.graph.pagerank(),
        memory.graph.complete(percept),
        memory.concepts.context(percept, budget_ms=1e6),
        memory.concepts.find(),
        memory.procedures.for_situation(["ship"]),
        memory.learnings.relevant(["ship"]),
        [len(memory.layers[each]) for each in ("episodes", "concepts", "statistics")],
    ]


# -- An exception between two steps of a change of knowledge leaves the store as before or after
#    it
#
# Mechanism: an exception is raised at the return of each call into SQLite and the system, one
# after the other. Damage without it: a fact without its memory, an edge whose end was rolled back.
# Guard: the store opens again, check finds nothing, and every memory and row is as it was before
# the change or as it is after it.


#: places between two that the quick sample tries
STRIDE = 331


def opened(path: Path, **more: Any) -> Memory:
    return spector.open(path, embedder=Vectors(), config=TINY, clock=ManualClock(START), **more)


def state(memory: Memory) -> Any:
    """Texts, users and rows; uses and times of use are no part of it."""
    known = known_rows(memory)
    return {r.id: (r.text, r.user_id, r.superseded, known.get(r.id)) for r in memory}


class Story:
    """The store before each change, and what it is afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.ids: list[dict[str, int]] = []
        self.states: list[Any] = []
        ids: dict[str, int] = {}
        n = 0
        while True:
            with opened(folder / str(n)) as memory:
                self.states.append(state(memory))
                self.ids.append(dict(ids))
                found = list(deeds(memory, ids))
            if n == len(found):
                return
            self.names.append(found[n][0])
            shutil.copytree(folder / str(n), folder / str(n + 1))
            with opened(folder / str(n + 1)) as memory:
                list(deeds(memory, ids))[n][1]()
            n += 1

    def swept(self, n: int, first: int, stride: int) -> tuple[int, list[str]]:
        """How many places of the nth change were tried, and what went wrong at which."""
        faults: list[str] = []
        tried, nth, place = 0, first, self.folder / "case"
        while True:
            shutil.copytree(self.folder / str(n), place)
            memory = opened(place)
            job = list(deeds(memory, dict(self.ids[n])))[n][1]
            reached, where, _ = cut_at(nth, job)
            wrong = [*self._of_object(n, memory), *self._of_store(n, place)]
            faults += [f"{self.names[n]} at {nth}, {where}: {fault}" for fault in wrong]
            shutil.rmtree(place)
            if not reached:
                return tried, faults
            tried, nth = tried + 1, nth + stride

    def _of_object(self, n: int, memory: Memory) -> list[str]:
        wrong = []
        try:
            if state(memory) not in self.states[n : n + 2]:
                wrong.append("the object shows neither what was nor what is to be")
        except (StoreFailedError, StoreClosedError):  # it says that it has to be opened again
            pass
        memory.close()
        return wrong

    def _of_store(self, n: int, place: Path) -> list[str]:
        with opened(place) as memory:
            wrong = [str(each) for each in memory.check().problems]
            if state(memory) not in self.states[n : n + 2]:
                wrong.append("the store is neither what it was nor what it was to be")
            fact = memory.facts.add("the sequel", "is", "there", user_id="w")
            if memory.facts.get(fact.id).object != "there":
                wrong.append("a new fact is not there")
        return wrong


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with scratch() as folder:
        yield Story(Path(folder))


def test_a_change_of_knowledge_cut_off_at_some_places_is_whole_or_not_there(
    story: Story, proof: Proof
) -> None:
    total = 0
    for n, name in enumerate(story.names):
        tried, faults = story.swept(n, 1 + (sum(map(ord, name)) + 31 * n) % STRIDE, STRIDE)
        total += tried
        assert faults == []
    assert total > len(story.names) // 2
    proof("T36", places_cut=total, harmed=0)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_change_of_knowledge_cut_off_at_every_place_is_whole_or_not_there(
    story: Story, proof: Proof
) -> None:
    total = 0
    for n in range(len(story.names)):
        tried, faults = story.swept(n, 1, 1)
        assert tried > 10
        assert faults == []
        total += tried
    proof("T36", places_cut=total, verbs_swept=len(story.names), harmed=0)
