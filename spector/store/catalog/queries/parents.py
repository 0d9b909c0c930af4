"""Which memories were made of which: the parents that a memory names itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator

from spector.store.catalog.catalog import Catalog
from spector.store.catalog.queries.supersession import successors

__all__ = ["RecordLinks", "parents_after"]


class RecordLinks:
    """The links that memories hold themselves, found from the memory that they lead to.

    Which memories name a parent is read once, and after that from newer memories only.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        #: parent -> its children; every memory up to this id has been read
        self._children: dict[int, dict[int, None]] = {}
        self._read_to = -1

    def into(self, ids: Collection[int]) -> list[tuple[int, int, str]]:
        """(newer memory, one of ``ids``, kind) of each link that leads to one of these."""
        ended = successors(self._catalog, sorted(ids))
        found = [(newer, each, "supersedes") for each in ended for newer in ended[each]]
        with self._catalog.reading() as db:
            (last,) = db.execute("SELECT max(id) FROM content").fetchone()
            if last is not None and last > self._read_to:
                for child, parent in parents_after(db, self._read_to):
                    self._children.setdefault(parent, {})[child] = None
                self._read_to = max(last, self._read_to)
        found += [
            (child, each, "derived_from")
            for each in ids
            for child in tuple(self._children.get(each, ()))
        ]
        return found


def parents_after(db: sqlite3.Connection, after_id: int = -1) -> Iterator[tuple[int, int]]:
    """(memory, parent) of each memory with a greater id, by ascending id of the memory."""
    sql = "SELECT id, parents FROM content WHERE id > ? AND parents IS NOT NULL ORDER BY id"
    for record_id, parents in db.execute(sql, (after_id,)):
        try:
            found = json.loads(parents)
        except (ValueError, RecursionError):  # damage, which check reports
            continue
        for parent in found if isinstance(found, list) else ():
            if isinstance(parent, int):
                yield record_id, parent
