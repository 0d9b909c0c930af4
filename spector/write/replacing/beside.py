"""Rows of knowledge that come with the new words of a memory, in the same commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spector.knowledge import Changes, KnowledgeReader
from spector.store.core import Store, Transaction
from spector.store.sqlite import TransactionReads
from spector.write.context import WriteContext
from spector.write.drafts import ClaimIds
from spector.write.knowledge import apply_changes

__all__ = ["Beside"]


@dataclass(frozen=True, slots=True)
class Beside:
    """What one commit holds beside the new words of a memory.

    Attributes:
        change: of its header, in place. rows: to put, given what is known once its old ties are
            gone.
    """

    change: Callable[[Any], object]
    rows: Callable[[KnowledgeReader], Changes]

    def apply(
        self, tx: Transaction, store: Store, claim_ids: ClaimIds, parts: WriteContext
    ) -> None:
        """Stage the rows in the transaction of the memory's change."""
        with TransactionReads(store.catalog):
            changes = self.rows(KnowledgeReader(tx.connection, store.catalog.path))
        now_ms = parts.clock.now_ms()
        items = claim_ids(tx, changes.items, now_ms) if changes.items else []
        apply_changes(tx, changes, {}, items)
