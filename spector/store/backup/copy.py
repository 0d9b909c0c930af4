"""A consistent copy of a store, made while it is written to.

The order is what makes it consistent. First the catalog is copied inside a read transaction of
SQLite, together with a view of the partitions of that same moment. The view is pinned by its maps:
a partition that a compaction replaces and unlinks meanwhile stays readable. Then the partitions are
copied from those maps. Whatever a writer did to them in between is undone from the catalog's copy:

- records behind the catalog's count are not copied;
- bytes 0..39 and the vector of a record never change, and a view has those of every record that it
  counts (a reader's view lays the journal over what is not in place yet);
- bytes 40..63 and the partition's header do change in place, so they are taken from the catalog,
  which keeps them for every live record; a slot without a row is a tombstone.

The other order would not do: a catalog that is newer than the partitions names slots which were
not there yet, and its journal may have been emptied by a checkpoint in between.

A backup whose catalog is in the very state of the store's is verified and kept as it is.

So the copy needs no journal; it is what a checkpoint and a close would have left. It is proved by
``check`` before it appears under its name. Nothing is written to the source.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spector.clock import SystemClock
from spector.errors import (
    CatalogCorruptError,
    FormatVersionError,
    InvalidInputError,
    PartitionCorruptError,
    SpectorError,
    StoreError,
    StoreExistsError,
)
from spector.layout import (
    FORMAT_MINOR,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    Flag,
    PartitionState,
)
from spector.process import managed
from spector.records import BackupReport, CheckReport
from spector.store.backup.destination import Place, stranger_in
from spector.store.backup.directories import (
    Found,
    is_sole,
    look_at,
    put_in_place,
    put_instead,
    share,
)
from spector.store.backup.staging import clear, staged
from spector.store.catalog import CATALOG_NAME, Catalog, Lineage, SegmentRow, lineage_of, schema
from spector.store.core import Store, View
from spector.store.files import Bytes, DiskFiles, WriterLock, as_bytes, no_writer
from spector.store.integrity import check_files
from spector.store.partitions import pack_header, require_readable
from spector.store.sqlite import connected, translated_sql, truncate_log

__all__ = ["copy_store"]

#: called with (bytes done, bytes in total); every byte counts twice, copied and verified
Progress = Callable[[int, int], None]
_PAGES_AT_ONCE = 1024
_SLOTS_AT_ONCE = 8192
#: lines about a catalog's files or process, not about its memories
_NOTES = (schema.UNSYNCED, schema.RELAXED_LOG, schema.BACKUP_NOTE)


def copy_store(
    store: Store, dest: str, *, as_backup: bool, force: bool = False,
    progress: Progress | None = None,
) -> BackupReport:
    """Copy ``store`` as it is at one moment to the directory ``dest``.

    Args:
        as_backup: leave the note in the copy that makes it a backup: the next backup of the same
            store may take its place, until somebody opens it to write.
        force: replace a backup with changes that ``store`` does not have, too.

    Raises:
        InvalidInputError: ``dest`` is the store itself, inside of it or around it, or the current
        directory; or the store has a name beside ``dest`` that the copy passes through.
        StoreExistsError: something is at ``dest`` that is not an untouched backup of this store, or
            one of another state than ``store`` has been through.
        StoreLockedError: another copy to ``dest`` is being made.
        StoreError: ``dest`` is a mount point, or somebody else's is in the way.
        StoreFullError: no room. PartitionCorruptError, CatalogCorruptError: the store is damaged.
        In each case ``dest`` is as it was, and what had been written is removed.
    """
    started = time.perf_counter()
    store.ensure_usable()
    if not store.files.durable:
        raise InvalidInputError(
            "a memory that lives in memory has no files to copy",
            hint="write its memories to a file with export",
        )
    if int(store.meta.get("format_minor", 0)) > FORMAT_MINOR:
        raise FormatVersionError(
            f"{store.where} was written by a newer spector, and may have files that this one does"
            " not know to copy",
            hint="upgrade: pip install -U spector",
        )
    place = Place.at(dest)
    with place.explained(store.where):
        place.refuse_harm(store.where)
        wanted = _Wanted(store, replace=as_backup, force=force)
        older_files = _replaceable(place, wanted)  # what is refused is not touched
        done = None
        if older_files is not None and not place.is_passed_through():
            done = _kept(older_files, wanted, progress)
        if done is None:
            with staged(place) as (files, _), _older(place, wanted) as older:
                done = _Copy(store, place, files, older, as_backup, progress).run()
    return BackupReport(
        path=place.target, source=store.where, records=done.records, partitions=done.partitions,
        reused=done.reused, bytes=done.bytes, bytes_copied=done.bytes_copied,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


@dataclass(slots=True)
class _Done:
    """What a finished copy is."""

    records: int = 0
    partitions: int = 0
    reused: int = 0
    bytes: int = 0
    bytes_copied: int = 0


@dataclass(frozen=True, slots=True)
class _Older:
    """The untouched backup at the destination, which is locked meanwhile."""

    path: str
    rows: dict[str, SegmentRow]


@dataclass(frozen=True, slots=True)
class _Wanted:
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
    """All that changes in a catalog when anything does; equal ones say the same of every memory.

    Each commit that changes a memory takes the counter to a value that never comes again. What is
    due to be erased changes without one, and with it what deleted pages still say.
    """

    lineage: Lineage
    last_id: int
    meta: tuple[tuple[str, str], ...]
    segments: tuple[SegmentRow, ...]
    due: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, catalog: Catalog, db: sqlite3.Connection) -> _State:
        lines = db.execute("SELECT key, value FROM meta ORDER BY key").fetchall()
        erasures = db.execute(
            "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'erasure')"
        ).fetchone()[0]
        due = db.execute("SELECT id, due_ms FROM erasure ORDER BY id") if erasures else ()
        return cls(
            lineage_of(db), catalog.head(db).last_id,
            tuple((key, value) for key, value in lines if key not in _NOTES),
            tuple(catalog.segments(db)), tuple((record_id, ms) for record_id, ms in due),
        )


def _kept(files: DiskFiles, wanted: _Wanted, progress: Progress | None) -> _Done | None:
    """The backup at the destination where nothing has changed since it was made; else None.

    It is verified like a new one, and stays as it is. One with a file that it shares, or that does
    not stand the proof, is made anew.
    """
    store = wanted.store
    with no_writer(files.root):
        _rows_of_backup(files, wanted)
        with store.catalog.reading() as db:
            ours = _State.of(store.catalog, db)
        with _still(files) as catalog, catalog.latest() as db:
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

            if check_files(files, catalog, store.partitions.tiers, reach).problems:
                return None
    reach(1, 1)
    return _Done(
        records=sum(row.live for row in rows), partitions=len(rows), reused=len(rows), bytes=size
    )


@managed
def _older(place: Place, wanted: _Wanted) -> Iterator[_Older | None]:
    """What is at the destination, if it may be replaced.

    Raises:
        StoreExistsError: it may not. StoreLockedError: somebody writes to it.
    """
    files = _replaceable(place, wanted)
    if files is None:
        yield None
        return
    lock = WriterLock(place.target)
    try:
        rows = _rows_of_backup(files, wanted)
        place.drop_aside()
        yield _Older(place.target, rows)
    finally:
        lock.release()


def _replaceable(place: Place, wanted: _Wanted) -> DiskFiles | None:
    """The backup at the destination, or None where it is free; nothing is touched.

    Raises:
        StoreExistsError: what is there may not be replaced.
    """
    found = look_at(place.target)
    if found in (Found.NOTHING, Found.EMPTY):
        return None
    if found is Found.OTHER or not wanted.replace:
        raise _exists(place.target, found.value)
    files = DiskFiles(place.target)
    if not files.exists(CATALOG_NAME):
        raise _exists(place.target, "a directory that holds something else")
    _rows_of_backup(files, wanted)  # what is not ours does not even get a lock file
    strange = stranger_in(place.target, links=True)
    if strange is not None:
        raise StoreExistsError(
            f"{place.target} is a backup with something else in it: {strange}",
            hint="move that away, or choose a path where nothing is",
        )
    return files


def _rows_of_backup(files: DiskFiles, wanted: _Wanted) -> dict[str, SegmentRow]:
    log = f"{CATALOG_NAME}-wal"
    in_use = files.exists(log) and files.size_of(log) > 0  # a writer died: closing leaves none
    try:
        with _still(files) as catalog, catalog.latest() as db:
            meta = dict(db.execute("SELECT key, value FROM meta"))
            rows = {row.path: row for row in catalog.segments()}
            theirs = lineage_of(db)
    except SpectorError as error:
        raise _exists(files.root, f"a store that cannot be read ({error.message})") from error
    if meta.get("uuid") != wanted.store.uuid.hex():
        raise _exists(files.root, "another store")
    if in_use or schema.BACKUP_NOTE not in meta:
        raise _exists(files.root, "a copy of this store that has been in use since")
    wanted.refuse_others(files.root, theirs)
    return rows


@managed
def _still(files: DiskFiles) -> Iterator[Catalog]:
    """The catalog of a directory in which nobody writes, without making files beside it."""
    catalog = Catalog(
        f"{files.root}/{CATALOG_NAME}", mode="r", durability="strict", immutable=True
    )
    try:
        yield catalog
    finally:
        catalog.close()


def _exists(path: str, what: str) -> StoreExistsError:
    return StoreExistsError(
        f"{path} is {what}", hint="choose a path where nothing is, or an empty directory"
    )


class _Copy:
    """One copy on its way from a store to a place."""

    def __init__(
        self, store: Store, place: Place, files: DiskFiles, older: _Older | None,
        as_backup: bool, progress: Progress | None,
    ) -> None:
        self._store = store
        self._place = place
        self._older = older
        self._as_backup = as_backup
        self._progress = progress
        self._files = files
        self._done = _Done()
        self._total = self._reached = 0

    def run(self) -> _Done:
        try:
            self._build()
        except (CatalogCorruptError, PartitionCorruptError) as error:
            raise self._refusal(error) from error
        if self._older is None:
            put_in_place(self._place.staging, self._place.target)
        else:
            put_instead(self._place)
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
        """Copy and verify. What was taken over may have rotted; then all is copied anew."""
        for reuse in (self._older is not None, False):
            self._done = _Done()
            clear(self._files)
            view = self._copy_catalog()
            self._copy_partitions(view, reuse=reuse)
            del view  # and with it the maps of what was compacted away meanwhile
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
        """Copy the catalog page by page; returns the partitions of the moment that it shows."""
        self._files.open(CATALOG_NAME, create=True).close()  # with our permissions
        path = f"{self._files.root}/{CATALOG_NAME}"
        with self._store.snapshot() as view, self._store.catalog.reading() as source:
            pages, size = (
                int(source.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "page_size")
            )
            self._total = 2 * (pages * size + sum(p.data.nbytes for p in view.partitions))
            with translated_sql(path), connected(path) as target:
                target.execute("PRAGMA synchronous=OFF")  # all of it is synced at the end
                target.execute("PRAGMA journal_mode=OFF")
                source.backup(
                    target, pages=_PAGES_AT_ONCE,
                    progress=lambda _, left, all_: self._reach((all_ - left) * size),
                )
        self._reached = pages * size
        self._done.bytes = self._done.bytes_copied = pages * size
        self._settle_catalog(path)
        return view

    def _settle_catalog(self, path: str) -> None:
        """What holds for the source's files or its process does not hold for the copy.

        SQLite syncs nothing here, because it does not say so when that fails while it closes: the
        one sync of this file is ours, and what is not durable after it is no copy.
        """
        catalog = Catalog(path, mode="rw", durability="none")
        try:
            with catalog.writing() as db:
                db.execute("DELETE FROM journal")
                db.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in _NOTES])
                if self._as_backup:
                    note = schema.BACKUP_NOTE, json.dumps({"taken_ms": SystemClock().now_ms()})
                    db.execute("INSERT INTO meta VALUES (?, ?)", note)
            if truncate_log(catalog) is None:
                raise StoreError(
                    f"somebody else has opened {path}, which is not complete yet",
                    hint="let nothing else look at it meanwhile, then try again",
                )
        finally:
            catalog.close()  # the last connection removes the log
        self._sync(CATALOG_NAME)

    # -- the partitions -----------------------------------------------------------------------

    def _copy_partitions(self, view: View, *, reuse: bool) -> None:
        data = {partition.segment_id: partition.data for partition in view.partitions}
        with _still(self._files) as catalog, catalog.latest() as db:
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
        """Take an unchanged partition over from the backup that this one replaces.

        Equal rows mean equal bytes: every transaction that touches a partition gives its row a
        change counter that never comes again. The file is shared for as long as both backups are
        there, which is safe only because the older one is locked by us and about to be removed. Two
        stores that stay must never share one: its mutable halves are rewritten in place.
        """
        if self._older is None or self._older.rows.get(row.path) != row:
            return False
        older = f"{self._older.path}/{row.path}"
        try:
            if DiskFiles(self._older.path).size_of(row.path) != self._size_of(row):
                return False
            share(older, f"{self._files.root}/{row.path}")
        except StoreError:  # gone, or a file system without links
            return False
        if not self._is_sound(row):
            self._files.remove(row.path)
            return False
        self._done.reused += 1
        return True

    def _is_sound(self, row: SegmentRow) -> bool:
        """Whether the file that was taken over has the header of its row."""
        file = self._files.open(row.path, writable=False)
        try:
            return file.read_at(0, PARTITION_HEADER_BYTES) == self._header(row)
        finally:
            file.close()

    def _header(self, row: SegmentRow) -> bytes:
        store = self._store
        return pack_header(
            row, magic=store.partitions.tiers[row.tier].magic, stride=store.stride, dim=store.dim,
            uuid=store.uuid, version=store.format_version,
        )

    def _copy(self, row: SegmentRow, records: Bytes | None, db: sqlite3.Connection) -> None:
        if row.slots and (records is None or len(records) < row.slots):
            raise PartitionCorruptError(
                f"{row.path} has fewer records than the catalog's {row.slots}",
                hint="run: spector check PATH",
            )
        file = self._files.open(row.path, create=True)
        try:
            file.extend(self._size_of(row))
            file.write_at(0, self._header(row))
            offset = PARTITION_HEADER_BYTES
            for block in _blocks(row, records, db):
                file.write_at(offset, as_bytes(block))
                offset += block.nbytes
            file.sync()
        finally:
            file.close()
        self._done.bytes_copied += offset

    def _check(self) -> CheckReport:
        start, rest = self._reached, self._total - self._reached
        with _still(self._files) as catalog:
            return check_files(
                self._files, catalog, self._store.partitions.tiers,
                lambda done, total: self._reach(start + rest * done // (total + 1)),
            )

    def _sync(self, name: str) -> None:
        file = self._files.open(name)
        try:
            file.sync()
        finally:
            file.close()

    def _reach(self, done: int) -> None:
        self._reached = min(done, self._total)
        if self._progress is not None:
            self._progress(self._reached, self._total)


def _blocks(row: SegmentRow, records: Bytes | None, db: sqlite3.Connection) -> Iterator[Bytes]:
    """Copies of a partition's records, with the mutable halves that the catalog has for them."""
    if records is None:
        return
    for first in range(0, row.slots, _SLOTS_AT_ONCE):
        here = records[first : min(first + _SLOTS_AT_ONCE, row.slots)]
        require_readable(here, row.path)
        block: Bytes = here.copy()
        found = db.execute(
            "SELECT slot, mutable FROM record WHERE segment_id = ? AND slot >= ? AND slot < ?",
            (row.id, first, first + len(block)),
        ).fetchall()
        if any(
            type(slot) is not int or type(half) is not bytes or len(half) != MUTABLE_BYTES
            for slot, half in found
        ):
            raise CatalogCorruptError(
                f"the catalog has no mutable half for some records of {row.path}",
                hint="run: spector check PATH",
            )
        slots = np.array([slot - first for slot, _ in found], dtype=np.intp)
        halves = b"".join(half for _, half in found)
        block[:, MUTABLE_OFFSET] |= int(Flag.TOMBSTONE)  # whatever has no row is dead
        block[slots, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(
            halves, dtype=np.uint8
        ).reshape(-1, MUTABLE_BYTES)
        yield block

