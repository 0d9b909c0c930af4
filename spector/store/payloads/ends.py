"""Memories that expire: past its end every read leaves one out, before anything is written."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from spector.errors import CatalogCorruptError
from spector.store.payloads.entries import entries_of, put_entries
from spector.store.payloads.rows import has_tables

__all__ = ["Ends", "Noted", "expired_by_tier", "expired_ids", "holds_ends"]


class Noted(NamedTuple):
    """An end that a use has given to a memory, and the revision that it had."""

    expires_ms: int
    revision: int


class Ends:
    """What the reads of one catalog need to know of ends."""

    def __init__(self) -> None:
        #: any memory is known to have an end
        self.any = False
        #: one is about to get an end, or has got it and that has not been read yet
        self.are_due = False
        #: looks whether any memory of the catalog has an end
        self.look: Callable[[], bool] = bool
        #: the time; None shows every memory, as a check of the files does
        self.now_ms: Callable[[], int] | None = None
        #: finds what is derived from nothing but some memories of a catalog at a path
        self.derived: Callable[[sqlite3.Connection, str, Collection[int]], Collection[int]] | None
        self.derived = None
        #: looks that up for the memories of entries that satisfy a condition
        self.look_along: Callable[[str, int], Collection[int]] = lambda sql, now_ms: ()
        #: memory -> the end that a use has given it, which waits for the next commit
        self.noted: dict[int, Noted] = {}
        self._thread = threading.local()

    def are_there(self) -> bool:
        """Whether any memory has an end."""
        if self.are_due and not self.any:
            self.any = self.look()
        return self.any

    def alive(self, table: str = "record") -> tuple[str, tuple[Any, ...]]:
        """SQL to add to a condition over a table with ids, and its values; mostly nothing."""
        over = self.over()
        if over is None:
            return "", ()
        sql, params = over
        alive = f" AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.id = {table}.id AND {sql})"
        if along := self.along():
            alive += f" AND {table}.id NOT IN (SELECT value FROM json_each(?))"
            return alive, (*params, json.dumps(sorted(along)))
        return alive, params

    def ended(self) -> tuple[str, tuple[Any, ...]] | None:
        """SQL for the ids that `alive` leaves out, and its values; None for none."""
        over = self.over()
        if over is None:
            return None
        sql, params = over
        ended = f"SELECT id FROM entry WHERE {sql} UNION SELECT value FROM json_each(?)"
        return ended, (*params, json.dumps(sorted(self.along())))

    def along(self) -> Collection[int]:
        """Memories that have no end, and are derived from nothing but what has expired."""
        over = self.over()
        return () if over is None else self.look_along(over[0], *over[1])

    def over(self) -> tuple[str, tuple[int, ...]] | None:
        """SQL over entries whose end has come; None where none has an end, or all are read."""
        if not self.are_there() or self.now_ms is None or getattr(self._thread, "shows", False):
            return None
        held_ms, kept = getattr(self._thread, "at_ms", None), ""
        now_ms = self.now_ms() if held_ms is None else held_ms
        if self.noted:
            kept = ", ".join(
                f"({each}, {noted.revision})"
                for each, noted in self.noted.copy().items()
                if noted.expires_ms > now_ms
            )
        if not kept:
            return "entry.expires_ms <= ?", (now_ms,)
        unless = f"(entry.id, entry.revision) NOT IN (VALUES {kept})"
        return f"entry.expires_ms <= ? AND {unless}", (now_ms,)

    def end_of(self, entry: Mapping[str, Any]) -> int | None:
        """When the memory of an entry expires."""
        noted, written_ms = self.noted.get(entry["id"]), entry["expires_ms"]
        if noted is None or written_ms is None or noted.revision != entry["revision"]:
            return None if written_ms is None else int(written_ms)
        return max(int(written_ms), noted.expires_ms)

    def has_expired(self, entry: Mapping[str, Any], now_ms: int) -> bool:
        """Whether the memory of an entry has expired."""
        end_ms = self.end_of(entry)
        return end_ms is not None and end_ms <= now_ms

    def write(self, db: sqlite3.Connection, path: str) -> Mapping[int, Noted]:
        """Write what was noted, in the caller's transaction; `forget` it once that is committed.

        A memory that has changed meanwhile or is gone is left alone.
        """
        noted = self.noted.copy()
        if not noted:
            return noted
        with suppress(CatalogCorruptError):  # no other change has to wait for a damaged row
            put_entries(
                db,
                [
                    row | {"expires_ms": noted[each].expires_ms}
                    for each, row in entries_of(db, noted, path).items()
                    if self.end_of(row) == noted[each].expires_ms
                ],
            )
        return noted

    def forget(self, written: Mapping[int, Noted]) -> None:
        """Forget what has been committed, but no use that came since."""
        for each, noted in written.items():
            if self.noted.get(each) is noted:
                del self.noted[each]

    @contextmanager
    def held_at(self, now_ms: int) -> Iterator[None]:
        """A context in which this thread reads as of one moment: none expires in between."""
        before = getattr(self._thread, "at_ms", None)
        self._thread.at_ms = now_ms if before is None else before
        try:
            yield
        finally:
            self._thread.at_ms = before

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A context in which this thread reads expired memories, too: to erase them."""
        before = getattr(self._thread, "shows", False)
        self._thread.shows = True
        try:
            yield
        finally:
            self._thread.shows = before


def holds_ends(db: sqlite3.Connection) -> bool:
    """Whether any memory of a catalog has an end."""
    if not has_tables(db, "entry"):
        return False
    sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE expires_ms IS NOT NULL)"
    return bool(db.execute(sql).fetchone()[0])


def expired_ids(db: sqlite3.Connection, now_ms: int) -> list[int]:
    """Memories whose end has come, ascending."""
    sql = "SELECT id FROM entry WHERE expires_ms <= ? ORDER BY id"
    return [each for (each,) in db.execute(sql, (now_ms,))]


def expired_by_tier(db: sqlite3.Connection, ends: Ends) -> dict[int, int]:
    """Code of a tier -> how many of its memories have expired and are not erased yet."""
    ended, params = ends.ended() or ("SELECT NULL", ())
    return dict(
        db.execute(
            "SELECT segment.tier, count(*) FROM record JOIN segment ON segment.id = record.segment_id"
            f" WHERE record.id IN ({ended}) GROUP BY segment.tier",
            params,
        )
    )
