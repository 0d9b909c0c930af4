"""The write path for knowledge: memories with their payloads and edges, in one commit or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge import (
    GAIN,
    Changes,
    KnowledgeReader,
    New,
    kin_of,
    layer_of,
    plan_lost_mentions,
    plan_pairs,
)
from spector.layout import Flag
from spector.process import LayerCallbacks, managed
from spector.records import MemoryRecord
from spector.store.catalog import ANYBODY, Scope
from spector.store.core import Store, Transaction
from spector.store.payloads import delete_owned, delete_rows, make_tables, put_rows
from spector.write.changing import Change, Changer, growing
from spector.write.context import WriteContext, importance_of, vectors_of
from spector.write.draft import Draft
from spector.write.writer import Writer

# Rows of a change set, as part of the transaction that stores its memories.


def apply_changes(
    tx: Transaction,
    changes: Changes,
    parts: WriteContext,
    now_ms: int = 0,
    ids: Mapping[int, int] | None = None,
) -> list[int]:
    """Delete and put the rows of a change set; the tables are made when the first row needs them.

    Returns the ids of the items that it makes.

    Args:
        ids: number of a memory that this commit stores -> its id.
    """
    db, items = tx.connection, list[int]()
    if changes.items:
        items = parts.claim_ids(tx, changes.items, now_ms)
    delete_owned(db, changes.forget)
    if changes.puts:
        make_tables(db)
    for table, key in changes.drops:
        delete_rows(db, table, [key])
    for table, row in changes.resolved(ids or {}, items):
        put_rows(db, table, [row])
    return items


def changes_of_names(
    reader: KnowledgeReader, gone: Collection[int], dead: Collection[int], store: Store
) -> Changes:
    """What entities that were merged lose with memories; see `plan_lost_mentions`."""
    changes = Changes()
    plan_lost_mentions(reader, changes, gone, dead, words_in(store))
    return changes


def words_in(store: Store) -> Callable[[Collection[int]], Mapping[int, str]]:
    """What tells the words of memories of a store."""

    def words(ids: Collection[int]) -> dict[int, str]:
        rows = store.catalog.fetch(sorted(ids))
        return {each: row.text for each, row in rows.items() if row.text}

    return words


#: decides in the moment of the commit: (what is known, the time in ms) -> what changes
Decide = Callable[[KnowledgeReader, int], Changes]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text that may become a memory, with the fields of `Memory.remember`."""

    text: str
    fields: Mapping[str, Any]
    #: times the usual starting stability
    growth: float = 1.0


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit made."""

    #: number of the prepared text -> its memory
    records: Mapping[int, MemoryRecord]
    #: ids of the items, in the order in which the change made them
    items: tuple[int, ...] = ()

    def id_of(self, which: int | New) -> int:
        """The id that a placeholder stands for by now."""
        if not isinstance(which, New):
            return which
        return self.items[which.n] if which.item else self.records[which.n].id


class UnpreparedError(Exception):
    """A decision needs a text that the caller has not prepared: what it had read has changed."""


@dataclass(eq=False)
class KnowledgeWriter:
    """Commits change sets. Callers check that the store is open and writable."""

    parts: WriteContext
    writer: Writer
    changer: Changer
    note_writes: Callable[[int], None]
    #: called before knowledge changes: no row of it may then hang on a memory that has expired
    forget_ended: Callable[[], object] = bool

    @managed
    def reading(self) -> Iterator[KnowledgeReader]:
        """What is known, row by row as it is now.

        It is no single moment: that would hold the catalog's log for as long as a slow embedder or
        source takes.
        """
        store = self.parts.router.durable_store()
        with store.catalog.reading() as db:
            yield KnowledgeReader(db, store.catalog.path)

    @property
    def callbacks(self) -> LayerCallbacks:
        """The callbacks of layers, called when one gets or loses a memory."""
        return self.parts.callbacks

    def commit(
        self,
        decide: Decide,
        prepared: Sequence[Prepared] = (),
        strengthen: Collection[tuple[int, Change]] = (),
        *,
        also: Callable[[Transaction], None] | None = None,
        counts: bool = True,
        scope: Scope = ANYBODY,
        named: Iterable[int] = (),
    ) -> Committed:
        """Commit what ``decide`` decides; nothing is written when that is nothing.

        Args:
            decide: called under the store's lock; it may raise, and then nothing has changed.
            prepared: texts that it may make memories of.
            strengthen: changes of the mutable half of memories, in the same commit.
            also: called with the transaction before the commit.
            counts: whether it counts as a write.
            scope: that memories must be of that are ``named``.

        Raises:
            UnknownRecordError: one of those is outside of the scope.
        """
        drafts = [self._draft(each) for each in prepared]
        tiers = [self.parts.router[draft.tier] for draft in drafts]
        vectors = (
            None
            if not drafts
            else vectors_of(self.parts, drafts, tiers, [draft.text for draft in drafts])
        )
        importance = [importance_of(self.parts, draft) for draft in drafts]
        store = self.parts.router.durable_store()
        with store.exclusive():
            now_ms = self.parts.clock.now_ms()
            for each in () if scope.is_open else named:
                self.parts.finder.find(each, scope)
            self.forget_ended()
            with store.catalog.latest() as db:
                changes = decide(KnowledgeReader(db, store.catalog.path), now_ms)
            if not changes and not strengthen:
                return Committed({})
            if max(changes.store, default=-1) >= len(prepared):
                raise UnpreparedError
            items: list[int] = []

            def apply(tx: Transaction, ids: Sequence[int]) -> None:
                made = dict(zip(changes.store, ids, strict=True))
                items[:] = apply_changes(tx, changes, self.parts, now_ms, made)
                self.changer.stage(tx, strengthen)
                if also is not None:
                    also(tx)

            records: list[MemoryRecord] = []
            if changes.store:
                chosen = [
                    self._draft(prepared[n], gone) if gone else drafts[n]
                    for n in changes.store
                    for gone in (changes.supersedes.get(New(n), ()),)
                ]
                for n, draft in zip(changes.store, chosen, strict=True):
                    draft.derived = changes.is_derived(New(n))
                records = self.writer.store_with(
                    chosen,
                    None if vectors is None else vectors[changes.store],
                    [importance[n] for n in changes.store],
                    apply,
                )
            else:
                with store.transaction() as tx:
                    apply(tx, ())
        if counts:
            self.note_writes(max(1, len(records)))
        for n, record in zip(changes.store, records, strict=True):
            layer = layer_of(changes.sorts_of(New(n)))
            if layer is not None:
                self.parts.callbacks.note_stored(layer, [record])
        return Committed(dict(zip(changes.store, records, strict=True)), tuple(items))

    def _draft(self, prepared: Prepared, gone: tuple[int, ...] = ()) -> Draft:
        """The draft of a text, with the memories that it supersedes."""
        fields = {**prepared.fields, "supersedes": gone} if gone else prepared.fields
        draft = self.writer.draft(prepared.text, fields)
        if prepared.growth != 1.0:
            draft.growth = prepared.growth
        return draft


# What a use of memories changes: themselves, what is tied to them, and how often they go together.

#: what does not live: it neither fades nor grows
_AT_REST: Final = int(Flag.DORMANT | Flag.SUPERSEDED | Flag.QUARANTINED)


@dataclass(eq=False)
class UseRecorder:
    """Notes the uses of memories. Callers check that the store is open and writable."""

    parts: WriteContext
    changer: Changer
    knowledge: KnowledgeWriter

    def note_use(
        self, ids: Sequence[int], scope: Scope = ANYBODY, *, associate: bool = False
    ) -> None:
        """Count that memories were recalled together, the best first.

        Each gains an access, now, and 2 % of stability. Where the store holds knowledge, or
        ``associate`` asks for it, each pair of the best ten counts once more, and at most twenty
        living neighbours gain 2 % of stability, once. Nothing crosses users or leaves the scope.
        """
        with self.parts.exclusive():
            self.changer.note_use(ids, scope)
            store = self.parts.router.durable_store()
            rows = store.catalog.fetch(ids)
            users = {
                each: rows[each].user_id for each in ids if each in rows and scope.holds(rows[each])
            }
            with store.catalog.latest() as db:
                reader = KnowledgeReader(db, store.catalog.path)
                if not users or not (associate or reader.holds_any):
                    return
                kin = kin_of(reader, list(users), self.parts.config.association)
            living = store.catalog.fetch(kin)
            owners = set(users.values())
            near = [
                each
                for each in kin
                if each in living and scope.holds(living[each]) and living[each].user_id in owners
            ]

            def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
                changes = Changes()
                plan_pairs(reader, changes, users, now_ms)
                return changes

            self.knowledge.commit(decide, strengthen=[(each, self._grow) for each in near])

    def _grow(self, header: Any, record: MemoryRecord) -> bool:
        """The stability of a living neighbour, 2 % greater."""
        if int(header["flags"]) & _AT_REST:
            return False
        return growing(GAIN, self.parts.config.max_stability_days)(header, record)
