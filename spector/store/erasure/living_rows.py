"""What living memories and rows of knowledge hold, as bytes, in short stretches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from spector.store.core import Store
from spector.store.payloads import KNOWLEDGE, PayloadTable, tables_in

__all__ = ["JSON_COLUMNS", "NO_MEMORY", "Stretch", "living_stretches"]

#: memories and bytes that one read of the catalog takes at most; one memory is always read whole
_AT_ONCE: Final = 2000
_BYTES_AT_ONCE: Final = 8 << 20

#: in column order, because the values of a row are adjacent and a piece may span several; as bytes,
#: because a damaged value may not be text
_CONTENT: Final = ("text", "tags", "metadata", "content.role", "content.source", "parents")
_RECORD: Final = ("session_id", "agent_id", "user_id")
#: columns that hold JSON, and the characters that JSON escapes
JSON_COLUMNS: Final = frozenset({"tags", "metadata", "parents", "json", "note"})
_MEMORIES: Final = f"""
SELECT record.id, {", ".join(f"CAST({name} AS BLOB)" for name in (*_CONTENT, *_RECORD))}
  FROM record JOIN content ON content.id = record.id
 WHERE record.id > ? ORDER BY record.id LIMIT {_AT_ONCE}"""
#: stands for the memory of a row that belongs to none, like a registered relation
NO_MEMORY: Final = -1


class Stretch(NamedTuple):
    """Some rows of one kind."""

    #: names of the values
    names: tuple[str, ...]
    #: (memory, values)
    rows: list[tuple[int, list[bytes]]]
    #: values before this one are adjacent in the file, and so are the others
    cut: int


def living_stretches(store: Store) -> Iterator[Stretch]:
    """Every living memory by ascending id, then every row of knowledge."""
    yield from _memories(store)
    with store.catalog.reading() as db:
        tables = tables_in(db)
    for table in tables:
        yield from _knowledge(store, table)


def _memories(store: Store) -> Iterator[Stretch]:
    after = -1
    while True:
        rows: list[tuple[int, list[bytes]]] = []
        room = _BYTES_AT_ONCE
        with (
            store.catalog.reading() as db,
            contextlib.closing(db.execute(_MEMORIES, (after,))) as found,
        ):
            for record_id, *values in found:
                rows.append((record_id, [value or b"" for value in values]))
                room -= sum(map(len, rows[-1][1]))
                if room <= 0:
                    break
        if not rows or rows[-1][0] <= after:  # a damaged key, which check reports
            return
        after = rows[-1][0]
        yield Stretch((*_CONTENT, *_RECORD), rows, len(_CONTENT))


def _knowledge(store: Store, table: PayloadTable) -> Iterator[Stretch]:
    """The texts and bytes of a table; a row of an entity counts as its first mention's."""
    names = tuple(each.name for each in table.columns if each.kind in (str, bytes))
    # numbers of sleep belong to no memory
    owner = f"{table.name}.{table.owners[0]}" if table.owners else str(NO_MEMORY)
    # an item is of no memory itself; only tables of knowledge may name one
    of_item = f" (SELECT min(b) FROM link WHERE a = {owner}),"
    if table.group != KNOWLEDGE:
        of_item = ""
    keys = ", ".join(table.key)
    marks = ", ".join("?" * len(table.key))
    sql = (
        f"SELECT coalesce((SELECT id FROM record WHERE id = {owner}),{of_item} {NO_MEMORY}),"
        f" {keys}, {', '.join(f'CAST({name} AS BLOB)' for name in names)} FROM {table.name}"
    )
    after: tuple[object, ...] | None = None
    while True:
        where = "" if after is None else f" WHERE ({keys}) > ({marks})"
        rows: list[tuple[int, list[bytes]]] = []
        room = _BYTES_AT_ONCE
        with (
            store.catalog.reading() as db,
            contextlib.closing(
                db.execute(f"{sql}{where} ORDER BY {keys} LIMIT {_AT_ONCE}", after or ())
            ) as found,
        ):
            for memory, *values in found:
                after = tuple(values[: len(table.key)])
                rows.append((memory, [value or b"" for value in values[len(table.key) :]]))
                room -= sum(map(len, rows[-1][1]))
                if room <= 0:
                    break
        if not rows:
            return
        yield Stretch(names, rows, len(names))
