"""PageRank of the memories of one scope.

Rank flows along edges in proportion to their weights. A node without outgoing edges gives its rank
to all nodes evenly. The number of rounds is fixed, so equal graphs have equal ranks whatever was
computed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["EdgeArrays", "pagerank", "scaled"]


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """Edges as columns, their ends numbered by the place of their id in ``ids``."""

    #: (n,) i64, ascending: the nodes that have an edge
    ids: npt.NDArray[np.int64]
    #: (m,) i64: place of each edge's source
    source: npt.NDArray[np.int64]
    #: (m,) i64: place of each edge's target
    target: npt.NDArray[np.int64]
    #: (m,) f64 in (0, 1]
    weight: npt.NDArray[np.float64]

    @classmethod
    def make(
        cls,
        source: npt.NDArray[np.int64],
        target: npt.NDArray[np.int64],
        weight: npt.NDArray[np.float64],
        symmetric: npt.NDArray[np.bool_] | None = None,
    ) -> Self:
        """Of (m,) columns of ids; an edge that is ``symmetric`` leaves both its ends."""
        if symmetric is not None and symmetric.any():
            source, target, weight = (
                np.concatenate([source, target[symmetric]]),
                np.concatenate([target, source[symmetric]]),
                np.concatenate([weight, weight[symmetric]]),
            )
        ids, places = np.unique(np.concatenate([source, target]), return_inverse=True)
        m = len(source)
        return cls(ids, places[:m], places[m:], np.ascontiguousarray(weight, np.float64))


def pagerank(
    edges: EdgeArrays, *, damping: float = 0.85, iterations: int = 20
) -> npt.NDArray[np.float64]:
    """(n,) f64 of sum 1: the rank of each node of ``edges.ids`` after ``iterations`` rounds.

    Brin and Page 1998. Cost: O(iterations x edges).
    """
    n = len(edges.ids)
    if n == 0:
        return np.zeros(0)
    leaving = np.bincount(edges.source, edges.weight, n)
    dangling = leaving == 0.0
    share = edges.weight / leaving[edges.source]
    rank = np.full(n, 1.0 / n)
    for _ in range(iterations):
        arriving = np.bincount(edges.target, rank[edges.source] * share, n)
        rank = (1.0 - damping) / n + damping * (arriving + rank[dangling].sum() / n)
    return rank


def scaled(ranks: Mapping[int, float] | Iterable[tuple[int, float]]) -> dict[int, float]:
    """Ranks as an importance in [0, 1]: ten times the rank, at most 1."""
    items = ranks.items() if isinstance(ranks, Mapping) else ranks
    return {each: min(10.0 * rank, 1.0) for each, rank in items}
