"""The graph of memories: its kinds of edges, walks, centrality, activation."""

from __future__ import annotations

from spector.knowledge.graph.activation import activate
from spector.knowledge.graph.edges import StoreEdges
from spector.knowledge.graph.pagerank import EdgeArrays, pagerank, scaled
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
