"""Where walks get their edges from, many nodes at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from spector.records import Edge

__all__ = ["Adjacency"]


class Adjacency(Protocol):
    """Edges by the node that they leave, as a store or a list of edges gives them."""

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        """The edges that a walk may take from each of ``ids``: (the node reached, the edge).

        A symmetric edge leaves both its ends, any other one its source, or both where the walk goes
        in both directions. Nodes without edges may be missing.
        """
        ...
