"""What is known of a memory beside its words, and what becomes of it when these change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from spector.errors import InvalidInputError
from spector.knowledge import (
    PAYLOAD_FACETS,
    Changes,
    KnowledgeReader,
    derived_of,
    plan_lost_mentions,
    plan_new_words,
    plan_other_user,
)
from spector.layout import Flag
from spector.store.catalog import Row
from spector.store.core import Store, Transaction
from spector.store.payloads import delete_owned
from spector.write.context import WriteContext
from spector.write.drafts import ClaimIds
from spector.write.forgetting import flags_of, stage_deletion
from spector.write.knowledge import apply_changes, words_in

__all__ = ["Ties", "ties_of"]


@dataclass(frozen=True, slots=True)
class Ties:
    """Rows of knowledge that change with a memory, and what has no source any more."""

    changes: Changes
    rows: Sequence[Row] = ()
    items: Collection[int] = ()

    def apply(self, tx: Transaction, claim_ids: ClaimIds, parts: WriteContext) -> None:
        """Stage them in the transaction of the memory's change."""
        if not (self.changes or self.rows or self.items):
            return
        now_ms = parts.clock.now_ms()
        items = claim_ids(tx, self.changes.items, now_ms) if self.changes.items else []
        apply_changes(tx, self.changes, {}, items)
        delete_owned(tx.connection, self.items)
        if self.rows:
            stage_deletion(tx, self.rows, parts.erasure_due_ms())


def ties_of(store: Store, before: Row, after: Row) -> Ties:
    """What a change of words or of the user does to what is known of a memory.

    Raises:
        InvalidInputError: It is a fact or another item of knowledge, whose words and user are
            part of what it is.
    """
    if before.text == after.text and before.user_id == after.user_id:
        return Ties(Changes())
    with store.catalog.latest() as db:
        reader, changes = KnowledgeReader(db, store.catalog.path), Changes()
        sorts = reader.sorts([before.id]).get(before.id, set()) & PAYLOAD_FACETS.keys()
        if sorts:
            sort = min(sorts)
            raise InvalidInputError(
                f"memory {before.id} is a {sort}: its text and user do not change by update",
                hint=f"use memory.{PAYLOAD_FACETS[sort]}",
            )
        if before.user_id != after.user_id:
            plan_other_user(reader, changes, before.id, after.user_id or "")
        else:
            plan_new_words(reader, changes, before.id)
        gone = derived_of(reader, [before.id])
        if not (changes or gone.memories or gone.items):
            return Ties(changes)
        rows = store.catalog.fetch(sorted(gone.memories))
        held = Flag.IMMUTABLE | Flag.PINNED
        stay = {each for each, row in rows.items() if flags_of(row) & held}
        if stay:
            gone = derived_of(reader, [before.id], stay)
        goes = gone.memories - stay
        plan_lost_mentions(reader, changes, {before.id, *goes}, gone.items, words_in(store))
    return Ties(changes, [rows[each] for each in sorted(goes) if each in rows], gone.items)
