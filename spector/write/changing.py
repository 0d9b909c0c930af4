"""Changes of a record's mutable half, in place: flags, strength, use, the end of validity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spector.arguments import id_of, ids_in
from spector.errors import ImmutableRecordError, InvalidInputError
from spector.knowledge import GAIN, KnowledgeReader, derived_of
from spector.language.statements import speaker_in
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, RECORD_DTYPE, Flag
from spector.records import MemoryRecord, aliases_in, turn_before_in
from spector.store.catalog import ANYBODY, Row, Scope, newer_than
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, to_record, verified_image
from spector.store.files import Bytes
from spector.store.payloads import has_tables, make_tables, put_rows, table_named
from spector.tiers import TierStore, unknown
from spector.write import supersede
from spector.write.append import Encoded, flags_of, with_flag
from spector.write.context import WriteContext
from spector.write.draft import Draft
from spector.write.fields import Named

# Rows and bytes of records that are about to change.


def current_bytes(store: Store, row: Row) -> Bytes:
    """(stride,) u8 copy of a record with the catalog's mutable half, which is authoritative.

    The partition's copy of that half has no checksum, so damage to it must not spread.
    """
    image = verified_image(store, row).copy()
    image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(row.mutable, np.uint8)
    return image


def words_of_row(row: Row) -> tuple[object, ...]:
    """The readable content of a row; none of it may outlive its replacement."""
    return (
        row.text,
        row.tags,
        row.metadata,
        row.session_id,
        row.agent_id,
        row.user_id,
        row.role,
        row.source,
    )


def indexed_of(memory: Row | Draft) -> tuple[object, ...]:
    """What the index of words has of a memory and its record has not."""
    return (
        memory.text,
        speaker_in(memory.role, memory.metadata),
        memory.role,
        memory.source,
        aliases_in(memory.metadata),
        turn_before_in(memory.metadata),
    )


def row_of(draft: Draft, record_id: int, mutable: bytes, event_ms: int, recorded_ms: int) -> Row:
    """The row of a draft; placing it fills in segment and slot."""
    return Row(
        record_id,
        -1,
        -1,
        event_ms,
        recorded_ms,
        draft.valid_from_ms,
        draft.valid_until_ms,
        draft.session_id,
        draft.agent_id,
        draft.user_id,
        mutable,
        draft.text,
        draft.tags,
        draft.metadata or {},
        draft.role,
        draft.source,
        draft.parents,
        draft.metadata_json if draft.metadata else None,
    )


def relocate(tx: Transaction, tier: TierStore, before: Row, after: Row, encoded: Encoded) -> None:
    """Stage a record's new bytes in a new place, and its new row."""
    dead = with_flag(before.mutable, Flag.TOMBSTONE)
    place = tier.relocate(tx, before, encoded.images, after.event_ms, dead)
    after.segment_id, after.slot = place
    catalog_rows.update_row(tx.connection, before, after)


#: changes the mutable fields of one header in place; False when there is nothing to change
Change = Callable[[Any, MemoryRecord], bool]
_MAX_U32 = 0xFFFF_FFFF
_DAY_S = 86_400


def growing(factor: float, most: float) -> Change:
    """A change that multiplies stability, up to so many days."""

    def change(header: Any, _: MemoryRecord) -> bool:
        header["stability_days"] = min(float(header["stability_days"]) * factor, most)
        return True

    return change


