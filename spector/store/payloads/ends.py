"""Memories that expire: past its end every read leaves one out, before anything is written."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spector.store.payloads.rows import has_tables

__all__ = ["Ends", "expired_by_tier", "expired_ids", "has_expired", "holds_ends"]


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
        self._thread = threading.local()

    def are_there(self) -> bool:
        """Whether any memory has an end."""
        if self.are_due and not self.any:
            self.any = self.look()
        return self.any

    def alive(self, table: str = "record") -> tuple[str, tuple[int, ...]]:
        """SQL to add to a condition over a table with ids, and its values; mostly nothing."""
        ended_ms = self.ended_ms
        if ended_ms is None:
            return "", ()
        sql = (
            f" AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.id = {table}.id"
            " AND entry.expires_ms <= ?)"
        )
        return sql, (ended_ms,)

    @property
    def ended_ms(self) -> int | None:
        """Until when an end hides a memory; None where no memory has an end, or all are read."""
        if not self.are_there() or self.now_ms is None or getattr(self._thread, "shows", False):
            return None
        return self.now_ms()

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


def has_expired(entry: Mapping[str, Any], now_ms: int) -> bool:
    """Whether the memory of an entry has expired."""
    return entry["expires_ms"] is not None and entry["expires_ms"] <= now_ms


def expired_ids(db: sqlite3.Connection, now_ms: int) -> list[int]:
    """Memories whose end has come, ascending."""
    sql = "SELECT id FROM entry WHERE expires_ms <= ? ORDER BY id"
    return [each for (each,) in db.execute(sql, (now_ms,))]


def expired_by_tier(db: sqlite3.Connection, now_ms: int) -> dict[int, int]:
    """Code of a tier -> how many of its memories have expired and are not erased yet."""
    return dict(db.execute(
        "SELECT segment.tier, count(*) FROM entry JOIN record ON record.id = entry.id"
        " JOIN segment ON segment.id = record.segment_id WHERE entry.expires_ms <= ?"
        " GROUP BY segment.tier", (now_ms,),
    ))  # fmt: skip
