"""Moves the ends of memories that are used."""

from __future__ import annotations

from collections.abc import Callable, Collection

from spector.store.payloads import entries_of, has_expired, put_entries
from spector.write.context import WriteContext

__all__ = ["EndMover"]


class EndMover:
    """Lets memories with ``refresh`` live on from each hit."""

    def __init__(self, parts: WriteContext, may_write: Callable[[], bool]) -> None:
        self._parts = parts
        self._may_write = may_write

    def refresh(self, ids: Collection[int]) -> None:
        """Move the ends of those memories that a use keeps; of others nothing is written."""
        store = self._parts.router.durable_store()
        if not (ids and store.catalog.ends.are_there() and self._may_write()):
            return
        with store.exclusive():
            now_ms = self._parts.clock.now_ms()
            with store.catalog.latest() as db:
                rows = entries_of(db, ids, store.catalog.path).values()
            moved = [
                row | {"expires_ms": max(row["expires_ms"], now_ms + row["refresh_ms"])}
                for row in rows if row["refresh_ms"] is not None and not has_expired(row, now_ms)
            ]
            if moved:
                with store.transaction() as tx:
                    put_entries(tx.connection, moved)