@dataclass(eq=False)
class Changer:
    """Changes what stays in its slot. Callers check that the store is open and writable.

    Args:
        note_writes: called with the number of memories after they have changed.
    """

    parts: WriteContext
    note_writes: Callable[[int], None]

    def set_flag(self, target: Named, flag: Flag, on: bool, scope: Scope = ANYBODY) -> MemoryRecord:
        """Set or clear one flag."""

        def change(header: Any, _: MemoryRecord) -> bool:
            before = int(header["flags"])
            header["flags"] = before | flag if on else before & ~int(flag)
            return bool(int(header["flags"]) != before)

        return self.parts.finder.within(self.change([id_of(target)], change, scope)[0], scope)

    def retire(self, target: Any, scope: Scope = ANYBODY) -> list[MemoryRecord]:
        """Make memories dormant; all of them or, if one is unknown or immutable, none."""

        def change(header: Any, record: MemoryRecord) -> bool:
            if record.immutable:
                raise ImmutableRecordError(
                    f"record {record.id} is immutable; nothing was retired",
                    hint="leave it out: what must not change stays active",
                )
            header["flags"] = int(header["flags"]) | Flag.DORMANT
            return Flag.DORMANT not in record.flags

        return self._change_all(target, change, scope)

    def reactivate(self, target: Any, scope: Scope = ANYBODY) -> list[MemoryRecord]:
        """Wake dormant memories: they fade from now on, and no access is counted."""
        now_s = max(0, min(_MAX_U32, self.parts.clock.now_ms() // 1000))

        def change(header: Any, record: MemoryRecord) -> bool:
            if Flag.DORMANT not in record.flags:
                return False
            header["flags"] = int(header["flags"]) & ~int(Flag.DORMANT)
            header["last_access_s"] = _last_access(header, now_s)
            return True

        return self._change_all(target, change, scope)

    def _change_all(self, target: Any, change: Change, scope: Scope) -> list[MemoryRecord]:
        """Change what a caller names, each memory once, and what is derived from them alone.

        Nothing changes if one of those that are named may not.
        """
        ids, finder = list(dict.fromkeys(ids_in(target, "target"))), self.parts.finder
        with self.parts.exclusive():
            for each in ids:
                store, row, _ = finder.locate(each, scope)
                tier, header = self._header(store, row)
                change(header, to_record(row, header, tier.name))  # on a copy: it may refuse
            records = self.change([*ids, *self._along(ids)], change)[: len(ids)]
        self.note_writes(len(records))
        return [finder.within(record, scope) for record in records]

    def _along(self, ids: Collection[int]) -> list[int]:
        """What is derived from memories, and from no other that is awake; not what may not change."""
        store = self.parts.router.durable_store()
        with store.catalog.reading() as db:
            if not has_tables(db):
                return []
            reader = KnowledgeReader(db, store.catalog.path)
            first = derived_of(reader, ids)
            others = {each for some in reader.sources(first.weaker).values() for each in some}
            awake = {
                row.id
                for row in store.catalog.fetch(sorted(others)).values()
                if not flags_of(row) & Flag.DORMANT
            }
            found = derived_of(reader, {*ids, *(others - awake)}).memories
        rows = store.catalog.fetch(sorted(found & (first.memories | first.weaker) - {*ids}))
        return [each for each, row in rows.items() if not flags_of(row) & Flag.IMMUTABLE]

    def reinstate(
        self, target: Named, scope: Scope = ANYBODY, *, keep: bool = False
    ) -> MemoryRecord:
        """Make a superseded memory valid again.

        Its successor must have been forgotten, or with ``keep`` becomes one that contradicts it.
        """
        record_id, finder = id_of(target), self.parts.finder
        finder.locate(record_id, scope)
        with self.parts.exclusive():
            store, row, tier = finder.locate(record_id, scope)
            facts = supersede.facts_alone(store, [row.id])
            along = tuple(store.catalog.fetch(facts).values())
            changes = supersede.reinstated(store, row, scope, keep=keep, along=along)
            others = supersede.successors_in(changes, row.id)
            if others and tier.volatile:
                raise InvalidInputError(
                    f"memory {row.id} is of the {tier.name} tier, whose memories have no edges",
                    hint=f"forget({others[-1]}), then reinstate({row.id})",
                )
            if changes:
                row = next((each.after for each in changes if each.after.id == row.id), row)
                with store.transaction() as tx:
                    supersede.apply(tx, changes)
                    if others:
                        self._tie(tx, row.id, others)
            tier, header = self._header(store, row)
            record = to_record(row, header, tier.name)
            finder.complete(store, [record])
        self.note_writes(1)
        return finder.within(record, scope)

    def _tie(self, tx: Transaction, older: int, newer: Sequence[int]) -> None:
        """Edges between a memory and those that contradict it; the smaller id comes first."""
        make_tables(tx.connection)
        now_ms = self.parts.clock.now_ms()
        put_rows(
            tx.connection,
            table_named("edge"),
            [
                {
                    "source_id": min(older, each),
                    "kind": "contradicts",
                    "target_id": max(older, each),
                    "weight": 1.0,
                    "confidence": 1.0,
                    "origin": "reinstate",
                    "created_ms": now_ms,
                    "note": None,
                }
                for each in newer
            ],
        )

    def reinforce(self, target: Named, success: bool, scope: Scope = ANYBODY) -> MemoryRecord:
        """Strengthen a memory that helped, or weaken one that misled.

        Success adds ``stability_boost_days * max(1, days since last access)`` to stability (the
        spacing effect, as in UCMA); failure multiplies it by ``stability_failure_factor``. Both
        move utility by ``utility_rate`` towards 1 or 0 (Cognitive Memory v9), count an access and
        restart the forgetting curve.
        """
        record = self.change([id_of(target)], self.reinforcing(success), scope)[0]
        self.note_writes(1)
        return self.parts.finder.within(record, scope)

    def reinforcing(self, success: bool) -> Change:
        """The change of one use that helped, or misled; see `reinforce`."""
        config, now_ms = self.parts.config, self.parts.clock.now_ms()
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

        return change

    def note_use(self, ids: Sequence[int], scope: Scope = ANYBODY) -> None:
        """Count that memories were recalled together: an access, now, and 2 % more stability.

        The small boost is the Hebbian co-activation of Cognitive Memory v9. Memories that have been
        forgotten meanwhile, or moved out of the scope, are skipped.
        """
        now_s = max(0, min(_MAX_U32, self.parts.clock.now_ms() // 1000))
        grow = growing(GAIN, self.parts.config.max_stability_days)

        def change(header: Any, record: MemoryRecord) -> bool:
            header["access_count"] = min(int(header["access_count"]) + 1, _MAX_U32)
            header["last_access_s"] = _last_access(header, now_s)
            return grow(header, record)

        with self.parts.exclusive():
            present = {
                row.id
                for store in self.parts.router.stores()
                for row in store.catalog.fetch(ids).values()
                if scope.holds(row)
            }
            self.change([i for i in ids if i in present], change)

    def change(
        self, ids: Sequence[int], change: Change, scope: Scope = ANYBODY
    ) -> list[MemoryRecord]:
        """Apply a change of mutable fields to records, in one transaction per store."""
        by_store: dict[Store, list[int]] = {}
        for record_id in ids:
            store, _, _ = self.parts.finder.locate(record_id, scope)
            by_store.setdefault(store, []).append(record_id)
        out: dict[int, MemoryRecord] = {}
        for store, members in by_store.items():
            with store.exclusive():
                rows = store.catalog.fetch(members)
                # checked again under the lock: it may have moved to another user meanwhile
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
                self.parts.finder.complete(store, [out[each] for each in rows])
        return [out[record_id] for record_id in ids]

    def stage(self, tx: Transaction, changes: Collection[tuple[int, Change]]) -> None:
        """Changes of mutable halves as part of a transaction of the durable store."""
        store = self.parts.router.durable_store()
        rows = store.catalog.fetch([record_id for record_id, _ in changes])
        for record_id, change in changes:
            row = rows.get(record_id)
            if row is None:
                raise unknown(record_id)
            tier, header = self._header(store, row)
            if change(header, to_record(row, header, tier.name)):
                block = header.tobytes()[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
                tx.set_mutable(row.segment_id, row.slot, block)
                catalog_rows.set_mutable(tx.connection, [(row.id, block)])

    def _header(self, store: Store, row: Row) -> tuple[TierStore, Any]:
        header = current_bytes(store, row)[:64].view(RECORD_DTYPE)[0]
        return self.parts.router.by_code(int(header["tier"])), header


def _last_access(header: Any, now_s: int) -> int:
    """The second of a use now; it goes back only if a clock far ahead had set it.

    A last use more than a day after now and after the event would keep the memory from fading until
    that day.
    """
    noted = int(header["last_access_s"])
    latest = max(now_s, min(int(header["event_ms"]) // 1000, _MAX_U32))
    return latest if noted > latest + _DAY_S else max(noted, now_s)
