"""Fills in what records lack that rows alone made: details from payloads, and when they were read."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from spector.errors import CatalogCorruptError
from spector.records import Details, MemoryRecord, complete, details_of
from spector.store.catalog import Catalog, Row
from spector.store.payloads import described, detail_tables, entries_of

__all__ = ["complete_records", "details_in", "is_of_one_moment"]


def details_in(catalog: Catalog, ids: Sequence[int]) -> dict[int, Details]:
    """The details of those memories that have any.

    Raises:
        CatalogCorruptError: a row of them is not what was written.
    """
    with catalog.reading() as db:
        names = _tables_of(catalog, db) if ids else ()
        if not names:
            return {}
        entries = entries_of(db, ids, catalog.path) if "entry" in names else {}
        for row in entries.values() if catalog.ends.noted else ():
            row["expires_ms"] = catalog.ends.end_of(row)
        payloads: dict[int, dict[str, dict[str, Any]]] = {}
        if "payload" in names:
            payloads = described(db, ids, catalog.path)
    found = {
        each: details_of(payloads.get(each, {}), entries.get(each), catalog.attachments)
        for each in {*payloads, *entries}
    }
    return {each: some for each, some in found.items() if some is not None}


def _tables_of(catalog: Catalog, db: sqlite3.Connection) -> Collection[str]:
    """Which of the tables of details a catalog has.

    Only the writer makes tables. Between two of its commits it knows them without asking; a
    snapshot may be older than what it knows, and is asked.
    """
    stamp = None if db.in_transaction else catalog.changes()
    if stamp is not None and catalog.tables_then[0] == stamp:
        return catalog.tables_then[1]
    found = detail_tables(db)
    if stamp is not None and catalog.changes() == stamp:
        catalog.tables_then = stamp, found
    return found


def is_of_one_moment(catalog: Catalog, record: MemoryRecord, row: Row) -> bool:
    """Whether a record that is complete has the revision of its row, and not of a later one.

    The two are read one after the other; who compares and swaps relies on both.
    """
    return record.key is None or catalog.fetch([row.id]) == {row.id: row}


def complete_records(
    catalog: Catalog,
    records: Sequence[MemoryRecord],
    read_ms: int | None = None,
    *,
    leniently: bool = False,
) -> None:
    """Fill in the details of records that were just made, and when they were read.

    Args:
        leniently: a memory whose details are damaged stays without them instead of raising.
    """
    ids = [record.id for record in records]
    try:
        found = details_in(catalog, ids)
    except CatalogCorruptError:
        if not leniently:
            raise
        found = {}
        if len(records) > 1:
            for record in records:
                complete_records(catalog, [record], leniently=True)
    for record in records:
        complete(record, found.get(record.id), read_ms)
