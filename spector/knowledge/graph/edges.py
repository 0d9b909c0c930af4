"""The edges of a store as walks take them: rows of edges, and the links that records hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from spector.clock import from_ms
from spector.knowledge.graph.registry import Registry
from spector.knowledge.reader import KnowledgeReader
from spector.records import Edge, RelationKind
from spector.store.catalog import ANYBODY, Row, Scope, split_reserved_tags

__all__ = ["StoreEdges"]


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
