"""``update``: a record gets another state under the same id."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.arguments import SCOPES, id_of, parse_integer, parse_move, parse_vector
from spector.clock import from_ms
from spector.errors import ImmutableRecordError, InvalidInputError, UnknownRecordError
from spector.kernel.contract import record_mask
from spector.knowledge import Changes
from spector.language.statements import folded_name, searched_words
from spector.layout import MUTABLE_OFFSET, RECORD_DTYPE, Flag
from spector.messages import reading, refuse_unknown, shown
from spector.providers import embedded
from spector.records import NOT_GIVEN, TURNS_BEFORE, MemoryRecord
from spector.store.catalog import ANYBODY, Row, Scope, newer_than, verify_row
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record, verified_image
from spector.store.erasure import note_erasure
from spector.store.payloads import entries_of, follow_user, path_of
from spector.tiers import TierStore
from spector.write import supersede
from spector.write.append import Batch, Encoded, flags_of, reseal, with_flag
from spector.write.changing import current_bytes, indexed_of, row_of, words_of_row
from spector.write.context import WriteContext, refuse_conflict, vectors_of
from spector.write.draft import ENDING, Draft, ends_in, may_name, with_aliases, without_end
from spector.write.fields import FIELDS, Named
from spector.write.replacing import Beside, Ties, attach, free_moved, ties_of
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


class Updater:
    """Corrects records. Callers check that the store is open and writable.

    Args:
        writer: makes drafts of the new states.
        note_writes: called with the number of memories after they have changed.
    """

    def __init__(
        self, parts: WriteContext, writer: Writer, *, note_writes: Callable[[int], None]
    ) -> None:
        self._parts = parts
        self._writer = writer
        self._note_writes = note_writes

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
        ends = ends_in(changes, self._parts.clock.now_ms(), self._parts.config.zone)
        changes.update(parse_move(move_to, self._parts.config))
        if not changes and ends is None:
            raise InvalidInputError(
                "update was given nothing to change",
                hint=_CHANGE if scope.is_open else _MOVE,
            )
        with _how_to_move(scope):
            record = self._update(record_id, changes, scope, ends=ends, expected=expected)
        self._note_writes(1)
        return self._parts.finder.within(record, scope)

    def _update(
        self,
        record_id: int,
        changes: dict[str, Any],
        scope: Scope,
        more: Beside | None = None,
        ends: Mapping[str, int | None] | None = None,
        expected: int | None = None,
    ) -> MemoryRecord:
        finder, exclusive = self._parts.finder, self._parts.exclusive
        before = finder.get(record_id, scope)
        if before.immutable:
            raise ImmutableRecordError(
                f"record {before.id} is immutable", hint="remember a new one instead"
            )
        if self._parts.router[before.tier].volatile:
            ends = without_end(ends, before.tier)
        embeds = changes.get("vector") is None and self._parts.embedder is not None
        if embeds:  # before the lock: a model, and more so a server, would keep writers waiting
            with exclusive():
                draft = self._changed(before, _with_aliases(changes, before))[0]
            words = draft_words(draft)
            vector = self._vector_after(before, changes, words)
            if "text" in changes:
                self._writer.announce([draft])
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
                    changed["vector"] = draft.vector = parse_vector(vector, self._parts.dim)
            free_moved(self._parts, before, draft)
            return self._replace(
                before.id, changed, draft, scope, earlier=earlier, more=more, ends=ends
            )

    def merge(self, record_id: int, changes: dict[str, Any], more: Beside) -> MemoryRecord:
        """Change fields of a memory, its strengths and rows beside it, in one commit."""
        record = self._update(record_id, changes, ANYBODY, more)
        self._note_writes(1)
        return record

    def restate(self, record_id: int, text: str, knowledge: Changes) -> None:
        """Bring an item of knowledge to new words and rows, in one commit."""
        embedder, changes = self._parts.embedder, {"text": text}
        vector = None if embedder is None else embedded(embedder, [text])[0]
        with self._parts.exclusive():
            fields = _fields_of(self._parts.finder.get(record_id))
            draft = self._writer.draft(text, {**fields, "text": None, "vector": vector})
            self._replace(record_id, changes, draft, ANYBODY, earlier={}, restated=knowledge)
        self._note_writes(1)

    def _changed(
        self, before: MemoryRecord, changes: Mapping[str, Any]
    ) -> tuple[Draft, dict[int, str]]:
        """A record's new state, and earlier memories that get their speaker with it."""
        fields = _fields_of(before)
        fields.update(changes)
        keeps = "attachment" not in changes and before.attachment_bytes is not None
        draft = self._writer.draft(
            fields.pop("text"), fields, names_aliases=True, is_attached=keeps
        )
        return draft, self._name_speaker(before, changes, draft)

    def _vector_after(self, before: MemoryRecord, changes: Mapping[str, Any], words: str) -> Any:
        """The vector of a record's new words; None where it keeps the one it has.

        The words change, too, when the name that they open with becomes the speaker's or stops
        being it. Then a vector that the user gave stays.
        """
        embedder = self._parts.embedder
        assert embedder is not None, "only a store with an embedder embeds"
        if "text" in changes:
            return embedded(embedder, [words])[0] if changes["text"] else None
        old = searched_words(before.text, before.role, before.metadata)
        if old == words:
            return None
        made = embedded(embedder, [old, words])
        store, row = self._parts.finder.find(before.id)
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
        was = without_speaker(before, draft, self._parts.config)
        openings = self._parts.speakers.openings([draft])
        if not openings:
            return {}
        if was is not None and openings[0].folded == folded_name(was):
            reading = Reading({0: was})
        else:
            store = self._parts.finder.find(before.id)[0]
            reading = self._parts.speakers.read(store, [draft], openings, without=before.id)
        names = with_room([draft], reading.drafts, self._parts.config)
        name_speakers([draft], names, self._parts.config)
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
        store, row, tier = self._parts.finder.locate(record_id, scope)
        with store.exclusive():
            store, row, tier = self._parts.finder.locate(record_id, scope)
            verify_row(row, store.catalog.path)
            image = current_bytes(store, row).reshape(1, -1)
            before = image[0, :64].view(RECORD_DTYPE)[0]
            if Flag.IMMUTABLE & int(before["flags"]):
                raise ImmutableRecordError(
                    f"record {record_id} is immutable", hint="remember a new one instead"
                )
            if "valid_until" in changes:
                supersede.refuse_new_end(store, row, scope)
            draft.tags = supersede.with_end_of(row, draft.tags)
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
            after, others = supersede.moved(store, row, after, self._parts.clock.now_ms())
            hides = after.mutable[:2] != encoded.mutable(0)[:2]  # the flags
            if hides:
                encoded.headers["flags"] = np.frombuffer(after.mutable, "<u2", count=1)
                encoded = reseal(encoded.images, store.uuid)
            to_name = namings(store, self._parts.router, earlier, self._parts.config)
            quoting = (
                []
                if draft.text == row.text
                else requoted(self._parts, store, [row], draft.text, others)
            )
            ties = Ties(restated) if restated else ties_of(store, row, after)
            with store.transaction() as tx:
                supersede.apply(tx, others)
                touched = {record_id, *(other.before.id for other in others)}
                touched |= {each.before.id for each in quoting}
                stage_quotes(tx, quoting, self._parts.erasure_due_ms())
                for naming in to_name:
                    if naming.before.id not in touched:
                        naming.stage(tx)
                if hides:
                    tx.hide()
                if moves:
                    after.segment_id, after.slot = tier.relocate(
                        tx,
                        row,
                        encoded.images,
                        int(encoded.headers[0]["event_ms"]),
                        with_flag(row.mutable, Flag.TOMBSTONE),
                    )
                else:
                    tx.set_mutable(row.segment_id, row.slot, after.mutable)
                catalog_rows.update_row(tx.connection, row, after)
                ties.apply(tx, self._writer.claim_ids, self._parts)
                had = _follow(tx, after, ends, draft, changes)
                if more is not None:
                    more.apply(tx, store, self._writer.claim_ids, self._parts)
                if had or words_of_row(row) != words_of_row(after):
                    note_erasure(tx.connection, [row.id], self._parts.erasure_due_ms())
            store.catalog.look_for_ends()
            self._parts.note_replaced(row, after)
            made = (after, encoded.headers[0], tier.name, newer_than(store.catalog, after))
            return self._parts.finder.complete(store, [to_record(*made)])[0]

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
            vectors = vectors_of(self._parts, [draft], [tier], [draft_words(draft)])
            if vectors is not None:
                batch = Batch([draft])
                fresh = self._parts.encoded(store, batch, [0.0], [row.id], [tier], vectors, 0)
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
