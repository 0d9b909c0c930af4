"""A consistent copy of a store, made while it is written to.

The order makes it consistent. First the catalog is copied inside a read transaction of SQLite,
together with a view of the partitions at the same moment. The maps of the view pin its files: a
partition that a compaction replaces and unlinks meanwhile stays readable. Then the partitions are
copied from those maps. What a writer did to them in between is undone from the catalog's copy:

- records beyond the catalog's count are not copied;
- bytes 0..39 and the vector of a record never change, and a view has those of every record that it
  counts (a reader's view applies the journal to what is not in place yet);
- bytes 40..63 and the partition's header change in place, so they are taken from the catalog, which
  has them for every live record; a slot without a row is a tombstone.

The reverse order would be wrong: a catalog that is newer than the partitions names slots that were
not there yet, and a checkpoint may have emptied its journal in between.

So the copy needs no journal; it is what a checkpoint and a close would have left. ``check`` proves
it before it gets its name. Nothing is written to the source.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator

import numpy as np

from spector.errors import (
    CatalogCorruptError,
    InvalidInputError,
    PartitionCorruptError,
    StoreError,
)
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    Flag,
    PartitionState,
)
from spector.records import BackupReport, CheckReport
from spector.store.backup.destination import Destination
from spector.store.backup.directories import put_in_place, put_instead, share
from spector.store.backup.earlier import (
    NOTES,
    CopyCounts,
    EarlierBackup,
    Progress,
    Request,
    frozen_catalog,
    held_backup,
    replaceable_backup,
    unchanged_backup,
)
from spector.store.backup.staging import clear, staged
from spector.store.catalog import (
    CATALOG_NAME,
    Catalog,
    SegmentRow,
    clear_journal,
    delete_meta,
    put_meta,
    schema,
    strengths_in,
)
from spector.store.core import Store, View
from spector.store.files import Bytes, DiskFiles, as_bytes
from spector.store.integrity import check_files
from spector.store.partitions import pack_header, require_readable
from spector.store.sqlite import open_connection, truncate_log, typed_sql_errors

__all__ = ["copy_store"]

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
    return BackupReport(
        path=place.target,
        source=store.where,
        records=done.records,
        partitions=done.partitions,
        reused=done.reused,
        bytes=done.bytes,
        bytes_copied=done.bytes_copied,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


class _Copy:
    """One copy of a store while it is made."""

    def __init__(
        self,
        store: Store,
        place: Destination,
        files: DiskFiles,
        older: EarlierBackup | None,
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
        catalog = Catalog(path, mode="rw", durability="none")
        try:
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
        finally:
            catalog.close()  # the last connection removes the log
        self._sync(CATALOG_NAME)

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
        """True when the reused file has the header that its row implies."""
        file = self._files.open(row.path, writable=False)
        try:
            return file.read_at(0, PARTITION_HEADER_BYTES) == self._header(row)
        finally:
            file.close()

    def _header(self, row: SegmentRow) -> bytes:
        store = self._store
        return pack_header(
            row,
            magic=store.partitions.tiers[row.tier].magic,
            stride=store.stride,
            dim=store.dim,
            uuid=store.uuid,
            version=store.format_version,
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
        with frozen_catalog(self._files) as catalog:
            return check_files(
                self._files,
                catalog,
                self._store.partitions.tiers,
                self._store.kernel,
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
                f"the catalog has no mutable half for some records of {row.path}",
                hint="run: spector check PATH",
            )
        slots = np.array([slot - first for slot, _ in found], dtype=np.intp)
        halves = b"".join(half for _, half in found)
        block[:, MUTABLE_OFFSET] |= int(Flag.TOMBSTONE)  # a slot without a row is dead
        block[slots, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(
            halves, dtype=np.uint8
        ).reshape(-1, MUTABLE_BYTES)
        yield block
