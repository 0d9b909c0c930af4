"""What is attached to a memory that changes: it stays, is replaced, or goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spector.store.core import Transaction
from spector.store.payloads import (
    drop_attachments,
    entries_of,
    put_attachments,
)
from spector.write.drafts import Draft

__all__ = ["attach"]


def attach(
    tx: Transaction, record_id: int, draft: Draft, changes: Mapping[str, Any]
) -> tuple[bool, Mapping[str, int | None]]:
    """Stage what the changes of a memory say of its attachment.

    Returns:
        Whether one was replaced or removed, whose bytes are to be erased; and what its entry says
        of the new one.
    """
    if "attachment" not in changes:
        return False, {}
    entry = entries_of(tx.connection, [record_id]).get(record_id, {})
    had = entry.get("attached_bytes") is not None
    if had:
        drop_attachments(tx.connection, [record_id])
    if draft.attachment is not None:
        put_attachments(tx.connection, {record_id: draft.attachment})
    elif not had:
        return False, {}
    return had, {"attached_bytes": draft.attached_bytes}
