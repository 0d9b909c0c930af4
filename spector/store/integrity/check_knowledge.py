"""The part of a check that reads the tables of knowledge, keys and attachments: I21 to I31."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from spector.records import BUILTIN_KINDS
from spector.store.integrity.findings import Findings
from spector.store.payloads import (
    TIER_OF_SORT,
    PayloadTable,
    problems_of_row,
    tables_in,
)

__all__ = ["check_knowledge"]

#: references of one concept in one layer
_MOST_REFERENCES: Final = 200
_LIVES_BY: Final = ("mention", "evidence")
#: columns of the state of sleep that say up to which id it has come
_CURSORS: Final = ("extracted_id", "abstracted_id")


def check_knowledge(db: sqlite3.Connection, found: Findings) -> None:
    """Every row of knowledge: its seal, its values, and that what it names is there.

    I21 payload of no memory or of a wrong tier, I22 missing end, I23 relation or weight, I24 key of
    a fact, I25 values out of range, I26 entity without mention, I27 seal, I28 too many references,
    I29 a cursor of sleep beyond the last id, I30 a key that is none, or of another user,
    I31 an attachment that is missing, or that its memory does not say it has.
    """
    if not tables_in(db):
        return
    with found.surviving():
        _Look(db, found).all(db)


class _Look:
    def __init__(self, db: sqlite3.Connection, found: Findings) -> None:
        self._found = found
        #: id -> code of its tier; None of an item
        self._known: dict[int, int | None] = dict(
            db.execute(
                "SELECT record.id, segment.tier FROM record"
                " LEFT JOIN segment ON segment.id = record.segment_id"
            )
        )
        self._kinds = {each.name for each in BUILTIN_KINDS}
        self._sorts: dict[int, str] = {}
        self._alive: set[int] = set()
        #: memory -> the user and the agent that its key is of
        self._owners: dict[int, tuple[str, str]] = {}
        #: memory -> bytes of its attachment, by its entry, and in fact
        self._attached: dict[int, int] = {}
        self._found_bytes: dict[int, int] = {}
        #: memories whose entry is damaged
        self._unsaid: set[int] = set()
        self._references: Counter[tuple[int, str]] = Counter()
        (self._last_id,) = db.execute("SELECT last_id FROM head").fetchone()

    def all(self, db: sqlite3.Connection) -> None:
        """Every table; items first, because others name them."""
        tables = sorted(tables_in(db), key=lambda each: each.name != "item")
        names = {each.name for each in tables}
        items = db.execute("SELECT item_id, sort, json FROM item") if "item" in names else ()
        for item_id, sort, text in items:
            if isinstance(item_id, int):
                self._known.setdefault(item_id, None)
                self._sorts[item_id] = sort
                self._register(text)
        for table in tables:
            with self._found.surviving():
                for stored in db.execute(f"SELECT * FROM {table.name}"):
                    self._row(table, stored)
        labels = "SELECT coalesce(user_id, ''), coalesce(agent_id, '') FROM record WHERE id = ?"
        with self._found.surviving():
            for record_id, owner in self._owners.items():
                if db.execute(labels, (record_id,)).fetchone() not in (None, owner):
                    self._add("I30", record_id, "its key is of another user or agent")
        for each in sorted(self._attached.keys() | self._found_bytes.keys()):
            said, there = self._attached.get(each), self._found_bytes.get(each)
            if said != there and each not in self._unsaid:
                self._add("I31", each, f"its attachment has {there} bytes, and should have {said}")
        for item_id, sort in sorted(self._sorts.items()):
            if sort in ("entity", "association") and item_id not in self._alive:
                self._add("I26", item_id, f"no memory is left of the {sort}")
        for (concept, kind), count in sorted(self._references.items()):
            if count > _MOST_REFERENCES:
                layer = kind.partition(":")[2]
                self._add("I28", concept, f"{count} references in {layer}")

    def _register(self, text: object) -> None:
        """Note a registered relation; also of a damaged row, which is one problem and not two."""
        try:
            about = json.loads(str(text))
            if "symmetric" in about:
                self._kinds.add(str(about["name"]))
        except (ValueError, TypeError, KeyError):
            return  # its row is reported

    def _row(self, table: PayloadTable, stored: tuple[Any, ...]) -> None:
        row, problem = table.read(stored)
        if table.name == "attachment" and type(row["data"]) is bytes:
            self._found_bytes[row["id"]] = len(row["data"])
        first = row[table.owners[0]] if table.owners else None
        owner = first if isinstance(first, int) else None
        if problem is not None:
            self._add("I27", owner, f"a row of {table.name} is damaged: {problem}")
            if table.name == "link" and owner is not None:
                self._alive.add(owner)
            elif table.name == "entry" and owner is not None:
                self._unsaid.add(owner)
            return
        for name in table.owners:
            if row[name] is not None and row[name] not in self._known:
                code = "I21" if table.name in ("payload", "fact") else "I22"
                self._add(code, owner, f"a row of {table.name} names {row[name]}, which is gone")
        sort = "fact" if table.name == "fact" else str(row.get("sort"))
        tier = self._known.get(owner) if owner is not None else None
        if table.name in ("payload", "fact") and tier != TIER_OF_SORT.get(sort, tier):
            self._add("I21", owner, f"a {sort} lies in a wrong tier")
        for name in _CURSORS if table.name == "sleep_state" else ():
            if row[name] > self._last_id:
                message = f"{name} of sleep is {row[name]}, the last id is {self._last_id}"
                self._found.catalog("I29", message, None)
        for code, message in problems_of_row(table.name, row, self._kinds):
            self._add(code, owner, message)
        if table.name == "link":
            self._link(row)
        elif table.name == "entry":
            self._owners[row["id"]] = (row["user_id"], row["agent_id"])
            if row["attached_bytes"] is not None:
                self._attached[row["id"]] = row["attached_bytes"]

    def _link(self, row: Mapping[str, Any]) -> None:
        if row["kind"] in _LIVES_BY:
            self._alive.add(row["a"])
        if row["kind"].startswith("reference:") and row["n"] is not None:
            self._references[row["a"], row["kind"]] += 1

    def _add(self, code: str, record_id: int | None, message: str) -> None:
        self._found.catalog(code, f"memory {record_id}: {message}", record_id)
