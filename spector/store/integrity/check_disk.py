"""The part of a check that reads the catalog's files byte by byte, before SQLite opens them."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Final

from spector.errors import SpectorError, StoreError
from spector.records import CheckReport
from spector.store.catalog import CATALOG_NAME, LOG_NAME, Catalog
from spector.store.files import DiskFiles, Files, Stretch, name_some, unreadable_stretches
from spector.store.integrity.findings import Findings
from spector.store.payloads import tables_in
from spector.store.sqlite import SQL_ERRORS, LostTable, keep_open, raw_file, read_table

__all__ = ["check_disk", "check_unopened"]

_MOST_ID: Final = (1 << 63) - 1


def check_disk(files: Files, catalog: Catalog, found: Findings) -> None:
    """I20 of the catalog and of its log, with the memories whose row or text is affected.

    It is unknown which stretch has which memory, so the first one names them all.
    """
    if not files.durable:
        return
    stretches: list[Stretch] = []
    with contextlib.suppress(SpectorError):  # SQLite reports any other error
        stretches += unreadable_stretches(CATALOG_NAME, catalog.raw_file(files))
    stretches += _unread_in_log(files)
    if stretches:
        found.catalog_unread = True
        _tell(stretches, memories_behind(catalog), found)


def check_unopened(files: DiskFiles) -> CheckReport | None:
    """I20 of a catalog that SQLite cannot even open; None when the disk can read all of it."""
    found = Findings()
    stretches: list[Stretch] = []
    path = f"{files.root}/{CATALOG_NAME}"
    with contextlib.suppress(StoreError), keep_open(path):
        stretches += unreadable_stretches(CATALOG_NAME, raw_file(files, CATALOG_NAME, path))
    stretches += _unread_in_log(files)
    _tell(stretches, (), found)
    return CheckReport(problems=tuple(found.problems)) if stretches else None


def _unread_in_log(files: Files) -> tuple[Stretch, ...]:
    with contextlib.suppress(StoreError):  # most often there is none
        log = files.open(LOG_NAME, writable=False)
        try:
            return unreadable_stretches(LOG_NAME, log)
        finally:
            log.close()
    return ()


def _tell(stretches: list[Stretch], ids: tuple[int, ...], found: Findings) -> None:
    for n, stretch in enumerate(stretches):
        what = "a check cannot read what is in them"
        if ids and not n:
            what += f"; they belong to {name_some(ids)}"
        found.unread(stretch, f"{what}; --repair goes around them", () if n else ids)


def memories_behind(catalog: Catalog) -> tuple[int, ...]:
    """Ids whose row, text or knowledge cannot be read, as far as other tables tell them."""
    ids: set[int] = set()
    try:
        with catalog.reading() as db:
            for table, other in (("record", "content"), ("content", "record")):
                for low, high in _lost_ranges(db, table, "id"):
                    with contextlib.suppress(*SQL_ERRORS):
                        ids.update(
                            found
                            for (found,) in db.execute(
                                f"SELECT id FROM {other} WHERE id BETWEEN ? AND ?", (low, high)
                            )
                        )
            ids |= _with_lost_knowledge(db)
    except (SpectorError, *SQL_ERRORS):
        pass
    return tuple(sorted(i for i in ids if type(i) is int))


def _lost_ranges(db: sqlite3.Connection, table: str, key: str) -> list[tuple[int, int]]:
    """Ranges of keys whose rows cannot be read; the last may end at no number of SQLite's."""
    lost: list[LostTable] = []
    for _ in read_table(db, table, lost, key=key):
        pass
    return [(each.low, min(each.high, _MOST_ID)) for each in lost]


def _with_lost_knowledge(db: sqlite3.Connection) -> set[int]:
    """Memories in a range of lost rows of knowledge that another table of knowledge names."""
    tables = [each for each in tables_in(db) if each.key[0] in each.owners and each.name != "item"]
    ids: set[int] = set()
    for table in tables:
        for low, high in _lost_ranges(db, table.name, table.key[0]):
            for other in tables:
                for column in other.owners:
                    with contextlib.suppress(*SQL_ERRORS):
                        ids.update(
                            found
                            for (found,) in db.execute(
                                f"SELECT record.id FROM record WHERE record.id BETWEEN ? AND ? AND"
                                f" EXISTS (SELECT 1 FROM {other.name} WHERE {column} = record.id)",
                                (low, high),
                            )
                        )
    return ids
