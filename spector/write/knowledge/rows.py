"""Rows of a change set, as part of the transaction that stores its memories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from spector.knowledge import Changes, KnowledgeReader, plan_lost_mentions
from spector.store.core import Store, Transaction
from spector.store.payloads import delete_owned, delete_rows, make_tables, put_rows

__all__ = ["Changes", "apply_changes", "changes_of_names", "words_in"]


def apply_changes(
    tx: Transaction, changes: Changes, ids: Mapping[int, int], items: Sequence[int]
) -> None:
    """Delete and put the rows of a change set; the tables are made when the first row needs them.

    Args:
        ids: number of a memory that this commit stores -> its id.
        items: ids of the items that it makes.
    """
    db = tx.connection
    delete_owned(db, changes.forget)
    if changes.puts:
        make_tables(db)
    for table, key in changes.drops:
        delete_rows(db, table, [key])
    for table, row in changes.resolved(ids, items):
        put_rows(db, table, [row])


def changes_of_names(
    reader: KnowledgeReader, gone: Collection[int], dead: Collection[int], store: Store
) -> Changes:
    """What entities that were merged lose with memories; see `plan_lost_mentions`."""
    changes = Changes()
    plan_lost_mentions(reader, changes, gone, dead, words_in(store))
    return changes


def words_in(store: Store) -> Callable[[Collection[int]], Mapping[int, str]]:
    """What tells the words of memories of a store."""

    def words(ids: Collection[int]) -> dict[int, str]:
        rows = store.catalog.fetch(sorted(ids))
        return {each: row.text for each, row in rows.items() if row.text}

    return words
