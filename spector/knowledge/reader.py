"""Rows of knowledge, read in one moment of the catalog, as the questions that facets ask."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spector.clock import from_ms
from spector.errors import CatalogCorruptError
from spector.records import Edge, RelationKind
from spector.store.payloads import (
    Connection,
    count_named,
    count_of,
    damaged_row,
    decode,
    described,
    detail_tables,
    edge_columns,
    edge_counts,
    entries_of,
    greatest,
    has_tables,
    keys_below,
    last_id_of,
    living_among,
    mentioning_after,
    owners_of,
    rows_of,
    scopes_of_names,
    table_named,
)


class Owner(NamedTuple):
    """Where a memory belongs."""

    #: code of its tier; None when its partition is unknown
    tier: int | None
    #: user, "" for none
    scope: str
    session: str | None
    event_ms: int


_OF_KIND = frozenset(RelationKind.__slots__)
#: the part of a key of which many rows of one change differ
_SPREAD = {"payload": 0, "fact": 0, "item": 0, "name": 3, "edge": 2, "link": 2}
#: scopes that are looked up one by one; of more, every name is read
_MOST_SCOPES = 64
#: columns of an edge that name its ends
_ENDS = ("source_id", "target_id")


class KnowledgeReader:
    """What one moment of a catalog knows.

    Args:
        db: A connection, in a snapshot or in the transaction that will change something.
        path: Where the catalog is, for errors.
        tables: Which tables of details there are in that moment, if the caller knows.
    """

    def __init__(self, db: Connection, path: str, tables: Collection[str] | None = None) -> None:
        self._db = db
        self._path = path
        self._names = tables

    def _rows(
        self, table: str, conditions: Mapping[str, Any], **how: Any
    ) -> Iterator[dict[str, Any]]:
        if not self.holds_any:
            return iter(())
        known = table_named(table)
        return rows_of(self._db, known, conditions, path=self._path, is_there=True, **how)

    def _count(self, table: str, **conditions: Any) -> int:
        return count_of(self._db, table_named(table), conditions)

    @property
    def holds_any(self) -> bool:
        """Whether this store ever held knowledge; without, every answer is empty."""
        return "payload" in self._tables

    @property
    def _tables(self) -> Collection[str]:
        if self._names is None:
            self._names = detail_tables(self._db)
        return self._names

    def damaged(self, table: str, row: Mapping[str, Any], problem: str) -> CatalogCorruptError:
        """The error of a row that says what no row of its sort says."""
        return damaged_row(table_named(table), row, problem, self._path)

    def entries(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """The entries of memories that have one: their keys."""
        return entries_of(self._db, ids, self._path) if "entry" in self._tables else {}

    def payloads_after(self, sort: str, after_id: int, limit: int) -> dict[int, dict[str, Any]]:
        """Fields of the payloads of one sort, of the first memories after an id."""
        return self._decoded(sort, {}, least={"id": after_id + 1}, order="id", limit=limit)

    def owners(self, ids: Collection[int]) -> dict[int, Owner]:
        """Tier, scope, session and time of those memories that exist."""
        return {each[0]: Owner(*each[1:]) for each in owners_of(self._db, ids)}

    @property
    def last_id(self) -> int:
        """The greatest id that a memory or an item was given so far."""
        return last_id_of(self._db)

    def reference_count(self, concept: int, layer: str) -> int:
        """How many memories of a layer a concept refers to."""
        wanted = {"kind": f"reference:{layer}", "a": concept}
        return self._count("link", **wanted) - self._count("link", **wanted, n=None)

    def mentioning_after(self, after_id: int, limit: int) -> list[int]:
        """The first memories after an id that mention an entity, ascending."""
        return mentioning_after(self._db, after_id, limit) if self.holds_any else []

    def has_observed(self) -> bool:
        """Whether a message was ever observed."""
        return next(self._rows("payload", {"sort": "observed"}, limit=1), None) is not None

    def _has(self, table: str) -> bool:
        """Whether there is this table, which is made when the first night needs it."""
        return self.holds_any and has_tables(self._db, table)

    def sleep_state(self) -> dict[str, Any] | None:
        """Where sleep has come to; None in a store that never slept."""
        return (
            next(self._rows("sleep_state", {"one": 1}), None) if self._has("sleep_state") else None
        )

    def cycle_changes(
        self, what: str | None = None, cycle: int | None = None
    ) -> list[dict[str, Any]]:
        """What cycles have changed, in order; of one kind, or of one cycle."""
        if not self._has("cycle_change"):
            return []
        wanted = {"what": what, "cycle": cycle}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        return sorted(
            (
                row | {"before": json.loads(row["before"])}
                for row in self._rows("cycle_change", wanted)
            ),
            key=lambda row: (row["cycle"], row["ordinal"]),
        )

    def last_ordinal(self, cycle: int) -> int:
        """The number of the last change of a cycle; -1 without any."""
        if not self._has("cycle_change"):
            return -1
        return greatest(self._db, table_named("cycle_change"), "ordinal", {"cycle": cycle})

    def ordinals_before(self, cycle: int) -> list[tuple[int, int]]:
        """Keys of the changes of earlier cycles."""
        if not self._has("cycle_change"):
            return []
        return keys_below(self._db, table_named("cycle_change"), "cycle", cycle)

    def living(self, ids: Collection[int]) -> set[int]:
        """Which of these memories are there in this moment."""
        return living_among(self._db, ids)

    # -- payloads -----------------------------------------------------------------------------

    def payloads(self, ids: Collection[int], sort: str) -> dict[int, dict[str, Any]]:
        """Fields of the payloads of one sort, by memory."""
        return self._decoded(sort, {"id": list(ids)})

    def all_payloads(self, sort: str) -> dict[int, dict[str, Any]]:
        """The same of every memory that has one."""
        return self._decoded(sort, {})

    def _decoded(
        self, sort: str, conditions: Mapping[str, Any], **how: Any
    ) -> dict[int, dict[str, Any]]:
        rows = self._rows("payload", {**conditions, "sort": sort}, **how)
        return {row["id"]: decode(sort, row["json"])[0] for row in rows}

    def payload_fields(self, ids: Collection[int]) -> dict[int, dict[str, dict[str, Any]]]:
        """Sort -> the fields of that payload as its row keeps them, by memory."""
        out: dict[int, dict[str, dict[str, Any]]] = {}
        for row in self._rows("payload", {"id": list(ids)}):
            out.setdefault(row["id"], {})[row["sort"]] = json.loads(row["json"])
        return out

    def payloads_of(self, ids: Collection[int]) -> dict[int, dict[str, dict[str, Any]]]:
        """Fields of every payload of memories, by memory and sort; none of a fact."""
        return described(self._db, [*ids], self._path) if self.holds_any else {}

    def sorts(self, ids: Collection[int]) -> dict[int, set[str]]:
        """Which payloads memories have; a fact counts as one."""
        out: dict[int, set[str]] = {}
        for row in self._rows("payload", {"id": list(ids)}):
            out.setdefault(row["id"], set()).add(row["sort"])
        for row in self._rows("fact", {"id": list(ids)}):
            out.setdefault(row["id"], set()).add("fact")
        return out

    def rows_at(
        self, keys: Collection[tuple[str, tuple[Any, ...]]]
    ) -> dict[tuple[str, tuple[Any, ...]], dict[str, Any]]:
        """Those rows that there are, by table and key."""
        wanted: dict[tuple[str, tuple[Any, ...]], set[Any]] = {}
        for name, key in keys:
            at = _SPREAD[name]
            wanted.setdefault((name, (*key[:at], *key[at + 1 :])), set()).add(key[at])
        out = {}
        for (name, rest), some in wanted.items():
            table, at = table_named(name), _SPREAD[name]
            columns = [each for n, each in enumerate(table.key) if n != at]
            conditions = dict(zip(columns, rest, strict=True)) | {table.key[at]: sorted(some)}
            for row in self._rows(name, conditions):
                out[name, tuple(row[each] for each in table.key)] = row
        return out

    # -- facts --------------------------------------------------------------------------------

    def facts(self, *, scope: str | None = None, **conditions: Any) -> list[dict[str, Any]]:
        """Rows of facts, their JSON taken apart, oldest first; of one scope or of all."""
        rows = self._rows("fact", _of(scope) | conditions)
        found = [row | {"json": json.loads(row["json"])} for row in rows]
        return sorted(found, key=lambda row: row["id"])

    def sources(self, facts: Collection[int]) -> dict[int, tuple[int, ...]]:
        """The memories that state each fact, in the order in which they came."""
        found: dict[int, list[tuple[int, int]]] = {}
        for row in self._rows("link", {"kind": "source", "a": list(facts)}):
            found.setdefault(row["a"], []).append((row["n"] or 0, row["b"]))
        return {fact: tuple(b for _, b in sorted(each)) for fact, each in found.items()}

    # -- items and names ----------------------------------------------------------------------

    def items(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        return self._items({"item_id": list(ids)})

    def items_of(self, sort: str, scope: str | None = None) -> dict[int, dict[str, Any]]:
        """Items of a sort, of one scope or of all."""
        return self._items({"sort": sort} | _of(scope))

    def _items(self, conditions: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
        return {
            row["item_id"]: row | {"json": json.loads(row["json"])}
            for row in self._rows("item", conditions)
        }

    def named(
        self, folded: str | Collection[str], sorts: Collection[str], scope: str | None = None
    ) -> list[dict[str, Any]]:
        """Rows of ``name``: what has one of these folded names."""
        return list(self._rows("name", {"sort": list(sorts), "folded": folded} | _of(scope)))

    def all_names(
        self, sorts: Collection[str], scope: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Every row of ``name`` of these sorts."""
        return self._rows("name", {"sort": list(sorts)} | _of(scope))

    def named_within(
        self, folded: Collection[str], sorts: Collection[str], scope: str | None
    ) -> list[dict[str, Any]]:
        """The same of one scope, or of all that there are, which are looked up one by one."""
        scopes = [scope] if scope is not None else scopes_of_names(self._db, _MOST_SCOPES)
        if scopes is None:
            return self.named(folded, sorts)
        return [row for each in scopes for row in self.named(folded, sorts, each)]

    def names_of(self, ids: Collection[int]) -> dict[int, list[dict[str, Any]]]:
        """Rows of ``name`` by what they name."""
        out: dict[int, list[dict[str, Any]]] = {}
        for row in self._rows("name", {"id": list(ids)}):
            out.setdefault(row["id"], []).append(row)
        return out

    # -- edges and links ----------------------------------------------------------------------

    def edges(
        self, ids: Collection[int], *, direction: str = "both", kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Stored edges that touch memories, each once."""
        ends = {"out": _ENDS[:1], "in": _ENDS[1:]}.get(direction, _ENDS)
        return self._edges([{end: list(ids)} for end in ends], kinds)

    def _edges(
        self, conditions: Iterable[Mapping[str, Any]], kinds: Collection[str] | None, **how: Any
    ) -> list[Edge]:
        """Edges that meet one of the conditions, by their key."""
        wanted = {} if kinds is None else {"kind": list(kinds)}
        found: dict[tuple[int, str, int], Edge] = {}
        for each in conditions:
            for row in self._rows("edge", {**wanted, **each}, **how):
                found[row["source_id"], row["kind"], row["target_id"]] = edge_of(row)
        return [found[key] for key in sorted(found)]

    def edge(self, source: int, kind: str, target: int) -> Edge | None:
        """The edge of a kind from one memory to another; None without one."""
        key = {"source_id": source, "kind": kind, "target_id": target}
        return next(map(edge_of, self._rows("edge", key)), None)

    def strong_edges(
        self,
        ids: Collection[int],
        least: float,
        *,
        kinds: Collection[str] | None = None,
        most: int = 64,
    ) -> list[Edge]:
        """Stored edges of at least a weight, the ``most`` heaviest of each id and end."""
        order = "weight DESC, source_id, target_id"
        each_end = [{end: each} for each in ids for end in _ENDS]
        return self._edges(each_end, kinds, order=order, limit=most, least={"weight": least})

    def mention_counts(self, entities: Collection[int]) -> dict[int, int]:
        """How many memories mention each entity."""
        return {each: self._count("link", kind="mention", a=each) for each in entities}

    def links_between(
        self, kind: str, a: Collection[int], b: Collection[int]
    ) -> list[dict[str, Any]]:
        """Ties of a kind from one of few ``a`` to one of many ``b``."""
        return [
            row for each in a for row in self._rows("link", {"kind": kind, "a": each, "b": list(b)})
        ]

    def edge_columns(self) -> list[tuple[int, int, float, str, str | None]]:
        """Every edge as (source, target, weight, kind, user), for computations over all."""
        return edge_columns(self._db)

    def links(
        self, kind: str, *, a: Collection[int] | None = None, b: Collection[int] | None = None
    ) -> list[dict[str, Any]]:
        """Ties of a kind from ``a``, or to ``b``."""
        conditions: dict[str, Any] = {"kind": kind}
        if a is not None:
            conditions["a"] = list(a)
        if b is not None:
            conditions["b"] = list(b)
        return list(self._rows("link", conditions))

    def link_kinds(self, ids: Collection[int]) -> list[dict[str, Any]]:
        """Ties of every kind that touch one of these ids."""
        found = [*self._rows("link", {"a": list(ids)}), *self._rows("link", {"b": list(ids)})]
        return list({(row["a"], row["kind"], row["b"]): row for row in found}.values())

    def references(self, ids: Collection[int]) -> list[dict[str, Any]]:
        """References that touch one of these ids: of concepts, and to memories."""
        return [row for row in self.link_kinds(ids) if row["kind"].startswith("reference:")]

    def kinds(self) -> list[RelationKind]:
        """Relations that callers have registered."""
        rows = [row["json"] for _, row in sorted(self.items_of("relation_kind").items())]
        known = [{name: row[name] for name in row.keys() & _OF_KIND} for row in rows]
        return [RelationKind(**{"origin": "agent", **each}) for each in known]

    # -- counts -------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Rows by sort: payloads, facts, entities, edges, pairs."""
        sorts = ("procedure", "learning", "concept", "statistic", "episode")
        return {
            **{each: self._count("payload", sort=each) for each in sorts},
            "fact": self._count("fact"),
            "held_fact": self._count("fact", holds=1),
            "entity": count_named(self._db) if self.holds_any else 0,
            "edge": self._count("edge"),
            "pair": self._count("link", kind="pair"),
        }

    def graph_size(self) -> tuple[int, dict[str, int]]:
        """How many memories have a stored edge, and how many edges of each kind there are."""
        return edge_counts(self._db)


def _of(scope: str | None) -> dict[str, Any]:
    """The condition of a scope; None for all."""
    return {} if scope is None else {"scope": scope}


def edge_of(row: Mapping[str, Any]) -> Edge:
    """The edge of a row."""
    return Edge(
        source=row["source_id"],
        target=row["target_id"],
        kind=row["kind"],
        weight=row["weight"],
        confidence=row["confidence"],
        origin=row["origin"],
        created_at=from_ms(row["created_ms"]),
        note=None if row["note"] is None else json.loads(row["note"]),
    )


def ids_in(rows: Iterable[Mapping[str, Any]], column: str) -> Sequence[int]:
    """One column of rows, each value once, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))
