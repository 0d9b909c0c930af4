"""Layers: one protocol for episodes, concepts and statistics, with callbacks after the commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    InvalidInputError,
    Memory,
    StoreExistsError,
    StoreReadOnlyError,
    UnknownRecordError,
)
from spector.arguments import SORTS
from spector.facets import MemoryLayer
from spector.records import Episode
from tests.exchange.test_knowledge import known
from tests.fakes import FakeEmbedder


def test_layers_are_views_of_the_memories_of_a_sort(memory: Memory) -> None:
    episodes, concepts = memory.layers["episodes"], memory.layers["ATL"]
    assert list(memory.layers) == ["episodes", "concepts", "statistics"]
    a = episodes.store("one", user_id="u")
    b = episodes.store({"text": "two", "user_id": "v"})
    c = concepts.store("mug")
    assert concepts.store({"name": "Mug", "category": "object"}) == c
    memory.facts.add("Ada", "likes", "tea")
    memory.remember("passing", tier="working")
    assert (len(episodes), len(concepts), len(memory.layers["statistics"])) == (2, 1, 0)
    assert (list(episodes), list(concepts)) == ([a, b], [c])
    assert [each.id for each in episodes.recall(1)] == [b]
    assert [each.id for each in episodes.recall(user_id="u")] == [a]
    assert episodes.get(a).text == "one"
    assert episodes.stats() == {"layer": "episodes", "memories": 2}
    assert all(isinstance(memory.layers[each], MemoryLayer) for each in memory.layers)
    with pytest.raises(InvalidInputError, match="another layer"):
        episodes.get(c)
    assert episodes.remove(a)
    assert not episodes.remove(a)
    assert list(episodes) == [b]


def test_details_of_an_episode_are_kept(memory: Memory, tmp_path: Path) -> None:
    details = Episode(
        objects=("mug",),
        people=("Ada",),
        goal="grasp",
        context={"room": "kitchen"},
        decision="left hand",
        decision_confidence=0.7,
        tool="hand",
        success=False,
        salience=0.4,
        novelty=0.9,
        run_id="r1",
    )
    made = memory.layers["episodes"].store("It fell", episode=details)
    plain = memory.layers["episodes"].store("nothing else")
    with pytest.raises(InvalidInputError, match="colour"):
        memory.layers["episodes"].store("x", episode={"colour": "red"})
    with pytest.raises(InvalidInputError, match="salience"):
        memory.layers["episodes"].store("x", episode={"salience": 2.0})
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
        assert reader.layers["hippocampus"].episode(made) == details
        assert reader.layers["hippocampus"].episode(plain) is None
        with pytest.raises(StoreReadOnlyError):
            reader.layers["episodes"].store("x")
        with pytest.raises(StoreReadOnlyError):
            reader.layers["episodes"].remove(made)


def test_a_callback_that_raises_hurts_no_other(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[str, Any]] = []

    def fail(layer: str, record: Any) -> None:
        raise RuntimeError("broken")

    layer = memory.layers["episodes"]
    layer.register_capture_callback(fail)
    cancel = layer.register_capture_callback(lambda name, each: seen.append((name, each.id)))
    made = memory.remember("one")
    assert seen == [("episodes", made.id)]
    assert memory.get(made.id).text == "one"
    assert "broken" in caplog.text
    many = memory.remember_many([f"text {n}" for n in range(5)])
    assert [each for _, each in seen[1:]] == [each.id for each in many]
    inner = layer.store("two", episode={"tool": "x"})
    assert seen[-1] == ("episodes", inner)
    cancel()
    memory.remember("three")
    assert len(seen) == 7


def test_callbacks_are_of_their_layer_and_may_use_the_memory(memory: Memory) -> None:
    seen: list[tuple[str, int]] = []

    def note(layer: str, record: Any) -> None:
        seen.append((layer, record.id))
        assert memory.get(record.id).id == record.id
        if layer == "episodes":
            memory.concepts.find_or_create("met")

    for each in ("episodes", "concepts"):
        memory.layers[each].register_capture_callback(note)
    episode = memory.remember("one").id
    concept = memory.concepts.of("met")
    assert seen == [("episodes", episode), ("concepts", concept.id)]
    memory.facts.add("Ada", "likes", "tea")
    memory.procedures.add("x", ["y"])
    memory.remember("passing", tier="working")
    assert len(seen) == 2


def test_deletions_are_announced_after_the_commit(memory: Memory) -> None:
    seen: list[tuple[str, int]] = []

    def note(layer: str, gone: int) -> None:
        with pytest.raises(UnknownRecordError):
            memory.get(gone)
        seen.append((layer, gone))

    for each in ("episodes", "concepts"):
        memory.layers[each].register_deletion_callback(note)
    a, b = memory.remember("one", user_id="u"), memory.remember("two", user_id="u")
    concept = memory.layers["concepts"].store("mug")
    memory.forget([a, concept])
    assert sorted(seen) == [("concepts", concept), ("episodes", a.id)]
    memory.forget(user_id="u", purge=True)
    assert seen[2:] == [("episodes", b.id)]


def test_activation_reaches_a_layer(memory: Memory) -> None:
    episode = memory.remember("one")
    concept = memory.layers["concepts"].store("mug")
    memory.graph.link(episode, concept, "instance_of", weight=0.8)
    assert memory.layers["concepts"].recall_associated([episode.id]) == [
        (concept, pytest.approx(0.4))
    ]
    assert memory.layers["episodes"].recall_associated([episode.id]) == []


def test_foreign_layers_join_by_name(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="no layer"):
        memory.layers.register(object())  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="exists"):
        memory.layers.register(memory.layers["episodes"])
    with pytest.raises(InvalidInputError, match="dreams"):
        memory.layers["dreams"]
    with pytest.raises(InvalidInputError, match="ground"):
        memory.layers["statistics"].store("x")


# -- Layers are saved and loaded, say what they hold in few words, and layers of a caller's join
#    in
#
# Mechanism: a layer is a view; its file is an export of that view. Damage without it: a file of
# one layer that names memories of another, a foreign layer whose fault ends a recall. Guard: files
# are read back, and a layer that raises, returns nonsense or is empty is registered beside a good
# one.


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
    assert list(memory.layers) == [
        "episodes",
        "concepts",
        "statistics",
        "failing",
        "percepts",
    ]
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


def test_an_alias_leads_to_the_facts_of_every_name(memory: Memory) -> None:
    ids = known(memory)
    by_name = memory.facts.about("Ada")
    assert [each.id for each in memory.facts.about("LOVELACE")] == [each.id for each in by_name]
    assert memory.facts.about("Lovelace", user_id="v") == []
    other = memory.facts.add("Ada", "works_at", "Initech", user_id="v")
    assert other.id not in {each.id for each in memory.facts.about("Lovelace")}
    assert other.id in {each.id for each in memory.facts.about("Ada")}
    assert memory.get(ids["a"]).user_id == "u"
