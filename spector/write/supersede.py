"""Ends the validity of a memory when a newer one supersedes it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from spector.errors import (
    CatalogCorruptError,
    ImmutableRecordError,
    InvalidInputError,
    InvalidMetadataError,
    PartitionCorruptError,
    SupersededRecordError,
    UnknownRecordError,
)
from spector.knowledge import KnowledgeReader, facts_of_alone
from spector.layout import Flag
from spector.records import turn_before_in
from spector.store.catalog import (
    ANYBODY,
    Row,
    Scope,
    is_sealed,
    join_reserved_tags,
    link_tags,
    members,
    newer_than,
    split_reserved_tags,
    successors,
    verify_row,
)
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction
from spector.store.erasure import note_erasure
from spector.store.payloads import has_tables, note_holding
from spector.tiers import Finder, TierRouter
from spector.write.append import flags_of, with_flag
from spector.write.context import WriteContext
from spector.write.draft import Draft
from spector.write.speakers import Naming, renoted


@dataclass(frozen=True, slots=True)
class Ending:
    """A memory's row before and after a change."""

    before: Row
    after: Row


def starts_ms(draft: Draft | Row, now_ms: int) -> int:
    """Start of validity in ms; the superseded memory's validity ends at the same instant.

    A memory of a future event supersedes the older plan now; only ``valid_from`` keeps the older
    one valid until then.
    """
    if draft.valid_from_ms is not None:
        return draft.valid_from_ms
    return now_ms if draft.event_ms is None else min(draft.event_ms, now_ms)


def endings(
    store: Store,
    drafts: Sequence[Draft],
    now_ms: int,
    find: Callable[[int, Scope], object],
    *,
    facts_before: float = math.inf,
) -> list[Ending]:
    """The changes of the memories that drafts supersede; raises before anything is staged.

    A draft supersedes memories of its own user only; others are unknown to it, as to a recall.
    Facts that only the superseded memories state end with them, and the drafts get their links.

    Args:
        find: raises for an id that no memory of the scope has, in any store.
        facts_before: only facts with an id below it end.

    Raises:
        UnknownRecordError, SupersededRecordError, ImmutableRecordError, InvalidInputError
    """
    out: dict[int, Ending] = {}
    named = {each for draft in drafts for each in draft.supersedes}
    for draft in drafts:
        rows = store.catalog.fetch(draft.supersedes)
        imported = draft.restored is not None
        scope = Scope(user_id=draft.user_id)
        for record_id in draft.supersedes:
            row = rows.get(record_id)
            if row is None and imported:
                continue  # the working tier has dropped it meanwhile
            if row is None or not scope.holds(row):
                find(record_id, scope)
                raise InvalidInputError(
                    f"memory {record_id} is in a tier that is kept apart from {draft.tier}, so the"
                    " two cannot change together",
                    hint="remember without supersedes, then forget the other one",
                )
            if imported and (record_id in out or was_ended(row)):
                continue  # its end is in the file
            _refuse(store, row, draft, out)
            out[record_id] = Ending(row, ended(row, starts_ms(draft, now_ms), now_ms))
        if imported or not draft.supersedes:
            continue
        facts = store.catalog.fetch(facts_alone(store, draft.supersedes))
        along = [
            row
            for row in facts.values()
            if row.id < facts_before
            and row.id not in named
            and row.id not in out
            and row.user_id == draft.user_id
            and not was_ended(row)
            and not flags_of(row) & (Flag.IMMUTABLE | Flag.PINNED)
        ]
        for row in along:
            out[row.id] = Ending(row, ended(row, starts_ms(draft, now_ms), now_ms))
        draft.supersedes = (*draft.supersedes, *(row.id for row in along))
        draft.tags = (*draft.tags, *link_tags([row.id for row in along]))
    return list(out.values())


def _refuse(store: Store, row: Row, draft: Draft, already: Mapping[int, Ending]) -> None:
    """Raise when this memory may not be superseded by that draft."""
    verify_row(row, store.catalog.path)
    if row.id in already:
        raise SupersededRecordError(
            f"memory {row.id} is superseded twice in one call",
            hint="let only one of the items supersede it",
        )
    newer = newer_than(store.catalog, row)
    if newer or flags_of(row) & Flag.SUPERSEDED:
        raise _superseded(store, row, newer, Scope(user_id=draft.user_id))
    if flags_of(row) & Flag.IMMUTABLE:
        raise ImmutableRecordError(
            f"record {row.id} is immutable", hint="remember the new one without supersedes"
        )
    if row.user_id != draft.user_id:  # the new one has none, or the older one would be unknown
        raise InvalidInputError(
            f"memory {row.id} has a user and the new one has none, so no recall would see both",
            hint="pass the user_id of the older one",
        )


