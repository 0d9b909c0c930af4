"""The earlier backup at a copy's destination: whether it may be replaced, or is up to date.

A backup whose catalog is in the very state of the store's is verified and kept as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from spector._types import Progress
from spector.errors import SpectorError, StoreExistsError
from spector.layout import PartitionState
from spector.process import managed
from spector.store.backup.destination import Destination, stranger_in
from spector.store.backup.directories import EntryKind, entry_kind, is_sole
from spector.store.catalog import (
    CATALOG_NAME,
    Catalog,
    Lineage,
    SegmentRow,
    lineage_of,
    read_meta,
    schema,
)
from spector.store.core import Store
from spector.store.files import DiskFiles, WriterLock, without_writer
from spector.store.integrity import check_files

__all__ = [
    "NOTES",
    "CopyCounts",
    "EarlierBackup",
    "Progress",
    "Request",
    "frozen_catalog",
    "held_backup",
    "replaceable_backup",
    "unchanged_backup",
]

#: lines about a catalog's files or process, not about its memories
NOTES = (schema.UNSYNCED, schema.RELAXED_LOG, schema.BACKUP_NOTE)


@dataclass(slots=True)
class CopyCounts:
    """Counts of a finished copy."""

    records: int = 0
    partitions: int = 0
    reused: int = 0
    bytes: int = 0
    bytes_copied: int = 0


@dataclass(frozen=True, slots=True)
class EarlierBackup:
    """The unused backup at the destination, which is locked meanwhile."""

    path: str
    rows: dict[str, SegmentRow]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be copied, and what it may replace."""

    store: Store
    replace: bool
    force: bool

    def refuse_others(self, where: str, theirs: Lineage) -> None:
        """Raise for a backup of a state that the store has never been in, or has lost."""
        with self.store.catalog.reading() as db:
            ours = lineage_of(db)
        if self.force or ours.went_through(theirs):
            return
        raise StoreExistsError(
            f"{where} is a backup with changes that {self.store.where} does not have: it was made "
            "of a later state of this store, or of a copy of it that went its own way",
            hint="choose a path where nothing is; force=True (--force) replaces that backup, and"
            " what only it has is gone",
        )


@dataclass(frozen=True, slots=True)
class _State:
    """What changes in a catalog with any change; equal states mean equal memories.

    Each commit that changes a memory moves the counter to a value that is never used again. Due
    erasures change without one, and with them the content of deleted pages.
    """

    lineage: Lineage
    last_id: int
    meta: tuple[tuple[str, str], ...]
    segments: tuple[SegmentRow, ...]
    due: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, catalog: Catalog, db: sqlite3.Connection) -> _State:
        due = db.execute("SELECT id, due_ms FROM erasure ORDER BY id")
        return cls(
            lineage_of(db),
            catalog.head(db).last_id,
            tuple((key, value) for key, value in read_meta(db).items() if key not in NOTES),
            tuple(catalog.segments(db)),
            tuple((record_id, ms) for record_id, ms in due),
        )


def unchanged_backup(
    files: DiskFiles, request: Request, progress: Progress | None
) -> CopyCounts | None:
    """The backup at the destination if the store has not changed since; else None.

    It is verified like a new one and stays as it is. One that shares a file, or fails the check, is
    made again.
    """
    store = request.store
    with without_writer(files.root):
        _rows_of_backup(files, request)
        with store.catalog.reading() as db:
            ours = _State.of(store.catalog, db)
        with frozen_catalog(files) as catalog, catalog.latest() as db:
            if _State.of(catalog, db) != ours:
                return None
            rows = [row for row in catalog.segments() if row.state != PartitionState.COMPACTED]
            names = [CATALOG_NAME, *(row.path for row in rows)]
            if not all(is_sole(f"{files.root}/{name}") for name in names):
                return None
            size = sum(map(files.size_of, names))

            def reach(done: int, total: int) -> None:
                if progress is not None:  # what would have been copied is there
                    progress(size + size * done // max(1, total), 2 * size)

            if check_files(files, catalog, store.partitions.tiers, store.kernel, reach).problems:
                return None
    reach(1, 1)
    return CopyCounts(
        records=sum(row.live for row in rows), partitions=len(rows), reused=len(rows), bytes=size
    )


@managed
def held_backup(place: Destination, request: Request) -> Iterator[EarlierBackup | None]:
    """The backup at the destination, locked; None where the destination is free.

    Raises:
        StoreExistsError: what is there may not be replaced. StoreLockedError: it is being written.
    """
    files = replaceable_backup(place, request)
    if files is None:
        yield None
        return
    lock = WriterLock(place.target)
    try:
        rows = _rows_of_backup(files, request)
        place.drop_aside()
        yield EarlierBackup(place.target, rows)
    finally:
        lock.release()


def replaceable_backup(place: Destination, request: Request) -> DiskFiles | None:
    """The backup at the destination, or None where it is free. Changes nothing.

    Raises:
        StoreExistsError: what is there may not be replaced.
    """
    found = entry_kind(place.target)
    if found in (EntryKind.NOTHING, EntryKind.EMPTY):
        return None
    if found is EntryKind.OTHER or not request.replace:
        raise _is_taken(place.target, found.value)
    files = DiskFiles(place.target)
    if not files.exists(CATALOG_NAME):
        raise _is_taken(place.target, "a directory that holds something else")
    _rows_of_backup(files, request)  # another program's directory does not even get a lock file
    strange = stranger_in(place.target, links=True)
    if strange is not None:
        raise StoreExistsError(
            f"{place.target} is a backup with something else in it: {strange}",
            hint="move that away, or choose a path where nothing is",
        )
    return files


def _rows_of_backup(files: DiskFiles, request: Request) -> dict[str, SegmentRow]:
    log = f"{CATALOG_NAME}-wal"
    in_use = files.exists(log) and files.size_of(log) > 0  # a writer died: closing leaves none
    try:
        with frozen_catalog(files) as catalog, catalog.latest() as db:
            meta = read_meta(db)
            rows = {row.path: row for row in catalog.segments()}
            theirs = lineage_of(db)
    except SpectorError as error:
        raise _is_taken(files.root, f"a store that cannot be read ({error.message})") from error
    if meta.get("uuid") != request.store.uuid.hex():
        raise _is_taken(files.root, "another store")
    if in_use or schema.BACKUP_NOTE not in meta:
        raise _is_taken(files.root, "a copy of this store that has been in use since")
    request.refuse_others(files.root, theirs)
    return rows


@managed
def frozen_catalog(files: DiskFiles) -> Iterator[Catalog]:
    """The catalog of a directory that no process writes to; makes no files beside it."""
    catalog = Catalog(f"{files.root}/{CATALOG_NAME}", mode="r", durability="strict", immutable=True)
    try:
        yield catalog
    finally:
        catalog.close()


def _is_taken(path: str, what: str) -> StoreExistsError:
    return StoreExistsError(
        f"{path} is {what}", hint="choose a path where nothing is, or an empty directory"
    )
