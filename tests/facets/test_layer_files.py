"""Layers are saved and loaded, say what they hold in few words, and layers of a caller's join in.

Mechanism: a layer is a view; its file is an export of that view. Damage without it: a file of one
layer that names memories of another, a foreign layer whose fault ends a recall. Guard: files are
read back, and a layer that raises, returns nonsense or is empty is registered beside a good one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory, StoreExistsError, StoreReadOnlyError
from spector.arguments import SORTS
from tests.exchange.test_knowledge import known
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return spector.open(tmp_path / "mind", embedder=FakeEmbedder())


@pytest.mark.parametrize(
    ("layer", "count"), [("episodes", 11), ("hippocampus", 11), ("concepts", 1), ("statistics", 2)]
)
def test_a_layer_is_saved_and_loaded_alone(
    memory: Memory, tmp_path: Path, layer: str, count: int
) -> None:
    known(memory)
    file = tmp_path / "layer.jsonl"
    assert memory.layers[layer].save(file) == len(memory.layers[layer]) == count
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    ids = {line["id"] for line in lines if "id" in line}
    named = {
        tie[key]
        for line in lines
        for name, key in (("edges", "target"), ("references", "id"), ("sources", "id"))
        for tie in line.get(name, ())
    }
    assert named <= ids
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        assert other.layers[layer].load(file) == count
        assert other.count(sorts=SORTS) == len(other.layers[layer]) == count
        assert other.check().ok
    with pytest.raises(StoreExistsError):
        memory.layers[layer].save(file)
    assert memory.layers[layer].save(file, overwrite=True) == count


def test_a_layer_takes_its_own_out_of_an_export(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.export(tmp_path / "all.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        assert other.layers["concepts"].load(tmp_path / "all.jsonl") == 1
        [concept] = other.concepts.find()
        assert (concept.name, concept.confidence) == ("coffee mug", pytest.approx(0.8))
        assert concept.memory_refs == {}
        assert other.layers["episodes"].load(tmp_path / "all.jsonl") == 11
        assert other.layers["concepts"].load(tmp_path / "all.jsonl") == 1
        assert len(other.concepts.find()) == 1
        assert other.check().ok


def test_a_reader_saves_and_does_not_load(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
        assert reader.layers["concepts"].save(tmp_path / "c.jsonl") == 1
        for change in (
            lambda: reader.layers["concepts"].load(tmp_path / "c.jsonl"),
            lambda: reader.layers["episodes"].consolidate(),
        ):
            with pytest.raises(StoreReadOnlyError):
                change()


def test_few_words_of_each_layer(memory: Memory) -> None:
    ids = known(memory)
    concept = memory.layers["concepts"].compressed(ids["concept"])
    assert concept["name"] == "coffee mug"
    assert concept["category"] == "object"
    assert len(concept["references"]["episodes"]) == 9
    assert memory.layers["episodes"].compressed(ids["a"]) == "Ada works at Acme"
    [statistic] = [each for each in memory.layers["statistics"].recall(5) if "rate" in each.text]
    words = memory.layers["statistics"].compressed(statistic.id)
    assert words == "coffee mug success rate: 0.889 (8/9)"
    with pytest.raises(InvalidInputError, match="another layer"):
        memory.layers["concepts"].compressed(ids["a"])


class Percepts:
    """A layer of a caller's: it has one percept."""

    layer_name = "percepts"

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def store(self, record: Any) -> int:
        return 1

    def get(self, id: int) -> str:
        return "a red mug on the desk"

    def remove(self, id: int) -> bool:
        return False

    def recall(self, limit: int = 10, **filters: Any) -> list[Any]:
        self.asked.append({"limit": limit, **filters})
        return ["a red mug on the desk"] * 20

    def recall_associated(self, seed_ids: Any) -> list[tuple[int, float]]:
        return [(7, 0.2), (8, 0.9), (9, 0.001), (10, float("nan"))]

    def stats(self) -> dict[str, Any]:
        return {}

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[int]:
        return iter([])


class Failing(Percepts):
    layer_name = "failing"

    def recall(self, limit: int = 10, **filters: Any) -> list[Any]:
        raise RuntimeError("no camera")

    def recall_associated(self, seed_ids: Any) -> list[tuple[int, float]]:
        return [("x", "y")]  # type: ignore[list-item]


def test_a_layer_of_a_callers_joins_recall_and_activation(memory: Memory) -> None:
    a = memory.remember("the mug fell", user_id="u")
    b = memory.remember("the floor is wet", user_id="u")
    memory.graph.link(a, b, "causes")
    percepts = Percepts()
    memory.layers.register(Failing())
    memory.layers.register(percepts)
    assert memory.layers["percepts"] is percepts
    assert list(memory.layers) == ["episodes", "concepts", "statistics", "failing", "percepts"]
    assert len(memory.layers) == 5
    hits = memory.recall("where is the mug?", k=3, user_id="u")
    assert hits.layers == {"percepts": ("a red mug on the desk",) * 3}
    assert percepts.asked == [{"limit": 3, "cue": "where is the mug?", "user_id": "u"}]
    assert {hit.id for hit in hits} == {a.id, b.id}
    assert memory.recall(None, k=3).layers == {}
    found = memory.graph.activate([a])
    assert found["percepts"] == [(8, 0.9), (7, 0.2)]
    assert found["episodes"] == [(b.id, 0.5)]
    assert list(memory.graph.activate([a], layers=["percepts"])) == ["percepts"]
    with pytest.raises(InvalidInputError, match="exists"):
        memory.layers.register(Percepts())


def test_without_layers_of_a_callers_a_recall_has_none(memory: Memory) -> None:
    memory.remember("the mug fell")
    assert memory.recall("the mug").layers == {}


def test_an_alias_leads_to_the_facts_of_every_name(memory: Memory) -> None:
    ids = known(memory)
    by_name = memory.facts.about("Ada")
    assert [each.id for each in memory.facts.about("LOVELACE")] == [each.id for each in by_name]
    assert memory.facts.about("Lovelace", user_id="v") == []
    other = memory.facts.add("Ada", "works_at", "Initech", user_id="v")
    assert other.id not in {each.id for each in memory.facts.about("Lovelace")}
    assert other.id in {each.id for each in memory.facts.about("Ada")}
    assert memory.get(ids["a"]).user_id == "u"
