"""Many memories with their rows, one after the other, in one commit."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector.errors import ImportFormatError, InvalidInputError, UnknownRecordError
from spector.knowledge import (
    NO_KNOWLEDGE,
    Arrival,
    Arrivals,
    Changes,
    Knowledge,
    KnowledgeReader,
    MetError,
    Place,
    layer_of,
)
from spector.layout import HEADER_BYTES, MUTABLE_BYTES, MUTABLE_OFFSET, RECORD_DTYPE
from spector.records import MemoryRecord, is_user_said
from spector.store.catalog import Row, link_tags, newer_than
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record
from spector.store.files import Bytes
from spector.store.payloads import (
    Connection,
    entry_at,
    follow_user,
    is_marked,
    make_tables,
    put_attachments,
)
from spector.store.sqlite import TransactionReads
from spector.tiers import unknown
from spector.write import supersede
from spector.write.append import Batch, append_batch, path_of_draft, records_of
from spector.write.changing import Change, current_bytes
from spector.write.commit import apply_changes
from spector.write.context import WriteContext, importance_of, vectors_of
from spector.write.draft import Draft
from spector.write.speakers import draft_words, namings
from spector.write.writer import Writer

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
        ids = self._parts.claim_ids(self._tx, 1, self.now_ms)
        if draft.supersedes:
            ends = supersede.endings(
                self._store, [draft], self.now_ms, parts.finder.find, facts_before=0
            )
            supersede.apply(self._tx, ends)
        batch = Batch([draft])
        vectors = None if ready.vector is None else ready.vector.reshape(1, -1)
        encoded = parts.encoded(self._store, batch, [weight], ids, [tier], vectors, self.now_ms)
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
        items = apply_changes(self._tx, changes, self._parts, self.now_ms, made)
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
        made = [self._bare(row, self._header(row)) for each in ids if (row := rows.get(each))]
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
        [record] = self._parts.finder.complete(self._store, [self._bare(row, header)])
        if change(header, record):
            block = header.tobytes()[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
            self._tx.set_mutable(row.segment_id, row.slot, block)
            catalog_rows.set_mutable(self._tx.connection, [(row.id, block)])
            self.touched.add(record_id)
            self.has_changed = True
        return self._bare(row, header)

    def _bare(self, row: Row, header: Any) -> MemoryRecord:
        """A record as its row alone makes it."""
        tier = self._parts.router.by_code(int(header["tier"])).name
        return to_record(row, header, tier, newer_than(self._store.catalog, row))

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


# Stores what an import brings: memories with their payloads and ties in one commit, or nothing.


@dataclass(frozen=True, slots=True)
class Incoming:
    """A line of an import: its memory, and what it says beside it."""

    draft: Draft
    knowledge: Knowledge
    #: its id and its user in the file
    given_id: int | None
    given_scope: str


class ArrivalWriter:
    """Commits batches of an import. Callers check that the store is open and writable."""

    def __init__(self, parts: WriteContext, writer: Writer) -> None:
        self._parts = parts
        self._writer = writer

    def draft(self, fields: dict[str, Any]) -> Draft:
        """The draft of a memory that was one already: its aliases name it, whatever its role."""
        return self._writer.draft(fields, {}, names_aliases=True)

    def store(
        self, arrivals: Arrivals, lines: Sequence[Incoming], *, brings_back: bool = True
    ) -> list[MemoryRecord]:
        """Store a batch; a memory that the store has already stands for its line.

        Args:
            arrivals: what the lines before have become; it learns what these become.
            brings_back: also store what was forgotten by its key.
        """
        lines = self._wanted(lines, brings_back=brings_back)
        if not lines:
            return []
        says_more = any(each.knowledge is not NO_KNOWLEDGE for each in lines)
        if not arrivals.expects([each.given_id for each in lines], says_more):
            records = self._writer.store([each.draft for each in lines])
            for each, record in zip(lines, records, strict=True):
                arrivals.note(each.given_id, self._place(each, record.id))
            return records
        while True:
            known = self._known(arrivals, lines)
            try:
                return self._store(arrivals, lines, known)
            except MetError:
                continue  # another writer stored it between the two looks

    def _wanted(self, lines: Sequence[Incoming], *, brings_back: bool) -> Sequence[Incoming]:
        """Those lines that are stored; one whose key the store has stands for that memory."""
        keyed = [each for each in lines if each.draft.key is not None]
        for each in keyed:
            each.draft.known = "keep"
        if brings_back or not keyed:
            return lines
        with self._parts.router.durable_store().catalog.reading() as db:
            gone = [
                each
                for each in keyed
                if is_marked(db, path_of_draft(each.draft)) and self._entry(db, each.draft) is None
            ]
        return [each for each in lines if each not in gone] if gone else lines

    def _entry(self, db: Connection, draft: Draft) -> dict[str, Any] | None:
        """The entry of a draft's key, unless its memory has expired."""
        entry = entry_at(db, path_of_draft(draft))
        ends = self._parts.router.durable_store().catalog.ends
        expired = entry is not None and ends.has_expired(entry, self._parts.clock.now_ms())
        return None if expired else entry

    def _known(self, arrivals: Arrivals, lines: Sequence[Incoming]) -> dict[int, int]:
        """Number of a line -> the memory of the store that is what it says."""
        store = self._parts.router.durable_store()
        with store.catalog.reading() as db:
            keyed = {
                n: entry["id"]
                for n, each in enumerate(lines)
                if each.draft.key is not None and (entry := self._entry(db, each.draft)) is not None
            }
            return keyed | arrivals.known(
                KnowledgeReader(db, store.catalog.path),
                [
                    (
                        each.knowledge if self._is_lasting(each) else NO_KNOWLEDGE,
                        each.given_id,
                        each.draft.user_id or "",
                    )
                    for each in lines
                ],
            )

    def _store(
        self, arrivals: Arrivals, lines: Sequence[Incoming], known: Mapping[int, int]
    ) -> list[MemoryRecord]:
        fresh = [n for n in range(len(lines)) if n not in known]
        kept: dict[int, MemoryRecord] = {
            n: self._parts.finder.get(memory) for n, memory in known.items()
        }

        store = self._parts.router.durable_store()
        ours = [n for n in fresh if self._parts.router[lines[n].draft.tier].store is store]

        def then(tx: Transaction, ids: list[int]) -> None:
            """Add the knowledge of the batch to the commit of its memories."""
            places = dict(zip(ours, ids, strict=True)) | dict(known)
            arrived = [
                Arrival(
                    lines[n].knowledge,
                    lines[n].given_id,
                    self._place(lines[n], places[n], is_known=n in known),
                )
                for n in sorted(places)
            ]
            reader, apply = self._in(tx)
            arrivals.plan(reader, arrived, apply, self._parts.clock.now_ms())

        records = self._writer.store([lines[n].draft for n in fresh], then) if fresh else []
        if not ours:
            with store.transaction() as tx:
                then(tx, [])
        for n, record in zip(fresh, records, strict=True):
            kept[n] = record
            if not self._is_lasting(lines[n]):
                arrivals.note(lines[n].given_id, self._place(lines[n], record.id))
        self._tell(lines, [(n, kept[n]) for n in fresh])
        return [kept[n] for n in range(len(lines))]

    def _tell(self, lines: Sequence[Incoming], stored: Sequence[tuple[int, MemoryRecord]]) -> None:
        """Call the callbacks of the layers that got memories."""
        for n, record in stored:
            layer = layer_of(lines[n].knowledge.sorts)
            if layer is not None and self._is_lasting(lines[n]):
                self._parts.callbacks.note_stored(layer, [record])

    def store_items(
        self, arrivals: Arrivals, lines: Sequence[tuple[str, Mapping[str, object]]]
    ) -> None:
        """Apply lines that are no memories, in one commit.

        Args:
            lines: where each stands, and what it says.

        Raises:
            ImportFormatError: A line contradicts what the store has.
        """
        with self._parts.router.durable_store().transaction() as tx:
            reader, apply = self._in(tx)
            for where, line in lines:
                try:
                    arrivals.plan_item(reader, line, apply)
                except InvalidInputError as error:
                    raise ImportFormatError(f"{where}: {error.message}", hint=error.hint) from error

    def _in(self, tx: Transaction) -> tuple[KnowledgeReader, Callable[[Changes], Sequence[int]]]:
        """What a transaction knows so far, and what adds changes to it."""
        make_tables(tx.connection)
        path = self._parts.router.durable_store().catalog.path

        def apply(changes: Changes) -> Sequence[int]:
            return apply_changes(tx, changes, self._parts, self._parts.clock.now_ms())

        return KnowledgeReader(tx.connection, path), apply

    def _is_lasting(self, line: Incoming) -> bool:
        return not self._parts.router[line.draft.tier].volatile

    def _place(self, line: Incoming, memory: int, *, is_known: bool = False) -> Place:
        return Place(
            memory,
            line.draft.user_id or "",
            line.given_scope,
            is_user_said=is_user_said(line.draft.role),
            is_known=is_known,
            is_lasting=self._is_lasting(line),
        )
