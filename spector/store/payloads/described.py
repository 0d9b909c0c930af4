"""What the payload tables say of memories: one query for payloads and facts, each row proved."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from spector.store.payloads.rows import damaged_row
from spector.store.payloads.schema import table_named
from spector.store.payloads.sorts import SORTS, decode

__all__ = ["described"]

#: variables of one statement and half of it; older builds of SQLite allow 999
_MOST: Final = 450


def described(
    db: sqlite3.Connection, ids: Sequence[int], path: str
) -> dict[int, dict[str, dict[str, Any]]]:
    """Memory -> sort -> the fields of its payload of that sort; a fact has the sort ``fact``.

    The catalog has the tables.

    Raises:
        CatalogCorruptError: A row is not what was written.
    """
    tables = table_named("fact"), table_named("payload")
    out: dict[int, dict[str, dict[str, Any]]] = {}
    for start in range(0, len(ids), _MOST):
        part = ids[start : start + _MOST]
        for is_payload, *stored in db.execute(_sql(len(part)), [*part, *part]):
            table = tables[is_payload]
            row, problem = table.read(stored[: len(table.names) + 1])
            if problem is not None:
                raise damaged_row(table, row, problem, path)
            if not is_payload:
                out.setdefault(row["id"], {})["fact"] = {}
            elif row["sort"] in SORTS:  # a newer version may know more
                out.setdefault(row["id"], {})[row["sort"]] = decode(row["sort"], row["json"])[0]
    return out


@cache
def _sql(count: int) -> str:
    """The rows of both tables for some ids, padded to one width."""
    marks = ", ".join("?" * count)
    fact, payload = table_named("fact"), table_named("payload")
    padding = ", NULL" * (len(fact.names) - len(payload.names))
    return (
        f"SELECT 1, payload.*{padding} FROM payload WHERE id IN ({marks})"
        f" UNION ALL SELECT 0, fact.* FROM fact WHERE id IN ({marks})"
    )
