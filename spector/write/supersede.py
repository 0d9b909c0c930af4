"""What becomes of the older memory when a newer one takes its place.

The older one held until the newer one begins: that is its ``valid_until``, and the flag SUPERSEDED
keeps it out of every recall that does not ask for it or for an earlier moment. Nothing is deleted:
the end that it had before is kept in a reserved tag. Its end follows the newer one when that is
told to begin at another time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spector.errors import (
    CatalogCorruptError,
    ImmutableRecordError,
    InvalidInputError,
    SupersededRecordError,
)
from spector.layout import MUTABLE_DTYPE, Flag
from spector.store.catalog import (
    ANYBODY,
    Row,
    Scope,
    is_sealed,
    members,
    newer_than,
    reserved_last,
    split_reserved_tags,
    successors,
    verify_row,
)
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction
from spector.write.drafts import Draft

__all__ = [
    "Ending", "apply", "endings", "inherited", "moved", "refuse_new_end", "reinstated",
    "starts_ms", "with_end_of",
]


@dataclass(frozen=True, slots=True)
class Ending:
    """A memory's row as it is, and as it will be."""

    before: Row
    after: Row


def starts_ms(draft: Draft | Row, now_ms: int) -> int:
    """When a memory begins to hold, and what it supersedes stops to.

    What is told of the future takes the place of the older plan now; only ``valid_from`` says that
    the older one holds until then.
    """
    if draft.valid_from_ms is not None:
        return draft.valid_from_ms
    return now_ms if draft.event_ms is None else min(draft.event_ms, now_ms)


def endings(
    store: Store, drafts: Sequence[Draft], now_ms: int, find: Callable[[int, Scope], object]
) -> list[Ending]:
    """What drafts do to the memories that they supersede; raises before anything is staged.

    A draft of a user supersedes that user's memories: others are as unknown to it as to a recall.

    Args:
        find: raises for an id that no memory of any store has, in a scope.

    Raises:
        UnknownRecordError, SupersededRecordError, ImmutableRecordError, InvalidInputError
    """
    out: dict[int, Ending] = {}
    for draft in drafts:
        rows = store.catalog.fetch(draft.supersedes)
        imported = draft.restored is not None
        scope = Scope(user_id=draft.user_id)
        for record_id in draft.supersedes:
            row = rows.get(record_id)
            if row is None and imported:
                continue  # a ring has dropped it meanwhile
            if row is None or not scope.holds(row):
                find(record_id, scope)
                raise InvalidInputError(
                    f"memory {record_id} is in a tier that is kept apart from {draft.tier}, so the"
                    " two cannot change together",
                    hint="remember without supersedes, then forget the other one",
                )
            if imported and (record_id in out or _was_ended(row)):
                continue  # the file has told its end
            _refuse(store, row, draft, out)
            out[record_id] = Ending(row, ended(row, starts_ms(draft, now_ms), now_ms))
    return list(out.values())


def _refuse(store: Store, row: Row, draft: Draft, already: Mapping[int, Ending]) -> None:
    """Raise when this memory may not be superseded by that draft."""
    verify_row(row, store.catalog.path)
    if row.id in already:
        raise SupersededRecordError(
            f"memory {row.id} is superseded twice in one call",
            hint="say in one item what takes its place, or in the later one none",
        )
    newer = newer_than(store.catalog, row)
    if newer or _flags(row) & Flag.SUPERSEDED:
        raise _superseded(store, row, newer, Scope(user_id=draft.user_id))
    if _flags(row) & Flag.IMMUTABLE:
        raise ImmutableRecordError(
            f"record {row.id} is immutable", hint="remember the new one without supersedes"
        )
    if row.user_id != draft.user_id:  # the new one has none, else the older one were unknown
        raise InvalidInputError(
            f"memory {row.id} is of a user, and the new one of none: recalls of one never see the"
            " other",
            hint="pass the user_id of the older one",
        )


