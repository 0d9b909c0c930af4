"""The graph of a store: edges tie living memories of one user, and walks follow them.

Mechanism: rows in the catalog, links of records as edges. Damage without it: edges across users,
edges to nowhere, a kind that reads the wrong way. Guard: the statements of the design.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory, MemoryRecord, StoreReadOnlyError, UnknownRecordError
from spector.errors import UnknownRelationError
from tests.fakes import FakeEmbedder


@pytest.fixture
def abc(memory: Memory) -> tuple[MemoryRecord, MemoryRecord, MemoryRecord]:
    a, b, c = (memory.remember(f"memory {each}", user_id="u") for each in "abc")
    memory.graph.link(a, b, "causes", weight=0.9)
    memory.graph.link(b, c, "causes", weight=0.5)
    memory.graph.link(a, c, "causes", weight=0.4)
    return a, b, c


ABC = tuple[MemoryRecord, MemoryRecord, MemoryRecord]


def test_neighbours_paths_levels_and_activation(memory: Memory, abc: ABC) -> None:
    a, b, c = abc
    assert [(e.id, e.weight, e.hops) for e in memory.graph.neighbours(a)] == [
        (b.id, 0.9, 1),
        (c.id, 0.45, 2),
    ]
    assert [(e.id, e.weight) for e in memory.graph.neighbours(a, hops=1)] == [
        (b.id, 0.9),
        (c.id, 0.4),
    ]
    assert memory.graph.neighbours(c) == []
    assert [e.id for e in memory.graph.neighbours(c, direction="in")] == [b.id, a.id]
    assert [e.id for e in memory.graph.neighbours(c, kinds=["caused_by"])] == [b.id, a.id]
    path = memory.graph.path(a, c)
    assert path is not None
    assert [(e.source, e.target) for e in path] == [(a.id, b.id), (b.id, c.id)]
    assert memory.graph.path(c, a) is None
    assert memory.graph.walk(a) == [[b.id, c.id]]
    assert memory.graph.activate(a)["episodes"] == [
        (b.id, pytest.approx(0.45)),
        (c.id, pytest.approx(0.3125)),
    ]


def test_an_edge_is_kept_once_with_the_greater_weight(memory: Memory, abc: ABC) -> None:
    a, b, _ = abc
    memory.graph.link(a, b, "CAUSES", weight=0.2)
    memory.graph.link(b, a, "caused_by", weight=0.95, confidence=0.1, note={"why": "log"})
    (edge,) = memory.graph.edges(a, direction="out", kinds=["causes"])[:1]
    assert (edge.weight, edge.confidence, edge.note) == (0.95, 0.9, {"why": "log"})
    memory.graph.link(b, a, "related_to")
    (tie,) = memory.graph.edges(b, kinds=["related_to"])
    assert (tie.source, tie.target) == (a.id, b.id)
    assert [e.id for e in memory.graph.neighbours(b, kinds=["related_to"], hops=1)] == [a.id]
    assert memory.graph.unlink(a, b, "related_to")
    assert not memory.graph.unlink(a, b, "related_to")


def test_what_no_edge_may_tie(memory: Memory, abc: ABC) -> None:
    a, b, _ = abc
    other = memory.remember("somebody else's", user_id="v")
    working = memory.remember("thought", tier="working", user_id="u")
    for source, target, error in (
        (a, other, InvalidInputError),
        (a, a, InvalidInputError),
        (a, working, InvalidInputError),
        (a, 1 << 50, UnknownRecordError),
        ("x", b, InvalidInputError),
    ):
        with pytest.raises(error):
            memory.graph.link(source, target, "causes")
    with pytest.raises(UnknownRelationError, match="causes"):
        memory.graph.link(a, b, "cause")
    for weight in (0.0, -0.1, 1.1, float("nan"), "1"):
        with pytest.raises(InvalidInputError, match="weight"):
            memory.graph.link(a, b, "causes", weight=weight)  # type: ignore[arg-type]
    with pytest.raises(UnknownRecordError):
        memory.graph.neighbours(1 << 50)


def test_edges_go_with_their_ends(memory: Memory, abc: ABC) -> None:
    a, b, c = abc
    memory.forget(b)
    assert [(e.source, e.target) for e in memory.graph.edges(a)] == [(a.id, c.id)]
    assert memory.graph.path(a, c) is not None


def test_links_of_records_are_edges(memory: Memory) -> None:
    old = memory.remember("I live in Paris", user_id="u")
    new = memory.remember("I live in Rome", user_id="u", supersedes=old.id)
    child = memory.remember("A move", user_id="u", parents=[old.id, new.id])
    assert [(e.kind, e.target, e.origin) for e in memory.graph.edges(new, direction="out")] == [
        ("supersedes", old.id, "supersedes")
    ]
    assert {(e.kind, e.origin) for e in memory.graph.edges(child)} == {("derived_from", "parents")}
    assert {e.id for e in memory.graph.neighbours(child)} == {old.id, new.id}
    memory.forget(old)
    assert memory.graph.edges(new, direction="out") == []


def test_ranks_are_of_each_user_and_follow_changes(memory: Memory) -> None:
    a, b, c = (memory.remember(each, user_id="u") for each in "abc")
    memory.graph.link(a, b, "causes")
    memory.graph.link(c, b, "causes")
    d, e = (memory.remember(each, user_id="v") for each in "de")
    memory.graph.link(d, e, "supports")
    ranks = memory.graph.pagerank(user_id="u")
    assert [ranks[each.id] for each in (a, b, c)] == pytest.approx(
        [0.2128, 0.5745, 0.2128], abs=1e-4
    )
    assert sum(memory.graph.pagerank().values()) == pytest.approx(2.0)
    assert set(memory.graph.importance(user_id="u").values()) == {1.0}
    assert memory.graph.pagerank([a, d], user_id="u") == {
        a.id: pytest.approx(ranks[a.id]),
        d.id: 0.0,
    }
    memory.graph.unlink(c, b, "causes")
    assert memory.graph.pagerank([c])[c.id] == 0.0


def test_only_the_hub_is_central(memory: Memory) -> None:
    hub, *others = memory.remember_many([f"memory {n}" for n in range(50)])
    for each in others[:2]:
        memory.graph.link(each, hub, "supports")
    assert memory.graph.central(hub)
    assert not any(memory.graph.central(each) for each in others)


def test_registered_kinds_stay(memory: Memory, tmp_path: Path) -> None:
    kind = memory.graph.register("mentors", inverse="mentored_by")
    assert memory.graph.register("Mentors", inverse="mentored_by") == kind
    with pytest.raises(InvalidInputError, match="another meaning"):
        memory.graph.register("mentors", symmetric=True)
    a, b = memory.remember("a"), memory.remember("b")
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert kind in again.graph.kinds()
        edge = again.graph.link(a.id, b.id, "mentored_by")
        assert (edge.source, edge.target, edge.kind) == (b.id, a.id, "mentors")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
        assert len(reader.graph.edges(a.id)) == 1
        with pytest.raises(StoreReadOnlyError):
            reader.graph.register("x")


def test_links_of_records_are_seen_from_both_ends(memory: Memory) -> None:
    old = memory.remember("The ferry leaves at six", user_id="u")
    new = memory.remember("The ferry leaves at seven", user_id="u", supersedes=old)
    assert [(e.source, e.target, e.kind) for e in memory.graph.edges(old)] == [
        (new.id, old.id, "supersedes")
    ]
    assert memory.graph.edges(new, direction="in") == []
    first = memory.remember("A crossing", user_id="u", parents=[new])
    memory.graph.edges(new)  # what names a parent has been read; the next child is newer
    second = memory.remember("Another crossing", user_id="u", parents=[new, first])
    assert [e.source for e in memory.graph.edges(new, direction="in")] == [first.id, second.id]
    assert memory.graph.edges(new, direction="out", kinds=["derived_from"]) == []
    assert [e.id for e in memory.graph.neighbours(new, direction="in", hops=1)] == [
        first.id,
        second.id,
    ]
    memory.forget(second)
    assert [e.source for e in memory.graph.edges(new, kinds=["derived_from"])] == [first.id]


def test_layers_of_an_activation_have_the_names_of_the_brain_too(memory: Memory, abc: ABC) -> None:
    a, b, _ = abc
    found = memory.graph.activate(a, layers=["Hippocampus"])
    assert list(found) == ["episodes"]
    assert found["episodes"][0] == (b.id, 0.45)
    assert list(memory.graph.activate(a, layers=["concepts"])) == []
    with pytest.raises(InvalidInputError, match="no layer 'cortex'"):
        memory.graph.activate(a, layers=["episodes", "cortex"])


@pytest.mark.parametrize("given", [None, [], {}, [1, 2]])
def test_one_memory_is_named_where_one_is_asked(memory: Memory, abc: ABC, given: Any) -> None:
    graph, a = memory.graph, abc[0]
    nothing: Any = None
    calls: tuple[Callable[[], Any], ...] = (
        lambda: graph.edges(given),
        lambda: graph.neighbours(given),
        lambda: graph.walk(given),
        lambda: graph.central(given),
        lambda: graph.path(a, given),
        lambda: graph.path(given, a),
        lambda: graph.link(a, given, "causes"),
        lambda: graph.unlink(given, a, "causes"),
        lambda: memory.layers["episodes"].get(given),
        lambda: memory.layers["episodes"].register_capture_callback(nothing),
    )
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()
