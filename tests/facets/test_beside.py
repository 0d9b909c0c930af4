"""A reader in another process sees a memory with all that belongs to it, or nothing of it.

Mechanism: memory, payload, edges and links are one commit, and a reader looks at one moment. Damage
without it: a fact without its triple, an episode without its details, an edge to nowhere. Guard: a
writer that changes knowledge all the time, every row looked at beside it; facets in mode="r".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Percept, StoreReadOnlyError
from tests.crash.harness import in_fresh_process
from tests.knowing import Vectors, deeds, rows_of_store
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
