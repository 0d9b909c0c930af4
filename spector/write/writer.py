"""The write path for new memories: what a caller passes becomes drafts, and drafts records.

Every write goes through one transaction of the store that keeps the record's tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.arguments import parse_callback, parse_choice, refuse_scopes, refuse_scopes_in
from spector.errors import InvalidInputError, InvalidTextError, SpectorError
from spector.language.statements import Opening, may_be_instruction, speaker_in
from spector.layout import CERTAIN
from spector.messages import reading, refuse_unknown, shown
from spector.process import each_elsewhere
from spector.records import MemoryList, MemoryRecord, Skipped
from spector.store.core import Store, Transaction
from spector.store.payloads import make_tables, put_rows
from spector.tiers import TierStore
from spector.write import supersede
from spector.write.append import (
    BESIDE,
    KeyStore,
    Settler,
    Work,
    refuse_future_parents,
)
from spector.write.context import WriteContext, importance_of, vectors_of
from spector.write.draft import Draft, is_own, make_draft, may_name, wordless
from spector.write.fields import FIELDS
from spector.write.speakers import (
    Naming,
    draft_words,
    name_speakers,
    namings,
    with_room,
    words_with,
)

#: called with the transaction and the ids of its memories before the commit
Then = Callable[[Transaction, list[int]], None]
#: bytes of attachments from which a batch is committed
_MOST_ATTACHED = 32 << 20
#: outcomes of drafts that were written
_WRITTEN = frozenset({"new", "replaced"})
#: called with (stored so far, total or None)
Progress = Callable[[int, int | None], None]


@dataclass(eq=False)
class Writer:
    """Stores new memories. Callers check that the store is open and writable.

    Args:
        expect: called with the texts of possible instructions before they are stored.
        note_writes: called with how many are stored.
        settler: decides what drafts supersede that leave it open.
        keyed: stores drafts with keys.
    """

    parts: WriteContext
    expect: Callable[[Iterable[str]], None]
    note_writes: Callable[[int], None]
    settler: Callable[[], Settler]
    keyed: KeyStore

    def remember(
        self, item: Any, fields: Mapping[str, Any], names_scopes: bool = False, text: Any = None
    ) -> MemoryRecord:
        """Store one text or message, with the fields of a memory as keywords."""
        refuse_unknown(fields, FIELDS, "remember")
        if text is not None:
            if item is not None or not isinstance(text, str):
                raise InvalidTextError(
                    f"text is {shown(text)}" if item is None else "the text was given twice",
                    hint="pass one str, as the first argument or as text",
                )
            item = text
        return self.store([self.draft(item, fields, names_scopes=names_scopes)])[0]

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        common: Mapping[str, Any],
        progress: Progress | None,
        known: Any = "replace",
        forgotten: Any = "store",
        names_scopes: bool = False,
    ) -> MemoryList:
        """Store many, in batches of ``Config.batch_records``; each batch is one commit a store."""
        refuse_unknown(common, FIELDS, "remember_many")
        parse_callback(progress, "progress")
        known = parse_choice(known, "if_known", "replace", "keep")
        forgotten = parse_choice(forgotten, "if_forgotten", "store", "skip")
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise InvalidInputError(
                f"remember_many takes several memories, got one {type(items).__name__}",
                hint="pass a list of them, or use remember for one",
            )
        with reading("items"):
            total = len(items) if isinstance(items, Sized) else None
            refuse_scopes_in(items, common, may_fill=names_scopes, is_own=is_own)
        out = MemoryList()
        skipped: list[Skipped] = []
        batch: list[Draft] = []
        places: list[int] = []
        taken = weight = 0

        def commit() -> None:
            # in one go, unless one may supersede another of them
            settles = any(each.settles for each in batch)
            for run in self.settler().runs(batch) if settles else [batch]:
                out.extend(self.store(run))
            for place, draft in zip(places, batch, strict=True):
                out.outcomes[place] = draft.outcome
            batch.clear()
            places.clear()
            if progress is not None:
                progress(len(out), total)

        try:
            for item in each_elsewhere(items):  # an error of the iterator passes through
                out.outcomes.append("skipped")
                if common.get("attachment") is None and (reason := wordless(item)):
                    skipped.append(Skipped(taken, reason))
                else:
                    draft = self._draft_with(item, common, names_scopes)
                    if draft.key is not None:
                        draft.known, draft.forgotten = known, forgotten
                    batch.append(draft)
                    places.append(taken)
                    weight += draft.attached_bytes or 0
                taken += 1
                if len(batch) == self.parts.config.batch_records or weight > _MOST_ATTACHED:
                    commit()
                    weight = 0
            if batch:
                commit()
        except SpectorError as error:
            error.add_note(f"item {taken} or later failed; the first {len(out)} are stored")
            raise
        out.skipped = tuple(skipped)
        return out

    def _draft_with(self, item: Any, common: Mapping[str, Any], names_scopes: bool) -> Draft:
        """The draft of one of many; ``common`` fields apply where it has none of its own."""
        if type(item) is not dict and not isinstance(item, Mapping):
            return self.draft(item, common, names_scopes=names_scopes)
        refuse_scopes(item, common, may_fill=names_scopes or is_own(item))
        if common:
            with reading("items"):
                item = {**common, **item}
        return self.draft(item, {})

    def draft(
        self,
        item: Any,
        given: Mapping[str, Any],
        *,
        names_aliases: bool = False,
        is_attached: bool = False,
        names_scopes: bool = True,
    ) -> Draft:
        """The draft of a text or message, for a tier that there is.

        Args:
            names_aliases: ``metadata["aliases"]`` name it, whatever its role and source.
            is_attached: it has an attachment already.
            names_scopes: a message may say whose it is, where ``given`` leaves it open.
        """
        draft = make_draft(
            item,
            given,
            config=self.parts.config,
            dim=self.parts.dim,
            may_name=None if names_aliases else may_name,
            is_attached=is_attached,
            names_scopes=names_scopes,
        )
        tier = self.parts.router[draft.tier]  # an unknown one is refused before embedding
        return draft.in_tier(tier.name, lasts=not tier.volatile)

    def store(self, drafts: Sequence[Draft], then: Then | None = None) -> list[MemoryRecord]:
        """Store drafts; announces them first, and counts them afterwards.

        Args:
            then: adds to the commit of the durable store; it tells the layers, too.
        """
        self.announce(drafts)
        found = self._append(drafts, then)
        records = [each for each in found if each is not None]
        self.note_writes(len(drafts))
        if then is not None:
            return records
        lasting = [
            each
            for each, draft in zip(found, drafts, strict=True)
            if each is not None
            and draft.outcome in _WRITTEN
            and not self.parts.router[each.tier].volatile
        ]
        self.parts.callbacks.note_stored("episodes", lasting)
        return records

    def announce(self, drafts: Iterable[Draft]) -> None:
        """Pass drafts about to be written that may be instructions to ``expect``."""
        self.expect(
            draft.text
            for draft in drafts
            if (draft.role is not None or draft.confidence is None or draft.confidence >= CERTAIN)
            and may_be_instruction(
                draft.text, draft.role, speaker_in(draft.role, draft.metadata), draft.source
            )
        )

    def _append(
        self, drafts: Sequence[Draft], then: Then | None = None
    ) -> list[MemoryRecord | None]:
        """Store drafts; one transaction per store that keeps any of their tiers.

        A draft whose text names its speaker gets that as its metadata's ``speaker``.
        """
        tiers = [self.parts.router[draft.tier] for draft in drafts]
        by_store: dict[Store, list[int]] = {}
        for n, tier in enumerate(tiers):
            by_store.setdefault(tier.store, []).append(n)
        ties = {} if then is None else {self.parts.router.durable_store(): then}
        openings = self.parts.speakers.openings(drafts)
        settles = any(draft.settles for draft in drafts)
        if not openings and not settles:
            vectors = vectors_of(self.parts, drafts, tiers, list(map(draft_words, drafts)))
            importance = [importance_of(self.parts, draft) for draft in drafts]
            return self._store_all(by_store, drafts, tiers, importance, vectors, {}, ties)
        with self.parts.exclusive():
            names, earlier = self._read(by_store, drafts, openings)
            seen = [store.head.change_seq for store in by_store]
        vectors = vectors_of(self.parts, drafts, tiers, words_with(drafts, names))
        importance = [importance_of(self.parts, draft) for draft in drafts]
        with self.parts.exclusive():
            if seen != [store.head.change_seq for store in by_store]:
                # a name that another writer has decided on meanwhile stays in the vectors, as in
                # those of earlier memories: writers do not wait for an embedder
                names, earlier = self._read(by_store, drafts, openings)
            name_speakers(drafts, names, self.parts.config)
            if settles:
                ties = self._settle(by_store, drafts, vectors)
            gone = {each for draft in drafts for each in draft.supersedes}
            for each in earlier.values():
                for record_id in gone & each.keys():
                    del each[record_id]
            to_name = {
                store: namings(store, self.parts.router, each, self.parts.config)
                for store, each in earlier.items()
            }
            return self._store_all(by_store, drafts, tiers, importance, vectors, to_name, ties)

    def _settle(
        self,
        by_store: Mapping[Store, list[int]],
        drafts: Sequence[Draft],
        vectors: NDArray[np.float32] | None,
    ) -> dict[Store, Then]:
        """Decide what drafts of the durable store supersede; what their commit adds, by store."""
        store = self.parts.router.durable_store()
        ours = by_store.get(store, [])
        members = [n for n in ours if not self.parts.router[drafts[n].tier].volatile]
        if not members:
            return {}
        changes = self.settler().settle(
            [drafts[n] for n in members],
            None if vectors is None else vectors[members],
            self.parts.clock.now_ms(),
        )

        def put_ties(tx: Transaction, ids: list[int]) -> None:
            made = dict(zip(ours, ids, strict=True))
            make_tables(tx.connection)
            for table, row in changes.resolved({n: made[e] for n, e in enumerate(members)}, ()):
                put_rows(tx.connection, table, [row])

        return {store: put_ties} if changes else {}

    def _read(
        self,
        by_store: Mapping[Store, list[int]],
        drafts: Sequence[Draft],
        openings: Mapping[int, Opening],
    ) -> tuple[dict[int, str], dict[Store, dict[int, str]]]:
        """Speakers of drafts by number, and of earlier memories by store and id."""
        names: dict[int, str] = {}
        earlier: dict[Store, dict[int, str]] = {}
        for store, members in by_store.items():
            own = {at: openings[n] for at, n in enumerate(members) if n in openings}
            reading = self.parts.speakers.read(store, [drafts[n] for n in members], own)
            names.update((members[at], name) for at, name in reading.drafts.items())
            superseded = {i for n in members for i in drafts[n].supersedes}
            earlier[store] = {i: name for i, name in reading.earlier.items() if i not in superseded}
        return with_room(drafts, names, self.parts.config), earlier

    def _store_all(
        self,
        by_store: Mapping[Store, list[int]],
        drafts: Sequence[Draft],
        tiers: Sequence[TierStore],
        importance: Sequence[float],
        vectors: NDArray[np.float32] | None,
        to_name: Mapping[Store, Sequence[Naming]],
        ties: Mapping[Store, Then],
    ) -> list[MemoryRecord | None]:
        if len(by_store) == 1:
            (store,) = by_store
            return self._store_batch(
                store, drafts, tiers, importance, vectors, to_name.get(store, ()), ties.get(store)
            )
        out: dict[int, MemoryRecord | None] = {}
        with self.parts.exclusive():  # a refusal comes before the first store has anything
            refuse_future_parents(drafts, self.parts.next_id(self.parts.clock.now_ms()))
            for store, members in by_store.items():
                own = [drafts[n] for n in members]
                supersede.endings(store, own, self.parts.clock.now_ms(), self.parts.finder.find)
            # first the disk, which may have no room, and keys, which may have changed
            first = self.parts.router.durable_store()
            for store, members in sorted(by_store.items(), key=lambda e: e[0] is not first):
                records = self._store_batch(
                    store,
                    [drafts[n] for n in members],
                    [tiers[n] for n in members],
                    [importance[n] for n in members],
                    None if vectors is None else vectors[members],
                    to_name.get(store, ()),
                    ties.get(store),
                )
                out.update(zip(members, records, strict=True))
        return [out[n] for n in range(len(drafts))]

    def name_speakers(self, drafts: Sequence[Draft], store: Store) -> dict[int, str]:
        """Name the speakers that drafts open with; earlier memories that get theirs, by id."""
        openings = self.parts.speakers.openings(drafts)
        if not openings:
            return {}
        members = {store: list(range(len(drafts)))}
        with self.parts.exclusive():
            names, earlier = self._read(members, drafts, openings)
        name_speakers(drafts, names, self.parts.config)
        return earlier.get(store, {})

    def store_with(
        self,
        drafts: Sequence[Draft],
        vectors: NDArray[np.float32] | None,
        importance: Sequence[float],
        then: Then,
    ) -> list[MemoryRecord]:
        """Store drafts of the durable store, embedded before, with what ``then`` adds."""
        tiers = [self.parts.router[draft.tier] for draft in drafts]
        store = self.parts.router.durable_store()
        found = self._store_batch(store, drafts, tiers, importance, vectors, (), then)
        records = [each for each in found if each is not None]
        return self.parts.finder.complete(store, records)  # what was added may say more of them

    def _store_batch(
        self,
        store: Store,
        drafts: Sequence[Draft],
        tiers: Sequence[TierStore],
        importance: Sequence[float],
        vectors: NDArray[np.float32] | None,
        to_name: Sequence[Naming],
        then: Then | None = None,
    ) -> list[MemoryRecord | None]:
        """Store drafts of one store in one commit.

        Args:
            then: called with the transaction and the ids before the commit.
        """
        parts, clock, given = self.parts, self.parts.clock, set[str]().union(*map(vars, drafts))
        if not BESIDE.isdisjoint(given):
            with store.exclusive():  # it may wait, so the clock is read afterwards
                refuse_future_parents(drafts, parts.next_id(now_ms := clock.now_ms()))
                work = Work(store, drafts, tiers, importance, vectors, to_name, now_ms, then)
                return self.keyed.store(work)
        with store.exclusive(), store.transaction() as tx:
            ids = parts.claim_ids(tx, len(drafts), now_ms := clock.now_ms())
            refuse_future_parents(drafts, ids[0])
            if "supersedes" in given:
                ends = supersede.endings(store, drafts, now_ms, parts.finder.find)
                supersede.apply(tx, ends)
            for naming in to_name:
                naming.stage(tx)
            records = parts.append(tx, store, drafts, tiers, ids, importance, vectors, now_ms)
            if then is not None:
                then(tx, ids)
        parts.speakers.learn(store, drafts)
        return [*records]

    def keep_last_id(self) -> None:
        """Before closing: note in the durable store the last id, if a volatile tier has it.

        Otherwise a clock that stands still or goes back could cause ids to be used again.
        """
        last = max(store.head.last_id for store in self.parts.stores)
        for store in self.parts.stores:
            behind = store.files.durable and store.head.last_id < last
            if behind and store.writable and store.is_open and not store.failed:
                with store.transaction() as tx:
                    tx.note_id(last)
