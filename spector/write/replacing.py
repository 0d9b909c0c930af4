"""A memory gets another state under its id: by ``update``, or by a new one that has its key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.arguments import SCOPES, id_of, parse_integer, parse_move, parse_vector
from spector.clock import from_ms
from spector.errors import ImmutableRecordError, InvalidInputError, StoreError, UnknownRecordError
from spector.kernel.contract import record_mask
from spector.knowledge import (
    PAYLOAD_FACETS,
    Changes,
    KnowledgeReader,
    derived_of,
    plan_lost_mentions,
    plan_new_words,
    plan_other_user,
)
from spector.language.statements import folded_name, searched_words
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, RECORD_DTYPE, Flag
from spector.messages import reading, refuse_unknown, shown
from spector.providers import embedded
from spector.records import NOT_GIVEN, TURNS_BEFORE, MemoryRecord
from spector.store.catalog import (
    ANYBODY,
    Row,
    Scope,
    join_reserved_tags,
    newer_than,
    split_reserved_tags,
    verify_row,
)
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record, verified_image
from spector.store.erasure import note_erasure
from spector.store.payloads import (
    KeyPath,
    Noted,
    delete_owned,
    delete_rows,
    drop_attachments,
    entries_of,
    entry_at,
    follow_user,
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
from spector.tiers import TierStore
from spector.write import supersede
from spector.write.append import (
    Batch,
    Encoded,
    Work,
    flags_of,
    path_of_draft,
    reseal,
)
from spector.write.changing import current_bytes, indexed_of, relocate, row_of, words_of_row
from spector.write.commit import apply_changes, words_in
from spector.write.context import WriteContext, conflict, refuse_conflict, vectors_of
from spector.write.draft import ENDING, Draft, ends_in, may_name, with_aliases, without_end
from spector.write.fields import FIELDS, Named
from spector.write.forgetting import Forgetter, stage_deletion
from spector.write.speakers import (
    Reading,
    draft_words,
    is_vector_of,
    name_speakers,
    namings,
    with_room,
    without_speaker,
)
from spector.write.supersede import requoted, stage_quotes
from spector.write.writer import Writer

#: fields that `update` cannot change; scopes change by ``move_to``
_FIXED: Final = frozenset(
    {"tier", "parents", "supersedes", "key", "namespace", "if_revision", *SCOPES}
)
_CHANGEABLE: Final = (
    *(name for name in FIELDS if name not in _FIXED),
    "text",
    "move_to",
    *SCOPES,
)
#: changes after which the speaker may be another
_SPEAKING: Final = frozenset({"text", "metadata", "role", "confidence"})
#: fields that a record keeps elsewhere, or not at all
_ELSEWHERE: Final = frozenset(
    {"vector", "aliases", "key", "namespace", "if_revision", "attachment", *ENDING}
)
_CHANGE: Final = 'write it like update(id, text="..."), or update(id, move_to={"user_id": "b"})'
#: how a memory gets another scope, for callers who took the guard for a change
_MOVE: Final = (
    "user_id, agent_id and session_id say whose the memory must be; to change them, write"
    ' update(id, move_to={"user_id": "b"})'
)


@dataclass(eq=False)
class Updater:
    """Corrects records. Callers check that the store is open and writable.

    Args:
        writer: makes drafts of the new states.
        note_writes: called with the number of memories after they have changed.
    """

    parts: WriteContext
    writer: Writer
    note_writes: Callable[[int], None]

    def update(
        self,
        target: Named,
        changes: dict[str, Any],
        move_to: Mapping[str, str | None] | None,
        scope: Scope,
        if_revision: Any = None,
    ) -> MemoryRecord:
        """Change fields of a memory of the scope; see ``Memory.update``."""
        record_id = id_of(target)
        expected = None if if_revision is None else parse_integer(if_revision, "if_revision", 0)
        refuse_unknown(changes, _CHANGEABLE, "update")
        ends = ends_in(changes, self.parts.clock.now_ms(), self.parts.config.zone)
        changes.update(parse_move(move_to, self.parts.config))
        if not changes and ends is None:
            raise InvalidInputError(
                "update was given nothing to change",
                hint=_CHANGE if scope.is_open else _MOVE,
            )
        with _how_to_move(scope):
            record = self._update(record_id, changes, scope, ends=ends, expected=expected)
        self.note_writes(1)
        return self.parts.finder.within(record, scope)

    def _update(
        self,
        record_id: int,
        changes: dict[str, Any],
        scope: Scope,
        more: Beside | None = None,
        ends: Mapping[str, int | None] | None = None,
        expected: int | None = None,
    ) -> MemoryRecord:
        finder, exclusive = self.parts.finder, self.parts.exclusive
        before = finder.get(record_id, scope)
        if before.immutable:
            raise ImmutableRecordError(
                f"record {before.id} is immutable", hint="remember a new one instead"
            )
        if self.parts.router[before.tier].volatile:
            ends = without_end(ends, before.tier)
        embeds = changes.get("vector") is None and self.parts.embedder is not None
        if embeds:  # before the lock: a model, and more so a server, would keep writers waiting
            with exclusive():
                draft = self._changed(before, _with_aliases(changes, before))[0]
            words = draft_words(draft)
            vector = self._vector_after(before, changes, words)
            if "text" in changes:
                self.writer.announce([draft])
        with exclusive():
            known = before
            before = finder.get(record_id, scope)
            refuse_conflict(finder.within(before, scope), expected)
            if not scope.is_open and changes.get("user_id", before.user_id) != before.user_id:
                raise InvalidInputError(
                    "move_to names another user than the guard lets pass",
                    hint="a memory changes its user only by a call without user_id, agent_id"
                    " and session_id",
                )
            changed = _with_aliases(changes, before)
            draft, earlier = self._changed(before, changed)
            if embeds:
                after = draft_words(draft)
                if (after, before.text, before.speaker) != (words, known.text, known.speaker):
                    vector = self._vector_after(before, changed, after)
                if vector is not None:
                    changed["vector"] = draft.vector = parse_vector(vector, self.parts.dim)
            free_moved(self.parts, before, draft)
            return self._replace(
                before.id, changed, draft, scope, earlier=earlier, more=more, ends=ends
            )

    def merge(self, record_id: int, changes: dict[str, Any], more: Beside) -> MemoryRecord:
        """Change fields of a memory, its strengths and rows beside it, in one commit."""
        record = self._update(record_id, changes, ANYBODY, more)
        self.note_writes(1)
        return record

    def restate(self, record_id: int, text: str, knowledge: Changes) -> None:
        """Bring an item of knowledge to new words and rows, in one commit."""
        embedder, changes = self.parts.embedder, {"text": text}
        vector = None if embedder is None else embedded(embedder, [text])[0]
        with self.parts.exclusive():
            fields = _fields_of(self.parts.finder.get(record_id))
            draft = self.writer.draft(text, {**fields, "text": None, "vector": vector})
            self._replace(record_id, changes, draft, ANYBODY, earlier={}, restated=knowledge)
        self.note_writes(1)

    def _changed(
        self, before: MemoryRecord, changes: Mapping[str, Any]
    ) -> tuple[Draft, dict[int, str]]:
        """A record's new state, and earlier memories that get their speaker with it."""
        fields = _fields_of(before)
        fields.update(changes)
        keeps = "attachment" not in changes and before.attachment_bytes is not None
        draft = self.writer.draft(fields.pop("text"), fields, names_aliases=True, is_attached=keeps)
        return draft, self._name_speaker(before, changes, draft)

    def _vector_after(self, before: MemoryRecord, changes: Mapping[str, Any], words: str) -> Any:
        """The vector of a record's new words; None where it keeps the one it has.

        The words change, too, when the name that they open with becomes the speaker's or stops
        being it. Then a vector that the user gave stays.
        """
        embedder = self.parts.embedder
        assert embedder is not None, "only a store with an embedder embeds"
        if "text" in changes:
            return embedded(embedder, [words])[0] if changes["text"] else None
        old = searched_words(before.text, before.role, before.metadata)
        if old == words:
            return None
        made = embedded(embedder, [old, words])
        store, row = self.parts.finder.find(before.id)
        return made[1] if is_vector_of(verified_image(store, row), made[0]) else None

    def _name_speaker(
        self, before: MemoryRecord, changes: Mapping[str, Any], draft: Draft
    ) -> dict[int, str]:
        """Name the speaker of a record's new state, unless the change or the record gives one.

        The caller holds the store's lock.

        Returns:
            Earlier memories that get their speaker with it, by id.
        """
        if changes.keys().isdisjoint(_SPEAKING):
            return {}
        was = without_speaker(before, draft, self.parts.config)
        openings = self.parts.speakers.openings([draft])
        if not openings:
            return {}
        if was is not None and openings[0].folded == folded_name(was):
            reading = Reading({0: was})
        else:
            store = self.parts.finder.find(before.id)[0]
            reading = self.parts.speakers.read(store, [draft], openings, without=before.id)
        names = with_room([draft], reading.drafts, self.parts.config)
        name_speakers([draft], names, self.parts.config)
        return reading.earlier

    def _replace(
        self,
        record_id: int,
        changes: Mapping[str, Any],
        draft: Draft,
        scope: Scope,
        *,
        earlier: Mapping[int, str],
        restated: Changes | None = None,
        more: Beside | None = None,
        ends: Mapping[str, int | None] | None = None,
    ) -> MemoryRecord:
        """Bring a record to the state of ``draft``; ``changes`` has what the caller gave.

        Text, tags, scopes, event time and confidence are part of the immutable half of a record,
        so changing one of them writes a new slot under the same id. So does changing its index
        entry, even if the vector stays the same: the words of a slot never change.
        Everything else is changed in place.
        """
        store, row, tier = self.parts.finder.locate(record_id, scope)
        with store.exclusive():
            store, row, tier = self.parts.finder.locate(record_id, scope)
            verify_row(row, store.catalog.path)
            image = current_bytes(store, row).reshape(1, -1)
            before = image[0, :64].view(RECORD_DTYPE)[0]
            if Flag.IMMUTABLE & int(before["flags"]):
                raise ImmutableRecordError(
                    f"record {record_id} is immutable", hint="remember a new one instead"
                )
            if "valid_until" in changes:
                supersede.refuse_new_end(store, row, scope)
            own_end = split_reserved_tags(row.tags).until_ms
            draft.tags = supersede.with_end(draft.tags, own_end)
            encoded = self._changed_image(store, row, image, changes, draft, tier, more)
            moves = indexed_of(draft) != indexed_of(row) or bytes(
                encoded.images[0, :MUTABLE_OFFSET]
            ) != bytes(verified_image(store, row)[:MUTABLE_OFFSET])
            if moves:  # into a partition that has no clusters yet
                encoded.headers["centroid"] = 0
                encoded = reseal(encoded.images, store.uuid)
            after = row_of(
                draft,
                record_id,
                encoded.mutable(0),
                int(encoded.headers[0]["event_ms"]),
                row.recorded_ms,
            )
            after.segment_id, after.slot = row.segment_id, row.slot
            after, others = supersede.moved(store, row, after, self.parts.clock.now_ms())
            hides = after.mutable[:2] != encoded.mutable(0)[:2]  # the flags
            if hides:
                encoded.headers["flags"] = np.frombuffer(after.mutable, "<u2", count=1)
                encoded = reseal(encoded.images, store.uuid)
            to_name = namings(store, self.parts.router, earlier, self.parts.config)
            quoting = (
                []
                if draft.text == row.text
                else requoted(self.parts, store, [row], draft.text, others)
            )
            ties = Ties(restated) if restated else ties_of(store, row, after)
            with store.transaction() as tx:
                supersede.apply(tx, others)
                touched = {record_id, *(other.before.id for other in others)}
                touched |= {each.before.id for each in quoting}
                stage_quotes(tx, quoting, self.parts.erasure_due_ms())
                for naming in to_name:
                    if naming.before.id not in touched:
                        naming.stage(tx)
                if hides:
                    tx.hide()
                if moves:
                    relocate(tx, tier, row, after, encoded)
                else:
                    tx.set_mutable(row.segment_id, row.slot, after.mutable)
                    catalog_rows.update_row(tx.connection, row, after)
                ties.apply(tx, self.parts)
                had = _follow(tx, after, ends, draft, changes)
                if more is not None:
                    more.apply(tx, store, self.parts)
                if had or words_of_row(row) != words_of_row(after):
                    note_erasure(tx.connection, [row.id], self.parts.erasure_due_ms())
            store.catalog.look_for_ends()
            self.parts.note_replaced(row, after)
            made = (after, encoded.headers[0], tier.name, newer_than(store.catalog, after))
            return self.parts.finder.complete(store, [to_record(*made)])[0]

    def _changed_image(
        self,
        store: Store,
        row: Row,
        image: NDArray[np.uint8],
        changes: Mapping[str, Any],
        draft: Draft,
        tier: TierStore,
        more: Beside | None,
    ) -> Encoded:
        if "text" in changes or "vector" in changes:
            vectors = vectors_of(self.parts, [draft], [tier], [draft_words(draft)])
            if vectors is not None:
                batch = Batch([draft])
                fresh = self.parts.encoded(store, batch, [0.0], [row.id], [tier], vectors, 0)
                image[:, 64:] = fresh.images[:, 64:]
                image[:, 4:8] = fresh.images[:, 4:8]
        header = image[0, :64].view(RECORD_DTYPE)
        with store.catalog.latest() as db:
            path = next(map(path_of, entries_of(db, [row.id]).values()), None)
        namespace = None if path is None else path.namespace
        scopes = (draft.user_id, draft.agent_id, draft.session_id)
        header["tags"] = record_mask(draft.tags, *scopes, namespace)
        if draft.event_ms is not None:
            header["event_ms"] = draft.event_ms
        if draft.confidence is not None:
            header["confidence"] = round(255 * draft.confidence)
        header["category"], header["modality"] = draft.category, draft.modality
        header["valence"] = round(127 * draft.valence)
        header["arousal"] = round(255 * draft.arousal)
        if draft.importance is not None:
            header["importance"] = draft.importance
        flags = int(header["flags"][0])
        for name, flag in (
            ("pinned", Flag.PINNED),
            ("immutable", Flag.IMMUTABLE),
            ("unresolved", Flag.UNRESOLVED),
        ):
            if name in changes:
                flags = flags | flag if getattr(draft, name) else flags & ~int(flag)
        header["flags"] = draft.flags_of_text(flags)
        if more is not None:
            more.change(header[0])
        return reseal(image, store.uuid)


