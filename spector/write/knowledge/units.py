"""Commits units of sleep: what changes in some memories and the rows of sleep, or nothing."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import SupersededRecordError, UnknownRecordError
from spector.knowledge import Changes, KnowledgeReader, New
from spector.layout import MUTABLE_DTYPE, RECORD_DTYPE, Flag
from spector.records import MemoryRecord
from spector.store.catalog import Row
from spector.store.catalog import rows as catalog_rows
from spector.store.core import STRENGTH_DTYPE, Store, Strengths, Transaction, read_strengths
from spector.store.payloads import compact_json
from spector.tiers import TierStore
from spector.write.context import WriteContext
from spector.write.drafts import reseal
from spector.write.knowledge.commit import KnowledgeWriter, Prepared
from spector.write.knowledge.journal import changed_rows, made_items, packed, packed_rows
from spector.write.row_state import current_bytes, with_flag

__all__ = ["Done", "Unit", "UnitWriter", "differences", "text_mark"]

#: changes rows in place; which of them it has changed
Alter = Callable[[Strengths], NDArray[np.bool_]]
_HALF: Final = MUTABLE_DTYPE.names or ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a step, which is one commit.

    Attributes:
        cursor: of the step once it is done.
        what: what becomes of ``ids``, as the record of changes names it.
        ids: memories that ``alter`` may change; ``decide`` may fill it.
        reasons: why, of those that have one of their own.
        to_tier: they also move to this tier, under their ids.
        packed: the values before are kept together: too many change for a row each.
        prepared: texts that ``decide`` makes memories of.
        seen: memories that were looked at. skipped: how many were spared, by reason.
        state: fields of the state of sleep that change with it.
        fallback: a model was to help and did not.
    """

    cursor: int = 0
    what: str = "strength"
    ids: Sequence[int] = ()
    alter: Alter | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)
    reason: str = ""
    to_tier: str | None = None
    packed: bool = False
    prepared: Sequence[Prepared] = ()
    decide: Callable[[KnowledgeReader, int], Changes] | None = None
    seen: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    fallback: bool = False
    #: of those that have one of their own: what becomes of them
    kinds: Mapping[int, str] = field(default_factory=dict)
    #: a memory whose words become those of the first prepared text, instead of a new memory
    restates: int | None = None
    #: memories that are forgotten for good, and how many of each user, by what stands for the user
    erases: Sequence[int] = ()
    users: Mapping[str, int] = field(default_factory=dict)
    #: memories of whose knowledge rows change; ``decide`` may fill it
    noted: Sequence[int] = ()
    #: what was looked at is not looked at again: the state is kept though nothing else changes
    judges: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What a unit has changed: memories, and memories that it made."""

    changed: tuple[int, ...] = ()
    made: tuple[MemoryRecord, ...] = ()
    #: whether there was anything to commit
    is_committed: bool = False

    def __len__(self) -> int:
        return len(self.changed) + len(self.made)


class UnitWriter:
    """Commits units. Callers check that the store is open and writable.

    Args:
        restate: brings a memory to other words and rows, in one commit.
        forget: forgets those that there are, but for protected ones.
        reinstate: has an ended one hold again.
    """

    def __init__(
        self,
        parts: WriteContext,
        knowledge: KnowledgeWriter,
        *,
        restate: Callable[[int, str, Changes], None],
        forget: Callable[[Sequence[int]], object],
        reinstate: Callable[[int], object],
    ) -> None:
        self._parts = parts
        self._knowledge = knowledge
        self._restate = restate
        self._forget = forget
        self._reinstate = reinstate

    def commit(
        self,
        unit: Unit,
        cycle: int | None,
        state: Callable[[int], Mapping[str, Any]],
        note: Mapping[str, Any] | None = None,
    ) -> Done:
        """Commit what a unit changes, what it was before, and where sleep has come to.

        Args:
            cycle: under which number what was before is kept; None keeps nothing.
            state: the row of sleep as it is once the unit is done, by how many memories it makes.
            note: what the record says of a cycle that begins with this change.
        """
        work = _Work(self._parts, self._parts.router.durable_store(), unit)
        if unit.erases:
            return self._erased(unit, cycle, state, note)

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes() if unit.decide is None else unit.decide(reader, now_ms)
            if unit.alter is not None and unit.ids:
                work.look(unit.alter)
            restates = unit.restates is not None and unit.decide is None
            if changes or work.ids or restates or unit.judges:
                if cycle is not None:
                    ordinal = reader.last_ordinal(cycle) + 1
                    if note is not None:
                        _begin(changes, cycle, ordinal, note)
                        ordinal += 1
                    work.note(changes, cycle, ordinal, reader)
                work.is_committed = True
                changes.put("sleep_state", **state(len(changes.store)))
            return changes

        if unit.restates is not None:
            return self._restated(unit, decide, work)
        made = self._knowledge.commit(decide, unit.prepared, also=work.stage, counts=False)
        if unit.to_tier is not None and work.ids:
            self._parts.speakers.forget()
        changed = dict.fromkeys([*work.ids, *(unit.noted if work.is_committed else ())])
        return Done(tuple(changed), tuple(made.records.values()), work.is_committed)

    def _erased(
        self,
        unit: Unit,
        cycle: int | None,
        state: Callable[[int], Mapping[str, Any]],
        note: Mapping[str, Any] | None,
    ) -> Done:
        """Note what is to be forgotten, then forget it: a kill in between is made up for."""

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            if cycle is not None:
                ordinal = reader.last_ordinal(cycle) + 1
                if note is not None:
                    _begin(changes, cycle, ordinal, note)
                    ordinal += 1
                changes.put(
                    "cycle_change",
                    cycle=cycle,
                    ordinal=ordinal,
                    record_id=None,
                    what="erased",
                    before=compact_json({"ids": list(unit.erases), "users": dict(unit.users)}),
                )
            changes.put("sleep_state", **state(0))
            return changes

        self._knowledge.commit(decide, counts=False)
        self._forget(unit.erases)
        return Done(tuple(unit.erases), (), True)

    def finish_erasing(self, cycle: int) -> None:
        """Forget what a cycle has noted and had no time for."""
        catalog = self._parts.router.durable_store().catalog
        with self._parts.exclusive(), catalog.latest() as db:
            rows = KnowledgeReader(db, catalog.path).cycle_changes("erased", cycle)
        for row in rows:
            self._forget(row["before"]["ids"])

    def _restated(
        self, unit: Unit, decide: Callable[[KnowledgeReader, int], Changes], work: _Work
    ) -> Done:
        """Bring a memory to other words and rows, in one commit."""
        assert unit.restates is not None
        catalog = self._parts.router.durable_store().catalog
        with self._parts.exclusive():
            with catalog.latest() as db:
                changes = decide(KnowledgeReader(db, catalog.path), self._parts.clock.now_ms())
            if not work.is_committed:
                return Done()
            self._restate(unit.restates, unit.prepared[0].text, changes)
        return Done((unit.restates,), (), True)

    def take_back(self, made: Sequence[int], ended: Sequence[int]) -> None:
        """Forget what a cycle made, and have what that superseded hold again."""
        self._forget(made)
        for each in ended:
            with contextlib.suppress(UnknownRecordError, SupersededRecordError):
                self._reinstate(each)

    def put_state(
        self, state: Mapping[str, Any], *, drop_before: int = 0, drop: int | None = None
    ) -> None:
        """Note where sleep has come to.

        Args:
            drop_before: cycles before this one are no longer on record. drop: nor is this one.
        """

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes()
            changes.put("sleep_state", **state)
            gone = reader.ordinals_before(drop_before) if drop_before else []
            if drop is not None:
                gone += [(drop, row["ordinal"]) for row in reader.cycle_changes(cycle=drop)]
            for key in gone:
                changes.drop("cycle_change", *key)
            return changes

        self._knowledge.commit(decide, counts=False)


class _Work:
    """One unit under the store's lock: what was, what becomes of it."""

    def __init__(self, parts: WriteContext, store: Store, unit: Unit) -> None:
        self._parts = parts
        self._store = store
        self._unit = unit
        self.ids: list[int] = []
        self.is_committed = False
        self._rows: NDArray[np.void] = np.zeros(0, STRENGTH_DTYPE)
        self._before: NDArray[np.void] = np.zeros(0, STRENGTH_DTYPE)
        self._blocks: list[bytes] = []

    def look(self, alter: Alter) -> None:
        """Read the memories as they are now, and change them as the unit says."""
        fresh = read_strengths(self._store, ids=sorted(self._unit.ids))
        before = fresh.rows.copy()
        chosen = alter(fresh)
        self._before, self._rows = before[chosen], fresh.rows[chosen]
        self._blocks = fresh.blocks(chosen)
        self.ids = self._rows["id"].tolist()

    def differences(self, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Values of the nth memory that change, before and after."""
        before, after = self._before[n], self._rows[n]
        out = differences(before, after)
        if self._unit.to_tier is not None:
            out[0]["tier"] = self._parts.router.by_code(int(before["tier"])).name
            out[1]["tier"] = self._unit.to_tier
        return out

    def note(self, changes: Changes, cycle: int, ordinal: int, reader: KnowledgeReader) -> None:
        """Add the rows by which a cycle can be undone."""
        what = self._unit.what
        if self._unit.packed and self.ids:
            changes.put(
                "cycle_change",
                cycle=cycle,
                ordinal=ordinal,
                record_id=None,
                what=what,
                before=compact_json(packed(self._before, self._rows)),
            )
            ordinal += 1
        elif self.ids:
            for n, each in enumerate(self.ids):
                before, after = self.differences(n)
                values = {name: [before[name], after[name]] for name in before}
                if why := self._unit.reasons.get(each, self._unit.reason):
                    values["why"] = [why]
                kind = self._unit.kinds.get(each, what)
                changes.put(
                    "cycle_change",
                    cycle=cycle,
                    ordinal=ordinal,
                    record_id=each,
                    what=kind,
                    before=compact_json(values),
                )
                ordinal += 1
        for which, before in self._rows_of(changes, reader):
            changes.put(
                "cycle_change",
                cycle=cycle,
                ordinal=ordinal,
                record_id=which[1],
                what=which[0],
                before=compact_json(before),
            )
            ordinal += 1

    def _rows_of(
        self, changes: Changes, reader: KnowledgeReader
    ) -> list[tuple[tuple[str, int | New | None], dict[str, Any]]]:
        """What is made, restated and changed beside the strengths, for the record of a cycle."""
        out: list[tuple[tuple[str, int | New | None], dict[str, Any]]] = []
        rows = changed_rows(changes, reader)
        if rows:
            out.append((("rows", None), packed_rows(rows)))
        out += [
            (
                ("made", New(n)),
                {
                    "text": text_mark(self._unit.prepared[n].text),
                    **({"ended": list(gone)} if (gone := changes.supersedes.get(New(n))) else {}),
                },
            )
            for n in changes.store
        ]
        out += [(("item", which), {"mark": mark}) for which, mark in made_items(changes)]
        if (which := self._unit.restates) is not None:
            out.append(
                (
                    ("restated", which),
                    {
                        "was": text_mark(self._parts.finder.get(which).text),
                        "text": text_mark(self._unit.prepared[0].text),
                    },
                )
            )
        return out

    def stage(self, tx: Transaction) -> None:
        """Stage the changes of memories in the transaction of the unit."""
        if not self.ids:
            return
        flags = self._before["flags"] != self._rows["flags"]
        if flags.any():
            tx.hide()
        if self._unit.to_tier is not None:
            self._move(tx, self._parts.router[self._unit.to_tier])
            return
        places = zip(self._rows["segment_id"].tolist(), self._rows["slot"].tolist(), strict=True)
        for (segment_id, slot), block in zip(places, self._blocks, strict=True):
            tx.set_mutable(segment_id, slot, block)
        catalog_rows.set_mutable(tx.connection, zip(self.ids, self._blocks, strict=True))

    def _move(self, tx: Transaction, tier: TierStore) -> None:
        """Bring memories to another tier under their ids."""
        found = self._store.catalog.fetch(self.ids)
        for record_id, block in zip(self.ids, self._blocks, strict=True):
            row = found[record_id]
            image = current_bytes(self._store, row).reshape(1, -1)
            header = image[0, :64].view(RECORD_DTYPE)
            header["tier"], header["centroid"] = tier.code, 0
            image[0, 40:64] = np.frombuffer(block, np.uint8)
            encoded = reseal(image, self._store.uuid)
            after = _copy(row, block)
            after.segment_id, after.slot = tier.relocate(
                tx, row, encoded.images, row.event_ms, with_flag(row.mutable, Flag.TOMBSTONE)
            )
            catalog_rows.update_row(tx.connection, row, after)


def _begin(changes: Changes, cycle: int, ordinal: int, note: Mapping[str, Any]) -> None:
    """Add the row that says where sleep was before a cycle."""
    changes.put(
        "cycle_change",
        cycle=cycle,
        ordinal=ordinal,
        record_id=None,
        what="cycle",
        before=compact_json(note),
    )


def differences(before: Any, after: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of a mutable half that differ, before and after."""
    names = [name for name in _HALF if before[name] != after[name]]
    return {name: before[name].item() for name in names}, {
        name: after[name].item() for name in names
    }


def text_mark(text: str) -> int:
    """A number by which a text that has changed is known; it says nothing of the text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _copy(row: Row, block: bytes) -> Row:
    names = [each for each in row.__slots__ if each != "mutable"]
    return Row(**{name: getattr(row, name) for name in names}, mutable=block)
