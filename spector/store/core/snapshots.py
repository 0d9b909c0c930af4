"""The partitions of a store, what a scan sees of them, and what commits have left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from spector.config import Config
from spector.errors import CatalogCorruptError, StoreError
from spector.kernel.contract import Kernel
from spector.layout import PARTITION_HEADER_BYTES, PartitionState
from spector.store.catalog import (
    MOST_SEGMENTS,
    Catalog,
    SegmentRow,
    last_segment_id,
    read_retired,
    recovery_hint,
)
from spector.store.files import Files
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


@dataclass(frozen=True, slots=True)
class StoreContext:
    """What a store is opened with, beside its catalog."""

    files: Files
    tiers: Mapping[int, TierFiles]
    config: Config
    kernel: Kernel


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All partitions with live records at one moment, in the order of tier, day, sequence."""

    partitions: tuple[Partition, ...]
    change_seq: int
    retire_epoch: int
    #: ``Store.moves`` at that moment
    moves: int = 0


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
        self, context: StoreContext, catalog: Catalog, header: ExpectedHeader, *, writable: bool
    ) -> None:
        """``header``: what the headers of all partitions have in common."""
        self.files, self.config, self.tiers = context.files, context.config, context.tiers
        self.catalog = catalog
        self.by_id: dict[int, Segment] = {}
        #: (tier, day) -> segment ids, so that placing a record does not look at every partition
        self.groups: dict[tuple[int, int], list[int]] = {}
        #: rows of partitions that no longer have a file
        self.dropped: dict[int, SegmentRow] = {}
        #: slots of moved memories and files of partitions that an older snapshot may still need
        self.retired_slots: RetireQueue[RetiredSlot] = RetireQueue()
        self.retired_files: RetireQueue[str] = RetireQueue()
        self.indexes = Indexes(
            context.kernel, self.files, self.config, self.by_id, header, writable=writable
        )
        self._header = header
        self._writable = writable
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
        given = self._header
        return ExpectedHeader(tier.magic, given.stride, given.dim, given.uuid, given.version)

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
        whole = row.capacity * self._header.stride
        first = min(self.config.min_extent_bytes, FIRST_EXTENT_BYTES) - PARTITION_HEADER_BYTES
        room = min(whole, max(slots * self._header.stride, first)) if self.files.durable else whole
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