def _with_aliases(changes: Mapping[str, Any], before: MemoryRecord) -> dict[str, Any]:
    """Changes with the aliases where they are stored. Other metadata leave them as they are, and
    what the memory answers or corrects."""
    out, metadata = dict(changes), changes.get("metadata")
    if "metadata" in changes and (metadata is None or isinstance(metadata, Mapping)):
        with reading("metadata"):
            given = dict(metadata or {})
        said = {name: before.metadata[name] for name in TURNS_BEFORE if name in before.metadata}
        said |= given
        out["metadata"] = {
            name: each for name, each in said.items() if name not in TURNS_BEFORE or each
        } or None
        if "aliases" not in out and "aliases" not in given:
            return with_aliases({**out, "aliases": before.aliases}, None)
        if "aliases" not in out and not may_name(
            changes.get("role", before.role), changes.get("source", before.source)
        ):
            out["metadata"][NOT_GIVEN] = False
    return with_aliases(out, before.metadata) if "aliases" in out else out


def _follow(
    tx: Transaction,
    after: Row,
    ends: Mapping[str, int | None] | None,
    draft: Draft,
    changes: Mapping[str, Any],
) -> bool:
    """Let the entry and the attachment of a changed memory follow; whether one went.

    Raises:
        InvalidInputError: its new user has its key already.
    """
    had, attached = attach(tx, after.id, draft, changes)
    both = {**(ends or {}), **attached} or None
    tx.catalog.ends.are_due |= ends is not None  # before the commit: an interrupt may follow it
    taken = follow_user(tx.connection, after.id, after.user_id, after.agent_id, both)
    if flags_of(after) & Flag.IMMUTABLE and entries_of(tx.connection, [after.id]).get(
        after.id, {}
    ).get("expires_ms"):
        raise InvalidInputError(
            f"memory {after.id} expires, so it cannot be immutable",
            hint="take its end off first",
        )
    if taken is not None:
        raise InvalidInputError(
            f"the user and agent that it would move to have a memory with the key"
            f" {shown(taken.record_key)} already",
            hint="forget one of the two first",
        )
    return had


