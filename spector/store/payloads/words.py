"""Words in rows of knowledge: what a search after an erasure looks for, and what may stay."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from spector.messages import counted
from spector.store.payloads.attachments import attached_texts
from spector.store.payloads.rows import rows_of, tables_in
from spector.store.payloads.sorts import SORTS, words_in
from spector.store.payloads.tables import PayloadTable

__all__ = ["owned_rows", "rows_naming", "words_of_row"]

#: fields of a fact and of an item whose texts name nothing that a person said
_NO_WORDS: Final = frozenset({"type", "sort", "modality", "origin"})


def owned_rows(
    db: sqlite3.Connection, ids: Collection[int], path: str = "the catalog"
) -> Iterator[tuple[PayloadTable, dict[str, Any]]]:
    """Every row that goes with one of these memories or items; some come twice.

    Raises:
        CatalogCorruptError: A row is not what was written.
    """
    for table in tables_in(db) if ids else ():
        for column in table.owners:
            for row in rows_of(db, table, {column: list(ids)}, path=path):
                yield table, row


def rows_naming(
    db: sqlite3.Connection, record_id: int
) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Table, values and fault of every row that goes with a memory or item, each once."""
    for table in (each for each in tables_in(db) if each.owners):
        where = " OR ".join(f"{column} = ?" for column in table.owners)
        ids = (record_id,) * len(table.owners)
        for stored in db.execute(f"SELECT * FROM {table.name} WHERE {where}", ids):
            row, problem = table.read(stored)
            row = {
                name: counted(len(value), "byte", commas=True) if type(value) is bytes else value
                for name, value in row.items()
            }
            if problem is None:
                row = {
                    column.name: json.loads(row[column.name])
                    if column.json and row[column.name] is not None
                    else row[column.name]
                    for column in table.columns
                }
            yield table.name, row, problem


def words_of_row(table: PayloadTable, row: Mapping[str, Any]) -> Iterator[str]:
    """Texts in a row that a person could read, and its JSON as it stands."""
    if table.name == "attachment":
        yield from attached_texts(row)
    for column in table.columns:
        value = row[column.name]
        if not column.words or not value:
            continue
        yield value
        if column.json and table.name == "payload":
            yield from words_in(row["sort"], value) if row["sort"] in SORTS else ()
        elif column.json:
            yield from _texts(json.loads(value), named=table.name == "edge")


def _texts(value: Any, *, named: bool) -> Iterator[str]:
    """Texts in a JSON value.

    Args:
        named: its keys are a caller's words, too.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, named=named)
    elif isinstance(value, dict):
        for key, each in value.items():
            if named:
                yield key
            if named or key not in _NO_WORDS:
                yield from _texts(each, named=named)
