"""What is attached to memories: one row each, which nothing reads that does not ask for it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from spector.records import Attached
from spector.store.payloads.rows import delete_rows, has_tables, make_tables, put_rows, rows_of
from spector.store.payloads.schema import KEYS, table_named

__all__ = ["attached_texts", "attachment_of", "drop_attachments", "put_attachments"]

_ATTACHMENT: Final = table_named("attachment")


def put_attachments(db: sqlite3.Connection, attached: Mapping[int, Attached]) -> None:
    """Write what is attached to memories, in place of what was; their entries say how much."""
    make_tables(db, KEYS)
    put_rows(
        db,
        _ATTACHMENT,
        (
            {"id": record_id, "form": each.form, "data": each.data}
            for record_id, each in attached.items()
        ),
    )


def drop_attachments(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete what is attached to memories."""
    if has_tables(db, _ATTACHMENT.name):
        delete_rows(db, _ATTACHMENT, [(each,) for each in ids])


def attachment_of(
    db: sqlite3.Connection, record_id: int, where: str = "the catalog"
) -> Attached | None:
    """What is attached to a memory; None for nothing.

    Raises:
        CatalogCorruptError: It is not what was written.
    """
    for row in rows_of(db, _ATTACHMENT, {"id": record_id}, path=where):
        return Attached(row["form"], row["data"])
    return None


def attached_texts(row: Mapping[str, Any]) -> Iterator[str]:
    """The texts in the row of an attachment that is JSON, and the names of its fields."""
    if row["form"] != "json":
        return
    try:
        waiting = [json.loads(row["data"])]
    except (ValueError, RecursionError):  # a search after an erasure has its bytes still
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