def _superseded(
    store: Store, row: Row, newer: tuple[int, ...], scope: Scope
) -> SupersededRecordError:
    """The error for a change of a memory that has been superseded."""
    if not newer:
        return SupersededRecordError(
            f"memory {row.id} has been superseded",
            hint=f"the newer one has been forgotten; reinstate({row.id}) makes it valid again:"
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
    """The error where the newer memory is outside of the caller's scope, so is not named."""
    return SupersededRecordError(
        f"memory {row.id} has been superseded",
        hint="the newer one is outside of this scope; remember what is true now without supersedes",
    )


def _inside(store: Store, ids: tuple[int, ...], scope: Scope) -> tuple[int, ...]:
    """The ids that may be named to a caller with a scope."""
    if scope.is_open:
        return ids
    found = members(store.catalog, ids, scope, inside=True)
    return tuple(each for each in ids if each in found)


def refuse_new_end(store: Store, row: Row, scope: Scope = ANYBODY) -> None:
    """Raise when a memory's end is set by the memory that superseded it."""
    if not was_ended(row):
        return
    all_newer = newer_than(store.catalog, row)
    newer = _inside(store, all_newer, scope)
    if all_newer and not newer:
        raise _superseded_outside(row)
    by = f" by memory {newer[-1]}" if newer else ""
    first = f"forget({newer[-1]}), then " if newer else ""
    raise SupersededRecordError(
        f"memory {row.id} has been superseded{by}, which sets its end",
        hint=f"if that is wrong: {first}reinstate({row.id}); or update when the newer one begins",
    )


def ended(row: Row, start_ms: int, now_ms: int) -> Row:
    """The row of a memory that was valid until ``start_ms``.

    A memory that starts no earlier than that was never valid: no moment shows it. One with an end
    in the future is recalled until then, and has no flag.
    """
    own = own_row(row)
    end_ms = start_ms if own.valid_until_ms is None else min(own.valid_until_ms, start_ms)
    return replace(
        own,
        valid_until_ms=end_ms,
        mutable=flagged(row, end_ms <= max(now_ms, _begins_ms(row))),
        tags=with_end(own.tags, (own.valid_until_ms,)),
    )


def own_row(row: Row) -> Row:
    """The row of a memory as if it had never been superseded."""
    if not was_ended(row):
        return row
    found = split_reserved_tags(row.tags)
    return replace(
        row,
        valid_until_ms=found.until_ms[0] if found.until_ms else None,
        mutable=flagged(row, False),
        tags=with_end(row.tags, ()),
    )


def reinstated(
    store: Store,
    row: Row,
    scope: Scope = ANYBODY,
    *,
    keep: bool = False,
    along: Sequence[Row] = (),
) -> list[Ending]:
    """The changes that make a superseded memory valid again; none when it was not superseded.

    Args:
        keep: its successors stay valid, and lose their link to it.
        along: facts of this memory alone; what its successors or their facts ended holds again.

    Raises:
        SupersededRecordError: its successor still exists, or with ``keep`` one does outside.
    """
    verify_row(row, store.catalog.path)
    all_newer = newer_than(store.catalog, row)
    newer = _inside(store, all_newer, scope)
    if len(newer) < len(all_newer) and (keep or not newer):
        raise _superseded_outside(row)
    if newer and not keep:
        raise SupersededRecordError(
            f"memory {row.id} has been superseded by memory {newer[-1]}",
            hint=f"reinstate({row.id}, keep=True) keeps both; else forget({newer[-1]}) first, or"
            f" remember what is true now: spector forget PATH {newer[-1]}",
        )
    rows = store.catalog.fetch(newer)
    back = [row] if was_ended(row) else []
    if back:
        own = {*newer, *facts_alone(store, newer)}
        ends = {each.id: newer_than(store.catalog, each) for each in along if was_ended(each)}
        back += [each for each in along if own.issuperset(ends.get(each.id, (-1,)))]
        rows |= store.catalog.fetch(sorted({n for each in back[1:] for n in ends[each.id]}))
    for each in rows.values():
        verify_row(each, store.catalog.path)
    ids = {row.id, *(each.id for each in back)}
    freed = [Ending(each, _without_links(each, ids)) for each in rows.values()]
    return [*(Ending(each, own_row(each)) for each in back), *freed]


def successors_in(changes: Sequence[Ending], older: int) -> list[int]:
    """The memories that lose their link to an older one."""
    links = {each.after.id: split_reserved_tags(each.before.tags).supersedes for each in changes}
    return [newer for newer, linked in links.items() if older in linked]


def facts_alone(store: Store, memories: Sequence[int]) -> list[int]:
    """The facts that only some memories state: other sources of theirs have ended."""

    def ended(ids: Collection[int]) -> set[int]:
        found = store.catalog.fetch(sorted(ids)).values()
        return {*ids} - {each.id for each in found if not flags_of(each) & Flag.SUPERSEDED}

    with store.catalog.reading() as db:
        reader = KnowledgeReader(db, store.catalog.path)
        return sorted(facts_of_alone(reader, memories, ended)) if has_tables(db) else []


def _without_links(row: Row, older: set[int]) -> Row:
    """The row of a memory that supersedes some memories less."""
    found = split_reserved_tags(row.tags)
    others = [each for each in found.supersedes if each not in older]
    return replace(row, tags=join_reserved_tags(found.own, others, found.until_ms))


def moved(store: Store, before: Row, after: Row, now_ms: int) -> tuple[Row, list[Ending]]:
    """A memory's row after its start of validity moved, and the other changes that follow.

    What it supersedes ends at its start, and it ends at its successor's start, unless that is
    earlier than its own.
    """
    if was_ended(before):
        after = replace(after, valid_until_ms=before.valid_until_ms)
    if starts_at(before) == starts_at(after) and _begins_ms(before) == _begins_ms(after):
        return after, []
    others = _ends_of_older(store, before, after, now_ms)
    start_ms = _start_of_newer(store, before) if was_ended(before) else None
    return after if start_ms is None else ended(after, start_ms, now_ms), others


def in_place_of(store: Store, before: Row, after: Row, now_ms: int) -> tuple[Row, list[Ending]]:
    """The row of what takes a memory's id and place among its versions, and what follows.

    Args:
        after: the new row with its own end, and the links that ``before`` has.
    """
    others = _ends_of_older(store, before, after, now_ms)
    if not was_ended(before):
        return after, others
    start_ms = _start_of_newer(store, before)
    if start_ms is not None:
        return ended(after, start_ms, now_ms), others
    tags = with_end(after.tags, (after.valid_until_ms,))
    hidden = replace(after, valid_until_ms=None, mutable=flagged(after, True), tags=tags)
    return hidden, others


def _ends_of_older(store: Store, before: Row, after: Row, now_ms: int) -> list[Ending]:
    """What a memory supersedes ends at its new start."""
    older = store.catalog.fetch(split_reserved_tags(before.tags).supersedes)
    out = []
    for row in older.values():
        if was_ended(row):
            verify_row(row, store.catalog.path)
            out.append(Ending(row, ended(row, starts_at(after), now_ms)))
    return out


def _start_of_newer(store: Store, row: Row) -> int | None:
    """When the successor of a memory begins; the end that it set, where it has been forgotten."""
    newer = store.catalog.fetch(newer_than(store.catalog, row))
    return min(map(starts_at, newer.values()), default=row.valid_until_ms)


def inherited(store: Store, gone: Sequence[Row]) -> list[Ending]:
    """Pass what forgotten memories superseded on to their successors.

    So a history stays in one piece, and no old memory becomes valid beside the present one.
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
        if now is None:  # damage of a successor must not prevent forgetting
            continue
        found = split_reserved_tags(now.tags)
        every = sorted({*found.supersedes, *(older & alive.keys())})
        if len(every) > len(found.supersedes):
            tags = join_reserved_tags(found.own, every, found.until_ms)
            out.append(Ending(now, replace(now, tags=tags)))
    return out


def _heirs(record_id: int, by: Mapping[int, Iterable[int]], doomed: set[int]) -> set[int]:
    """The nearest successors of a memory that are not forgotten as well."""
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
    """Stage the new rows and mutable halves, before any append: in a ring it may overwrite them."""
    for change in changes:
        row = change.after
        if row.mutable != change.before.mutable:
            tx.hide()
            tx.set_mutable(row.segment_id, row.slot, row.mutable)
        catalog_rows.update_row(tx.connection, change.before, row)
    note_holding(tx.connection, {each.after.id: not was_ended(each.after) for each in changes})


def was_ended(row: Row) -> bool:
    """Whether it has or will have a successor, which may have been forgotten since."""
    return bool(split_reserved_tags(row.tags).until_ms or flags_of(row) & Flag.SUPERSEDED)


def _begins_ms(row: Row) -> int:
    return row.event_ms if row.valid_from_ms is None else row.valid_from_ms


def starts_at(row: Row) -> int:
    return starts_ms(row, row.recorded_ms)


def with_end(tags: tuple[str, ...], until_ms: tuple[int | None, ...]) -> tuple[str, ...]:
    found = split_reserved_tags(tags)
    return join_reserved_tags(found.own, found.supersedes, until_ms)


def flagged(row: Row, on: bool) -> bytes:
    return with_flag(row.mutable, Flag.SUPERSEDED, on)


# Memories that hold words of others: of the question that they answer, of what they correct.

_DAMAGED: Final = (CatalogCorruptError, PartitionCorruptError)

#: characters of words by whose end a quotation is known
_KNOWN_BY: Final = 100


def quoted(router: TierRouter, finder: Finder, ids: Collection[int]) -> dict[int, str]:
    """Memories that answer or correct some others -> the words of these that they hold.

    The caller has the lock.
    """
    store, out = router.durable_store(), dict[int, str]()
    waiting = dict.fromkeys(ids, "")
    while waiting:
        with store.catalog.latest() as db:
            reader = KnowledgeReader(db, store.catalog.path)
            later = {
                (each.target, each.source)
                for each in reader.edges(waiting, direction="in", kinds=("may_change",))
            } | {
                (each.source, each.target)
                for each in reader.edges(waiting, direction="out", kinds=("followed_by",))
            }
        rows = store.catalog.fetch(sorted(waiting))
        later |= {(row.id, new) for row in rows.values() for new in newer_than(store.catalog, row)}
        known, waiting = waiting, {}
        for old, new in sorted(later):
            with suppress(UnknownRecordError, *_DAMAGED):
                words = finder.get(new).turn_before[1]
                said = known[old] or _words_of(finder, old)
                if said is None:
                    said = words
                if new not in out and words and (said[-_KNOWN_BY:] in words or words in said):
                    out[new] = waiting[new] = said
    return out


def requoted(
    parts: WriteContext, store: Store, gone: Sequence[Row], text: str, along: Sequence[Ending]
) -> list[Naming]:
    """The changes of memories that hold words of others which go, or become a text.

    The caller has the lock.

    Args:
        along: changes that are staged before, in the same commit.
    """
    if store is not parts.router.durable_store():
        return []
    ids = {row.id for row in gone}
    quotes = quoted(parts.router, parts.finder, ids)
    rows, out = store.catalog.fetch(sorted(quotes.keys() - ids)), list[Naming]()
    rows |= {each.after.id: each.after for each in along if each.after.id in rows}
    for row in rows.values():
        said = quotes[row.id]
        name, words = turn_before_in(row.metadata)
        rest = {key: value for key, value in row.metadata.items() if key != name}
        if text and said in words:
            rest[name] = words.replace(said, text)
        with suppress(*_DAMAGED, InvalidMetadataError):
            found = renoted(store, parts.router, row, rest, parts.config)
            out += [] if found is None else [found]
    return out


def stage_quotes(tx: Transaction, changes: Sequence[Naming], due_ms: int) -> None:
    """Stage such changes; the words that they replace are gone from the files by a time."""
    for each in changes:
        each.stage(tx)
    if changes:
        note_erasure(tx.connection, [each.before.id for each in changes], due_ms)


def _words_of(finder: Finder, record_id: int) -> str | None:
    """What others quote of a memory; None where damage hides it."""
    try:
        found = finder.get(record_id)
    except _DAMAGED:
        return None
    return found.said or found.text
