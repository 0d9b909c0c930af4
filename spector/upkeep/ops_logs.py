"""Erasure in the operations log: no line names a memory, or a user, that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spector.errors import StoreError
from spector.messages import counted
from spector.records import Purged
from spector.store.ops_log import OPS_LOG_NAME, ids_in, scrub_ops_logs
from spector.tiers import TierRouter
from spector.upkeep.counting import users_of

__all__ = ["clean_ops_logs"]


def clean_ops_logs(router: TierRouter) -> tuple[list[Purged], str]:
    """Rewrite the store's log without lines about what is gone; what was removed, what failed."""
    durable, stores = router.durable_store(), router.stores()
    if not durable.files.durable:
        return [], ""
    users: set[object] | None = None
    known: dict[int, bool] = {}

    def lives(record_id: int) -> bool:
        found = known.get(record_id)
        if found is None:
            found = any(store.catalog.fetch([record_id]) for store in stores)
            known[record_id] = found
        return found

    def keep(line: Mapping[str, Any]) -> bool:
        nonlocal users
        given = line.get("input")
        user = given.get("user_id") if isinstance(given, Mapping) else None
        if user is not None:
            if users is None:
                users = {each.id for each in users_of(stores, trusted_s=None)}
            if user not in users:
                return False
        return all(map(lives, ids_in(line)))

    try:
        lines, size = scrub_ops_logs(durable.files, keep)
    except StoreError as error:
        return [], f"the operations log could not be rewritten: {error.message}"
    what = f"{counted(lines, 'line')} removed"
    return [Purged(where=OPS_LOG_NAME, what=what, bytes=size)] if lines else [], ""
