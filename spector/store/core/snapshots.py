"""The read half of a store: its partitions, and the catalog at the same moment."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from threading import get_ident
from typing import Generic, TypeVar

from spector.config import Config
from spector.errors import (
    CatalogCorruptError,
    PartitionCorruptError,
    StoreClosedError,
    StoreError,
    StoreFailedError,
    StoreForkedError,
    StoreFullError,
    StoreReadOnlyError,
    without_frames,
)
from spector.kernel.contract import Kernel
from spector.layout import PARTITION_HEADER_BYTES, PartitionState, stride_of
from spector.process import Sole, held_by_calling, managed
from spector.store.catalog import (
    MOST_SEGMENTS,
    SPENT,
    Catalog,
    Head,
    SegmentRow,
    last_segment_id,
    read_retired,
    recovery_hint,
)
from spector.store.files import CHECK, Bytes, Files
from spector.store.partitions import ExpectedHeader, Indexes, Partition, Segment, remove_idx
from spector.store.sqlite import UNKNOWN_MARKS, Marks, copy_log

# What a scan sees of a store: all partitions at one moment, and the tiers they belong to.


@dataclass(frozen=True, slots=True)
class TierFiles:
    """What the store must know about a tier to name and stamp its files."""

    code: int
    name: str
    magic: int
    #: path of a partition from its day (or -1), sequence and generation
    path: Callable[[int, int, int], str]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All partitions with live records at one moment, in the order of tier, day, sequence."""

    partitions: tuple[Partition, ...]
    change_seq: int
    retire_epoch: int
    #: ``Store.moves`` at that moment
    moves: int = 0


# Whether a store can be used: open, closed, inherited by a fork, or failed.

#: the number of no thread
_NO_THREAD = 0


