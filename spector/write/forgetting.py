"""Forgetting: rows go at once, bytes become tombstones that a later erasure removes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spector.clock import from_ms
from spector.errors import ImmutableRecordError, PartitionCorruptError
from spector.knowledge import Changes, KnowledgeReader, derived_of, layer_of
from spector.layout import Flag
from spector.records import ForgetReport
from spector.store.catalog import Row, Scope
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction
from spector.store.erasure import Needles, note_erasure, note_user_gone
from spector.store.files import Bytes
from spector.store.integrity import refuse_damage
from spector.store.payloads import (
    KeyPath,
    delete_owned,
    expired_ids,
    forget_marks,
    is_marked,
    mark,
    mark_forgotten,
    owned_rows,
    unmark,
)
from spector.tiers import unknown
from spector.write import supersede
from spector.write.append import flags_of, with_flag
from spector.write.commit import apply_changes, changes_of_names
from spector.write.context import WriteContext, refuse_conflict
from spector.write.supersede import requoted, stage_quotes

#: ids that an error names
_MOST_NAMED = 1000


class Manner(NamedTuple):
    """How memories are forgotten: with their bytes, and what becomes of the protected ones."""

    purge: bool = False
    verify: bool = False
    include_protected: bool = False
    skip_protected: bool = False
    #: what is derived from nothing else goes, too
    cascade: bool = True


class Doomed(NamedTuple):
    """What a call forgets: rows by store, and what goes with them."""

    rows: dict[Store, list[Row]]
    #: ids that were asked for and stay, because they are protected
    kept: list[int]
    #: ids that have no other source: they go, too, or stay with ``cascade=False``
    derived: list[int]
    #: entities and associations that nothing is left of
    items: set[int]
    #: derived memories that lose one of their sources and stay
    weaker: set[int]
    #: what else changes: entities that were merged lose names that nothing uses any more
    changes: Changes


def _stand_alone(tx: Transaction, rows: Iterable[Row]) -> None:
    """Let memories that were derived from others be ones themselves: their sources have gone."""
    for row in rows:
        if flags_of(row) & Flag.AUXILIARY:
            block = with_flag(row.mutable, Flag.AUXILIARY, on=False)
            tx.hide()
            tx.set_mutable(row.segment_id, row.slot, block)
            catalog_rows.set_mutable(tx.connection, [(row.id, block)])


@dataclass(eq=False)
class Forgetter:
    """Forgets records. Callers check that the store is open and writable.

    Args:
        note_writes: called with the number of memories after they have gone.
    """

    parts: WriteContext
    note_writes: Callable[[int], None]

    def forget_ids(
        self, ids: list[int], manner: Manner, scope: Scope, if_revision: int | None = None
    ) -> tuple[ForgetReport, Needles | None]:
        """Forget named records of a scope; all or nothing.

        Args:
            if_revision: that each must have; None for any.

        Returns:
            The report, and with ``verify`` what to search the files for afterwards.
        """
        finder = self.parts.finder
        if manner.purge and not manner.verify and scope.is_open:
            # what was forgotten before has neither words to search for nor a scope any more
            ids = [each for each in ids if not finder.is_forgotten(each)]
        try:
            with self.parts.exclusive():  # what is searched for is what is forgotten
                for each in ids:
                    finder.locate(each, scope)
                    if if_revision is not None:
                        refuse_conflict(finder.get_within(each, scope), if_revision)
                return self._forget(ids, manner, named=True)
        finally:
            self.parts.callbacks.deliver()

    def forget_found(
        self, find: Callable[[], list[int]], manner: Manner, whole: Mapping[str, str] | None = None
    ) -> tuple[ForgetReport, Needles | None]:
        """Forget what ``find``, called under the lock, finds; see `forget_ids`.

        Args:
            whole: labels of a user, agent or session, if all is found that has them.
        """
        try:
            with self.parts.exclusive():
                if manner.purge:  # damage could hide from a filter what it should find
                    refuse_damage(self.parts.router.durable_store().catalog)
                ids = find()
                done = self._forget(ids, manner, named=False)
                if whole:
                    self._forget_whole(whole, manner)
            return done
        finally:
            self.parts.callbacks.deliver()

    def forget_living(self, ids: Iterable[int]) -> ForgetReport:
        """Forget those of some memories that there are, but for protected ones."""
        catalog = self.parts.router.durable_store().catalog
        return self.forget_found(lambda: sorted(catalog.fetch(sorted(ids))), Manner())[0]

    def _forget(
        self, ids: list[int], manner: Manner, *, named: bool
    ) -> tuple[ForgetReport, Needles | None]:
        needles = None
        if manner.verify:
            needles = self._needles_of(self.to_forget(ids, manner, named=named))
        report = self.forget(ids, manner, named=named)
        self.note_writes(len(report))
        return report, needles

    def _needles_of(self, doomed: Doomed) -> Needles:
        """What to search the files for once these memories are erased."""
        needles = Needles()
        for store, rows in doomed.rows.items():
            for row in rows:
                image: Bytes | None = None
                with contextlib.suppress(PartitionCorruptError):  # it has no such place
                    image = store.record_image(row.segment_id, row.slot)
                needles.add_memory(row, image, self.parts.dim)
        store = self.parts.router.durable_store()
        changed = {row["item_id"] for table, row in doomed.changes.puts if table.name == "item"}
        ids = {*needles.ids, *doomed.items, *changed}
        with store.catalog.latest() as db:
            needles.add_knowledge(owned_rows(db, sorted(ids), store.catalog.path))
        return needles

    def forget(self, ids: Iterable[int], manner: Manner, *, named: bool) -> ForgetReport:
        """Delete records: their rows at once, their bytes are tombstoned until compaction.

        All or nothing, but for what `to_forget` keeps. With ``purge`` the caller erases them next,
        and if that is cut short the next reflect does.
        """
        due_ms = 0 if manner.purge else self.parts.erasure_due_ms()
        with self.parts.exclusive():
            doomed = self.to_forget(ids, manner, named=named)
            self._note_layers(doomed)
            for store, rows in doomed.rows.items():
                self._delete(store, rows, due_ms, doomed)
        every = [row for rows in doomed.rows.values() for row in rows]
        gone = {row.id for row in every}
        self.parts.watchers.note_gone(gone, {text for row in every if (text := row.text.strip())})
        waits = not manner.purge and any(store.files.durable for store in doomed.rows)
        return ForgetReport(
            ids=tuple(sorted(gone)),
            protected=tuple(doomed.kept),
            derived=tuple(each for each in doomed.derived if each in gone),
            without_source=tuple(each for each in doomed.derived if each not in gone),
            lost_source=tuple(sorted(doomed.weaker)),
            due=from_ms(due_ms) if waits else None,
        )

    def _note_layers(self, doomed: Doomed) -> None:
        """Have the callbacks of layers called for what goes; the caller has the lock."""
        callbacks, store = self.parts.callbacks, self.parts.router.durable_store()
        ids = [row.id for row in doomed.rows.get(store, ())]
        if not callbacks.watches_deletions or not ids:
            return
        with store.catalog.latest() as db:
            sorts = KnowledgeReader(db, store.catalog.path).sorts(ids)
        layers = {each: layer_of(sorts.get(each, ())) for each in ids}
        callbacks.note_deleted({each: name for each, name in layers.items() if name is not None})

    def to_forget(self, ids: Iterable[int], manner: Manner, *, named: bool) -> Doomed:
        """What `forget` deletes, and what it keeps. The caller has the lock.

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
            for store in self.parts.router.stores()
            for row in store.catalog.fetch(wanted).values()
        }
        missing = [each for each in wanted if each not in found]
        if missing:  # by a walk that came to them, or another thread was faster
            self.parts.finder.refuse_hidden(sorted(missing))
        if named and missing:
            raise unknown(min(missing))
        holds = Flag.IMMUTABLE if named else Flag.IMMUTABLE | Flag.PINNED
        kept = (
            []
            if manner.include_protected
            else [i for i, (_, row) in found.items() if flags_of(row) & holds]
        )
        if named and kept and not manner.skip_protected:
            raise _immutable(sorted(kept))
        doomed: dict[Store, list[Row]] = {}
        for store, row in (found[i] for i in sorted(found.keys() - set(kept))):
            doomed.setdefault(store, []).append(row)
        going = {row.id for row in doomed.get(self.parts.router.durable_store(), ())}
        derived, knowledge, safe = self._derived(going, manner)
        if manner.cascade and derived:
            durable = self.parts.router.durable_store()
            doomed.setdefault(durable, []).extend(row for row in derived if row.id not in safe)
        return Doomed(
            doomed,
            sorted({*kept, *safe} if manner.cascade else kept),
            [row.id for row in derived],
            *knowledge,
        )

    def _derived(
        self, gone: Collection[int], manner: Manner
    ) -> tuple[list[Row], tuple[set[int], set[int], Changes], set[int]]:
        """Rows derived from nothing but what goes, what else changes, and protected ids."""
        store = self.parts.router.durable_store()
        holds = Flag.NONE if manner.include_protected else Flag.IMMUTABLE | Flag.PINNED
        with store.catalog.latest() as db:
            reader = KnowledgeReader(db, store.catalog.path)
            found, safe, stay = derived_of(reader, gone), set[int](), set[int]()
            rows = store.catalog.fetch(sorted(found.memories))
            while True:  # what lives by a protected memory stays with it
                safe = {row.id for row in rows.values() if flags_of(row) & holds}
                if stay == (safe if manner.cascade else rows.keys()):
                    break
                stay = set(safe if manner.cascade else rows)
                found = derived_of(reader, gone, stay)
                rows = {each: rows[each] for each in found.memories if each in rows}
            out = {*gone, *found.memories} - stay
            changes = changes_of_names(reader, out, found.items, store)
        derived = [rows[each] for each in sorted(rows)]
        return derived, (found.items, found.weaker, changes), safe

    def _delete(self, store: Store, rows: list[Row], due_ms: int, doomed: Doomed) -> None:
        if not rows:
            return
        heirs = supersede.inherited(store, rows)
        quoting = requoted(self.parts, store, rows, "", heirs)
        with store.transaction() as tx:
            supersede.apply(tx, heirs)
            stage_quotes(tx, quoting, due_ms)
            if store is self.parts.router.durable_store():
                apply_changes(tx, doomed.changes, self.parts)
                kept = set(doomed.derived).difference(row.id for row in rows)
                ended = {each.after.id: each.after for each in heirs}
                found = store.catalog.fetch(sorted(kept))
                _stand_alone(tx, [ended.get(each, row) for each, row in found.items()])
                if due_ms:  # a purge leaves no mark of a key
                    mark_forgotten(tx.connection, [row.id for row in rows])
            stage_deletion(tx, rows, due_ms, doomed.items)
        self.parts.speakers.forget()

    def forget_expired(self, ids: Collection[int] | None = None) -> ForgetReport | None:
        """Forget what has expired, pinned or not; its bytes are due for erasure at once.

        Args:
            ids: those that are looked at; None for all.

        Returns:
            None where nothing has expired.
        """
        store = self.parts.router.durable_store()
        if not store.catalog.ends.are_there():
            return None
        with self.parts.exclusive(), store.catalog.ends.shown():
            if store.catalog.ends.noted:
                with store.transaction():  # writes the ends that uses have moved
                    pass
            with store.catalog.latest() as db:
                found = expired_ids(db, self.parts.clock.now_ms())
            gone = found if ids is None else [each for each in found if each in ids]
            if not gone:
                return None
            return self.forget(gone, Manner(purge=True, include_protected=True), named=False)

    def expire(self) -> int:
        """Forget what has expired; returns how many, without what was made of them alone."""
        report = self.forget_expired()
        return 0 if report is None else len(report.ids) - len(report.derived)

    def forget_ended(self) -> None:
        """Forget what has expired, if knowledge hangs on it."""
        if self.parts.router.durable_store().catalog.ends.along():
            self.forget_expired()

    def _forget_whole(self, labels: Mapping[str, str], manner: Manner) -> None:
        """Have nothing left of a user, agent or session in what is no memory; under the lock."""
        self.parts.watchers.note_whole_gone(labels)
        user = labels["user_id"] if len(labels) == 1 and "user_id" in labels else None
        if user is not None:
            store = self.parts.router.durable_store()
            with store.transaction() as tx:
                note_user_gone(tx, store, user)
                if manner.purge and forget_marks(tx.connection, user):
                    note_erasure(tx.connection, [], 0)

    def marked(self, paths: Sequence[KeyPath]) -> list[bool]:
        """Of each key, whether it is marked."""
        with self.parts.router.durable_store().catalog.reading() as db:
            return [is_marked(db, path) for path in paths]

    def mark(self, paths: Sequence[KeyPath]) -> None:
        """Mark keys of messages that were taken in without one memory for each."""
        store = self.parts.router.durable_store()
        with store.exclusive(), store.transaction() as tx:
            mark(tx.connection, paths)

    def unmark(self, path: KeyPath) -> bool:
        """Erase the mark of a key that was forgotten; False when there is none."""
        store = self.parts.router.durable_store()
        with store.exclusive():
            with store.catalog.latest() as db:
                if not is_marked(db, path):
                    return False
            with store.transaction() as tx:
                unmark(tx.connection, [path])
                note_erasure(tx.connection, [], 0)
        return True


def stage_deletion(
    tx: Transaction, rows: Sequence[Row], due_ms: int, items: Collection[int] = ()
) -> None:
    """The death of records as part of a transaction, with all that depends on them."""
    for row in rows:
        tx.tombstone(row.segment_id, row.slot, with_flag(row.mutable, Flag.TOMBSTONE))
    catalog_rows.delete_rows(tx.connection, rows)
    delete_owned(tx.connection, items)
    note_erasure(tx.connection, [row.id for row in rows], due_ms)


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
