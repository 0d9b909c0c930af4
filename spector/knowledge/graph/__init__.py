"""The graph of memories: its kinds of edges, walks, centrality, activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.knowledge.graph.activation import activate
    from spector.knowledge.graph.edges import StoreEdges
    from spector.knowledge.graph.page_rank import EdgeArrays, pagerank, scaled
    from spector.knowledge.graph.registry import BUILTIN_KINDS, Registry
    from spector.knowledge.graph.traversal import best_path, levels, reach

__all__ = [
    "BUILTIN_KINDS",
    "EdgeArrays",
    "Registry",
    "StoreEdges",
    "activate",
    "best_path",
    "levels",
    "pagerank",
    "reach",
    "scaled",
]

__getattr__ = on_first_use(__name__)
