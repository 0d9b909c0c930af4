"""Keys of memories that have expired are free: they are forgotten before another one takes them."""

from __future__ import annotations

from collections.abc import Iterable

from spector.records import MemoryRecord
from spector.store.core import Store
from spector.store.payloads import KeyPath, entries_of, entry_at, path_of
from spector.write.context import WriteContext
from spector.write.drafts import Draft
from spector.write.forgetting import Forgetter

__all__ = ["free_keys", "free_moved"]


def free_keys(parts: WriteContext, store: Store, paths: Iterable[KeyPath], now_ms: int) -> None:
    """Forget the memories that have these keys and have expired. The caller holds the lock."""
    catalog = store.catalog
    if not catalog.ends.are_there():
        return
    with catalog.latest() as db:
        entries = [entry_at(db, path, catalog.path) for path in paths]
    gone = {
        each["id"]
        for each in entries
        if each is not None and catalog.ends.has_expired(each, now_ms)
    }
    if gone:
        Forgetter(parts, note_writes=lambda count: None).forget_expired(gone)


def free_moved(parts: WriteContext, before: MemoryRecord, after: Draft) -> None:
    """The same for the key of a memory whose user or agent is about to be another."""
    if (before.user_id, before.agent_id) == (after.user_id, after.agent_id):
        return
    store = parts.router.durable_store()
    if not store.catalog.ends.are_there():
        return
    with store.catalog.latest() as db:
        entry = entries_of(db, [before.id]).get(before.id)
    if entry is None:
        return
    path = path_of(entry | {"user_id": after.user_id or "", "agent_id": after.agent_id or ""})
    if path is not None:
        free_keys(parts, store, [path], parts.clock.now_ms())
