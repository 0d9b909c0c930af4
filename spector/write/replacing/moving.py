"""Moves the ends of memories that are used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from typing import Final

from spector.errors import StoreError
from spector.store.core import Store
from spector.store.payloads import Noted, entries_of
from spector.write.context import WriteContext

__all__ = ["EndMover"]

#: an end that has moved by this part of what a use gives is written at once
_PART: Final = 8
#: notes that wait at most
_MOST: Final = 64


class EndMover:
    """Lets memories with ``refresh`` live on from each hit.

    A new end counts in this process at once. It is noted, and goes along with the next commit of
    the store, whatever that is for. So a recall seldom writes, and a kill loses a small part of
    what a use gives.
    """

    def __init__(self, parts: WriteContext, may_write: Callable[[], bool]) -> None:
        self._parts = parts
        self._may_write = may_write
        #: where something was noted; tiers may be gone already when a memory closes itself
        self._store: Store | None = None

    def refresh(self, ids: Collection[int], *, goes_along: bool = False) -> None:
        """Note new ends for those memories that a use keeps; of others nothing is noted.

        Args:
            goes_along: the caller is about to commit something else.
        """
        store = self._parts.router.durable_store()
        ends = store.catalog.ends
        if not (ids and ends.are_there() and self._may_write()):
            return
        now_ms, is_due = self._parts.clock.now_ms(), False
        with store.catalog.reading() as db:
            rows = entries_of(db, ids, store.catalog.path).values()
        for row in rows:
            given_ms, end_ms = row["refresh_ms"], ends.end_of(row)
            if given_ms is None or end_ms is None or not now_ms < end_ms < now_ms + given_ms:
                continue
            self._store = store
            ends.noted[row["id"]] = Noted(now_ms + given_ms, row["revision"])
            is_due |= _PART * (now_ms + given_ms - row["expires_ms"]) >= given_ms
        if not goes_along and (is_due or len(ends.noted) >= _MOST):
            self.write()

    def write(self) -> None:
        """Write what is noted. What cannot be written stays noted: no recall fails for it."""
        store = self._store
        if store is not None and store.catalog.ends.noted:
            with contextlib.suppress(StoreError), store.transaction():
                pass
