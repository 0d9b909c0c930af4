"""Walks, centrality and activation are those of the published algorithms.

Mechanism: best first on products, fixed rounds of PageRank, activation layer by layer. Damage
without it: a memory that nobody finds, ranks that depend on the order of rows. Guard: networkx and
plain NumPy on random graphs, the values of the design on small ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from spector.errors import InvalidInputError, UnknownRelationError
from spector.knowledge.graph import (
    BUILTIN_KINDS,
    EdgeArrays,
    Registry,
    activate,
    best_path,
    levels,
    pagerank,
    reach,
    scaled,
)
from spector.records.knowledge import Edge, Reached, RelationKind


class ListedEdges:
    """An adjacency of edges in memory; the direction is "out" or "both"."""

    def __init__(self, edges: Iterable[Edge], *, direction: str = "out") -> None:
        self._leaving: dict[int, list[tuple[int, Edge]]] = {}
        for each in edges:
            self._leaving.setdefault(each.source, []).append((each.target, each))
            if direction == "both":
                self._leaving.setdefault(each.target, []).append((each.source, each))

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        return {each: self._leaving[each] for each in ids if each in self._leaving}


TRIANGLE = [
    Edge(source=1, target=2, kind="causes", weight=0.9),
    Edge(source=2, target=3, kind="causes", weight=0.5),
    Edge(source=1, target=3, kind="causes", weight=0.4),
]


def one_layer(ids: Iterable[int]) -> dict[int, str]:
    return dict.fromkeys(ids, "episodes")


def arrays(edges: list[Edge]) -> EdgeArrays:
    return EdgeArrays.make(
        np.array([each.source for each in edges], np.int64),
        np.array([each.target for each in edges], np.int64),
        np.array([each.weight for each in edges]),
    )


def random_graph(seed: int) -> list[Edge]:
    chooser = random.Random(seed)
    n = chooser.randrange(2, 14)
    pairs = {
        (chooser.randrange(n), chooser.randrange(n)) for _ in range(chooser.randrange(1, 3 * n))
    }
    return [
        Edge(source=a, target=b, kind="causes", weight=chooser.choice((0.1, 0.3, 0.5, 0.9, 1.0)))
        for a, b in sorted(pairs)
        if a != b
    ] or [Edge(source=0, target=1, kind="causes", weight=0.5)]


def test_best_first_keeps_the_heavier_path_and_the_shorter_one() -> None:
    graph = ListedEdges(TRIANGLE)
    assert reach(graph, 1) == [Reached(2, 0.9, 1), Reached(3, 0.45, 2)]
    assert reach(graph, 1, hops=1) == [Reached(2, 0.9, 1), Reached(3, 0.4, 1)]
    behind = [*TRIANGLE, Edge(source=3, target=4, kind="causes", weight=1.0)]
    assert reach(ListedEdges(behind), 1)[-1] == Reached(4, 0.4, 2)
    assert reach(graph, 1, min_weight=0.6) == [Reached(2, 0.9, 1)]
    assert reach(graph, 1, limit=1) == [Reached(2, 0.9, 1)]


@pytest.mark.parametrize("block", range(10))
def test_walks_equal_networkx_on_random_graphs(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        edges = random_graph(seed)
        graph = nx.DiGraph()
        for each in edges:
            graph.add_edge(each.source, each.target, cost=-math.log(each.weight), w=each.weight)
        start, listed = edges[0].source, ListedEdges(edges)
        n = graph.number_of_nodes()
        costs = nx.single_source_dijkstra_path_length(graph, start, weight="cost")
        got = {each.id: each.weight for each in reach(listed, start, hops=n, limit=None)}
        assert got == pytest.approx(
            {node: math.exp(-cost) for node, cost in costs.items() if node != start}, rel=1e-12
        ), seed
        near = nx.single_source_shortest_path_length(graph, start, cutoff=2)
        assert {each.id for each in reach(listed, start, hops=2, limit=None)} == set(near) - {start}
        by_distance = levels(listed, start, hops=2)
        assert {node: at for at, each in enumerate(by_distance, 1) for node in each} == {
            node: at for node, at in near.items() if at
        }
        for end, cost in costs.items():
            path = best_path(listed, start, end, hops=n)
            assert path is not None
            product = math.prod(each.weight for each in path)
            assert product == pytest.approx(math.exp(-cost), rel=1e-12)
            assert [start, *(each.target for each in path)][-1] == end
        for end in set(graph) - set(costs):
            assert best_path(listed, start, end, hops=n) is None


@pytest.mark.sampled
@pytest.mark.parametrize("block", range(10))
def test_ranks_equal_numpy_and_networkx(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        edges = random_graph(seed)
        table = arrays(edges)
        n = len(table.ids)
        matrix = np.zeros((n, n))
        for each in edges:
            i, j = np.searchsorted(table.ids, (each.source, each.target))
            matrix[j, i] += each.weight
        sums = matrix.sum(axis=0)
        matrix = np.where(sums > 0, matrix / np.where(sums > 0, sums, 1), 1.0 / n)
        rank = np.full(n, 1.0 / n)
        for _ in range(20):
            rank = 0.15 / n + 0.85 * matrix @ rank
        assert np.abs(pagerank(table) - rank).max() < 1e-9
        assert pagerank(table).sum() == pytest.approx(1.0, abs=1e-9)
        graph = nx.DiGraph()
        for each in edges:
            graph.add_edge(each.source, each.target, weight=each.weight)
        oracle = _pagerank_python(graph, alpha=0.85, tol=1e-12, max_iter=1000)
        converged = pagerank(table, iterations=200)
        assert max(abs(converged[at] - oracle[node]) for at, node in enumerate(table.ids)) < 1e-6


def test_ranks_of_the_design() -> None:
    table = arrays([Edge(source=each, target=2, kind="causes") for each in (1, 3)])
    found = pagerank(table)
    assert found == pytest.approx([0.2128, 0.5745, 0.2128], abs=1e-4)
    assert scaled(dict(zip(table.ids.tolist(), found, strict=True))) == {1: 1.0, 2: 1.0, 3: 1.0}
    assert pagerank(arrays([])).size == 0


def test_activation_of_the_design() -> None:
    found = activate(ListedEdges(TRIANGLE, direction="both"), [1], one_layer)
    assert found["episodes"] == [(2, pytest.approx(0.45)), (3, pytest.approx(0.3125))]


def test_weak_activation_ends_and_seeds_are_not_reached() -> None:
    chain = [Edge(source=n, target=n + 1, kind="causes", weight=0.4) for n in range(5)]
    found = activate(ListedEdges(chain, direction="both"), [0], one_layer, hops=9)
    assert found["episodes"] == [(1, pytest.approx(0.2))]  # 0.04 is below the threshold
    cycle = [Edge(source=1, target=2, kind="causes"), Edge(source=2, target=1, kind="causes")]
    assert dict(activate(ListedEdges(cycle, direction="both"), [1, 2], one_layer)) == {}


def test_activation_stays_inside_its_layer_first() -> None:
    edges = [
        Edge(source=1, target=10, kind="instance_of", weight=1.0),  # into another layer
        Edge(source=1, target=2, kind="followed_by", weight=0.6),
        Edge(source=2, target=10, kind="instance_of", weight=1.0),
        Edge(source=10, target=3, kind="instance_of", weight=1.0),
    ]

    def layer_of(ids: Iterable[int]) -> dict[int, str]:
        return {each: "concepts" if each >= 10 else "episodes" for each in ids}

    found = activate(ListedEdges(edges, direction="both"), [1], layer_of)
    assert found["concepts"] == [(10, pytest.approx(0.5 + 0.3 * 0.5))]
    assert found["episodes"] == [(3, pytest.approx(0.65 * 0.5)), (2, pytest.approx(0.3))]
    assert activate(ListedEdges(edges, direction="both"), [1], layer_of, hops=1)["episodes"] == [
        (2, pytest.approx(0.3))
    ]


def test_kinds_are_spelt_freely_and_stored_once() -> None:
    registry = Registry()
    assert registry.resolve("IS_A")[0].name == "is_a"
    assert registry.stored(5, 3, "caused_by")[:2] == (3, 5)
    assert registry.stored(5, 3, "caused_by")[2].name == "causes"
    assert registry.stored(5, 3, "Related-To")[:2] == (3, 5)
    assert registry.names(["causes", "caused by"]) == {"causes": "both"}
    assert registry.names("part_of") == {"has_part": "in"}
    assert {each.name for each in BUILTIN_KINDS if each.symmetric} == {
        "related_to",
        "similar_to",
        "same_entity",
        "contradicts",
        "trends_with",
        "correlates_with",
        "temporally_correlates",
    }


def test_new_kinds_keep_their_meaning() -> None:
    registry = Registry()
    kind = registry.add(RelationKind(name="mentors", inverse="mentored_by", origin="agent"))
    assert registry.add(RelationKind(name="Mentors", inverse="mentored-by", origin="x")) == kind
    assert registry.stored(1, 2, "mentored_by")[:2] == (2, 1)
    for bad in (
        RelationKind(name="mentors"),
        RelationKind(name="mentored_by"),
        RelationKind(name="x", symmetric=True, inverse="y"),
        RelationKind(name="likes", inverse="likes"),
        RelationKind(name="owns", inverse="causes"),
        RelationKind(name="1st"),
        RelationKind(name=""),
    ):
        with pytest.raises(InvalidInputError):
            registry.add(bad)
    with pytest.raises(UnknownRelationError, match=r"did you mean causes"):
        registry.resolve("cause")
