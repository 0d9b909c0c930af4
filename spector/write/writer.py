"""The write path: drafts become records; records are changed, strengthened and forgotten.

Every change goes through one transaction of the store that keeps the record's tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.clock import Clock, from_ms
from spector.config import Config
from spector.errors import (
    ImmutableRecordError,
    InvalidInputError,
    InvalidVectorError,
    PartitionCorruptError,
    UnknownRecordError,
)
from spector.language.statements import Opening, folded_name, speaker_in, words_of
from spector.layout import MUTABLE_BYTES, MUTABLE_DTYPE, MUTABLE_OFFSET, RECORD_DTYPE, Flag
from spector.messages import said
from spector.process import elsewhere
from spector.providers import Embedder, ImportanceScorer, embedded
from spector.records import ForgetReport, MemoryRecord, aliases_in
from spector.store.catalog import ANYBODY, Row, Scope, newer_than, verify_row
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record, verified_image
from spector.store.erasure import awaits_erasure, note_erasure
from spector.store.files import Bytes
from spector.tiers import TierRouter, TierStore
from spector.write import supersede
from spector.write.append import append, records_of
from spector.write.batch import Batch, strengths_of
from spector.write.draft import Draft
from spector.write.encode import Encoded, bloom_of, encode, reseal
from spector.write.speaker_updates import Naming, is_vector_of, namings
from spector.write.speakers import (
    Opens,
    Reading,
    Speakers,
    draft_words,
    name_speakers,
    with_room,
    without_speaker,
)

__all__ = ["Writer", "unknown"]

#: changes the mutable fields of one header in place; False when there is nothing to change
Change = Callable[[Any, MemoryRecord], bool]
_NONE: Mapping[int, Any] = {}
#: what is changed when a speaker may be another
_SPEAKING = frozenset({"text", "metadata", "role", "confidence"})
_MAX_U32 = 0xFFFF_FFFF
_DAY_S = 86_400
#: ids that an error names
_MOST_NAMED = 1000


class Writer:
    """All verbs that change a memory. Callers check that the store is open and writable."""

    def __init__(
        self,
        router: TierRouter,
        *,
        embedder: Embedder | None,
        importance: ImportanceScorer | None,
        clock: Clock,
        config: Config,
        dim: int,
        opens: Opens,
    ) -> None:
        """
        Args:
            opens: the name that a text opens with, if it may be its speaker's.
        """
        self._router = router
        self._embedder = embedder
        self._importance = importance
        self._clock = clock
        self._config = config
        self._dim = dim
        self._speakers = Speakers(opens)
        #: not asked of the tiers, which know them weakly: the last call may come from a collector
        self._stores = router.stores()
        #: its lock is that of all stores of one memory, so ids and multi-store changes are in order
        self._first = self._stores[0]

    # -- remember -----------------------------------------------------------------------------

    def remember(self, drafts: Sequence[Draft]) -> list[MemoryRecord]:
        """Store drafts; one transaction per store that keeps any of their tiers.

        A draft that names its speaker in the text gets that as its metadata's ``speaker``.
        """
        tiers = [self._router[draft.tier] for draft in drafts]
        by_store: dict[Store, list[int]] = {}
        for n, tier in enumerate(tiers):
            by_store.setdefault(tier.store, []).append(n)
        openings = self._speakers.openings(drafts)
        if not openings:
            vectors = self._vectors(drafts, tiers, list(map(draft_words, drafts)))
            importance = [self._importance_of(draft) for draft in drafts]
            return self._store_all(by_store, drafts, tiers, importance, vectors, {})
        with self._first.exclusive():
            names, earlier = self._read(by_store, drafts, openings)
            seen = [store.head.change_seq for store in by_store]
        vectors = self._vectors(drafts, tiers, _words_with(drafts, names))
        importance = [self._importance_of(draft) for draft in drafts]
        with self._first.exclusive():
            if seen != [store.head.change_seq for store in by_store]:
                # a name that another writer has settled meanwhile stays in the vectors, as it does
                # in those of earlier memories: writers do not wait for an embedder
                names, earlier = self._read(by_store, drafts, openings)
            name_speakers(drafts, names, self._config)
            to_name = {
                store: namings(store, self._router, each, self._config)
                for store, each in earlier.items()
            }
            return self._store_all(by_store, drafts, tiers, importance, vectors, to_name)

    def _read(
        self, by_store: Mapping[Store, list[int]], drafts: Sequence[Draft],
        openings: Mapping[int, Opening],
    ) -> tuple[dict[int, str], dict[Store, dict[int, str]]]:
        """Speakers of drafts by number, and of earlier memories by store and id."""
        names: dict[int, str] = {}
        earlier: dict[Store, dict[int, str]] = {}
        for store, members in by_store.items():
            own = {at: openings[n] for at, n in enumerate(members) if n in openings}
            reading = self._speakers.read(store, [drafts[n] for n in members], own)
            names.update((members[at], name) for at, name in reading.drafts.items())
            superseded = {i for n in members for i in drafts[n].supersedes}
            earlier[store] = {
                i: name for i, name in reading.earlier.items() if i not in superseded
            }
        return with_room(drafts, names, self._config), earlier

    def _store_all(
        self, by_store: Mapping[Store, list[int]], drafts: Sequence[Draft],
        tiers: Sequence[TierStore], importance: Sequence[float],
        vectors: NDArray[np.float32] | None, to_name: Mapping[Store, Sequence[Naming]],
    ) -> list[MemoryRecord]:
        if len(by_store) == 1:
            store = tiers[0].store
            return self._store_batch(
                store, drafts, tiers, importance, vectors, to_name.get(store, ())
            )
        out: dict[int, MemoryRecord] = {}
        with self._first.exclusive():  # a refusal comes before the first store has anything
            _refuse_future_parents(drafts, self._next_id(self._clock.now_ms()))
            for store, members in by_store.items():
                own = [drafts[n] for n in members]
                supersede.endings(store, own, self._clock.now_ms(), self.find)
            # the disk first, which may have no room
            for store, members in sorted(by_store.items(), key=lambda e: not e[0].files.durable):
                records = self._store_batch(
                    store, [drafts[n] for n in members], [tiers[n] for n in members],
                    [importance[n] for n in members], None if vectors is None else vectors[members],
                    to_name.get(store, ()),
                )
                out.update(zip(members, records, strict=True))
        return [out[n] for n in range(len(drafts))]

    def _store_batch(
        self,
        store: Store,
        drafts: Sequence[Draft],
        tiers: Sequence[TierStore],
        importance: Sequence[float],
        vectors: NDArray[np.float32] | None,
        to_name: Sequence[Naming],
    ) -> list[MemoryRecord]:
        now_ms, batch = self._clock.now_ms(), Batch(drafts)
        with store.exclusive(), store.transaction() as tx:
            ids = self._claim_ids(tx, len(drafts), now_ms)
            _refuse_future_parents(drafts, ids[0])
            if batch.given("supersedes"):
                supersede.apply(tx, supersede.endings(store, drafts, now_ms, self.find))
            for naming in to_name:
                naming.stage(tx)
            encoded = encode(
                batch, strengths_of(batch, importance, self._config), ids,
                [tier.code for tier in tiers], vectors,
                now_ms=now_ms, dim=self._dim, uuid=store.uuid, config=self._config,
            )
            append(tx, tiers, batch, ids, encoded, now_ms)
        self._speakers.learn(store, drafts)
        return records_of(batch, ids, [tier.name for tier in tiers], encoded.headers, now_ms)

    def _claim_ids(self, tx: Transaction, count: int, now_ms: int) -> list[int]:
        """Ids in the order of time, unique over all tiers, below 2**53 until the year 2248.

        The millisecond counts in the high bits; a clock that stands still or goes back only makes
        the ids count on from the last one.
        """
        first = self._next_id(now_ms)
        tx.note_id(first + count - 1)
        return list(range(first, first + count))

    def _next_id(self, now_ms: int) -> int:
        last = max(store.head.last_id for store in self._router.stores())
        return max(last + 1, min(max(now_ms, 0), (1 << 43) - 1) << 10)

    def keep_last_id(self) -> None:
        """Before closing: let the durable store know of ids that only volatile tiers were given.

        Otherwise a clock that stands still or goes back could have them given out again.
        """
        last = max(store.head.last_id for store in self._stores)
        for store in self._stores:
            behind = store.files.durable and store.head.last_id < last
            if behind and store.writable and store.is_open and not store.failed:
                with store.transaction() as tx:
                    tx.note_id(last)

    def _vectors(
        self, drafts: Sequence[Draft], tiers: Sequence[TierStore], words: Sequence[str]
    ) -> NDArray[np.float32] | None:
        """(n, dim) f32: given vectors as they are, the others made of ``words`` in one call.

        Without an embedder, volatile memories may do without a vector: zeros, or None for all.
        """
        missing = [n for n, draft in enumerate(drafts) if draft.vector is None]
        if missing and self._embedder is None:
            lasting = [tiers[n].name for n in missing if not tiers[n].volatile]
            if lasting:
                raise InvalidVectorError(
                    f"no vector for a memory of tier {lasting[0]}, and the store has no embedder",
                    hint="pass vector=, or open the store with an embedder",
                )
            if len(missing) == len(drafts):
                return None
        if not missing:
            return np.array([draft.vector for draft in drafts])
        out = np.zeros((len(drafts), self._dim), dtype=np.float32)
        for n, draft in enumerate(drafts):
            if draft.vector is not None:
                out[n] = draft.vector
        if self._embedder is not None:
            out[missing] = embedded(self._embedder, [words[n] for n in missing])
        return out

    def _importance_of(self, draft: Draft) -> float:
        if draft.importance is not None:
            return draft.importance
        if self._importance is None:
            return self._config.default_importance
        judge = self._importance.score
        score = float(elsewhere(judge, draft.text, role=draft.role, metadata=draft.metadata))
        if not 0.0 <= score <= 1.0:
            raise InvalidInputError(
                f"the importance scorer returned {score}", hint="it must return 0..1"
            )
        return score

    # -- change -------------------------------------------------------------------------------

    def read_again(
        self, before: MemoryRecord, changes: Mapping[str, Any], draft: Draft
    ) -> dict[int, str]:
        """Name the speaker of a record's new state, unless the change or the record gives one.

        The caller holds the store's lock.

        Returns:
            Earlier memories that get their speaker with it, by id, for ``update``.
        """
        if changes.keys().isdisjoint(_SPEAKING):
            return {}
        was = without_speaker(before, draft, self._config)
        openings = self._speakers.openings([draft])
        if not openings:
            return {}
        if was is not None and openings[0].folded == folded_name(was):
            reading = Reading({0: was})
        else:
            store = self.find(before.id)[0]
            reading = self._speakers.read(store, [draft], openings, without=before.id)
        names = with_room([draft], reading.drafts, self._config)
        name_speakers([draft], names, self._config)
        return reading.earlier

    def has_vector(self, record_id: int, vector: NDArray[np.float32]) -> bool:
        """Whether a record's vector is this one, as far as its codes tell."""
        store, row = self.find(record_id)
        return is_vector_of(verified_image(store, row), vector)

    def update(
        self, record_id: int, changes: Mapping[str, Any], draft: Draft, scope: Scope = ANYBODY,
        *, earlier: Mapping[int, str] = _NONE,
    ) -> MemoryRecord:
        """Bring a record to the state of ``draft``; ``changes`` names what the user gave.

        Text, tags, scopes, event time and confidence are part of the immutable half of a record,
        so changing one of them writes a new slot under the same id, and so does changing what is
        indexed of it, even if the vector stays the same: the words of a slot never change.
        Everything else is changed in place.
        """
        store, row, tier = self.locate(record_id, scope)
        with store.exclusive():
            store, row, tier = self.locate(record_id, scope)
            verify_row(row, store.catalog.path)
            image = _current_bytes(store, row).reshape(1, -1)
            before = image[0, :64].view(RECORD_DTYPE)[0]
            if Flag.IMMUTABLE & int(before["flags"]):
                raise ImmutableRecordError(
                    f"record {record_id} is immutable", hint="remember a new one instead"
                )
            if "valid_until" in changes:
                supersede.refuse_new_end(store, row, scope)
            draft.tags = supersede.with_end_of(row, draft.tags)
            encoded = self._changed_image(store, row, image, changes, draft, tier)
            moves = _indexed_of(draft) != _indexed_of(row) or bytes(
                encoded.images[0, :MUTABLE_OFFSET]
            ) != bytes(verified_image(store, row)[:MUTABLE_OFFSET])
            if moves:  # into a partition that knows no clusters yet
                encoded.headers["centroid"] = 0
                encoded = reseal(encoded.images, store.uuid)
            after = _row_of(
                draft, record_id, encoded.mutable(0), int(encoded.headers[0]["event_ms"]),
                row.recorded_ms,
            )
            after.segment_id, after.slot = row.segment_id, row.slot
            after, others = supersede.moved(store, row, after, self._clock.now_ms())
            hides = after.mutable[:2] != encoded.mutable(0)[:2]  # the flags
            if hides:
                encoded.headers["flags"] = np.frombuffer(after.mutable, "<u2", count=1)
                encoded = reseal(encoded.images, store.uuid)
            to_name = namings(store, self._router, earlier, self._config)
            with store.transaction() as tx:
                supersede.apply(tx, others)
                touched = {record_id, *(other.before.id for other in others)}
                for naming in to_name:
                    if naming.before.id not in touched:
                        naming.stage(tx)
                if hides:
                    tx.hide()
                if moves:
                    after.segment_id, after.slot = tier.relocate(
                        tx, row, encoded.images, int(encoded.headers[0]["event_ms"]),
                        _with_flag(row.mutable, Flag.TOMBSTONE),
                    )
                else:
                    tx.set_mutable(row.segment_id, row.slot, after.mutable)
                catalog_rows.update_row(tx.connection, row, after)
                if _words_of(row) != _words_of(after):
                    note_erasure(tx.connection, [row.id], self._due_ms())
            self._speakers.forget()
            newer = newer_than(store.catalog, after)
            return to_record(after, encoded.headers[0], tier.name, newer)

    def _changed_image(
        self, store: Store, row: Row, image: NDArray[np.uint8], changes: Mapping[str, Any],
        draft: Draft, tier: TierStore,
    ) -> Encoded:
        if "text" in changes or "vector" in changes:
            vectors = self._vectors([draft], [tier], [draft_words(draft)])
            if vectors is not None:
                batch = Batch([draft])
                fresh = encode(
                    batch, strengths_of(batch, [0.0], self._config), [row.id], [tier.code], vectors,
                    now_ms=0, dim=self._dim, uuid=store.uuid, config=self._config,
                )
                image[:, 64:] = fresh.images[:, 64:]
                image[:, 4:8] = fresh.images[:, 4:8]
        header = image[0, :64].view(RECORD_DTYPE)
        header["tags"] = bloom_of(draft.tags, draft.user_id, draft.agent_id, draft.session_id)
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
        for name, flag in (("pinned", Flag.PINNED), ("immutable", Flag.IMMUTABLE),
                           ("unresolved", Flag.UNRESOLVED)):
            if name in changes:
                flags = flags | flag if getattr(draft, name) else flags & ~int(flag)
        header["flags"] = flags
        return reseal(image, store.uuid)

    def change(
        self, ids: Sequence[int], change: Change, scope: Scope = ANYBODY
    ) -> list[MemoryRecord]:
        """Apply a change of mutable fields to records, in one transaction per store."""
        by_store: dict[Store, list[int]] = {}
        for record_id in ids:
            by_store.setdefault(self.locate(record_id, scope)[0], []).append(record_id)
        out: dict[int, MemoryRecord] = {}
        for store, members in by_store.items():
            with store.exclusive():
                rows = store.catalog.fetch(members)
                # asked again under the lock: it may have been moved to another user meanwhile
                missing = [i for i in members if i not in rows or not scope.holds(rows[i])]
                if missing:
                    raise unknown(missing[0])
                staged = []
                for record_id in dict.fromkeys(members):
                    row = rows[record_id]
                    tier, header = self._header(store, row)
                    if change(header, to_record(row, header, tier.name)):
                        block = header.tobytes()[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
                        staged.append((row, block))
                    newer = newer_than(store.catalog, row)
                    out[record_id] = to_record(row, header, tier.name, newer)
                if staged:
                    with store.transaction() as tx:
                        for row, block in staged:
                            tx.set_mutable(row.segment_id, row.slot, block)
                        catalog_rows.set_mutable(tx.connection, [(r.id, b) for r, b in staged])
        return [out[record_id] for record_id in ids]

    def set_flag(
        self, record_id: int, flag: Flag, on: bool, scope: Scope = ANYBODY
    ) -> MemoryRecord:
        """Set or clear one flag."""

        def change(header: Any, _: MemoryRecord) -> bool:
            before = int(header["flags"])
            header["flags"] = before | flag if on else before & ~int(flag)
            return bool(int(header["flags"]) != before)

        return self.change([record_id], change, scope)[0]

    def reinstate(self, record_id: int, scope: Scope = ANYBODY) -> MemoryRecord:
        """Take back that a memory was superseded; what did so must be gone."""
        self.locate(record_id, scope)
        with self._first.exclusive():
            store, row, _ = self.locate(record_id, scope)
            change = supersede.reinstated(store, row, scope)
            if change is not None:
                row = change.after
                with store.transaction() as tx:
                    supersede.apply(tx, [change])
            tier, header = self._header(store, row)
            return to_record(row, header, tier.name)

    def reinforce(
        self, ids: Sequence[int], success: bool, scope: Scope = ANYBODY
    ) -> list[MemoryRecord]:
        """Strengthen (or after a failure weaken) memories that were used.

        Success adds ``stability_boost_days * max(1, days since last access)`` to stability (the
        spacing effect, as in UCMA); failure multiplies it by ``stability_failure_factor``. Both
        move utility by ``utility_rate`` towards 1 or 0 (Cognitive Memory v9), count an access and
        restart the forgetting curve.
        """
        config, now_ms = self._config, self._clock.now_ms()
        now_s = max(0, min(_MAX_U32, now_ms // 1000))

        def change(header: Any, _: MemoryRecord) -> bool:
            elapsed_days = max(0, now_s - int(header["last_access_s"])) / 86_400
            stability = float(header["stability_days"])
            if success:
                stability += config.stability_boost_days * max(1.0, elapsed_days)
            else:
                stability *= config.stability_failure_factor
            header["stability_days"] = min(max(stability, 1e-3), config.max_stability_days)
            utility = float(header["utility"])
            header["utility"] = utility + config.utility_rate * (float(success) - utility)
            header["access_count"] = min(int(header["access_count"]) + 1, _MAX_U32)
            header["last_access_s"] = _last_access(header, now_s)
            return True

        return self.change(ids, change, scope)

    def note_use(self, ids: Sequence[int], scope: Scope = ANYBODY) -> None:
        """Count that memories were recalled together: an access, now, and 2 % more stability.

        The small boost is the Hebbian co-activation of Cognitive Memory v9. Memories that have
        been forgotten meanwhile, or moved out of the scope, are passed over.
        """
        config, now_s = self._config, max(0, min(_MAX_U32, self._clock.now_ms() // 1000))

        def change(header: Any, _: MemoryRecord) -> bool:
            header["access_count"] = min(int(header["access_count"]) + 1, _MAX_U32)
            header["last_access_s"] = _last_access(header, now_s)
            grown = float(header["stability_days"]) * 1.02
            header["stability_days"] = min(grown, config.max_stability_days)
            return True

        with self._first.exclusive():
            present = {
                row.id for store in self._router.stores()
                for row in store.catalog.fetch(ids).values() if scope.holds(row)
            }
            self.change([i for i in ids if i in present], change)

    # -- forget -------------------------------------------------------------------------------

    def forget(
        self, ids: Iterable[int], *, named: bool, at_once: bool = False,
        include_protected: bool = False, skip_protected: bool = False,
    ) -> ForgetReport:
        """Delete records: their rows at once, their bytes are tombstoned until compaction.

        All or nothing, but for what `to_forget` keeps.

        Args:
            at_once: the caller erases them next, and if that is cut short the next reflect does.
        """
        due_ms = 0 if at_once else self._due_ms()
        with self._first.exclusive():
            doomed, kept = self.to_forget(
                ids, named=named, include_protected=include_protected,
                skip_protected=skip_protected,
            )
            for store, rows in doomed.items():
                self._delete(store, rows, due_ms)
        gone = sorted(row.id for rows in doomed.values() for row in rows)
        waits = not at_once and any(store.files.durable for store in doomed)
        return ForgetReport(
            ids=tuple(gone), protected=tuple(kept), due=from_ms(due_ms) if waits else None
        )

    def to_forget(
        self, ids: Iterable[int], *, named: bool, include_protected: bool = False,
        skip_protected: bool = False,
    ) -> tuple[dict[Store, list[Row]], list[int]]:
        """Rows that `forget` deletes, by store, and ids that it keeps. The caller has the lock.

        Records that were ``named`` by id: a pin does not hold them; immutable ones are kept with
        ``skip_protected``, and refused without. Records that a filter found are kept when they are
        pinned or immutable. With ``include_protected`` nothing is kept.

        Raises:
            UnknownRecordError: a named one is not there.
            ImmutableRecordError: naming all of those that are.
        """
        wanted = list(dict.fromkeys(ids))
        found = {
            row.id: (store, row)
            for store in self._router.stores() for row in store.catalog.fetch(wanted).values()
        }
        missing = [each for each in wanted if each not in found]
        if missing:  # by a walk that came to them, or another thread was faster
            self.refuse_hidden(sorted(missing))
        if named and missing:
            raise unknown(min(missing))
        holds = Flag.IMMUTABLE if named else Flag.IMMUTABLE | Flag.PINNED
        kept = [] if include_protected else [
            i for i, (_, row) in found.items()
            if int(np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]["flags"]) & holds
        ]
        if named and kept and not skip_protected:
            raise _immutable(sorted(kept))
        doomed: dict[Store, list[Row]] = {}
        for store, row in (found[i] for i in sorted(found.keys() - set(kept))):
            doomed.setdefault(store, []).append(row)
        return doomed, sorted(kept)

    def _due_ms(self) -> int:
        """When what is forgotten now is to be gone from the files."""
        after_ms = min(1000 * self._config.erase_after_s, 1e18)
        return self._clock.now_ms() + round(after_ms)

    def _delete(self, store: Store, rows: list[Row], due_ms: int) -> None:
        if not rows:
            return
        heirs = supersede.inherited(store, rows)
        with store.transaction() as tx:
            supersede.apply(tx, heirs)
            for row in rows:
                tx.tombstone(row.segment_id, row.slot, _with_flag(row.mutable, Flag.TOMBSTONE))
            catalog_rows.delete_rows(tx.connection, rows)
            note_erasure(tx.connection, [row.id for row in rows], due_ms)
        self._speakers.forget()

    # -- finding ------------------------------------------------------------------------------

    def locate(self, record_id: int, scope: Scope = ANYBODY) -> tuple[Store, Row, TierStore]:
        """The store, row and tier of a live record."""
        while True:
            store, row = self.find(record_id, scope)
            segment = store.segments.get(row.segment_id)
            if segment is not None:
                return store, row, self._router.by_code(segment.row.tier)
            with store.exclusive():  # a compaction has just moved it; then the new place is known
                if row.segment_id not in store.segments and store.catalog.fetch([row.id]) == {
                    row.id: row
                }:
                    raise PartitionCorruptError(
                        f"memory {row.id} lies in partition {row.segment_id}, which does not exist",
                        hint="run: spector check PATH",
                    )

    def find(self, record_id: int, scope: Scope = ANYBODY) -> tuple[Store, Row]:
        """The store and row of a live record.

        Raises:
            UnknownRecordError: there is none, or not in the scope. With a scope it says the same
                of a record of another one, a forgotten one and one that never was.
        """
        if isinstance(record_id, bool) or not isinstance(record_id, (int, np.integer)):
            raise InvalidInputError(
                f"a record id is an int, got {type(record_id).__name__}",
                hint="pass one id, hit or record",
            )
        if 0 <= record_id < 1 << 63:
            for store in self._router.stores():
                row = store.catalog.fetch([int(record_id)]).get(int(record_id))
                if row is not None and scope.holds(row):
                    return store, row
                if row is not None:
                    verify_row(row, store.catalog.path)  # damage is not another's memory
        if scope.is_open and self.is_forgotten(record_id):
            raise UnknownRecordError(
                f"memory {record_id} has been forgotten",
                hint="what the files still hold of it is erased by forget(id, purge=True) or"
                " compact(): spector compact PATH",
            )
        self.refuse_hidden([int(record_id)])
        raise unknown(record_id)

    def refuse_hidden(self, ids: Sequence[int]) -> None:
        """Raise for an id that was not found only because the catalog is damaged.

        Raises:
            CatalogCorruptError: it is.
        """
        possible = [each for each in ids if 0 <= each < 1 << 63]
        for store in self._router.stores():
            store.catalog.refuse_hidden(possible)

    def is_forgotten(self, record_id: object) -> bool:
        """True when a memory is gone from every answer and waits to be gone from the files."""
        if isinstance(record_id, bool) or not isinstance(record_id, (int, np.integer)):
            return False
        named = int(record_id)
        if not 0 <= named < 1 << 63:
            return False
        stores = self._router.stores()
        if any(store.catalog.fetch([named]) for store in stores) or not any(
            awaits_erasure(store, named) for store in stores
        ):
            return False
        self.refuse_hidden([named])  # the words that an update replaced await erasure, too
        return True

    def _header(self, store: Store, row: Row) -> tuple[TierStore, Any]:
        header = _current_bytes(store, row)[:64].view(RECORD_DTYPE)[0]
        return self._router.by_code(int(header["tier"])), header


def _immutable(ids: Sequence[int]) -> ImmutableRecordError:
    """The error for ids that are not forgotten because they must not change."""
    rest = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    names = ", ".join(map(str, ids[:_MOST_NAMED])) + rest
    one = len(ids) == 1
    return ImmutableRecordError(
        f"{'record' if one else 'records'} {names} {'is' if one else 'are'} immutable;"
        " nothing was forgotten",
        hint="include_protected=True forgets immutable ones too, skip_protected=True the others",
    )


def unknown(record_id: int) -> UnknownRecordError:
    """The error for an id that no live record has."""
    return UnknownRecordError(
        f"there is no memory with id {said(record_id)}", hint="it may have been forgotten"
    )


def _last_access(header: Any, now_s: int) -> int:
    """Second of a use now. It never goes back, but for one that a clock far ahead had noted.

    Such a use, later than now and than the event by more than a day, would keep the memory from
    fading until that day has come.
    """
    noted = int(header["last_access_s"])
    latest = max(now_s, min(int(header["event_ms"]) // 1000, _MAX_U32))
    return latest if noted > latest + _DAY_S else max(noted, now_s)


def _current_bytes(store: Store, row: Row) -> Bytes:
    """(stride,) u8 copy of a record with the catalog's mutable half, which is the truth.

    The partition's copy of that half has no checksum; damage to it must not become the truth.
    """
    image = verified_image(store, row).copy()
    image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(row.mutable, np.uint8)
    return image


def _words_of(row: Row) -> tuple[object, ...]:
    """What a person could read in a row; none of it may outlive its replacement."""
    return (row.text, row.tags, row.metadata, row.session_id, row.agent_id, row.user_id, row.role,
            row.source)


def _indexed_of(memory: Row | Draft) -> tuple[object, ...]:
    """What the index of words knows of a memory and its record does not."""
    return (
        memory.text, speaker_in(memory.role, memory.metadata), memory.role, memory.source,
        aliases_in(memory.metadata),
    )


def _with_flag(block: bytes, flag: Flag) -> bytes:
    array = np.frombuffer(block, dtype=MUTABLE_DTYPE).copy()
    array["flags"] |= int(flag)
    return array.tobytes()


def _words_with(drafts: Sequence[Draft], names: Mapping[int, str]) -> list[str]:
    """What is embedded of drafts, some of which get a speaker."""
    return [
        words_of(draft.text, names[n]) if n in names else draft_words(draft)
        for n, draft in enumerate(drafts)
    ]


def _row_of(
    draft: Draft, record_id: int, mutable: bytes, event_ms: int, recorded_ms: int
) -> Row:
    """The row of a draft; its segment and slot are filled in by its placement."""
    return Row(
        record_id, -1, -1, event_ms, recorded_ms, draft.valid_from_ms, draft.valid_until_ms,
        draft.session_id, draft.agent_id, draft.user_id, mutable, draft.text, draft.tags,
        draft.metadata or {}, draft.role, draft.source, draft.parents,
        draft.metadata_json if draft.metadata else None,
    )


def _refuse_future_parents(drafts: Sequence[Draft], first_id: int) -> None:
    """A parent came before its child, so its id is one that has been given out.

    Raises:
        InvalidInputError: there is an id among the parents that no memory can have had yet.
    """
    for draft in drafts:
        if draft.parents and max(draft.parents) >= first_id:
            raise InvalidInputError(
                f"no memory has had the id {max(draft.parents)} yet, so it is nobody's parent",
                hint="parents are ids of memories that were remembered before",
            )
