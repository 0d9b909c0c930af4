"""Stores memories with keys: each is new, or takes the place of the one that has its key.

All of a batch is one commit. Replacing keeps the id, the time of recording and the place among
earlier and later versions; everything else is what the new one brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spector.errors import ImmutableRecordError, InvalidInputError
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
from spector.store.core import Transaction, to_record
from spector.store.erasure import note_erasure
from spector.store.payloads import (
    KeyPath,
    delete_rows,
    drop_attachments,
    entry_at,
    has_tables,
    is_marked,
    put_attachments,
    put_entries,
    rows_of,
    table_named,
    unmark,
)
from spector.store.sqlite import TransactionReads
from spector.write import supersede
from spector.write.context import WriteContext, conflict
from spector.write.drafts import (
    Batch,
    Draft,
    Work,
    append_batch,
    encode_batch,
    path_of_draft,
    records_of,
    strengths_of,
)
from spector.write.forgetting import flags_of
from spector.write.replacing.freeing import free_keys
from spector.write.replacing.placing import in_place_of
from spector.write.replacing.ties import ties_of
from spector.write.row_state import row_of, with_flag, words_of_row

__all__ = ["KeyWriter"]


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
        encoded = encode_batch(
            batch,
            strengths_of(batch, [work.importance[n] for n in members], parts.config),
            ids,
            [tier.code for tier in tiers],
            work.vectors_of(members),
            now_ms=work.now_ms,
            dim=parts.dim,
            uuid=store.uuid,
            config=parts.config,
        )
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
        encoded = encode_batch(
            batch,
            strengths_of(batch, [work.importance[n]], parts.config),
            [row.id],
            [tier.code],
            work.vectors_of([n]),
            now_ms=work.now_ms,
            dim=parts.dim,
            uuid=store.uuid,
            config=parts.config,
        )
        event_ms = int(encoded.headers[0]["event_ms"])
        after = row_of(draft, row.id, encoded.mutable(0), event_ms, row.recorded_ms)
        after.segment_id, after.slot = row.segment_id, row.slot
        after, others = in_place_of(store, row, after, work.now_ms)
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