def _superseded(
    store: Store, row: Row, newer: tuple[int, ...], scope: Scope
) -> SupersededRecordError:
    """The error for a change of what has been superseded before."""
    if not newer:
        return SupersededRecordError(
            f"memory {row.id} has been superseded",
            hint=f"the newer one has been forgotten; reinstate({row.id}) makes it hold again:"
            f" spector reinstate PATH {row.id}",
        )
    last = newer = _inside(store, newer, scope)
    if not newer:
        return _superseded_outside(row)
    while further := successors(store.catalog, [last[-1]]).get(last[-1]):
        further = _inside(store, further, scope)
        if not further:
            break
        last = further
    return SupersededRecordError(
        f"memory {row.id} has been superseded by memory {newer[-1]}",
        hint=f"supersede the newest one, {last[-1]}; history({row.id}) has all of them:"
        f" spector history PATH {row.id}",
    )


def _superseded_outside(row: Row) -> SupersededRecordError:
    """The error where the newer memory is not of the caller's scope, and is not named."""
    return SupersededRecordError(
        f"memory {row.id} has been superseded",
        hint="the newer one is outside of this scope; remember anew what holds, without supersedes",
    )


def _inside(store: Store, ids: tuple[int, ...], scope: Scope) -> tuple[int, ...]:
    """Those of the ids that may be named to a caller with a scope."""
    if scope.is_open:
        return ids
    found = members(store.catalog, ids, scope, inside=True)
    return tuple(each for each in ids if each in found)


def refuse_new_end(store: Store, row: Row, scope: Scope = ANYBODY) -> None:
    """Raise when a memory's end is not its own to tell any more, but that of what superseded it."""
    if not _was_ended(row):
        return
    all_newer = newer_than(store.catalog, row)
    newer = _inside(store, all_newer, scope)
    if all_newer and not newer:
        raise _superseded_outside(row)
    by = f" by memory {newer[-1]}" if newer else ""
    first = f"forget({newer[-1]}), then " if newer else ""
    raise SupersededRecordError(
        f"memory {row.id} has been superseded{by}, which is its end",
        hint=f"if that is wrong: {first}reinstate({row.id}); or update when the newer one begins",
    )


def ended(row: Row, start_ms: int, now_ms: int) -> Row:
    """The row of a memory that held until ``start_ms``.

    One that had not begun by then never held: it gets no end, so that no moment shows it. One whose
    end is yet to come goes on being recalled until then, and has no flag.
    """
    own = own_row(row)
    end_ms: int | None = start_ms
    if start_ms <= _begins_ms(row):
        end_ms = None
    elif own.valid_until_ms is not None:
        end_ms = min(own.valid_until_ms, start_ms)
    return replace(
        own, valid_until_ms=end_ms, mutable=_flagged(row, end_ms is None or end_ms <= now_ms),
        tags=_with_end(own.tags, (own.valid_until_ms,)),
    )


def own_row(row: Row) -> Row:
    """The row of a memory as if nothing had ever superseded it."""
    if not _was_ended(row):
        return row
    found = split_reserved_tags(row.tags)
    return replace(
        row, valid_until_ms=found.until_ms[0] if found.until_ms else None,
        mutable=_flagged(row, False), tags=_with_end(row.tags, ()),
    )


def with_end_of(row: Row, tags: tuple[str, ...]) -> tuple[str, ...]:
    """New tags for a memory, with what its present ones keep of its own end."""
    return _with_end(tags, split_reserved_tags(row.tags).until_ms)


def reinstated(store: Store, row: Row, scope: Scope = ANYBODY) -> Ending | None:
    """A superseded memory that holds again, as long as it would have; None when nothing did.

    Raises:
        SupersededRecordError: what superseded it is still there.
    """
    verify_row(row, store.catalog.path)
    all_newer = newer_than(store.catalog, row)
    newer = _inside(store, all_newer, scope)
    if all_newer and not newer:
        raise _superseded_outside(row)
    if newer:
        raise SupersededRecordError(
            f"memory {row.id} has been superseded by memory {newer[-1]}",
            hint=f"forget({newer[-1]}) first, or remember anew what holds: spector forget PATH"
            f" {newer[-1]}",
        )
    return Ending(row, own_row(row)) if _was_ended(row) else None


