"""Many memories with their rows, one after the other, in one commit.

Each step reads what the steps before it have written, as if each had been a commit of its own. So
a batch decides as single calls would, and a crash shows all of it or nothing.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector.errors import UnknownRecordError
from spector.knowledge import Changes, KnowledgeReader
from spector.layout import HEADER_BYTES, MUTABLE_BYTES, MUTABLE_OFFSET, RECORD_DTYPE
from spector.records import MemoryRecord
from spector.store.catalog import Row, link_tags, newer_than
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record
from spector.store.files import Bytes
from spector.store.payloads import follow_user, put_attachments
from spector.store.sqlite import TransactionReads
from spector.tiers import unknown
from spector.write import supersede
from spector.write.changing import Change
from spector.write.context import WriteContext
from spector.write.drafts import Batch, Draft, append_batch, encode_batch, records_of, strengths_of
from spector.write.embedding import importance_of, vectors_of
from spector.write.knowledge.rows import apply_changes
from spector.write.row_state import current_bytes
from spector.write.speaker_updates import namings
from spector.write.speakers import draft_words
from spector.write.writer import Writer

__all__ = ["ChangedError", "Ready", "Series", "SeriesWriter"]

T = TypeVar("T")


class ChangedError(Exception):
    """The store has changed since the moment that a decision was made for."""


class _NothingWritten(Exception):  # noqa: N818 - it ends a transaction, and is no error
    """Ends a transaction that is to change nothing."""


@dataclass(slots=True)
class Ready:
    """A memory that may be stored: its draft, and the vector of its words."""

    draft: Draft
    vector: NDArray[np.float32] | None = None


class Series:
    """Steps of one commit. What they store exists for all further steps, and for no one else."""

    def __init__(
        self,
        parts: WriteContext,
        writer: Writer,
        store: Store,
        tx: Transaction,
        *,
        dry_run: bool = False,
    ) -> None:
        self._parts = parts
        self._writer = writer
        self._store = store
        self._tx = tx
        self._dry_run = dry_run
        self._images: dict[int, Bytes] = {}
        #: of a dry run, which writes into no partition
        self._unwritten: dict[int, MemoryRecord] = {}
        self.now_ms = parts.clock.now_ms()
        #: layer -> the records that it gets
        self.stored: dict[str, list[MemoryRecord]] = {}
        self.drafts: list[Draft] = []
        self.has_changed = False
        #: memories that this commit has superseded or changed
        self.touched: set[int] = set()

    @property
    def reader(self) -> KnowledgeReader:
        """What is known now, the changes of this commit included."""
        return KnowledgeReader(self._tx.connection, self._store.catalog.path)

    def store(
        self,
        ready: Ready,
        importance: float | None = None,
        *,
        supersedes: tuple[int, ...] = (),
        layer: str | None = "episodes",
        attaches: bool = True,
    ) -> MemoryRecord:
        """Store a memory, which ends the validity of what it supersedes.

        Args:
            supersedes: in place of what its draft says; facts end that are named, and no others.
            attaches: what is attached to its draft is kept with it.
        """
        draft, parts = ready.draft, self._parts
        if supersedes:
            draft = copy.copy(draft)
            draft.supersedes = supersedes
            draft.tags = (*draft.tags, *link_tags(supersedes))
        if draft.attachment is not None and not attaches:
            draft = copy.copy(draft)
            draft.attachment = None
        tier = parts.router[draft.tier]
        weight = importance_of(parts, draft) if importance is None else importance
        ids = self._writer.claim_ids(self._tx, 1, self.now_ms)
        if draft.supersedes:
            ends = supersede.endings(
                self._store, [draft], self.now_ms, parts.finder.find, facts_before=0
            )
            supersede.apply(self._tx, ends)
        batch = Batch([draft])
        encoded = encode_batch(
            batch,
            strengths_of(batch, [weight], parts.config),
            ids,
            [tier.code],
            None if ready.vector is None else ready.vector.reshape(1, -1),
            now_ms=self.now_ms,
            dim=parts.dim,
            uuid=self._store.uuid,
            config=parts.config,
        )
        record = records_of(batch, ids, [tier.name], encoded.headers, self.now_ms)[0]
        if self._dry_run:
            self._unwritten[record.id] = record
        else:
            append_batch(self._tx, [tier], batch, ids, encoded, self.now_ms)
            self._attach(record, draft)
        self._images[record.id] = encoded.images[0]
        self.touched.update(draft.supersedes)
        if layer is not None:
            self.stored.setdefault(layer, []).append(record)
        self.drafts.append(draft)
        self.has_changed = True
        return record

    def _attach(self, record: MemoryRecord, draft: Draft) -> None:
        """Keep what is attached to a draft with its memory."""
        if draft.attachment is None:
            return
        follow_user(
            self._tx.connection,
            record.id,
            record.user_id,
            record.agent_id,
            {"attached_bytes": draft.attached_bytes},
        )
        put_attachments(self._tx.connection, {record.id: draft.attachment})

    def complete(self, record: MemoryRecord) -> None:
        """Fill in what stands beside a memory that this commit has stored."""
        if not self._dry_run:
            self._parts.finder.complete(self._store, [record])

    def put(self, changes: Changes, made: Mapping[int, int] | None = None) -> tuple[int, ...]:
        """Write rows of knowledge; the ids of the items that they make.

        Args:
            made: number of a memory in the changes -> its id.
        """
        if not changes:
            return ()
        items: list[int] = []
        if changes.items:
            items = self._writer.claim_ids(self._tx, changes.items, self.now_ms)
        apply_changes(self._tx, changes, made or {}, items)
        self.has_changed = True
        return tuple(items)

    def name(self, earlier: Mapping[int, str]) -> None:
        """Give earlier memories their speaker."""
        router, config = self._parts.router, self._parts.config
        for naming in namings(self._store, router, earlier, config):
            naming.stage(self._tx)
            self.touched.add(naming.before.id)
            self.has_changed = True

    def living(self, ids: Collection[int]) -> dict[int, MemoryRecord]:
        """Those of some memories that exist, as they are now."""
        rows = self._store.catalog.fetch(list(ids))
        made = [self._bare(rows[each]) for each in ids if each in rows]
        found = {each.id: each for each in self._parts.finder.complete(self._store, made)}
        return found | {each: self._unwritten[each] for each in ids if each in self._unwritten}

    def vector(self, record_id: int) -> NDArray[np.float32]:
        """(dim,) f32: the vector of a memory that this commit has stored, as it is kept."""
        image = self._images[record_id]
        header = image[:HEADER_BYTES].view(RECORD_DTYPE)[0]
        codes = image[HEADER_BYTES : HEADER_BYTES + self._parts.dim].view(np.int8)
        return np.asarray(codes * np.float32(header["scale"]), np.float32)

    def change(self, record_id: int, change: Change) -> MemoryRecord:
        """Change the mutable half of a memory in place."""
        if record_id in self._unwritten:
            return self._unwritten[record_id]
        row = self._store.catalog.fetch([record_id]).get(record_id)
        if row is None:
            raise unknown(record_id)
        header = self._header(row)
        if change(header, self._record(row)):
            block = header.tobytes()[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
            self._tx.set_mutable(row.segment_id, row.slot, block)
            catalog_rows.set_mutable(self._tx.connection, [(row.id, block)])
            self.touched.add(record_id)
            self.has_changed = True
        return to_record(row, header, self._tier_of(header), newer_than(self._store.catalog, row))

    def _record(self, row: Row) -> MemoryRecord:
        return self._parts.finder.complete(self._store, [self._bare(row)])[0]

    def _bare(self, row: Row) -> MemoryRecord:
        """A record as its row alone makes it."""
        header = self._header(row)
        return to_record(row, header, self._tier_of(header), newer_than(self._store.catalog, row))

    def _tier_of(self, header: Any) -> str:
        return self._parts.router.by_code(int(header["tier"])).name

    def _header(self, row: Row) -> Any:
        """The header of a memory, which this commit may have made."""
        image = self._images.get(row.id)
        if image is None:
            image = current_bytes(self._store, row)
        else:
            image = image.copy()
            half = np.frombuffer(row.mutable, np.uint8)
            image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = half
        return image[:64].view(RECORD_DTYPE)[0]


class SeriesWriter:
    """Commits series of steps. Callers check that the store is open and writable."""

    def __init__(
        self, parts: WriteContext, writer: Writer, *, note_writes: Callable[[int], None]
    ) -> None:
        self._parts = parts
        self._writer = writer
        self._note_writes = note_writes

    def moment(self) -> int:
        """The state of the store: equal numbers, equal states."""
        return self._parts.router.durable_store().head.change_seq

    def exclusive(self) -> AbstractContextManager[object]:
        """A context in which no other thread of this process changes the store."""
        return self._parts.exclusive()

    def drafts(self, items: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Draft]:
        """Valid drafts of texts and their fields.

        Raises:
            InvalidInputError: naming the field.
        """
        return [self._writer.draft(text, fields) for text, fields in items]

    def record(self, record_id: int) -> MemoryRecord | None:
        """A memory as it is now; None where there is none that holds."""
        with contextlib.suppress(UnknownRecordError):
            found = self._parts.finder.get(record_id)
            return None if found.superseded else found
        return None

    def speakers(self, drafts: Sequence[Draft]) -> dict[int, str]:
        """Name the speakers that texts open with ("Ann: hello"); earlier memories that get one."""
        return self._writer.name_speakers(drafts, self._parts.router.durable_store())

    def ready(self, drafts: Sequence[Draft]) -> list[Ready]:
        """Drafts with the vectors of their words, embedded in one call; no lock may be held."""
        if not drafts:
            return []
        tiers = [self._parts.router[draft.tier] for draft in drafts]
        vectors = vectors_of(self._parts, drafts, tiers, list(map(draft_words, drafts)))
        self._writer.announce(drafts)
        return [
            Ready(draft, None if vectors is None else vectors[n]) for n, draft in enumerate(drafts)
        ]

    def commit(
        self, work: Callable[[Series], T], *, since: int | None = None, dry_run: bool = False
    ) -> T:
        """Commit all that ``work`` does with a series, or nothing if it raises.

        Args:
            since: the moment that the work was prepared for.
            dry_run: undo it; the answer is that of a commit.

        Raises:
            ChangedError: the store has changed since that moment; nothing was done.
        """
        store = self._parts.router.durable_store()
        done: list[T] = []
        with store.exclusive():
            if since is not None and store.head.change_seq != since:
                raise ChangedError
            try:
                with store.transaction() as tx, TransactionReads(store.catalog):
                    series = Series(self._parts, self._writer, store, tx, dry_run=dry_run)
                    done.append(work(series))
                    if dry_run or not series.has_changed:
                        raise _NothingWritten
            except _NothingWritten:
                return done[0]
            self._parts.speakers.learn(store, series.drafts)
        self._note_writes(max(1, len(series.drafts)))
        for layer, records in series.stored.items():
            self._parts.callbacks.note_stored(layer, records)
        return done[0]
