"""What becomes of the older memory when a newer one takes its place.

The older one held until the newer one begins: that is its ``valid_until``, and the flag SUPERSEDED
keeps it out of every recall that does not ask for it or for an earlier moment. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spector.errors import (
    ImmutableRecordError,
    InvalidInputError,
    SupersededRecordError,
)
from spector.layout import MUTABLE_DTYPE, Flag
from spector.store import rows as catalog_rows
from spector.store.catalog import Row, verify_row
from spector.store.links import newer_than
from spector.store.store import Store
from spector.store.transaction import Transaction
from spector.write.draft import Draft

__all__ = ["Ending", "apply", "endings", "reinstated", "starts_ms"]


@dataclass(frozen=True, slots=True)
class Ending:
    """A memory's row as it is, and as it will be."""

    before: Row
    after: Row


def starts_ms(draft: Draft, now_ms: int) -> int:
    """When a memory begins to hold, and what it supersedes stops to.

    What is told of the future takes the place of the older plan now; only ``valid_from`` says that
    the older one holds until then.
    """
    if draft.valid_from_ms is not None:
        return draft.valid_from_ms
    return now_ms if draft.event_ms is None else min(draft.event_ms, now_ms)


def endings(
    store: Store, drafts: Sequence[Draft], now_ms: int, find: Callable[[int], object]
) -> list[Ending]:
    """What drafts do to the memories that they supersede; raises before anything is staged.

    Args:
        find: raises for an id that no memory of any store has.

    Raises:
    """
    out: dict[int, Ending] = {}
    for draft in drafts:
        rows = store.catalog.fetch(draft.supersedes)
        imported = draft.restored is not None
        for record_id in draft.supersedes:
            row = rows.get(record_id)
            if row is None and imported:
                continue  # a ring has dropped it meanwhile
            if row is None:
                find(record_id)
                raise InvalidInputError(
                    f"memory {record_id} is in a tier that is kept apart from {draft.tier}, so the"
                    " two cannot change together",
                    hint="remember without supersedes, then forget the other one",
                )
            if imported and (record_id in out or _flags(row) & Flag.SUPERSEDED
                             or row.valid_until_ms is not None):
                continue  # the file has told its end
            _refuse(store, row, draft, out)
            out[record_id] = Ending(row, ended(row, starts_ms(draft, now_ms), now_ms))
    return list(out.values())


def _refuse(store: Store, row: Row, draft: Draft, already: dict[int, Ending]) -> None:
    """Raise when this memory may not be superseded by that draft."""
    verify_row(row, store.catalog.path)
    newer = newer_than(store, row)
    if newer or row.id in already or _flags(row) & Flag.SUPERSEDED:
        hint = f"supersede the newest one, the last of history({row.id})"
        if not newer and row.id not in already:
            hint = f"the newer one has been forgotten; reinstate({row.id}) makes it hold again"
        by = f" by memory {newer[-1]}" if newer else ""
        raise SupersededRecordError(f"memory {row.id} has been superseded{by}", hint=hint)
    if _flags(row) & Flag.IMMUTABLE:
        raise ImmutableRecordError(
            f"record {row.id} is immutable", hint="remember the new one without supersedes"
        )
    if row.user_id != draft.user_id:
        raise InvalidInputError(
            f"memory {row.id} is of the user {row.user_id!r}, the new one of {draft.user_id!r}:"
            " recalls of one never see the other",
            hint="pass the user_id of the older one",
        )


def ended(row: Row, start_ms: int, now_ms: int) -> Row:
    """The row of a memory that held until ``start_ms``.

    One that had not begun by then never held: it gets no end, so that no moment shows it. One whose
    end is yet to come goes on being recalled until then, and has no flag.
    """
    began_ms = row.event_ms if row.valid_from_ms is None else row.valid_from_ms
    if start_ms <= began_ms:
        return replace(row, valid_until_ms=None, mutable=_flagged(row, True))
    end_ms = start_ms if row.valid_until_ms is None else min(row.valid_until_ms, start_ms)
    return replace(row, valid_until_ms=end_ms, mutable=_flagged(row, end_ms <= now_ms))


def reinstated(store: Store, row: Row) -> Ending | None:
    """A superseded memory that holds again, without an end; None when nothing superseded it.

    Raises:
        SupersededRecordError: what superseded it is still there.
    """
    verify_row(row, store.catalog.path)
    newer = newer_than(store, row)
    if newer:
        raise SupersededRecordError(
            f"memory {row.id} has been superseded by memory {newer[-1]}",
            hint=f"forget({newer[-1]}) first, or remember anew what holds",
        )
    if not _flags(row) & Flag.SUPERSEDED:
        return None
    return Ending(row, replace(row, valid_until_ms=None, mutable=_flagged(row, False)))


def apply(tx: Transaction, changes: Sequence[Ending]) -> None:
    """Stage the new rows and mutable halves; before any append, which in a ring may overwrite them.
    """
    for change in changes:
        row = change.after
        tx.hide()
        tx.set_mutable(row.segment_id, row.slot, row.mutable)
        catalog_rows.update_row(tx.connection, change.before, row)


def _flags(row: Row) -> int:
    return int(np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]["flags"])


def _flagged(row: Row, on: bool) -> bytes:
    block = np.frombuffer(row.mutable, MUTABLE_DTYPE).copy()
    if on:
        block["flags"] |= int(Flag.SUPERSEDED)
    else:
        block["flags"] &= 0xFFFF & ~int(Flag.SUPERSEDED)
    return block.tobytes()
