"""Walks over the graph: best first, the best path, breadth-first levels.

The weight of a path is the product of its edges' weights. These are at most 1, so a path never
gains by going on, and nodes come off a heap in the order of their final weights. With a limit of
hops that is true for a node *and its number of hops* only: a heavy long path may arrive first and
have no hops left for what lies behind. Such nodes are kept once for every number of hops that is
lower than before.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from spector.knowledge.graph.adjacency import Adjacency
from spector.records import Edge, Reached

__all__ = ["best_path", "levels", "reach"]

#: nodes whose edges are fetched together: those that leave the heap next
_TOGETHER: Final = 256


class _Fetched:
    """Edges of nodes as they are needed, fetched for many nodes that wait."""

    def __init__(self, edges: Adjacency) -> None:
        self._edges = edges
        self._known: dict[int, Sequence[tuple[int, Edge]]] = {}

    def of(self, node: int, waiting: Iterable[int]) -> Sequence[tuple[int, Edge]]:
        """Edges that leave ``node``; those of ``waiting`` are fetched in the same breath."""
        if node not in self._known:
            ask = {node, *islice((each for each in waiting if each not in self._known), _TOGETHER)}
            found = self._edges.leaving(ask)
            self._known.update((each, found.get(each, ())) for each in ask)
        return self._known[node]


def reach(
    edges: Adjacency,
    start: int,
    *,
    hops: int = 2,
    min_weight: float = 0.0,
    limit: int | None = 100,
) -> list[Reached]:
    """Nodes within ``hops`` edges of ``start``, the greatest product of weights first.

    One entry a node, without the start: its greatest weight and the edges of that path (the fewest
    of equal ones). Sorted by weight, then hops, then id. Edges below ``min_weight`` are not taken.
    """
    fetched = _Fetched(edges)
    out: list[Reached] = []
    best: dict[int, float] = {start: 1.0}  # node -> its greatest weight, once it is final
    fewest: dict[int, int] = {}  # node -> fewest hops of a path that was followed
    heap: list[tuple[float, int, int]] = [(-1.0, 0, start)]
    while heap and (limit is None or len(out) < limit):
        weight, done, node = heapq.heappop(heap)
        if done >= fewest.get(node, hops + 1):
            continue
        fewest[node] = done
        if node not in best:
            best[node] = -weight
            out.append(Reached(node, -weight, done))
        if done == hops:
            continue
        for target, edge in fetched.of(node, (each for _, at, each in heap if at < hops)):
            if edge.weight >= min_weight and done + 1 < fewest.get(target, hops + 1):
                heapq.heappush(heap, (weight * edge.weight, done + 1, target))
    return out


def best_path(
    edges: Adjacency, start: int, end: int, *, hops: int = 6, min_weight: float = 0.0
) -> list[Edge] | None:
    """Edges of the path with the greatest product of weights, or None when none is short enough.

    From a node to itself it is the empty path.
    """
    fetched = _Fetched(edges)
    fewest: dict[int, int] = {}
    steps: dict[tuple[int, int], tuple[int, Edge]] = {}  # (node, hops) -> (node before, edge)
    weights: dict[tuple[int, int], float] = {(start, 0): 1.0}
    heap: list[tuple[float, int, int]] = [(-1.0, 0, start)]
    while heap:
        weight, done, node = heapq.heappop(heap)
        if node == end:
            return _steps_back(steps, node, done)
        if done >= fewest.get(node, hops + 1):
            continue
        fewest[node] = done
        if done == hops:
            continue
        for target, edge in fetched.of(node, (each for _, at, each in heap if at < hops)):
            at = (target, done + 1)
            if edge.weight < min_weight or done + 1 >= fewest.get(target, hops + 1):
                continue
            if -weight * edge.weight > weights.get(at, 0.0):
                weights[at] = -weight * edge.weight
                steps[at] = (node, edge)
                heapq.heappush(heap, (weight * edge.weight, done + 1, target))
    return None


def _steps_back(
    steps: Mapping[tuple[int, int], tuple[int, Edge]], node: int, done: int
) -> list[Edge]:
    path: list[Edge] = []
    while done:
        node, edge = steps[node, done]
        path.append(edge)
        done -= 1
    return path[::-1]


def levels(
    edges: Adjacency, start: int, *, hops: int = 2, limit: int | None = None
) -> list[list[int]]:
    """Nodes by their distance in edges: ``levels(...)[0]`` is one edge away; ids ascending.

    Ends with the last level that has a node. ``limit`` bounds the number of nodes in all.
    """
    seen = {start}
    front: Collection[int] = (start,)
    out: list[list[int]] = []
    for _ in range(hops):
        found = edges.leaving(front)
        front = sorted({node for each in found.values() for node, _ in each} - seen)
        if limit is not None:
            front = front[: max(0, limit - len(seen) + 1)]
        if not front:
            break
        seen.update(front)
        out.append(list(front))
    return out
