"""A store opened for reading: it shows committed data only, whatever the writer is doing."""

from __future__ import annotations

import sqlite3
import time
from typing import Any, TypeVar

import numpy as np

from spector.errors import (
    FormatVersionError,
    ModelMismatchError,
    PartitionCorruptError,
    StoreError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, PartitionState
from spector.store.catalog import (
    CATALOG_NAME,
    JOURNAL_MUTABLE,
    UNSYNCED,
    Catalog,
    Head,
    SegmentRow,
    read_journal_after,
    read_meta,
)
from spector.store.core import Store, View
from spector.store.files import Bytes, DiskFiles, DurableMark, File, read_durable_mark
from spector.store.integrity import (
    mutable_halves,
    refuse_lost,
    refuse_lost_schema,
    require_entry,
    sound_runs,
)
from spector.store.opening.opening import (
    UNBORN,
    Attempt,
    emptied,
    has_log,
    has_partitions,
    holds_only,
    no_store_at,
)
from spector.store.partitions import Segment, later_than_catalog
from spector.store.sqlite import has_journal, roll_back_open, typed_sql_errors

#: segment id, kind, slot and image of an entry of the journal
Redo = tuple[int, int, int, bytes]
#: seconds and attempts to wait for a writer between commit and copy, before applying the journal
_WAIT_S = 0.0005
_WAITS = 4
#: attempts to follow a writer that compacts meanwhile
_FOLLOWS = 8


class ReadStore(Store):
    """``mode="r"``: never writes, follows the writer's commits."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._data_version = -1
        self._seen = Head(0, -1, 0, 0)
        #: SQLite's data_version at the last look, and the epoch at that time
        self._epoch_at = (-1, -1)
        #: partitions whose file lacks some of the journal
        self._pending: set[int] = set()

    def view(self) -> View:
        """The partitions as of the last commit of the writing process."""
        with self.lock:
            self.ensure_usable()
            with self.catalog.latest() as db:
                self.refresh(db)
            return self._view

    def retire_epoch(self) -> int:
        """The epoch of the writing process, read only when something has changed."""
        with self.lock, self.catalog.latest() as db:
            version = db.execute("PRAGMA data_version").fetchone()[0]
            if version != self._epoch_at[0]:
                self._epoch_at = (version, self.catalog.head(db).retire_epoch)
            return self._epoch_at[1]

    def refresh(self, db: sqlite3.Connection) -> None:
        """Follow the catalog if another process has committed since the last look."""
        roll_back_open(db)  # of an interrupted call
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version == self._data_version:
            return
        for attempt in range(_FOLLOWS):
            try:
                db.execute("BEGIN")
                followed = self._view_at(db, last=attempt == _FOLLOWS - 1)
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")
            if followed is not None:
                break
            time.sleep(_WAIT_S)
        self._data_version = version

    def _view_at(self, db: sqlite3.Connection, *, last: bool) -> View | None:
        """Follow the catalog to the moment of ``db``; None when another moment must be tried.

        A compaction may have switched a partition after that moment and unlinked the old file
        before it was opened here, and another thread may have followed further already.
        """
        with self.lock:
            if last:
                db.execute("COMMIT")
                db.execute("BEGIN")
            head = self.catalog.head(db)
            if head.change_seq < self._seen.change_seq:
                return None
            try:
                self._follow(db, head)
            except PartitionCorruptError:
                if last:
                    raise
                return None
            return self._view

    def _follow(self, db: sqlite3.Connection, head: Head) -> None:
        if head == self._seen:
            return
        meta = read_meta(db)
        if meta.get("format_version") != self.meta["format_version"]:
            raise FormatVersionError(
                f"{self.where} was given format {meta.get('format_version')} meanwhile",
                hint="close this reader and open the store again",
            )
        if any(meta.get(key) != self.meta[key] for key in ("dim", "fingerprint")):
            raise ModelMismatchError(
                f"the store at {self.where} was given vectors of {meta.get('model_id')} meanwhile",
                hint="close this reader and open the store again",
            )
        self.catalog.look_for_ends(db)
        changed = self.catalog.segments(db, since=self._seen.change_seq)
        # For a partition that lagged before, the whole journal is read again: entries that a
        # checkpoint has removed meanwhile are in the file, and newer than those seen then.
        redo = read_journal_after(db, self._seen.journal_seq, self._pending)
        for entry in redo:
            require_entry(entry, self.where)
        touched = {row.id for row in changed} | self._pending
        new = [row for row in changed if self._adopt(row)]
        self._overlay(redo, new if UNSYNCED in meta else [], db)
        self._journal_bytes += sum(len(image) + 64 for _, _, _, image in redo)
        for row in changed:
            if row.id in self.segments:
                self.segments[row.id].check_room()
        self._head = head
        self.publish(touched | self._pending)
        self._seen = head  # last: after a failure all of it is done again

    def _adopt(self, row: SegmentRow) -> bool:
        """Adopt a row; True for a partition whose file had not been open before."""
        present = self.segments.get(row.id)
        if row.state == PartitionState.COMPACTED:
            self.partitions.drop(row.id)
            return False
        if present is not None and present.row.path == row.path:
            present.row = row
            present.scan.stale = present.scan.index is not None
            return False
        segment = self.partitions.handle_of(row)
        segment.look(verify=False, sized=False)  # a power cut may undo an allocation
        if present is not None:
            present.close()
        self._pending.discard(row.id)
        self.partitions.add(segment)
        return True

    def _overlay(self, redo: list[Redo], unsure: list[SegmentRow], db: sqlite3.Connection) -> None:
        """Patch private copies of the partitions whose files lag behind the journal.

        The ``unsure`` ones may also be ahead of the catalog (see ``reconcile``): a power cut ended
        a relaxed writer, and no writer has opened the store since.
        """
        images: dict[int, dict[tuple[int, int], bytes]] = {i: {} for i in self._pending}
        for segment_id, kind, slot, image in redo:
            self._merge(images.setdefault(segment_id, {}), kind, slot, image)
        for row in unsure:
            images.setdefault(row.id, {}).update(self._ahead(row, db))
        lagging: set[int] = set()
        for segment_id, newest in images.items():
            segment = self.segments.get(segment_id)
            if segment is None:
                continue
            segment.patched = None
            segment.forget_partition()
            segment.open(verify=False, sized=False)
            self._overlay_one(segment, segment.file(), newest)
            segment.release()  # partitions may outnumber the descriptors of a reader
            if segment.patched is not None:
                lagging.add(segment_id)
        self._pending = lagging

    def _merge(
        self, found: dict[tuple[int, int], bytes], kind: int, first: int, image: bytes
    ) -> None:
        """Keep the newest bytes of each (slot, offset); immutable and mutable parts separately.

        A damaged image does not replace the immutable part that the file may have.
        """
        end = MUTABLE_OFFSET + MUTABLE_BYTES
        if kind == JOURNAL_MUTABLE:
            found[first, MUTABLE_OFFSET] = image
            return
        for start, rows, sound in sound_runs(image, self.stride, self.uuid):
            for slot, record in enumerate(rows, first + start):
                found[slot, MUTABLE_OFFSET] = record[MUTABLE_OFFSET:end].tobytes()
                if sound:
                    found[slot, 0] = record[:MUTABLE_OFFSET].tobytes()
                    found[slot, end] = record[end:].tobytes()

    def _ahead(self, row: SegmentRow, db: sqlite3.Connection) -> dict[tuple[int, int], bytes]:
        """Mutable halves of the catalog that differ from the file."""
        segment = self.segments[row.id]
        segment.open(verify=False, sized=False)
        file = segment.file()
        present = min(row.slots, (file.size() - segment.bytes_used(0)) // self.stride)
        found = np.zeros((row.slots, MUTABLE_BYTES), dtype=np.uint8)
        if present > 0:
            raw = file.read_at(segment.bytes_used(0), present * self.stride)
            records = np.frombuffer(raw, dtype=np.uint8).reshape(present, self.stride)
            found[:present] = records[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
        wanted = mutable_halves(db, row, found)
        changed = np.flatnonzero((found != wanted).any(axis=1)).tolist()
        return {(slot, MUTABLE_OFFSET): wanted[slot].tobytes() for slot in changed}

    def _overlay_one(
        self, segment: Segment, file: File, images: dict[tuple[int, int], bytes]
    ) -> None:
        need = segment.bytes_used()
        for _ in range(_WAITS):
            if file.size() >= need and not _lagging(segment.records(), images):
                return
            time.sleep(_WAIT_S)
        count = segment.row.slots
        copy: Bytes = np.zeros((count, self.stride), dtype=np.uint8)
        present = min(count, (file.size() - segment.bytes_used(0)) // self.stride)
        if any((slot, 0) not in images for slot in range(max(present, 0), count)):
            return  # neither the file nor the journal has it: check_room raises
        if present > 0:
            raw = file.read_at(segment.bytes_used(0), present * self.stride)
            copy[:present] = np.frombuffer(raw, dtype=np.uint8).reshape(present, self.stride)
        for (slot, offset), image in images.items():
            copy[slot, offset : offset + len(image)] = np.frombuffer(image, dtype=np.uint8)
        copy.flags.writeable = False
        segment.patched = copy


def _lagging(records: Bytes, images: dict[tuple[int, int], bytes]) -> bool:
    """True when any image is not in the file yet."""
    return any(
        records[slot, offset : offset + len(image)].tobytes() != image
        for (slot, offset), image in images.items()
        if slot < len(records)
    )


# Opening a store to read: beside a writer, or from a medium that cannot be written to.

Follower = TypeVar("Follower", bound=ReadStore)


def open_reader(attempt: Attempt) -> Store:
    """A store that follows the commits of its writer.

    Raises:
        StoreNotFoundError: there is none, or its creation has not ended.
    """
    files = attempt.files
    if not files.exists(CATALOG_NAME):
        empty = files.is_empty() or holds_only(files.root, UNBORN)
        create = 'open it once with mode="rw" to create it, or ' if empty else ""
        raise no_store_at(files.root, f"{create}check the path")
    mark = read_durable_mark(files.root)
    catalog = _complete_catalog(files)
    attempt.made.append(catalog)
    try:
        return followed(attempt, ReadStore, catalog, mark)
    except BaseException:
        attempt.give_up()
        raise


def followed(
    attempt: Attempt,
    kind: type[Follower],
    catalog: Catalog,
    mark: DurableMark | None,
    *,
    writable: bool = False,
) -> Follower:
    """A store that follows the commits of others, at the newest one.

    Args:
        mark: what was durable before the catalog was opened.
    """
    meta = catalog.validate()
    store = attempt.make_store(kind, catalog, meta, writable=writable)
    with typed_sql_errors(catalog.path):
        store.view()
        refuse_lost(attempt.files, catalog, meta, mark)
        _refuse_lost_commits(store)
    return store


def _refuse_lost_commits(store: Store) -> None:
    """Raise when partitions are of later commits than the catalog.

    A commit is visible in the catalog before its partition's header has it, so a second look must
    agree with the headers of the first. Partitions that appear only in the second look may be ahead
    of it again beside a busy writer.

    Raises:
        PartitionCorruptError: the catalog is an old copy, or its log is damaged.
    """
    ahead = [segment for segment in store.segments.values() if segment.was_met_later()]
    if UNSYNCED in store.meta or not ahead:
        return
    store.view()
    for segment in ahead:
        if store.segments.get(segment.row.id) is segment and segment.was_met_later():
            raise later_than_catalog(segment.where)


def reading_catalog(files: DiskFiles) -> Catalog:
    """The catalog of a store for reading, even from read-only media."""
    path = f"{files.root}/{CATALOG_NAME}"
    try:
        catalog = Catalog(path, mode="r", durability="relaxed")
        try:
            catalog.is_new()
        except BaseException:
            catalog.close()
            raise
    except StoreError as error:
        # its creator died in a transaction that only a writer may roll back
        if isinstance(error, StoreReadOnlyError) and has_journal(path):
            raise _incomplete(files) from error
        if files.writable() or has_log(files):
            raise
        catalog = Catalog(path, mode="r", durability="relaxed", immutable=True)
    return catalog


def _complete_catalog(files: DiskFiles) -> Catalog:
    catalog = reading_catalog(files)
    try:
        if catalog.is_new():  # its creator died, or is about to commit the schema
            refuse_lost_schema(files, catalog)
            if has_partitions(files.root):
                raise emptied(catalog)
            raise _incomplete(files)
    except BaseException:
        catalog.close()
        raise
    return catalog


def _incomplete(files: DiskFiles) -> StoreNotFoundError:
    return StoreNotFoundError(
        f"the store at {files.root} has not been created completely",
        hint='open it with mode="rw" to finish that',
    )