@contextlib.contextmanager
def _how_to_move(scope: Scope) -> Iterator[None]:
    """Add to an unknown id how a move is written, which the guard may have been meant for."""
    try:
        yield
    except UnknownRecordError as error:
        if scope.is_open:
            raise
        raise UnknownRecordError(error.message, hint=f"{error.hint}; {_MOVE}") from None


def _fields_of(record: MemoryRecord) -> dict[str, Any]:
    """A record as the arguments that would make it, with its own end if it has been superseded."""
    own = [None if ms is None else from_ms(ms) for ms in record.own_until_ms]
    until = own[0] if own else record.valid_until
    own_names = (name for name in FIELDS if name not in _ELSEWHERE)
    fields = {name: getattr(record, name) for name in own_names}
    return {
        **fields,
        "text": record.text,
        "valid_until": until,
        "supersedes": record.supersedes or None,
    }


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

    def apply(self, tx: Transaction, store: Store, parts: WriteContext) -> None:
        """Stage the rows in the transaction of the memory's change."""
        with TransactionReads(store.catalog):
            changes = self.rows(KnowledgeReader(tx.connection, store.catalog.path))
        apply_changes(tx, changes, parts, parts.clock.now_ms())


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


@dataclass(eq=False)
class EndMover:
    """Lets memories with ``refresh`` live on from each hit.

    A new end counts in this process at once. It is noted, and goes along with the next commit of
    the store, whatever that is for. So a recall seldom writes, and a kill loses a small part of
    what a use gives.
    """

    parts: WriteContext
    may_write: Callable[[], bool]
    #: where something was noted; tiers may be gone already when a memory closes itself
    _store: Store | None = field(default=None, init=False)

    def refresh(self, ids: Collection[int], *, goes_along: bool = False) -> None:
        """Note new ends for those memories that a use keeps; of others nothing is noted.

        Args:
            goes_along: the caller is about to commit something else.
        """
        store = self.parts.router.durable_store()
        ends = store.catalog.ends
        if not (ids and ends.are_there() and self.may_write()):
            return
        now_ms, is_due = self.parts.clock.now_ms(), False
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

    def apply(self, tx: Transaction, parts: WriteContext) -> None:
        """Stage them in the transaction of the memory's change."""
        if not (self.changes or self.rows or self.items):
            return
        apply_changes(tx, self.changes, parts, parts.clock.now_ms())
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