def moved(store: Store, before: Row, after: Row, now_ms: int) -> tuple[Row, list[Ending]]:
    """What else follows when a memory begins to hold at another time: its row, and the others.

    What it supersedes ends when it begins, and it ends when what supersedes it begins, unless that
    was before.
    """
    if _was_ended(before):
        after = replace(after, valid_until_ms=before.valid_until_ms)
    if _starts_at(before) == _starts_at(after) and _begins_ms(before) == _begins_ms(after):
        return after, []
    others: list[Ending] = []
    older = store.catalog.fetch(split_reserved_tags(before.tags).supersedes)
    for row in older.values():
        if not _was_ended(row):
            continue
        verify_row(row, store.catalog.path)
        now = ended(row, _starts_at(after), now_ms)
        others.append(Ending(row, now))
    if _was_ended(before):
        rows = store.catalog.fetch(newer_than(store.catalog, before))
        start_ms = min((_starts_at(row) for row in rows.values()), default=None)
        if start_ms is None:  # forgotten: the end that it set stays
            start_ms = before.valid_until_ms
        if start_ms is not None:
            after = ended(after, start_ms, now_ms)
    return after, others


def inherited(store: Store, gone: Sequence[Row]) -> list[Ending]:
    """Who supersedes what the memories that are forgotten superseded: whatever superseded them.

    So a history stays in one piece, and nothing is reinstated beside what holds now.
    """
    linked = [row for row in gone if split_reserved_tags(row.tags).supersedes and _is_sound(row)]
    if not linked:
        return []
    doomed = {row.id for row in gone}
    by = successors(store.catalog, [row.id for row in gone])
    links: dict[int, set[int]] = {}
    for row in linked:
        older = set(split_reserved_tags(row.tags).supersedes) - doomed
        for heir in _heirs(row.id, by, doomed):
            links.setdefault(heir, set()).update(older)
    if not links:
        return []
    alive = store.catalog.places_of(sorted(set().union(*links.values())))
    out = []
    for heir, older in links.items():
        now = _sound_row(store, heir)
        if now is None:  # its damage is no reason to keep what is to be forgotten
            continue
        found = split_reserved_tags(now.tags)
        every = sorted({*found.supersedes, *(older & alive.keys())})
        if len(every) > len(found.supersedes):
            tags = reserved_last(found.own, every, found.until_ms)
            out.append(Ending(now, replace(now, tags=tags)))
    return out


def _heirs(
    record_id: int, by: Mapping[int, Iterable[int]], doomed: set[int]
) -> set[int]:
    """The first memories behind one in its history that stay."""
    out: set[int] = set()
    ahead = [record_id]
    while ahead:
        for newer in by.get(ahead.pop(), ()):
            if newer in doomed:
                ahead.append(newer)
            else:
                out.add(newer)
    return out


def _sound_row(store: Store, record_id: int) -> Row | None:
    with contextlib.suppress(CatalogCorruptError):
        row = store.catalog.fetch([record_id]).get(record_id)
        return row if row is not None and _is_sound(row) else None
    return None


def _is_sound(row: Row) -> bool:
    return row.stored is None or is_sealed(row.stored)


def apply(tx: Transaction, changes: Sequence[Ending]) -> None:
    """Stage the new rows and mutable halves; before any append, which in a ring may overwrite them.
    """
    for change in changes:
        row = change.after
        if row.mutable != change.before.mutable:
            tx.hide()
            tx.set_mutable(row.segment_id, row.slot, row.mutable)
        catalog_rows.update_row(tx.connection, change.before, row)


def _was_ended(row: Row) -> bool:
    """Whether something superseded it, or will; that may have been forgotten since."""
    return bool(split_reserved_tags(row.tags).until_ms or _flags(row) & Flag.SUPERSEDED)


def _begins_ms(row: Row) -> int:
    return row.event_ms if row.valid_from_ms is None else row.valid_from_ms


def _starts_at(row: Row) -> int:
    return starts_ms(row, row.recorded_ms)


def _with_end(tags: tuple[str, ...], until_ms: tuple[int | None, ...]) -> tuple[str, ...]:
    found = split_reserved_tags(tags)
    return reserved_last(found.own, found.supersedes, until_ms)


def _flags(row: Row) -> int:
    return int(np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]["flags"])


def _flagged(row: Row, on: bool) -> bytes:
    block = np.frombuffer(row.mutable, MUTABLE_DTYPE).copy()
    if on:
        block["flags"] |= int(Flag.SUPERSEDED)
    else:
        block["flags"] &= 0xFFFF & ~int(Flag.SUPERSEDED)
    return block.tobytes()
