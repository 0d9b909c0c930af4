"""The kinds of relations: built-in ones, and those that callers register.

An edge is stored once. Of a symmetric kind the smaller id is its source; an inverse name turns the
edge round. So two callers who say the same thing from two ends store the same row.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from spector.clock import from_ms
from spector.config import KnowledgeConfig
from spector.errors import InvalidInputError, UnknownRelationError
from spector.knowledge.changes import Changes
from spector.knowledge.reader import KnowledgeReader
from spector.messages import shown
from spector.records import BUILTIN_KINDS, Activation, Edge, Reached, RelationKind
from spector.store.catalog import ANYBODY, Row, Scope, split_reserved_tags

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Registry:
    """Kinds by name; spellings of other systems (``IS_A``, ``Part-Of``) are accepted.

    Args:
        registered: Kinds of the store, beside the built-in ones.
    """

    def __init__(self, registered: Iterable[RelationKind] = ()) -> None:
        self._kinds: dict[str, RelationKind] = {each.name: each for each in BUILTIN_KINDS}
        self._inverses: dict[str, str] = {
            each.inverse: each.name for each in BUILTIN_KINDS if each.inverse is not None
        }
        for each in registered:
            self.add(each)

    def __iter__(self) -> Iterator[RelationKind]:
        return iter(self._kinds.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _spelt(name) in {*self._kinds, *self._inverses}

    def add(self, kind: RelationKind) -> RelationKind:
        """Register a kind; the same again is no change.

        Raises:
            InvalidInputError: The name is malformed, taken with another meaning, or a symmetric
                kind has an inverse.
        """
        name = self._free_name(kind.name, "name")
        inverse = None if kind.inverse is None else self._free_name(kind.inverse, "inverse")
        if kind.symmetric and inverse is not None:
            raise InvalidInputError(
                f"{name!r} is symmetric and has the inverse {inverse!r}",
                hint="leave inverse= out: a symmetric relation reads the same from both ends",
            )
        if name == inverse:
            raise InvalidInputError(
                f"{name!r} is its own inverse", hint="register it with symmetric=True"
            )
        known = self._kinds.get(name)
        origin = known.origin if known else kind.origin
        meaning = replace(kind, name=name, inverse=inverse, origin=origin)
        if known is not None:
            if known != meaning:
                raise InvalidInputError(
                    f"relation {name!r} is registered with another meaning: {known}",
                    hint="choose another name; a kind that edges use does not change",
                )
            return known
        if name in self._inverses:
            raise InvalidInputError(
                f"{name!r} is the inverse of {self._inverses[name]!r}",
                hint=f"link with {self._inverses[name]!r}, or choose another name",
            )
        if inverse is not None:
            if inverse in self._kinds or inverse in self._inverses:
                raise InvalidInputError(
                    f"inverse {inverse!r} of {name!r} is a relation of its own",
                    hint="choose another name for the inverse",
                )
            self._inverses[inverse] = name
        self._kinds[name] = meaning
        return meaning

    def resolve(self, name: str) -> tuple[RelationKind, bool]:
        """The kind of a name, and whether the name reads it from the target.

        Raises:
            UnknownRelationError: No such kind; the error names near ones.
        """
        spelt = _spelt(name) if isinstance(name, str) else ""
        if spelt in self._kinds:
            return self._kinds[spelt], False
        if spelt in self._inverses:
            return self._kinds[self._inverses[spelt]], True
        near = difflib.get_close_matches(spelt, [*self._kinds, *self._inverses], n=3, cutoff=0.5)
        raise UnknownRelationError(
            f"unknown relation {shown(name)}",
            hint=(f"did you mean {', '.join(near)}? " if near else "")
            + "graph.kinds() lists all; graph.register() adds one",
        )

    def stored(self, source: int, target: int, name: str) -> tuple[int, int, RelationKind]:
        """Ends and kind as an edge is stored: inverses turned round, symmetric ones ordered."""
        kind, reversed_ = self.resolve(name)
        if reversed_ or (kind.symmetric and target < source):
            source, target = target, source
        return source, target, kind

    def names(self, kinds: Iterable[str] | None) -> dict[str, str] | None:
        """Which way edges of the asked kinds count: kind -> "out", "in" or "both"; None: all."""
        if kinds is None:
            return None
        if isinstance(kinds, str):
            kinds = (kinds,)
        ways: dict[str, str] = {}
        for name in kinds:
            kind, reversed_ = self.resolve(name)
            way = "both" if kind.symmetric else "in" if reversed_ else "out"
            ways[kind.name] = way if ways.get(kind.name, way) == way else "both"
        return ways

    @staticmethod
    def _free_name(name: str, argument: str) -> str:
        spelt = _spelt(name) if isinstance(name, str) else ""
        if not _NAME.fullmatch(spelt):
            raise InvalidInputError(
                f"{argument} {shown(name)} is no name of a relation",
                hint="use 1 to 64 letters a-z, digits and underscores, a letter first",
            )
        return spelt


def plan_kind(reader: KnowledgeReader, changes: Changes, kind: RelationKind) -> RelationKind:
    """Register a kind unless the store has it; returns it as it is kept."""
    registry = Registry(reader.kinds())
    is_new = kind.name not in registry
    made = registry.add(kind)
    if is_new:
        changes.item(changes.new_item(), "relation_kind", "", made.to_dict())
    return made


def _spelt(name: str) -> str:
    """The stored spelling of a name: ``IS_A``, ``is-a`` and ``Is A`` are ``is_a``."""
    return re.sub(r"[\s\-]+", "_", name.strip()).lower()


# Where walks get their edges from, many nodes at a time.


class Adjacency(Protocol):
    """Edges by the node that they leave, as a store or a list of edges gives them."""

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        """The edges that a walk may take from each of ``ids``: (the node reached, the edge).

        A symmetric edge leaves both its ends, any other one its source, or both where the walk goes
        in both directions. Nodes without edges may be missing.
        """
        ...


# Walks over the graph: best first, the best path, breadth-first levels.
#
# The weight of a path is the product of its edges' weights. These are at most 1, so a path never
# gains by going on, and nodes come off a heap in the order of their final weights. With a limit of
# hops that is true for a node *and its number of hops* only: a heavy long path may arrive first and
# have no hops left for what lies behind. Such nodes are kept once for every number of hops that is
# lower than before.

#: nodes whose edges are fetched together: those that leave the heap next
_TOGETHER: Final = 256


def _settled(
    edges: Adjacency,
    start: int,
    hops: int,
    min_weight: float = 0.0,
    steps: dict[tuple[int, int], tuple[int, Edge]] | None = None,
) -> Iterator[tuple[float, int, int]]:
    """(weight, hops, node) as they become final, each node again for every lower number of hops.

    Args:
        steps: Gets, by node and hops, the node before and the edge from it.
    """
    known: dict[int, Sequence[tuple[int, Edge]]] = {}
    fewest: dict[int, int] = {}  # node -> fewest hops of a path that was followed
    weights: dict[tuple[int, int], float] = {}  # (node, hops) -> greatest weight of those that wait
    heap: list[tuple[float, int, int]] = [(-1.0, 0, start)]
    while heap:
        weight, done, node = heapq.heappop(heap)
        if done >= fewest.get(node, hops + 1):
            continue
        fewest[node] = done
        yield -weight, done, node
        if done == hops:
            continue
        if node not in known:
            waiting = (each for _, at, each in heap if at < hops and each not in known)
            ask = {node, *islice(waiting, _TOGETHER)}
            found = edges.leaving(ask)
            known.update((each, found.get(each, ())) for each in ask)
        for target, edge in known[node]:
            at, product = (target, done + 1), -weight * edge.weight
            shorter = done + 1 < fewest.get(target, hops + 1)
            if shorter and edge.weight >= min_weight and product > weights.get(at, -1.0):
                weights[at] = product
                if steps is not None:
                    steps[at] = node, edge
                heapq.heappush(heap, (-product, done + 1, target))


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
    out: dict[int, Reached] = {}
    for weight, done, node in _settled(edges, start, hops, min_weight):
        if node != start:
            out.setdefault(node, Reached(node, weight, done))
        if len(out) == limit:
            break
    return list(out.values())


def best_path(edges: Adjacency, start: int, end: int, *, hops: int = 6) -> list[Edge] | None:
    """Edges of the path with the greatest product of weights, or None when none is short enough.

    From a node to itself it is the empty path.
    """
    steps: dict[tuple[int, int], tuple[int, Edge]] = {}
    for _, done, node in _settled(edges, start, hops, steps=steps):
        if node == end:
            path: list[Edge] = []
            for left in range(done, 0, -1):
                node, edge = steps[node, left]
                path.append(edge)
            return path[::-1]
    return None


def levels(edges: Adjacency, start: int, *, hops: int = 2) -> list[list[int]]:
    """Nodes by their distance in edges: ``levels(...)[0]`` is one edge away; ids ascending.

    Ends with the last level that has a node.
    """
    seen = {start}
    front: Collection[int] = (start,)
    out: list[list[int]] = []
    for _ in range(hops):
        found = edges.leaving(front)
        front = sorted({node for each in found.values() for node, _ in each} - seen)
        if not front:
            break
        seen.update(front)
        out.append(list(front))
    return out


# The edges of a store as walks take them: rows of edges, and the links that records hold.


@lru_cache(maxsize=8)
def _registry(kinds: tuple[RelationKind, ...]) -> tuple[Registry, frozenset[str]]:
    """The kinds of a store, not to be changed, and the names of the symmetric ones."""
    registry = Registry(kinds)
    return registry, frozenset(each.name for each in registry if each.symmetric)


class StoreEdges:
    """The edges of a store as a walk takes them: stored ones, and those of record links.

    Args:
        rows_of: looks up the rows of living memories.
        direction: ``out``, ``in`` or ``both``.
        kinds: names of kinds, also inverse ones; None for all.
        known: rows that need not be looked up.
        into: finds the record links that lead to memories; without it only those that memories
            hold themselves are seen.
        scope: that no edge leads out of.
    """

    def __init__(
        self,
        reader: KnowledgeReader,
        rows_of: Callable[[Collection[int]], Mapping[int, Row]],
        direction: str,
        kinds: Iterable[str] | None,
        known: Mapping[int, Row] | None = None,
        into: Callable[[Collection[int]], list[tuple[int, int, str]]] | None = None,
        scope: Scope = ANYBODY,
    ) -> None:
        self._reader = reader
        self._rows = rows_of
        self._known = known or {}
        self._into = into
        self._scope = scope
        registry, self._symmetric = _registry(tuple(reader.kinds()))
        self._ways = registry.names(kinds)
        self._direction = direction

    def leaving(self, ids: Collection[int]) -> Mapping[int, Sequence[tuple[int, Edge]]]:
        """The edges that leave each of these memories, with the other end."""
        out: dict[int, list[tuple[int, Edge]]] = {}
        kinds = None if self._ways is None else list(self._ways)
        for edge in (*self._reader.edges(ids, kinds=kinds), *self._links(ids)):
            way = self._way(edge.kind)
            if edge.source in ids and way in ("out", "both"):
                out.setdefault(edge.source, []).append((edge.target, edge))
            if edge.target in ids and way in ("in", "both"):
                out.setdefault(edge.target, []).append((edge.source, edge))
        if self._scope.is_open:
            return out
        rows = self._rows({other for ends in out.values() for other, _ in ends})
        within = {each for each, row in rows.items() if self._scope.holds(row)}
        return {each: [end for end in ends if end[0] in within] for each, ends in out.items()}

    def _way(self, kind: str) -> str:
        """Which ends an edge of a kind leaves: an inverse name walks against its direction."""
        if kind in self._symmetric:
            return "both"
        asked = "out" if self._ways is None else self._ways.get(kind, "")
        if self._direction == "both" or asked == "both":
            return "both" if asked else ""
        if self._direction == "in":
            return {"out": "in", "in": "out"}.get(asked, "")
        return asked

    def _links(self, ids: Collection[int]) -> list[Edge]:
        """``supersedes`` and ``derived_from`` edges that records hold themselves."""
        ways = {kind: self._way(kind) for kind in ("supersedes", "derived_from")}
        if not any(ways.values()):
            return []
        rows = self._known if self._known.keys() == set(ids) else self._rows(ids)
        pairs = [
            (row.id, other, kind)
            for row in rows.values()
            for kind, others in (
                ("supersedes", split_reserved_tags(row.tags).supersedes),
                ("derived_from", row.parents),
            )
            for other in others
        ]
        if self._into is not None and {"in", "both"} & set(ways.values()):
            pairs = list(dict.fromkeys([*pairs, *self._into(rows)]))
        if not pairs:
            return []
        others = {each for pair in pairs for each in pair[:2]} - set(rows)
        living = {**rows, **self._rows(others)}
        return [
            Edge(
                source=newer,
                target=older,
                kind=kind,
                created_at=from_ms(living[newer].recorded_ms),
                origin="parents" if kind == "derived_from" else "supersedes",
            )
            for newer, older, kind in pairs
            if ways[kind]
            and newer in living
            and older in living
            and living[older].user_id == living[newer].user_id
        ]


# Spreading activation: what comes to mind from a few memories.
#
# From the seeds activation flows along edges, less with every hop, first inside the layer where it
# is, then into the others. Each node passes it on once, when it is the strongest of those that wait:
# what arrives afterwards is not passed on again, and cycles end by themselves.


def activate(
    edges: Adjacency,
    seeds: Iterable[int],
    layer_of: Callable[[Iterable[int]], dict[int, str]],
    *,
    decay: float = 0.5,
    threshold: float = 0.05,
    hops: int = 3,
) -> Activation:
    """Activation of the nodes that the seeds reach, by layer, without the seeds.

    Args:
        edges: The graph; it should let edges leave both their ends.
        seeds: Nodes of activation 1.
        layer_of: Layers of nodes.
        decay: Factor of every hop.
        threshold: What stays below it is neither passed on nor returned.
        hops: Edges that activation follows at most.
    """
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
                flow = active[node] * edge.weight * decay
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


# PageRank of the memories of one scope.
#
# Rank flows along edges in proportion to their weights. A node without outgoing edges gives its rank
# to all nodes evenly. The number of rounds is fixed, so equal graphs have equal ranks whatever was
# computed before.


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


def ranks_by_user(
    reader: KnowledgeReader, tuning: KnowledgeConfig
) -> Iterator[tuple[str, EdgeArrays, npt.NDArray[np.float64]]]:
    """The edges of each user, "" for none, and the rank of each memory that has one."""
    symmetric = {each.name for each in Registry(reader.kinds()) if each.symmetric}
    by_user: dict[str, list[tuple[int, int, float, str, str | None]]] = {}
    for row in reader.edge_columns():
        by_user.setdefault(row[4] or "", []).append(row)
    for user, rows in sorted(by_user.items()):
        source, target, weight, kind, _ = zip(*rows, strict=True)
        table = EdgeArrays.make(
            np.array(source, np.int64),
            np.array(target, np.int64),
            np.array(weight),
            np.array([each in symmetric for each in kind]),
        )
        damping, rounds = tuning.pagerank_damping, tuning.pagerank_iterations
        yield user, table, pagerank(table, damping=damping, iterations=rounds)


def scaled(ranks: Mapping[int, float]) -> dict[int, float]:
    """Ranks as an importance in [0, 1]: ten times the rank, at most 1."""
    return {each: min(10.0 * rank, 1.0) for each, rank in ranks.items()}
