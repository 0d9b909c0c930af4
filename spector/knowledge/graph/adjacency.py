"""Where walks get their edges from, many nodes at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from spector.records import Edge

__all__ = ["Adjacency", "ListedEdges"]


class Adjacency(Protocol):
    """Edges by the node that they leave, as a store or a list of edges gives them."""

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        """The edges that a walk may take from each of ``ids``: (the node reached, the edge).

        A symmetric edge leaves both its ends, any other one its source, or both where the walk goes
        in both directions. Nodes without edges may be missing.
        """
        ...


class ListedEdges:
    """An adjacency of edges in memory.

    Args:
        edges: The edges.
        symmetric: Names of the kinds whose edges leave both ends.
        direction: "out", "in" or "both".
    """

    def __init__(
        self,
        edges: Iterable[Edge],
        *,
        symmetric: Collection[str] = (),
        direction: str = "out",
    ) -> None:
        self._leaving: dict[int, list[tuple[int, Edge]]] = {}
        for each in edges:
            if direction != "in" or each.kind in symmetric:
                self._leaving.setdefault(each.source, []).append((each.target, each))
            if direction != "out" or each.kind in symmetric:
                self._leaving.setdefault(each.target, []).append((each.source, each))

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        return {each: self._leaving[each] for each in ids if each in self._leaving}