@dataclass(eq=False)
class KeyWriter:
    """Stores batches with keys. Callers check that the store is open and writable."""

    parts: WriteContext

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
            free_keys(self.parts, store, paths, work.now_ms)
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
                self.parts.note_replaced(before, after)
            self.parts.speakers.learn(store, work.drafts)
            self.parts.finder.complete(store, list(made.values()))
            for n, record_id in split.known.items():
                made[n] = self.parts.finder.get(record_id)
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
            current = None if entry is None else self.parts.finder.get(entry["id"])
            raise conflict(
                f"the memory with the key {shown(draft.key)}", draft.if_revision, current
            )

    def _append(self, tx: Transaction, work: Work, split: _Split) -> dict[int, MemoryRecord]:
        """Stage the new memories, and the changes of earlier ones that come with the batch."""
        parts, store, members = self.parts, work.store, split.fresh
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
        records = parts.append(
            tx,
            store,
            drafts,
            [work.tiers[n] for n in members],
            parts.claim_ids(tx, len(members), work.now_ms),
            [work.importance[n] for n in members],
            work.vectors_of(members),
            work.now_ms,
        )
        return dict(zip(members, records, strict=True))

    def _replace(
        self, tx: Transaction, work: Work, n: int, entry: Mapping[str, Any]
    ) -> tuple[MemoryRecord, tuple[Row, Row]]:
        """Stage a memory's new state: every field is the draft's, or its default."""
        parts, store, draft, tier = self.parts, work.store, work.drafts[n], work.tiers[n]
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
        relocate(tx, tier, row, after, encoded)
        ties.apply(tx, parts)
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
            find = self.parts.finder.find
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
