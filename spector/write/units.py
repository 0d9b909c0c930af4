"""Commits units of sleep, and keeps the journal by which one is undone."""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import SupersededRecordError, UnknownRecordError
from spector.knowledge import Changes, KnowledgeReader, New
from spector.layout import MUTABLE_DTYPE, RECORD_DTYPE
from spector.records import MemoryRecord
from spector.store.catalog import rows as catalog_rows
from spector.store.core import STRENGTH_DTYPE, Store, Strengths, Transaction, read_strengths
from spector.store.payloads import PayloadTable, compact_json, table_named
from spector.tiers import TierStore
from spector.write.append import reseal
from spector.write.changing import current_bytes, relocate
from spector.write.commit import KnowledgeWriter, Prepared
from spector.write.context import WriteContext

# What a unit of sleep changes in rows of knowledge, as ids and numbers by which it is undone.
#
# A row that was made is known by its key and its checksum; of one that was changed the numbers before
# are kept as well, of one that was dropped all its numbers. Words never are: a change of words cannot
# be undone from here, and the undoing says so.

#: tables whose rows are no knowledge
_OWN: Final = frozenset({"sleep_state", "cycle_change"})
#: fields whose texts are names of ours, and no words of a user
_NAMED: Final = frozenset(
    {
        "provenance",
        "status",
        "write_source",
        "data_source",
        "kind",
        "origin",
        "sort",
        "category",
        "domain",
        "code",
        "rule",
    }
)
#: fields that map names of ours to numbers
_TABLES: Final = frozenset({"values", "note"})
#: properties that promotion gives to a pattern, with numbers
_FIGURES: Final = frozenset({"strength", "observations", "slope_per_day", "r2"})


class RowChange(NamedTuple):
    """One row: its table and key, its checksum afterwards, and what it was."""

    table: str
    key: tuple[Any, ...]
    #: None for a row that was dropped
    mark: int | None
    #: columns before, those that differ; None for a row that was made
    before: dict[str, Any] | None
    #: fields of its JSON before, those that differ
    fields: dict[str, Any]
    #: words changed with it, which are not kept
    has_words: bool = False


def changed_rows(changes: Changes, reader: KnowledgeReader) -> list[RowChange]:
    """What a change set does to rows that do not depend on a memory or an item that it makes."""
    puts: dict[tuple[str, tuple[Any, ...]], tuple[PayloadTable, Mapping[str, Any]]] = {}
    drops: dict[tuple[str, tuple[Any, ...]], PayloadTable] = {}
    for table, given in changes.drops:
        if table.name not in _OWN:
            drops[table.name, tuple(given)] = table
    for table, row in changes.puts:
        key = tuple(row[each] for each in table.key)
        if table.name not in _OWN and not any(isinstance(each, New) for each in key):
            puts[table.name, key] = (table, row)
            drops.pop((table.name, key), None)
    known = reader.rows_at([*puts, *drops])
    out = []
    for at, table in drops.items():
        if at in known:
            out.append(
                RowChange(at[0], _key_of(table, known[at]), None, *_kept(table, known[at], {}))
            )
    for at, (table, row) in puts.items():
        before, mark = known.get(at), _mark(table, row)
        if before is None:
            out.append(RowChange(at[0], _key_of(table, row), mark, None, {}))
        elif _mark(table, before) != mark:
            out.append(RowChange(at[0], _key_of(table, row), mark, *_kept(table, before, row)))
    return out


def made_items(changes: Changes) -> list[tuple[New, int]]:
    """The items that a change set makes, each with its checksum."""
    return [
        (row["item_id"], _mark(table, {**row, "item_id": 0}))
        for table, row in changes.puts
        if table.name == "item" and isinstance(row["item_id"], New)
    ]


def item_mark(reader: KnowledgeReader, item: int) -> int | None:
    """The checksum of an item as it is; None without it."""
    row = reader.rows_at([("item", (item,))]).get(("item", (item,)))
    return None if row is None else _mark(table_named("item"), {**row, "item_id": 0})