class StoreStatus(Sole):
    """Raises the typed error for a store that cannot be used, and knows why it cannot."""

    def __init__(self, where: str, *, writable: bool) -> None:
        self.where = where
        self.writable = writable
        self._pid = os.getpid()
        self._failed: BaseException | None = None
        #: closing has begun, in the thread of this number; no other thread may begin a call
        self._closing: int | None = None
        self._closed = False
        #: every file, map and index has been released
        self._shut = False

    def ensure_usable(self, *, write: bool = False) -> None:
        """Raise the typed error for a store that was closed, forked or has failed."""
        if self._closed or (self._closing is not None and self._closing != get_ident()):
            raise StoreClosedError(
                f"the store at {self.where} was closed", hint="open it again with spector.open"
            )
        if self.forked:
            raise StoreForkedError(
                f"the store at {self.where} was opened before a fork",
                hint="close it before the fork and open it in the child afterwards, or start the"
                " child without a fork",
            )
        if self._failed is not None:
            cause = str(self._failed) or type(self._failed).__name__  # an interrupt has no words
            raise StoreFailedError(
                f"an earlier write to {self.where} failed: {cause}",
                hint="close this store and open it again; recovery replays what was committed",
            ) from self._failed
        if write and not self.writable:
            raise StoreReadOnlyError(
                f'the store at {self.where} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )

    def fail(self, error: BaseException) -> None:
        """Note that disk and memory may differ; every later call raises."""
        if self._failed is None:
            # without its frames: they refer to this store, which could never be freed
            self._failed = without_frames(error)

    @contextlib.contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Fail the store when work beside a transaction leaves the catalog in doubt."""
        try:
            yield
        except BaseException as error:
            if is_unsafe(error):
                self.fail(error)
            raise

    @property
    def failed(self) -> bool:
        return self._failed is not None

    @property
    def forked(self) -> bool:
        """True in a child of the process that opened the store."""
        return os.getpid() != self._pid

    @property
    def is_open(self) -> bool:
        """False once closed, and in a process that was forked from the one that opened it."""
        return not self._closed and os.getpid() == self._pid

    @property
    def is_shut(self) -> bool:
        """True when closing has released everything, or this process had nothing to release."""
        return self._shut or self.forked

    def refuse_calls(self, *, own: bool = False) -> None:
        """Let only this thread, which is about to close the store, begin a call from now on.

        With ``own`` not even this one: it closes the store later, at the end of its call.
        """
        if not self.forked:
            self._closing = _NO_THREAD if own else get_ident()


def is_unsafe(error: BaseException) -> bool:
    """True when a failed transaction may have left the catalog's own state in doubt.

    A full disk rolls back cleanly, and so do too many open files, a busy catalog and every mistake
    of the caller. An I/O error from SQLite or from a partition's sync does not: the next read may
    see what the disk never got.
    """
    if not isinstance(error, StoreError) or isinstance(error, (StoreFullError, StoreReadOnlyError)):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is None or code & 0xFF != sqlite3.SQLITE_BUSY
    return isinstance(cause, OSError) and cause.errno not in {errno.EMFILE, errno.ENFILE}


# Deferred reclamation of slots and files that commits have left behind.
#
# A memory whose text changed leaves a slot, a compaction leaves a file. Neither may go while a recall
# runs in a snapshot of the moment before: its scan finds the memory in the old slot only, and its
# partition may not have been opened yet. Each snapshot, of whatever process, holds a mark in SQLite's
# log. A passive checkpoint copies the log up to the oldest mark and reports how far it came: what the
# commits before that point have left can go. So no reader starts over because a writer is busy; only
# a store in memory, which has no snapshots, raises an epoch first, and scans there do start over.
# What cannot go yet waits for the next checkpoint or opening: slots are still in the journal.

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RetiredSlot:
    """A slot whose memory has moved, and the mutable block with its tombstone."""

    journal_seq: int
    segment_id: int
    slot: int
    block: bytes


class RetireQueue(Generic[Item]):
    """Items in the order in which commits left them."""

    def __init__(self) -> None:
        #: (frames of the log when the item had been left, once that is known; the item)
        self._waiting: list[tuple[int | None, Item]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._waiting)

    def add(self, item: Item) -> None:
        """Add what a commit has left."""
        self._waiting.append((None, item))

    def keep(self, items: list[Item]) -> None:
        """Drop every other item without reclaiming it."""
        kept = {id(item) for item in items}
        self._waiting = [entry for entry in self._waiting if id(entry[1]) in kept]

    def take(self, marks: Marks | None) -> list[Item]:
        """Remove and return what no snapshot can see any more; everything without ``marks``.

        A log that is shorter than before has started over, so every snapshot is past its old end.
        """
        if marks == UNKNOWN_MARKS:
            return []
        if marks is None:
            due = len(self._waiting)
        else:
            self._waiting = [
                (marks.frames if left is None else left, item) for left, item in self._waiting
            ]
            due = 0
            for left, _ in self._waiting:
                assert left is not None
                if not (marks.seen_by_all >= left or marks.frames < left):
                    break
                due += 1
        taken, self._waiting = self._waiting[:due], self._waiting[due:]
        return [item for _, item in taken]


#: a file begins with one page: on most days a store gets few memories
FIRST_EXTENT_BYTES = 4096
#: partitions that keep their descriptor between writes
OPEN_FILES = 64


class PartitionSet:
    """All partitions of a store, and their files."""

    def __init__(
        self,
        files: Files,
        catalog: Catalog,
        kernel: Kernel,
        config: Config,
        tiers: Mapping[int, TierFiles],
        *,
        dim: int,
        uuid: bytes,
        writable: bool,
        format_version: int,
    ) -> None:
        self.files = files
        self.catalog = catalog
        self.config = config
        self.tiers = tiers
        self.by_id: dict[int, Segment] = {}
        #: (tier, day) -> segment ids, so that placing a record does not look at every partition
        self.groups: dict[tuple[int, int], list[int]] = {}
        #: rows of partitions that no longer have a file
        self.dropped: dict[int, SegmentRow] = {}
        #: slots of moved memories and files of partitions that an older snapshot may still need
        self.retired_slots: RetireQueue[RetiredSlot] = RetireQueue()
        self.retired_files: RetireQueue[str] = RetireQueue()
        self.indexes = Indexes(
            kernel, files, config, self.by_id, dim=dim, uuid=uuid, writable=writable
        )
        self._dim, self._stride, self._uuid = dim, stride_of(dim), uuid
        self._writable = writable
        self._format_version = format_version
        self._next_id = 1
        self._shown: list[Partition] = []
        self._position: dict[int, int] = {}

    # -- handles ------------------------------------------------------------------------------

    def adopt(self, *, verify: bool) -> None:
        """Open every partition that the catalog names."""
        for row in self.catalog.segments():
            self.groups.setdefault((row.tier, row.day), []).append(row.id)
            if row.state == PartitionState.COMPACTED:
                self.dropped[row.id] = row  # its sequence number stays taken
                continue
            segment = self.handle_of(row)
            segment.look(verify=verify)
            self.add(segment)
        self.resume_ids()

    def resume_ids(self) -> None:
        """Number new partitions after those that there are."""
        with self.catalog.latest() as db:
            self._next_id = last_segment_id(db) + 1

    def handle_of(self, row: SegmentRow) -> Segment:
        """A handle for the partition of a row; nothing is opened yet."""
        tier = self.tiers.get(row.tier)
        if tier is None:
            raise StoreError(
                f"{row.path} belongs to tier {row.tier}, which is not registered",
                hint="pass the tier to spector.open(extra_tiers=[...])",
            )
        guard = self.config.guard_reads and self.files.durable
        header = self.header_of(tier)
        return Segment(self.files, row, header, writable=self._writable, guard=guard)

    def header_of(self, tier: TierFiles) -> ExpectedHeader:
        """What the headers of a tier's partitions have in common."""
        return ExpectedHeader(tier.magic, self._stride, self._dim, self._uuid, self._format_version)

    def add(self, segment: Segment) -> None:
        """Add a partition that existed before this process."""
        segment.scan.unread = self.files.durable
        segment.scan.adopted_rows = segment.row.slots
        self.by_id[segment.row.id] = segment

    def claim_id(self) -> int:
        """The number of a new partition.

        Raises:
            CatalogCorruptError: no number is left, which no sound store comes to.
        """
        claimed = self._next_id
        if claimed > MOST_SEGMENTS:
            raise CatalogCorruptError(
                f"{self.catalog.path}: the number {claimed - 1} of a partition is damaged",
                hint=recovery_hint(None),
            )
        self._next_id += 1
        return claimed

    def create(self, row: SegmentRow, *, slots: int) -> Segment:
        """Create the file of a partition, durably, with room for ``slots`` records."""
        segment = self.handle_of(row)
        whole = row.capacity * self._stride
        first = min(self.config.min_extent_bytes, FIRST_EXTENT_BYTES) - PARTITION_HEADER_BYTES
        room = min(whole, max(slots * self._stride, first)) if self.files.durable else whole
        segment.create(row.path, allocate=room)
        return segment

    def drop(self, segment_id: int) -> None:
        """Remove a partition whose file is gone; scans that hold its map finish undisturbed."""
        segment = self.by_id.pop(segment_id, None)
        if segment is not None:
            self.drop_retired_slots(segment_id)
            self.indexes.forget(segment_id)
            row = segment.row
            self.dropped[segment_id] = replace(
                row, state=int(PartitionState.COMPACTED), slots=0, live=0
            )
            segment.close()

    # -- view ---------------------------------------------------------------------------------

    def shown(self, changed: Iterable[int] | None = None) -> tuple[Partition, ...]:
        """Partitions with records, for a new view; ``changed`` names those to look at again."""
        if changed is None:
            live = [segment for segment in self.by_id.values() if segment.row.slots]
            live.sort(key=lambda segment: (segment.row.tier, segment.row.day, segment.row.sequence))
            self._shown = [segment.partition() for segment in live]
            self._position = {p.segment_id: n for n, p in enumerate(self._shown)}
        else:
            for segment_id in changed:
                segment, position = self.by_id.get(segment_id), self._position.get(segment_id)
                if segment is None or position is None or not segment.row.slots:
                    return self.shown()
                self._shown[position] = segment.partition()
        return tuple(self._shown)

    # -- retired slots and files --------------------------------------------------------------

    def drop_retired_slots(self, segment_id: int) -> None:
        """The partition has another file now, or none: no slot of the old one is retired."""
        kept = [slot for slot in self.retired_slots if slot.segment_id != segment_id]
        self.retired_slots.keep(kept)

    def resume_retired_slots(self) -> None:
        """Take over the slots that other writers left, and leave out those that they retired."""
        with self.catalog.latest() as db:
            found = {entry[0]: RetiredSlot(*entry) for entry in read_retired(db)}
        queue = self.retired_slots
        queue.keep([slot for slot in queue if slot.journal_seq in found])
        known = {slot.journal_seq for slot in queue}
        for journal_seq, slot in found.items():
            if journal_seq not in known:
                queue.add(slot)

    def remove_retired_files(self) -> None:
        """Delete the files that compactions replaced, unless a reader may be about to open one."""
        if not len(self.retired_files):
            return
        for path in self.retired_files.take(copy_log(self.catalog)):
            self.files.remove(path)
            with contextlib.suppress(StoreError):  # opening removes it, and check reports it
                remove_idx(self.files, path)
            self.files.sync_dir(path)

    # -- descriptors --------------------------------------------------------------------------

    def trim_files(self) -> None:
        """Close partitions until few enough are open; those with unsynced writes are synced."""
        newest_first = sorted(
            (s for s in self.by_id.values() if s.is_open), key=lambda s: -s.row.id
        )
        for segment in newest_first[OPEN_FILES:]:
            segment.sync()
            segment.release()

    def close_files(self) -> None:
        """Close the partitions; what is not durable in them is in the journal."""
        for segment in list(self.by_id.values()):
            segment.close()

    def release(self) -> None:
        """Keep no file, map or index, however long this object is kept."""
        self.close_files()
        self.by_id.clear()
        self.groups.clear()
        self._shown, self._position = [], {}
        self.indexes.release()
        self.tiers = {}  # tiers, which may refer to the store
        if not self.files.durable:  # slabs of memory
            for name in self.files.listing():
                self.files.discard(name)


_SNAPSHOT_ATTEMPTS = 20


class StoreViews(StoreStatus):
    """A store's description, its partitions, and the views of them that scans see."""

    def __init__(
        self,
        files: Files,
        catalog: Catalog,
        kernel: Kernel,
        *,
        meta: Mapping[str, str],
        tiers: Mapping[int, TierFiles],
        config: Config,
        writable: bool,
    ) -> None:
        super().__init__(files.root, writable=writable)
        self.files = files
        self.catalog = catalog
        self.kernel = kernel
        self.meta = dict(meta)
        self.config = config
        self.dim = int(meta["dim"])
        self.stride = stride_of(self.dim)
        self.uuid = bytes.fromhex(meta["uuid"])
        #: older than this code's only in a reader, and in a writer that is about to migrate
        self.format_version = int(meta["format_version"])
        self.lock = threading.RLock()
        #: the store whose lock this one shares
        self._leader: StoreViews | None = None
        #: called before a write after which others have written
        self.when_moved: list[Callable[[], None]] = []
        self._head = catalog.head()
        self._epoch = self._head.retire_epoch
        counted = max(astuple(self._head))
        if writable and counted >= SPENT:
            raise CatalogCorruptError(
                f"{catalog.path} has a counter at {counted}, near the end of 64 bits",
                hint="salvage the store: spector check PATH --repair DEST; mode='r' can read it",
            )
        self.partitions = PartitionSet(
            files,
            catalog,
            kernel,
            config,
            tiers,
            dim=self.dim,
            uuid=self.uuid,
            writable=writable,
            format_version=self.format_version,
        )
        #: the partitions by number
        self.segments = self.partitions.by_id
        #: commits of this process that moved memories; one that is about to be made counts
        #: already, so that a catalog in memory is never ahead of it
        self.moves = 0
        self._view = View((), -1, 0)

    @property
    def head(self) -> Head:
        return self._head

    def exclusive(self) -> contextlib.AbstractContextManager[object]:
        """A context in which nothing else changes the store, to change it. Reentrant.

        Raises:
            StoreLockedError: the store has several writers, and another one did not end in time.
        """
        leader = self._leader
        return self.lock if leader is None or self._closing is not None else leader.exclusive()

    def still(self) -> contextlib.AbstractContextManager[object]:
        """A context in which no other thread of this process changes the store, to read it."""
        return self.lock

    @property
    def writes_alone(self) -> bool:
        """Whether nothing but threads of this process changes the store now."""
        return self.writable

    @property
    def shared_for_s(self) -> float | None:
        """Seconds to wait for other processes, where these write as well."""
        return None

    def share_lock(self, other: StoreViews) -> None:
        """Let one lock guard this store and the other one."""
        self.lock, self._leader = other.lock, other

    # -- publishing ---------------------------------------------------------------------------

    def adopt_partitions(self, *, verify: bool) -> None:
        """Open every partition that the catalog names and publish the first view."""
        self.partitions.adopt(verify=verify)
        self.publish()

    def publish(self, changed: Iterable[int] | None = None) -> None:
        """Make the current state visible to scans; ``changed`` names the partitions to look at."""
        ids = self.segments if changed is None else list(changed)
        self.partitions.indexes.follow(self.segments[i] for i in ids if i in self.segments)
        self.show(changed)

    def show(self, changed: Iterable[int] | None = None) -> None:
        """Make a new view of the current state, in which those partitions may have changed."""
        shown, head = self.partitions.shown(changed), self._head
        self._view = View(shown, head.change_seq, head.retire_epoch, self.moves)

    # -- reading ------------------------------------------------------------------------------

    def view(self) -> View:
        """The partitions as of the last commit."""
        return self._view

    def await_view(self) -> None:
        """Return when everything committed before the call is in the view."""
        with self.lock:
            pass

    def snapshot(self) -> contextlib.AbstractContextManager[View]:
        """A view and, for this thread, a catalog of the same moment.

        Without it a memory that moves between the two would be looked for in a slot that the view
        does not have. A catalog in memory has no snapshots; there the caller has to compare epochs.
        """
        if self.catalog.in_memory:
            return contextlib.nullcontext(self._indexed(self.view()))
        return self._pinned()

    @managed
    def _pinned(self) -> Iterator[View]:
        """A view with the catalog's snapshot of the same moment, which is the resource."""
        with self.catalog.snapshot() as db:
            yield self._indexed(self._settled_view(db))

    def _indexed(self, view: View) -> View:
        """The same moment with more scan indexes, if some are missing and no thread writes now."""
        if not self.partitions.indexes.behind:
            return view
        taken: list[bool] = []
        try:
            if (
                held_by_calling(taken, self.lock.acquire, False)
                and view is self._view
                and self.is_open
                and not self.failed
            ):
                self.show(self.partitions.indexes.catch_up())
                return self._view
        finally:
            if taken and taken[0]:
                self.lock.release()
        return view

    def _settled_view(self, db: sqlite3.Connection) -> View:
        for attempt in range(_SNAPSHOT_ATTEMPTS):
            view = self._view_at(db, last=False)
            if view is not None:
                return view
            db.execute("COMMIT")
            time.sleep(0.0001 * attempt)
            db.execute("BEGIN")
        with self.lock:  # no writer of this process is between commit and view now
            self._settle()
            self.ensure_usable()
            view = self._view_at(db, last=True)
        assert view is not None, "the last attempt has a view or raises"
        return view

    def _settle(self) -> None:
        """End a transaction that an interrupt has cut off. The lock is held."""

    def _view_at(self, db: sqlite3.Connection, *, last: bool) -> View | None:
        """The view of the moment that ``db`` shows, or None when it has another one.

        With ``last`` there is no other attempt, and the store's lock is held.
        """
        if last:
            db.execute("COMMIT")
            db.execute("BEGIN")
        change_seq = self.catalog.head(db).change_seq
        view = self._view
        return view if last or view.change_seq == change_seq else None

    def retire_epoch(self) -> int:
        """Epoch to compare after a scan: when it has moved on, the scan has to be repeated.

        It comes from the catalog, so that it moves with the commit and not when the commit's view
        has been published: the places that a scan looks up in the catalog move at that same moment.
        On disk they move with the snapshot, and only flags change under a scan, after the commit.
        """
        if self.writable and self.files.durable:
            return self._epoch
        with self.catalog.reading() as connection:
            return self.catalog.head(connection).retire_epoch

    def record_image(self, segment_id: int, slot: int) -> Bytes:
        """(stride,) u8: the bytes of one record, for verified reads."""
        segment = self.segments.get(segment_id)
        records = None if segment is None else segment.shown()
        if records is None or slot not in range(len(records)):
            with self.lock:  # a commit in progress may have added it
                segment = self.segments.get(segment_id)
                if segment is None or slot not in range(segment.row.slots):
                    raise PartitionCorruptError(
                        f"the catalog names slot {slot} of partition {segment_id}, which does not "
                        "exist",
                        hint=CHECK,
                    )
                records = segment.records()
        image: Bytes = records[slot]
        return image
