"""Spreading activation: what comes to mind from a few memories.

From the seeds activation flows along edges, less with every hop, first inside the layer where it
is, then into the others. Each node passes it on once, when it is the strongest of those that wait:
what arrives afterwards is not passed on again, and cycles end by themselves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from spector.knowledge.graph.adjacency import Adjacency
from spector.records import Activation, Edge

__all__ = ["activate"]


def activate(
    edges: Adjacency,
    seeds: Iterable[int],
    layer_of: Callable[[Iterable[int]], dict[int, str]],
    *,
    decay: float = 0.5,
    threshold: float = 0.05,
    hops: int = 3,
    strength: Callable[[Edge], float] | None = None,
) -> Activation:
    """Activation of the nodes that the seeds reach, by layer, without the seeds.

    Args:
        edges: The graph; it should let edges leave both their ends.
        seeds: Nodes of activation 1.
        layer_of: Layers of nodes.
        decay: Factor of every hop.
        threshold: What stays below it is neither passed on nor returned.
        hops: Edges that activation follows at most.
        strength: Weight of an edge, its stored one by default.
    """
    weigh = strength or (lambda edge: edge.weight)
    first = sorted(set(seeds))
    active = dict.fromkeys(first, 1.0)
    distance = dict.fromkeys(first, 0)
    layers = layer_of(first)
    expanded: set[int] = set()
    heap = [(-1.0, each) for each in first]
    held: list[tuple[int, int, float, str]] = []  # (target, hops, activation, layer), other layers
    while heap or held:
        if not heap:
            for entry in held:
                if entry[0] not in expanded:
                    _flow(entry, active, distance, heap, threshold)
            held = []
            continue
        level, node = heapq.heappop(heap)
        if node in expanded or -level != active[node]:
            continue
        expanded.add(node)
        if distance[node] < hops:
            leaving = edges.leaving((node,)).get(node, ())
            unknown = {target for target, _ in leaving if target not in layers}
            layers.update(layer_of(sorted(unknown)) if unknown else {})
            for target, edge in leaving:
                flow = active[node] * weigh(edge) * decay
                entry = (target, distance[node] + 1, flow, layers.get(target, ""))
                if entry[3] != layers.get(node, ""):
                    held.append(entry)
                elif target not in expanded:
                    _flow(entry, active, distance, heap, threshold)
    out: dict[str, list[tuple[int, float]]] = {}
    for node in sorted(active, key=lambda each: (-active[each], each)):
        if distance[node] and active[node] >= threshold:
            out.setdefault(layers.get(node, ""), []).append((node, active[node]))
    return Activation(out)


def _flow(
    entry: tuple[int, int, float, str],
    active: dict[int, float],
    distance: dict[int, int],
    heap: list[tuple[float, int]],
    threshold: float,
) -> None:
    """Add what arrives at a node; it waits for its turn once it has enough."""
    target, hops, flow, _ = entry
    active[target] = active.get(target, 0.0) + flow
    distance[target] = min(distance.get(target, hops), hops)
    if active[target] >= threshold:
        heapq.heappush(heap, (-active[target], target))
