"""A consistent copy of a store, made while it is written to."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from spector._types import Progress
from spector.errors import (
    CatalogCorruptError,
    InvalidInputError,
    PartitionCorruptError,
    SpectorError,
    StoreError,
    StoreExistsError,
)
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    Flag,
    PartitionState,
)
from spector.process import managed
from spector.records import BackupReport, CheckReport
from spector.store.backup.destination import (
    Destination,
    EntryKind,
    clear,
    entry_kind,
    is_sole,
    put_in_place,
    put_instead,
    share,
    staged,
    stranger_in,
)
from spector.store.catalog import (
    CATALOG_NAME,
    LOG_NAME,
    Catalog,
    Lineage,
    SegmentRow,
    clear_journal,
    delete_meta,
    lineage_of,
    put_meta,
    read_meta,
    schema,
    strengths_in,
)
from spector.store.core import Store, View
from spector.store.files import (
    CHECK,
    Bytes,
    DiskFiles,
    WriterLock,
    as_bytes,
    first_bytes,
    without_writer,
)
from spector.store.integrity import StoreCheck
from spector.store.partitions import require_readable
from spector.store.sqlite import open_connection, truncate_log, typed_sql_errors

# The earlier backup at a copy's destination: whether it may be replaced, or is up to date.
#
# A backup whose catalog is in the very state of the store's is verified and kept as it is.

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

            check = StoreCheck(files, catalog, store.partitions.tiers, store.kernel)
            if check.run(reach).problems:
                return None
    reach(1, 1)
    return CopyCounts(
        records=sum(row.live for row in rows), partitions=len(rows), reused=len(rows), bytes=size
    )


@managed
def held_backup(place: Destination, request: Request) -> Iterator[dict[str, SegmentRow] | None]:
    """Path -> row of the partitions of the backup at the destination, which is locked meanwhile.

    None where the destination is free.

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
        yield rows
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
    # a writer died: closing leaves none
    in_use = files.exists(LOG_NAME) and files.size_of(LOG_NAME) > 0
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
    with contextlib.closing(
        Catalog(f"{files.root}/{CATALOG_NAME}", mode="r", durability="strict", immutable=True)
    ) as catalog:
        yield catalog


def _is_taken(path: str, what: str) -> StoreExistsError:
    return StoreExistsError(
        f"{path} is {what}", hint="choose a path where nothing is, or an empty directory"
    )


_PAGES_AT_ONCE = 1024
_SLOTS_AT_ONCE = 8192


def copy_store(
    store: Store,
    dest: str,
    *,
    taken_ms: int | None,
    force: bool = False,
    progress: Progress | None = None,
) -> BackupReport:
    """Copy ``store`` as it is at one moment to the directory ``dest``.

    Args:
        taken_ms: the time that is noted in the copy and makes it a backup: the next backup of the
            same store may take its place, until it is opened to write. None notes nothing.
        force: replace a backup with changes that ``store`` does not have, too.

    Raises:
        InvalidInputError: ``dest`` is the store itself, inside it, a parent of it or the current
            directory; or the store has a name beside ``dest`` that the copy uses temporarily.
        StoreExistsError: something is at ``dest`` that is not an unused backup of this store, or is
            a backup of a state that ``store`` has never been in.
        StoreLockedError: another copy to ``dest`` is being made.
        StoreError: ``dest`` is a mount point, or a file that is not ours is in the way.
        StoreFullError: no room. PartitionCorruptError, CatalogCorruptError: the store is damaged.
        In each case ``dest`` is unchanged, and what had been written is removed.
    """
    started = time.perf_counter()
    store.ensure_usable()
    if not store.files.durable:
        raise InvalidInputError(
            "a memory that lives in memory has no files to copy",
            hint="write its memories to a file with export",
        )
    place = Destination.at(dest)
    with place.explained(store.where):
        place.refuse_harm(store.where)
        request = Request(store, replace=taken_ms is not None, force=force)
        earlier = replaceable_backup(place, request)  # a refused destination is not touched
        done = None
        if earlier is not None and not place.is_passed_through():
            done = unchanged_backup(earlier, request, progress)
        if done is None:
            with staged(place) as (files, _), held_backup(place, request) as older:
                done = _Copy(store, place, files, older, taken_ms, progress).run()
    elapsed_ms = (time.perf_counter() - started) * 1000
    return BackupReport(
        path=place.target, source=store.where, elapsed_ms=elapsed_ms, **asdict(done)
    )


