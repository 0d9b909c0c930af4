"""A finished change set: the memories and rows of knowledge that one commit holds, or nothing.

Deciders and facets propose; only the write path commits. What a change needs the id of a memory
that is not stored yet for, it names by :class:`New`, the number of the memory in this change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spector.store.payloads import (
    PayloadTable,
    compact_json,
    decode,
    encode,
    table_named,
)


@dataclass(frozen=True, slots=True)
class New:
    """Stands for the id of the nth memory, or the nth item, that a change makes."""

    n: int
    #: an item (entity, association, kind of relation) instead of a memory
    item: bool = False


@dataclass(slots=True)
class Changes:
    """What one commit changes, in the order: forgotten, dropped, stored, put, strengthened."""

    #: numbers of the prepared memories to store; the others are left out
    store: list[int] = field(default_factory=list)
    #: items to make: their ids are taken in the commit
    items: int = 0
    puts: list[tuple[PayloadTable, Mapping[str, Any]]] = field(default_factory=list)
    drops: list[tuple[PayloadTable, Sequence[Any]]] = field(default_factory=list)
    #: ids of memories and items to remove with all that depends on them
    forget: set[int] = field(default_factory=set)
    #: memory -> the memories that it supersedes
    supersedes: dict[New, tuple[int, ...]] = field(default_factory=dict)

    def put(self, table: str, **row: Any) -> None:
        """Put a row; values may be :class:`New`."""
        self.puts.append((table_named(table), row))

    def drop(self, table: str, *key: Any) -> None:
        """Delete a row by its key."""
        self.drops.append((table_named(table), key))

    def payload(self, memory: int | New, sort: str, fields: Mapping[str, Any]) -> None:
        """Put the payload of a memory."""
        self.put("payload", id=memory, sort=sort, json=encode(sort, fields))

    def dreamt(self, memory: int | New, **about: Any) -> None:
        """Have a memory say that sleep made it, and goes with its sources."""
        self.payload(memory, "observed", {"write_source": "dream", **about})

    def item(self, item: int | New, sort: str, scope: str, about: Mapping[str, Any]) -> None:
        """Put an item: an entity, an association, a kind of relation, a predicate."""
        self.put("item", item_id=item, sort=sort, scope=scope, json=compact_json(dict(about)))

    def name(self, scope: str, sort: str, folded: str, of: int | New) -> None:
        """Have a folded name lead to a memory or an item."""
        self.put("name", scope=scope, sort=sort, folded=folded, id=of)

    def link(
        self, a: int | New, kind: str, b: int | New, n: int | None = None, t_ms: int | None = None
    ) -> None:
        """Put a link of ``a`` to a memory: a source, a mention, a reference, evidence, a pair."""
        self.put("link", a=a, kind=kind, b=b, n=n, t_ms=t_ms)

    def tie(
        self,
        source: int | New,
        kind: str,
        target: int | New,
        origin: str,
        now_ms: int,
        weight: float = 1.0,
        confidence: float | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> None:
        """Put an edge between two memories; it is as sure as it is strong by default."""
        self.put(
            "edge",
            source_id=source,
            kind=kind,
            target_id=target,
            weight=weight,
            confidence=weight if confidence is None else confidence,
            origin=origin,
            created_ms=now_ms,
            note=None if note is None else compact_json(dict(note)),
        )

    def new_item(self) -> New:
        """The placeholder of one more item."""
        self.items += 1
        return New(self.items - 1, item=True)

    def add(self, other: Changes) -> None:
        """Take over what another change set changes; its items are counted on from one's own."""
        before, self.items = self.items, self.items + other.items
        self.store += other.store
        self.puts += [(table, _counted_on(row, before)) for table, row in other.puts]
        self.drops += other.drops
        self.forget |= other.forget
        self.supersedes |= other.supersedes

    def sorts_of(self, memory: int | New) -> set[str]:
        """Sorts of the payloads that a memory gets; a fact counts as one."""
        return {
            row["sort"] if table.name == "payload" else "fact"
            for table, row in self.puts
            if table.name in ("payload", "fact") and row["id"] == memory
        }

    def is_derived(self, memory: int | New) -> bool:
        """Whether a memory repeats others; see `is_derived`."""
        rows = [(table.name, row) for table, row in self.puts]
        return is_derived(
            self.sorts_of(memory),
            any(
                (name, row.get("a"), row.get("kind")) == ("link", memory, "source")
                for name, row in rows
            ),
            any(
                (name, row.get("id"), row.get("sort")) == ("payload", memory, "observed")
                and decode("observed", row["json"])[0]["write_source"] == "dream"
                for name, row in rows
            ),
        )

    def resolved(
        self, ids: Mapping[int, int], items: Sequence[int]
    ) -> Iterable[tuple[PayloadTable, dict[str, Any]]]:
        """Rows to put, with ids for placeholders.

        Args:
            ids: number of a stored memory -> its id.
            items: ids of the items made.
        """
        for table, row in self.puts:
            yield table, {name: _resolved(value, ids, items) for name, value in row.items()}

    def __bool__(self) -> bool:
        return bool(self.store or self.items or self.puts or self.drops or self.forget)


def is_derived(sorts: Collection[str], has_source: bool, is_dreamt: bool) -> bool:
    """Whether a memory repeats others: a statistic, what a night made, a fact with a source.

    Procedures and learnings of nights are found by what they are for, and stand for nothing.
    """
    if "fact" in sorts:
        return has_source
    stands_alone = "procedure" in sorts or "learning" in sorts
    return "statistic" in sorts or (is_dreamt and not stands_alone)


def _counted_on(row: Mapping[str, Any], before: int) -> Mapping[str, Any]:
    """A row whose placeholders of items begin behind so many others."""
    if not before:
        return row
    return {
        name: replace(value, n=value.n + before) if isinstance(value, New) and value.item else value
        for name, value in row.items()
    }


def _resolved(value: Any, ids: Mapping[int, int], items: Sequence[int]) -> Any:
    if not isinstance(value, New):
        return value
    return items[value.n] if value.item else ids[value.n]
