"""Stores memories with keys: each is new, or takes the place of the one that has its key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from spector.errors import ImmutableRecordError, InvalidInputError, StoreError
from spector.knowledge import (
    PAYLOAD_FACETS,
    Changes,
    KnowledgeReader,
    derived_of,
    plan_lost_mentions,
    plan_new_words,
    plan_other_user,
)
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, Flag
from spector.messages import shown
from spector.records import MemoryRecord
from spector.store.catalog import (
    Row,
    join_reserved_tags,
    newer_than,
    split_reserved_tags,
    verify_row,
)
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record
from spector.store.erasure import note_erasure
from spector.store.payloads import (
    KeyPath,
    Noted,
    delete_owned,
    delete_rows,
    drop_attachments,
    entries_of,
    entry_at,
    has_tables,
    is_marked,
    path_of,
    put_attachments,
    put_entries,
    rows_of,
    table_named,
    unmark,
)
from spector.store.sqlite import TransactionReads
from spector.write import supersede
from spector.write.append import (
    Batch,
    ClaimIds,
    Work,
    append_batch,
    flags_of,
    path_of_draft,
    records_of,
    with_flag,
)
from spector.write.changing import row_of, words_of_row
from spector.write.commit import apply_changes, words_in
from spector.write.context import WriteContext, conflict
from spector.write.draft import Draft
from spector.write.forgetting import Forgetter, stage_deletion

# What is attached to a memory that changes: it stays, is replaced, or goes.


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


# Rows of knowledge that come with the new words of a memory, in the same commit.


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
        apply_changes(tx, changes, claim_ids, parts.clock.now_ms())


# Keys of memories that have expired are free: they are forgotten before another one takes them.


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


# Moves the ends of memories that are used.

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


# What is known of a memory beside its words, and what becomes of it when these change.


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
        apply_changes(tx, self.changes, claim_ids, parts.clock.now_ms())
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


# Stores memories with keys: each is new, or takes the place of the one that has its key.
#
# All of a batch is one commit. Replacing keeps the id, the time of recording and the place among
# earlier and later versions; everything else is what the new one brings.


@dataclass(slots=True)
class _Split:
    """What becomes of each draft of a batch, by its number."""

    #: those that become new memories
    fresh: list[int] = field(default_factory=list)
    #: those that replace a memory, and the entry of its key
    replaced: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: those whose key a memory has already that stays as it is, and its id
    known: dict[int, int] = field(default_factory=dict)
    #: those of a key that a later draft has as well, and that draft
    later: dict[int, int] = field(default_factory=dict)


class KeyWriter:
    """Stores batches with keys. Callers check that the store is open and writable."""

    def __init__(self, parts: WriteContext) -> None:
        self._parts = parts

    def store(self, work: Work) -> list[MemoryRecord | None]:
        """The memory that each draft has become, in one commit.

        None for a draft that was left out because its key was forgotten. ``draft.outcome`` says
        what became of it.

        Raises:
            ImmutableRecordError, InvalidInputError: one cannot be replaced so; nothing was stored.
            ConflictError: the key of one has another revision than it expects.
        """
        store, changed = work.store, list[tuple[Row, Row]]()
        # one moment for all: a memory must not expire after it was chosen to be replaced or kept
        with store.exclusive(), store.catalog.ends.held_at(work.now_ms):
            paths = {path_of_draft(each) for each in work.drafts if each.key is not None}
            free_keys(self._parts, store, paths, work.now_ms)
            split = self._split(work)
            made: dict[int, MemoryRecord] = {}
            if split.fresh or split.replaced or work.then is not None:
                with store.transaction() as tx, TransactionReads(store.catalog):
                    made = self._append(tx, work, split)
                    for n, entry in split.replaced.items():
                        made[n], pair = self._replace(tx, work, n, entry)
                        changed.append(pair)
                    self._put_entries(tx, work, split, made)
                    if work.then is not None:
                        ids = split.known | {n: record.id for n, record in made.items()}
                        ids |= {n: ids[last] for n, last in split.later.items()}
                        work.then(tx, [ids[n] for n in range(len(work.drafts))])
            store.catalog.look_for_ends()
            for before, after in changed:
                self._parts.note_replaced(before, after)
            self._parts.speakers.learn(store, work.drafts)
            self._parts.finder.complete(store, list(made.values()))
            for n, record_id in split.known.items():
                made[n] = self._parts.finder.get(record_id)
        made |= {n: made[last] for n, last in split.later.items() if last in made}
        return [made.get(n) for n in range(len(work.drafts))]

    def _split(self, work: Work) -> _Split:
        """Decide for every draft; of several with one key the last counts."""
        out, last = _Split(), dict[KeyPath, int]()
        for n, draft in enumerate(work.drafts):
            if draft.key is not None:
                last[path_of_draft(draft)] = n
        with work.store.catalog.latest() as db:
            for n, draft in enumerate(work.drafts):
                draft.outcome = "new"
                if draft.key is None:
                    out.fresh.append(n)
                    continue
                path = path_of_draft(draft)
                if last[path] != n:
                    both = (draft, work.drafts[last[path]])
                    if any(each.if_revision is not None for each in both):
                        raise InvalidInputError(
                            f"the key {shown(draft.key)} was given twice, and if_revision with it",
                            hint="pass one of the two in a call of its own",
                        )
                    out.later[n], draft.outcome = last[path], "repeated"
                    continue
                entry = entry_at(db, path, work.store.catalog.path)
                self._refuse_conflict(draft, entry)
                if entry is None and draft.forgotten == "skip" and is_marked(db, path):
                    draft.outcome = "forgotten"
                elif entry is None:
                    out.fresh.append(n)
                elif draft.known == "keep":
                    out.known[n], draft.outcome = entry["id"], "known"
                else:
                    out.replaced[n], draft.outcome = entry, "replaced"
        return out

    def _refuse_conflict(self, draft: Draft, entry: Mapping[str, Any] | None) -> None:
        """Refuse a draft whose key has not the revision that it expects.

        Raises:
            ConflictError
        """
        revision = 0 if entry is None else entry["revision"]
        if draft.if_revision is not None and draft.if_revision != revision:
            current = None if entry is None else self._parts.finder.get(entry["id"])
            raise conflict(
                f"the memory with the key {shown(draft.key)}", draft.if_revision, current
            )

    def _append(self, tx: Transaction, work: Work, split: _Split) -> dict[int, MemoryRecord]:
        """Stage the new memories, and the changes of earlier ones that come with the batch."""
        parts, store, members = self._parts, work.store, split.fresh
        drafts = [work.drafts[n] for n in members]
        if any(draft.supersedes for draft in drafts):
            endings = supersede.endings(store, drafts, work.now_ms, parts.finder.find)
            supersede.apply(tx, endings)
        replaced = {entry["id"] for entry in split.replaced.values()}
        for other in work.others:
            if other.before.id not in replaced:
                other.stage(tx)
        if not members:
            return {}
        batch, tiers = Batch(drafts), [work.tiers[n] for n in members]
        ids = work.claim_ids(tx, len(members), work.now_ms)
        importance = [work.importance[n] for n in members]
        vectors = work.vectors_of(members)
        encoded = parts.encoded(store, batch, importance, ids, tiers, vectors, work.now_ms)
        append_batch(tx, tiers, batch, ids, encoded, work.now_ms)
        names = [tier.name for tier in tiers]
        records = records_of(batch, ids, names, encoded.headers, work.now_ms)
        return dict(zip(members, records, strict=True))

    def _replace(
        self, tx: Transaction, work: Work, n: int, entry: Mapping[str, Any]
    ) -> tuple[MemoryRecord, tuple[Row, Row]]:
        """Stage a memory's new state: every field is the draft's, or its default."""
        parts, store, draft, tier = self._parts, work.store, work.drafts[n], work.tiers[n]
        record_id, attached = entry["id"], entry["attached_bytes"] is not None
        row = store.catalog.fetch([record_id])[record_id]
        verify_row(row, store.catalog.path)
        if flags_of(row) & Flag.IMMUTABLE:
            raise ImmutableRecordError(
                f"the memory with the key {shown(draft.key)} is immutable",
                hint="remember the new one under another key",
            )
        self._link(tx, work, draft, row)
        batch = Batch([draft])
        vectors, importance = work.vectors_of([n]), [work.importance[n]]
        encoded = parts.encoded(store, batch, importance, [row.id], [tier], vectors, work.now_ms)
        event_ms = int(encoded.headers[0]["event_ms"])
        after = row_of(draft, row.id, encoded.mutable(0), event_ms, row.recorded_ms)
        after.segment_id, after.slot = row.segment_id, row.slot
        after, others = supersede.in_place_of(store, row, after, work.now_ms)
        half = encoded.images[0, MUTABLE_OFFSET:HEADER_BYTES]  # no checksum covers it
        half[:] = np.frombuffer(after.mutable, np.uint8)
        ties = ties_of(store, row, after)
        supersede.apply(tx, others)
        if flags_of(row) != flags_of(after):
            tx.hide()
        after.segment_id, after.slot = tier.relocate(
            tx, row, encoded.images, event_ms, with_flag(row.mutable, Flag.TOMBSTONE)
        )
        catalog_rows.update_row(tx.connection, row, after)
        ties.apply(tx, work.claim_ids, parts)
        _drop_details(tx, row.id)
        if attached or words_of_row(row) != words_of_row(after):
            note_erasure(tx.connection, [row.id], parts.erasure_due_ms())
        newer = newer_than(store.catalog, after)
        return to_record(after, encoded.headers[0], tier.name, newer), (row, after)

    def _link(self, tx: Transaction, work: Work, draft: Draft, row: Row) -> None:
        """Keep the links of a memory that is replaced, and add those of the draft.

        Raises:
            InvalidInputError: the draft supersedes or comes from the memory itself, or supersedes a
                later one.
        """
        was, own = split_reserved_tags(row.tags), split_reserved_tags(draft.tags)
        if row.id in draft.parents:
            raise InvalidInputError(
                f"memory {row.id} is among its own parents", hint="leave it out of parents"
            )
        new = [each for each in draft.supersedes if each not in was.supersedes]
        if new and max(new) >= row.id:
            raise InvalidInputError(
                f"memory {max(new)} is not older than memory {row.id}, which has the key"
                f" {shown(draft.key)}",
                hint="remember the new one under another key, or without supersedes",
            )
        draft.supersedes = tuple(new)
        if new:
            find = self._parts.finder.find
            endings = supersede.endings(work.store, [draft], work.now_ms, find, facts_before=row.id)
            supersede.apply(tx, endings)
            own = split_reserved_tags(draft.tags)
        draft.tags = join_reserved_tags(own.own, sorted({*was.supersedes, *own.supersedes}), ())

    def _put_entries(
        self, tx: Transaction, work: Work, split: _Split, made: dict[int, MemoryRecord]
    ) -> None:
        rows, paths = [], []
        for n, record in made.items():
            draft = work.drafts[n]
            if not draft.has_entry:
                continue
            before = split.replaced.get(n)
            revision = (draft.revision or 1) if before is None else before["revision"] + 1
            row: dict[str, Any] = {
                "user_id": draft.user_id or "",
                "agent_id": draft.agent_id or "",
                "namespace": "",
            }
            if draft.key is not None:
                paths.append(path := path_of_draft(draft))
                row = path._asdict()
            rows.append(
                {
                    "id": record.id,
                    **row,
                    "revision": revision,
                    **ends_of(draft, work),
                    "attached_bytes": draft.attached_bytes,
                }
            )
        if rows:
            tx.catalog.ends.are_due = True  # before the commit: an interrupt may follow it
            put_entries(tx.connection, rows)
            unmark(tx.connection, paths)
        drop_attachments(
            tx.connection,
            [
                entry["id"]
                for entry in split.replaced.values()
                if entry["attached_bytes"] is not None
            ],
        )
        attached = {
            record.id: given
            for n, record in made.items()
            if (given := work.drafts[n].attachment) is not None
        }
        if attached:
            put_attachments(tx.connection, attached)


def ends_of(draft: Draft, work: Work) -> dict[str, int | None]:
    """When a memory expires, and how far a use moves that."""
    after_ms = draft.expires_in_ms
    end_ms = draft.expires_ms if after_ms is None else work.now_ms + after_ms
    return {"expires_ms": end_ms, "refresh_ms": after_ms if draft.refresh else draft.refresh_ms}


def _drop_details(tx: Transaction, record_id: int) -> None:
    """Delete what was observed of a memory beside its words: the new words say it no more."""
    if has_tables(tx.connection):
        payload = table_named("payload")
        rows = list(rows_of(tx.connection, payload, {"id": record_id}))
        delete_rows(tx.connection, payload, [(row["id"], row["sort"]) for row in rows])