def _mark(table: PayloadTable, row: Mapping[str, Any]) -> int:
    """A checksum of the values of a row, whatever the order of its JSON."""
    values = [
        json.dumps(json.loads(row[each.name]), sort_keys=True)
        if each.json and row.get(each.name) is not None
        else row.get(each.name)
        for each in table.columns
    ]
    return zlib.crc32(json.dumps(values).encode())


def _key_of(table: PayloadTable, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key of a row; of a name only what it names, and the checksum that tells which."""
    if table.name == "name":
        if row["sort"] == "property" and row["folded"].partition("=")[0] in _FIGURES:
            return (row["id"], _mark(table, row), row["folded"])
        return (row["id"], _mark(table, row))
    return tuple(row[each] for each in table.key)


def _kept(
    table: PayloadTable, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The numbers of a row that differ, those of its JSON, and whether words do."""
    columns: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    lost = False
    for column in table.columns:
        old, new = before[column.name], after.get(column.name)
        if column.name in table.key or (old == new and after):
            continue
        if column.json:
            was = {} if old is None else json.loads(old)
            now = {} if new is None else json.loads(new)
            for name in sorted({*was, *now}):
                if was.get(name) == now.get(name):
                    continue
                if name == "properties" and after:
                    found = _changed_figures(was.get(name) or {}, now.get(name) or {})
                    lost = lost or found is None
                    fields[name] = found or {}
                    continue
                if not _is_ours(name, was.get(name)):
                    lost = True
                    continue
                fields[name] = was.get(name)
        elif _is_ours(column.name, old):
            columns[column.name] = old
        else:
            lost = True
    return columns, fields, lost


def _changed_figures(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Figures of a pattern that differ, as they were; None where another property differs."""
    names = [each for each in {*was, *now} if was.get(each) != now.get(each)]
    if not _FIGURES.issuperset(names):
        return None
    return {each: was.get(each) for each in sorted(names)}


def _is_ours(name: str, value: Any) -> bool:
    """Whether a value is a number, or a name that the product gives."""
    if value is None or isinstance(value, (bool, int, float)):
        return True
    if isinstance(value, dict):
        return name in _TABLES and all(isinstance(each, (int, float)) for each in value.values())
    return name in _NAMED


def plan_rows_back(reader: KnowledgeReader, rows: Sequence[RowChange]) -> tuple[Changes, set[int]]:
    """What turns changes of rows back, and the memories whose rows stay as they are.

    A row stays that was changed since, or whose words have changed. Nothing comes back of a memory
    that is gone.
    """
    changes, kept = Changes(), set[int]()
    known = reader.rows_at([(each.table, each.key) for each in rows if each.table != "name"])
    names = reader.names_of({each.key[0] for each in rows if each.table == "name"})
    ends = {end for each in rows for end in _ends(table_named(each.table), each.key)}
    living = reader.owners(ends).keys() | reader.items(ends).keys()
    for each in rows:
        table = table_named(each.table)
        if table.name == "name":
            found = [row for row in names.get(each.key[0], ()) if _mark(table, row) == each.key[1]]
            if each.mark is not None and found:
                changes.drop("name", *(found[0][column] for column in table.key))
            elif each.mark is None and len(each.key) > 2:
                changes.put("name", **_figure_name(reader, each))
            elif each.mark is None:
                kept.add(each.key[0])
            continue
        now = known.get((each.table, each.key))
        if each.mark is None:
            if now is None and living.issuperset(_ends(table, each.key)):
                if each.has_words:
                    kept.add(each.key[0])
                else:
                    changes.put(table.name, **_row_of(table, each, None))
        elif now is None:
            continue  # it is gone, and what it hung on
        elif _mark(table, now) != each.mark:
            kept.add(each.key[0])
        elif each.before is None:
            changes.drop(table.name, *each.key)
        else:
            changes.put(table.name, **_row_of(table, each, now))
            if each.has_words:
                kept.add(each.key[0])
    return changes, kept & reader.owners(kept).keys()


def _figure_name(reader: KnowledgeReader, change: RowChange) -> dict[str, Any]:
    """The row by which a concept is found by a figure of its own."""
    owner = reader.owners([change.key[0]])
    scope = owner[change.key[0]].scope if owner else ""
    return {"scope": scope, "sort": "property", "folded": change.key[2], "id": change.key[0]}


def _ends(table: PayloadTable, key: Sequence[Any]) -> set[int]:
    """The memories and items that a row hangs on, as far as its key says."""
    if table.name == "name":
        return {key[0]}
    return {value for name, value in zip(table.key, key, strict=True) if name in table.owners}


def _row_of(
    table: PayloadTable, change: RowChange, now: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A row as it was."""
    row = dict(now or {}) | dict(zip(table.key, change.key, strict=True)) | (change.before or {})
    for column in table.columns:
        if not column.json:
            continue
        text = None if now is None else now[column.name]
        fields = {} if text is None else json.loads(text)
        for name, value in change.fields.items():
            if name == "properties":
                fields[name] = {
                    key: each
                    for key, each in {**fields.get(name, {}), **value}.items()
                    if each is not None
                }
            elif value is None:
                fields.pop(name, None)
            else:
                fields[name] = value
        row[column.name] = None if column.optional and not fields else compact_json(fields)
    return row


def packed_rows(rows: Iterable[RowChange]) -> dict[str, str]:
    """Changes of rows as text, for the record of a cycle."""
    text = compact_json([list(each) for each in rows])
    return {"rows": base64.b85encode(zlib.compress(text.encode(), 6)).decode("ascii")}


def unpacked_rows(text: str) -> list[RowChange]:
    """What `packed_rows` made."""
    found = json.loads(zlib.decompress(base64.b85decode(text)))
    return [RowChange(each[0], tuple(each[1]), *each[2:]) for each in found]


#: fields of a header that many memories change at once
_PACKED: Final = np.dtype(
    [
        ("id", "<i8"),
        ("stability", "<f4"),
        ("stability_after", "<f4"),
        ("utility", "<f4"),
        ("utility_after", "<f4"),
    ]
)


def packed(before: NDArray[np.void], after: NDArray[np.void]) -> dict[str, str]:
    """Stabilities and utilities of many memories, before and after, as text."""
    rows = np.zeros(len(before), _PACKED)
    rows["id"] = before["id"]
    rows["stability"], rows["stability_after"] = before["stability_days"], after["stability_days"]
    rows["utility"], rows["utility_after"] = before["utility"], after["utility"]
    columns = b"".join(rows[name].tobytes() for name in _PACKED.names or ())
    return {"packed": base64.b85encode(zlib.compress(columns, 6)).decode("ascii")}


def unpacked(text: str) -> NDArray[np.void]:
    """What `packed` made, as rows of id, stability and utility, before and after."""
    raw = zlib.decompress(base64.b85decode(text))
    count = len(raw) // _PACKED.itemsize
    rows, at = np.zeros(count, _PACKED), 0
    for name in _PACKED.names or ():
        kind = _PACKED[name]
        rows[name] = np.frombuffer(raw, kind, count, at)
        at += count * kind.itemsize
    return rows


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


@dataclass(eq=False)
class UnitWriter:
    """Commits units. Callers check that the store is open and writable.

    Args:
        restate: brings a memory to other words and rows, in one commit.
        forget: forgets those that there are, but for protected ones.
        reinstate: has an ended one hold again.
    """

    parts: WriteContext
    knowledge: KnowledgeWriter
    restate: Callable[[int, str, Changes], None]
    forget: Callable[[Sequence[int]], object]
    reinstate: Callable[[int], object]

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
        work = _Work(self.parts, self.parts.router.durable_store(), unit)
        if unit.erases:
            return self._erased(unit, cycle, state, note)

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            changes = Changes() if unit.decide is None else unit.decide(reader, now_ms)
            if unit.alter is not None and unit.ids:
                work.look(unit.alter)
            restates = unit.restates is not None and unit.decide is None
            if changes or work.ids or restates or unit.judges:
                if cycle is not None:
                    work.note(_Journal(reader, changes, cycle, note), changes, reader)
                work.is_committed = True
                changes.put("sleep_state", **state(len(changes.store)))
            return changes

        if unit.restates is not None:
            return self._restated(unit, decide, work)
        made = self.knowledge.commit(decide, unit.prepared, also=work.stage, counts=False)
        if unit.to_tier is not None and work.ids:
            self.parts.speakers.forget()
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
                erased = {"ids": list(unit.erases), "users": dict(unit.users)}
                _Journal(reader, changes, cycle, note).add("erased", erased)
            changes.put("sleep_state", **state(0))
            return changes

        self.knowledge.commit(decide, counts=False)
        self.forget(unit.erases)
        return Done(tuple(unit.erases), (), True)

    def finish_erasing(self, cycle: int) -> None:
        """Forget what a cycle has noted and had no time for."""
        catalog = self.parts.router.durable_store().catalog
        with self.parts.exclusive(), catalog.latest() as db:
            rows = KnowledgeReader(db, catalog.path).cycle_changes("erased", cycle)
        for row in rows:
            self.forget(row["before"]["ids"])

    def _restated(
        self, unit: Unit, decide: Callable[[KnowledgeReader, int], Changes], work: _Work
    ) -> Done:
        """Bring a memory to other words and rows, in one commit."""
        assert unit.restates is not None
        catalog = self.parts.router.durable_store().catalog
        with self.parts.exclusive():
            with catalog.latest() as db:
                changes = decide(KnowledgeReader(db, catalog.path), self.parts.clock.now_ms())
            if not work.is_committed:
                return Done()
            self.restate(unit.restates, unit.prepared[0].text, changes)
        return Done((unit.restates,), (), True)

    def take_back(self, made: Sequence[int], ended: Sequence[int]) -> None:
        """Forget what a cycle made, and have what that superseded hold again."""
        self.forget(made)
        for each in ended:
            with contextlib.suppress(UnknownRecordError, SupersededRecordError):
                self.reinstate(each)

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

        self.knowledge.commit(decide, counts=False)


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

    def note(self, journal: _Journal, changes: Changes, reader: KnowledgeReader) -> None:
        """Add what makes the unit undone: strengths, then what it made, restated and changed."""
        unit = self._unit
        if unit.packed and self.ids:
            journal.add(unit.what, packed(self._before, self._rows))
        for n, each in enumerate(() if unit.packed else self.ids):
            before, after = self.differences(n)
            values = {name: [before[name], after[name]] for name in before}
            if why := unit.reasons.get(each, unit.reason):
                values["why"] = [why]
            journal.add(unit.kinds.get(each, unit.what), values, each)
        if rows := changed_rows(changes, reader):
            journal.add("rows", packed_rows(rows))
        for n in changes.store:
            made = {"text": text_mark(unit.prepared[n].text)}
            gone = changes.supersedes.get(New(n))
            journal.add("made", made | ({"ended": list(gone)} if gone else {}), New(n))
        for which, mark in made_items(changes):
            journal.add("item", {"mark": mark}, which)
        if unit.restates is not None:
            was = self._parts.finder.get(unit.restates).text
            marks = {"was": text_mark(was), "text": text_mark(unit.prepared[0].text)}
            journal.add("restated", marks, unit.restates)

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
            relocate(tx, tier, row, replace(row, mutable=block), encoded)


class _Journal:
    """The record of a cycle, in whose rows is what was before.

    Args:
        note: what it says of a cycle that begins with this change.
    """

    def __init__(
        self,
        reader: KnowledgeReader,
        changes: Changes,
        cycle: int,
        note: Mapping[str, Any] | None,
    ) -> None:
        self._changes = changes
        self._cycle = cycle
        self._ordinal = reader.last_ordinal(cycle)
        if note is not None:
            self.add("cycle", note)

    def add(self, what: str, before: Mapping[str, Any], record_id: int | New | None = None) -> None:
        self._ordinal += 1
        self._changes.put(
            "cycle_change",
            cycle=self._cycle,
            ordinal=self._ordinal,
            record_id=record_id,
            what=what,
            before=compact_json(before),
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
