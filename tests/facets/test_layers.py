"""Layers: one protocol for episodes, concepts and statistics, with callbacks after the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory, StoreReadOnlyError, UnknownRecordError
from spector.facets import MemoryLayer
from spector.records import Episode
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        yield memory


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
    assert concept is not None
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