class _Copy:
    """One copy of a store while it is made."""

    def __init__(
        self,
        store: Store,
        place: Destination,
        files: DiskFiles,
        older: dict[str, SegmentRow] | None,
        taken_ms: int | None,
        progress: Progress | None,
    ) -> None:
        self._store = store
        self._place = place
        self._older = older
        self._taken_ms = taken_ms
        self._progress = progress
        self._files = files
        self._done = CopyCounts()
        self._total = self._reached = 0

    def run(self) -> CopyCounts:
        try:
            self._build()
        except (CatalogCorruptError, PartitionCorruptError) as error:
            raise self._refusal(error) from error
        if self._older is None:
            put_in_place(self._place.staging, self._place.target)
        else:
            put_instead(self._place.staging, self._place.target, self._place.aside)
        return self._done

    def _refusal(self, error: StoreError) -> StoreError:
        where = self._store.where
        return type(error)(
            f"{where} is damaged and was not copied: "
            + error.message.replace(self._files.root, where),
            hint="run: spector check PATH; what is intact can be saved with"
            " spector check PATH --repair DEST",
        )

    def _build(self) -> None:
        """Copy and verify. If a reused file turns out to be damaged, everything is copied again."""
        for reuse in (self._older is not None, False):
            self._done = CopyCounts()
            clear(self._files)
            view = self._copy_catalog()
            self._copy_partitions(view, reuse=reuse)
            del view  # and with it the maps of files that were compacted away meanwhile
            report = self._check()
            if not report.problems:
                break
            if not self._done.reused:
                first, more = report.problems[0], report.count - 1
                kind = CatalogCorruptError if first.where == CATALOG_NAME else PartitionCorruptError
                raise kind(f"{first}" + (f" (and {more} more)" if more else ""))
        self._reach(self._total)

    # -- the catalog --------------------------------------------------------------------------

    def _copy_catalog(self) -> View:
        """Copy the catalog page by page; returns the view of the same moment."""
        self._files.open(CATALOG_NAME, create=True).close()  # with our permissions
        path = f"{self._files.root}/{CATALOG_NAME}"
        with self._store.snapshot() as view, self._store.catalog.reading() as source:
            pages, size = (
                int(source.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "page_size")
            )
            self._total = 2 * (pages * size + sum(p.data.nbytes for p in view.partitions))
            with typed_sql_errors(path), open_connection(path) as target:
                target.execute("PRAGMA synchronous=OFF")  # all of it is synced at the end
                target.execute("PRAGMA journal_mode=OFF")
                source.backup(
                    target,
                    pages=_PAGES_AT_ONCE,
                    progress=lambda _, left, all_: self._reach((all_ - left) * size),
                )
        self._reached = pages * size
        self._done.bytes = self._done.bytes_copied = pages * size
        self._settle_catalog(path)
        return view

    def _settle_catalog(self, path: str) -> None:
        """Remove what is true of the source's files or process, but not of the copy.

        SQLite syncs nothing here, because it hides a failure while it closes. The only sync of this
        file is ours, and a copy that is not durable after it is refused.
        """
        # the last connection removes the log
        with contextlib.closing(Catalog(path, mode="rw", durability="none")) as catalog:
            with catalog.writing() as db:
                clear_journal(db)
                delete_meta(db, NOTES)
                if self._taken_ms is not None:
                    put_meta(db, {schema.BACKUP_NOTE: json.dumps({"taken_ms": self._taken_ms})})
            if truncate_log(catalog) is None:
                raise StoreError(
                    f"another program has opened {path}, which is not complete yet",
                    hint="close it there, then try again",
                )
        with contextlib.closing(self._files.open(CATALOG_NAME)) as file:
            file.sync()

    # -- the partitions -----------------------------------------------------------------------

    def _copy_partitions(self, view: View, *, reuse: bool) -> None:
        data = {partition.segment_id: partition.data for partition in view.partitions}
        with frozen_catalog(self._files) as catalog, catalog.latest() as db:
            for row in catalog.segments():
                if row.state == PartitionState.COMPACTED:
                    continue
                size = self._size_of(row)
                self._done.partitions += 1
                self._done.records += row.live
                self._done.bytes += size
                if not (reuse and self._reuse(row)):
                    self._copy(row, data.get(row.id), db)
                self._reach(self._reached + size - PARTITION_HEADER_BYTES)

    def _size_of(self, row: SegmentRow) -> int:
        return PARTITION_HEADER_BYTES + row.slots * self._store.stride

    def _reuse(self, row: SegmentRow) -> bool:
        """Reuse an unchanged partition of the backup that this one replaces.

        Equal rows mean equal bytes: every transaction that touches a partition gives its row a
        change counter that is never used again. Both backups share the file for a moment. This is
        safe only because we hold the lock of the older one, which is about to be removed; two
        stores that stay must never share a file, whose mutable halves are rewritten in place.
        """
        target = self._place.target
        if self._older is None or self._older.get(row.path) != row:
            return False
        try:
            if DiskFiles(target).size_of(row.path) != self._size_of(row):
                return False
            share(f"{target}/{row.path}", f"{self._files.root}/{row.path}")
        except StoreError:  # gone, or a file system without links
            return False
        if first_bytes(self._files, row.path, PARTITION_HEADER_BYTES) != self._header(row):
            self._files.remove(row.path)
            return False
        self._done.reused += 1
        return True

    def _header(self, row: SegmentRow) -> bytes:
        partitions = self._store.partitions
        return partitions.header_of(partitions.tiers[row.tier]).pack(row)

    def _copy(self, row: SegmentRow, records: Bytes | None, db: sqlite3.Connection) -> None:
        if row.slots and (records is None or len(records) < row.slots):
            raise PartitionCorruptError(
                f"{row.path} has fewer records than the catalog's {row.slots}", hint=CHECK
            )
        with contextlib.closing(self._files.open(row.path, create=True)) as file:
            file.extend(self._size_of(row))
            file.write_at(0, self._header(row))
            offset = PARTITION_HEADER_BYTES
            for block in _blocks(row, records, db):
                file.write_at(offset, as_bytes(block))
                offset += block.nbytes
            file.sync()
        self._done.bytes_copied += offset

    def _check(self) -> CheckReport:
        start, rest = self._reached, self._total - self._reached
        tiers, kernel = self._store.partitions.tiers, self._store.kernel
        with frozen_catalog(self._files) as catalog:
            return StoreCheck(self._files, catalog, tiers, kernel).run(
                lambda done, total: self._reach(start + rest * done // (total + 1))
            )

    def _reach(self, done: int) -> None:
        self._reached = min(done, self._total)
        if self._progress is not None:
            self._progress(self._reached, self._total)


def _blocks(row: SegmentRow, records: Bytes | None, db: sqlite3.Connection) -> Iterator[Bytes]:
    """Copies of a partition's records with the mutable halves of the catalog."""
    if records is None:
        return
    for first in range(0, row.slots, _SLOTS_AT_ONCE):
        here = records[first : min(first + _SLOTS_AT_ONCE, row.slots)]
        require_readable(here, row.path)
        block: Bytes = here.copy()
        found = strengths_in(db, row.id, first, first + len(block))
        if any(
            type(slot) is not int or type(half) is not bytes or len(half) != MUTABLE_BYTES
            for slot, half in found
        ):
            raise CatalogCorruptError(
                f"the catalog has no mutable half for some records of {row.path}", hint=CHECK
            )
        slots = np.array([slot - first for slot, _ in found], dtype=np.intp)
        halves = b"".join(half for _, half in found)
        block[:, MUTABLE_OFFSET] |= int(Flag.TOMBSTONE)  # a slot without a row is dead
        block[slots, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(
            halves, dtype=np.uint8
        ).reshape(-1, MUTABLE_BYTES)
        yield block
