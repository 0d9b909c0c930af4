"""Changes that become visible and durable together."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from spector.layout import PartitionState
from spector.process import Call, calls_here
from spector.store.catalog import (
    JOURNAL_HEADER,
    JOURNAL_MUTABLE,
    JOURNAL_RECORDS,
    JOURNAL_RETIRE,
    Head,
    JournalEntry,
    SegmentRow,
    delete_journal_of,
    write_head,
    write_journal,
)
from spector.store.core.snapshots import RetiredSlot
from spector.store.files import Bytes, as_bytes
from spector.store.partitions import Segment, check_transition

if TYPE_CHECKING:
    from spector.store.core.store import Store

#: an append of at least this many records is written to the partition and synced before the
#: commit, not through the journal: no row refers to those slots until the commit, and the images
#: need not be written twice
WRITE_AHEAD_RECORDS = 64
#: partitions written by one transaction before superfluous descriptors are closed
_TRIM_EVERY = 64


#: partitions whose files are opened before the commit
_OPENED_BEFORE_COMMIT = 64


class Stage(Enum):
    """How far a transaction has come."""

    OPEN = auto()
    #: the commit is the next step, or has been made
    COMMITTING = auto()
    #: it is committed, and may have reached some of the partitions
    APPLYING = auto()
    DONE = auto()


class Transaction:
    """Changes that become visible and durable together."""

    def __init__(self, store: Store, head: Head, change_seq: int) -> None:
        """
        Args:
            head: the counters of the last commit.
            change_seq: the change counter of this one.
        """
        self._store = store
        self.partitions, self.catalog = store.partitions, store.catalog
        self.connection: sqlite3.Connection
        self.stage = Stage.OPEN
        calls = calls_here()
        #: the public call that it belongs to
        self._call: Call | None = calls[-1] if calls else None
        self._before = head
        self._last_id = head.last_id
        self._change_seq = change_seq
        self._journal: list[JournalEntry] = []
        self._rows: dict[int, SegmentRow] = {}
        self._created: dict[int, Segment] = {}
        #: files that nothing refers to unless this is committed
        self._doubtful: list[str] = []
        self._dropped: list[tuple[int, str]] = []
        self._ahead: dict[int, Segment] = {}
        self._moves_places = False
        self._hides = False
        #: a memory gets another slot
        self.moves_memories = False
        self._overwritten: set[int] = set()

    @property
    def is_going_on(self) -> bool:
        """True when this thread is inside it now."""
        call = self._call
        return call is not None and not call.over and call in calls_here()

    # -- ids and partitions -------------------------------------------------------------------

    @property
    def last_id(self) -> int:
        """The greatest id given out, this transaction's own included."""
        return self._last_id

    def note_id(self, record_id: int) -> None:
        """Record that this id was given out, so that it is never reused."""
        self._last_id = max(self._last_id, record_id)

    def row(self, segment_id: int) -> SegmentRow:
        """The segment's row as this transaction sees it."""
        staged = self._rows.get(segment_id)
        if staged is not None:
            return staged
        segment = self.partitions.by_id.get(segment_id)
        return segment.row if segment is not None else self.partitions.dropped[segment_id]

    def partitions_of(self, tier: int, day: int) -> list[SegmentRow]:
        """The partitions of a tier and day by sequence, as this transaction sees them."""
        ids = self.partitions.groups.get((tier, day), ())
        created = (i for i, row in self._rows.items() if (row.tier, row.day) == (tier, day))
        rows = [self.row(i) for i in dict.fromkeys((*ids, *created))]
        return sorted(rows, key=lambda row: row.sequence)

    def create_segment(
        self, *, tier: int, day: int, sequence: int, capacity: int, slots: int
    ) -> SegmentRow:
        """A new partition; its file is durable before the catalog can name it."""
        path = self.partitions.tiers[tier].path
        row = SegmentRow(
            id=self.partitions.claim_id(),
            tier=tier,
            day=day,
            sequence=sequence,
            generation=0,
            path=path(day, sequence, 0),
            state=PartitionState.ACTIVE,
            capacity=capacity,
            slots=0,
            live=0,
        )
        self._create(row, slots)
        return row

    def _create(self, row: SegmentRow, slots: int) -> Segment:
        if self.partitions.files.is_free(row.path):
            self._doubtful.append(row.path)  # before the file exists
        segment = self._created[row.id] = self.partitions.create(row, slots=slots)
        self._rows[row.id] = row
        return segment

    def set_state(self, segment_id: int, state: PartitionState) -> None:
        """Advance a partition by one state."""
        row = self.row(segment_id)
        check_transition(row.state, state, row.path)
        self._rows[segment_id] = replace(row, state=int(state))
        self._journal.append((segment_id, JOURNAL_HEADER, 0, b""))

    def drop_segment(self, segment_id: int) -> None:
        """Remove a partition without live records; its file goes after the commit."""
        row = self.row(segment_id)
        assert row.live == 0, "a partition with live records may not be dropped"
        self._rows[segment_id] = replace(row, state=int(PartitionState.COMPACTED), slots=0)
        self._leave_file(segment_id, segment_id, row.path)

    def replace_segment(self, old: SegmentRow, images: Bytes, state: PartitionState) -> None:
        """A new file takes over as a partition's, with ``images`` as its content.

        The new file is complete and durable before the catalog names it, so it needs no redo
        images; those of the old file are deleted in the same transaction.
        """
        generation, count = old.generation + 1, len(images)
        path = self.partitions.tiers[old.tier].path(old.day, old.sequence, generation)
        row = replace(old, generation=generation, path=path, state=state, change_seq=-1)
        segment = self._create(replace(row, slots=0, live=0), count)
        row = self._rows[old.id] = replace(row, slots=count, live=count)
        segment.write_records(0, as_bytes(images))
        segment.write_header(row)
        segment.sync()
        self._leave_file(old.id, -1, old.path)

    def _leave_file(self, segment_id: int, dropped: int, path: str) -> None:
        delete_journal_of(self.connection, segment_id)
        self._moves_places = True
        self._dropped.append((dropped, path))

    # -- records ------------------------------------------------------------------------------

    def append(self, segment_id: int, images: Bytes) -> int:
        """Stage whole records (n, stride) at the end of a partition; returns their first slot."""
        row = self.row(segment_id)
        first = row.slots
        assert first + len(images) <= row.capacity, "placement exceeds the partition's capacity"
        self._rows[segment_id] = replace(
            row, slots=first + len(images), live=row.live + len(images)
        )
        self._allocate(segment_id, first + len(images))
        if len(images) >= WRITE_AHEAD_RECORDS and self.partitions.files.durable:
            segment = self._created.get(segment_id) or self.partitions.by_id[segment_id]
            segment.write_records(first, as_bytes(images))
            self._ahead[segment_id] = segment
            self._journal.append((segment_id, JOURNAL_HEADER, 0, b""))
        else:
            self._journal.append((segment_id, JOURNAL_RECORDS, first, as_bytes(images)))
        return first

    def overwrite(self, segment_id: int, slot: int, image: Bytes) -> None:
        """Replace a dead record in place, which only volatile ring tiers do."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live + 1)
        self._overwritten.add(segment_id)
        self._journal.append((segment_id, JOURNAL_RECORDS, slot, as_bytes(image)))

    def evict(self, segment_id: int) -> None:
        """Count out a live record whose slot is about to be overwritten."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live - 1)

    def set_mutable(self, segment_id: int, slot: int, block: bytes) -> None:
        """Stage new mutable bytes of a live record."""
        self._rows.setdefault(segment_id, self.row(segment_id))
        self._journal.append((segment_id, JOURNAL_MUTABLE, slot, block))

    def hide(self) -> None:
        """Note that a memory is hidden or shown in place, while another one appears elsewhere.

        A scan in an older snapshot would see the first change and not the second.
        """
        self._hides = True

    def tombstone(self, segment_id: int, slot: int, block: bytes, *, later: bool = False) -> None:
        """Stage the death of a record; ``later`` when the memory lives on in another slot."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live - 1)
        self.moves_memories = self.moves_memories or later
        kind = JOURNAL_RETIRE if later else JOURNAL_MUTABLE
        self._journal.append((segment_id, kind, slot, block))

    def _allocate(self, segment_id: int, slots: int) -> None:
        segment = self._created.get(segment_id) or self.partitions.by_id[segment_id]
        config = self.partitions.config
        segment.allocate(slots, low=config.min_extent_bytes, high=config.max_extent_bytes)

    # -- the three steps of a commit, called by Store.transaction -------------------------------

    def head(self) -> Head:
        return Head(
            last_id=self._last_id,
            change_seq=self._change_seq,
            journal_seq=self._before.journal_seq + len(self._journal),
            # Slots hold other records now, and a scan over the old slab must not mix the two. On
            # disk it cannot: the old file and the catalog's snapshot are of one moment. A flag that
            # changes in place is not.
            retire_epoch=self._before.retire_epoch
            + (self._hides or (self._moves_places and self.catalog.in_memory)),
        )

    def changed(self) -> list[int]:
        return list(self._rows)

    def write_journal(self) -> None:
        """Rows of the changed segments and redo images, inside the catalog's transaction."""
        for segment in self._ahead.values():
            segment.sync()
        self._open_files()
        head = self.head()
        self._rows = {i: replace(row, change_seq=head.change_seq) for i, row in self._rows.items()}
        db = self.connection
        entries = self._journal if self.partitions.files.durable else ()
        write_journal(db, self._before.journal_seq + 1, entries, self._rows.values())
        self._store.note_change(db, head.change_seq)
        write_head(db, head)

    def _open_files(self) -> None:
        """Open the files that ``apply`` will write, while an error still changes nothing.

        A transaction over more partitions than that opens the others one by one.
        """
        written = dict.fromkeys(segment_id for segment_id, *_ in self._journal)
        for segment_id in itertools.islice(written, _OPENED_BEFORE_COMMIT):
            segment = self._created.get(segment_id) or self.partitions.by_id.get(segment_id)
            if segment is not None:
                segment.file()

    def apply(self) -> None:
        """After the commit: copy the images into the partitions, then the headers."""
        partitions = self.partitions
        for segment_id, segment in self._created.items():
            previous = partitions.by_id.get(segment_id)
            if previous is not None:
                old = previous.row
                previous.write_header(replace(old, state=int(PartitionState.COMPACTED)))
                previous.close()
                partitions.drop_retired_slots(segment_id)
            partitions.by_id[segment_id] = segment
            group = partitions.groups.setdefault((segment.row.tier, segment.row.day), [])
            if segment_id not in group:
                group.append(segment_id)
        for segment_id in self._overwritten:
            partitions.by_id[segment_id].overwrites += 1
        touched: set[int] = set()
        first = self._before.journal_seq + 1
        for seq, (segment_id, kind, slot, image) in enumerate(self._journal, first):
            if kind == JOURNAL_RECORDS:
                partitions.by_id[segment_id].write_records(slot, image)
            elif kind == JOURNAL_MUTABLE:
                partitions.by_id[segment_id].write_mutable(slot, bytes(image))
            elif kind == JOURNAL_RETIRE:
                partitions.retired_slots.add(RetiredSlot(seq, segment_id, slot, bytes(image)))
            self._trim(touched, segment_id)
        for segment_id, row in self._rows.items():
            if row.state != PartitionState.COMPACTED:
                partitions.by_id[segment_id].write_header(row)
            self._trim(touched, segment_id)
        if self._dropped and self.catalog.relaxed:
            # the old file must not go before the commit that drops it is durable
            self._store.sync_log()
        for segment_id, path in self._dropped:
            if segment_id >= 0:
                partitions.drop(segment_id)
            partitions.retired_files.add(path)
        if self._dropped:  # files that a reader holds wait for a checkpoint, not for every commit
            partitions.remove_retired_files()

    @property
    def journal_bytes(self) -> int:
        """Bytes that the journal has grown by."""
        return sum(len(image) + 64 for _, _, _, image in self._journal)

    def _trim(self, touched: set[int], segment_id: int) -> None:
        """A transaction may touch more partitions than a process may have descriptors."""
        touched.add(segment_id)
        if len(touched) >= _TRIM_EVERY:
            touched.clear()
            self.partitions.trim_files()

    def release(self, *, remove: bool) -> None:
        """After a failure: close the files that this transaction created, or also remove them."""
        for segment in self._created.values():
            segment.close()
        for path in self._doubtful if remove else ():
            self.partitions.files.discard(path)
