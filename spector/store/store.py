"""A store: the catalog, its partitions, and the one order in which they change.

Every change goes through :meth:`Store.transaction`. Its commit is the catalog's commit; only then
are the bytes copied to the partitions, and only then does a new view appear to scans::

    validate -> allocate room -> BEGIN, rows, full text, redo images, COMMIT     (durable here)
             -> pwrite images -> pwrite headers -> publish view -> return

A checkpoint syncs the partitions and empties the journal. Opening replays what is left in it.

When a memory moves to a new slot (its text changed), the old slot keeps its bytes until the next
checkpoint. A scan that began before the move therefore still finds the memory at its old place,
and one that began after it finds the new place: no reader can fall between the two. The epoch that
a checkpoint raises before it retires such slots lets a very slow scan notice and start over.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from spector.config import Config
from spector.errors import (
    PartitionCorruptError,
    SpectorError,
    StoreClosedError,
    StoreError,
    StoreFailedError,
    StoreForkedError,
    StoreFullError,
    StoreReadOnlyError,
)
from spector.layout import PARTITION_HEADER_BYTES, PartitionState, stride_of
from spector.store.catalog import Catalog, Head, SegmentRow
from spector.store.files import Bytes, Files, as_bytes
from spector.store.segment import Partition, Segment, check_transition

__all__ = ["JOURNAL_HEADER", "JOURNAL_MUTABLE", "JOURNAL_RECORDS", "JOURNAL_RETIRE", "Store",
           "TierFiles", "Transaction", "View"]

JOURNAL_RECORDS = 0  # whole records from a slot on
JOURNAL_MUTABLE = 1  # the 24 mutable bytes of one record
JOURNAL_RETIRE = 2  # the same, but applied at the next checkpoint (see the module's head)
JOURNAL_HEADER = 3  # nothing but the header, which follows from the segment row

#: partitions that keep their descriptor between writes
_OPEN_FILES = 64


@dataclass(frozen=True, slots=True)
class TierFiles:
    """What the store must know of a tier to name and stamp its files."""

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


class Store:
    """One catalog and its partitions. Thread-safe; one process writes, any number read."""

    def __init__(
        self,
        files: Files,
        catalog: Catalog,
        *,
        meta: Mapping[str, str],
        tiers: Mapping[int, TierFiles],
        config: Config,
        writable: bool,
    ) -> None:
        self.files = files
        self.catalog = catalog
        self.meta = dict(meta)
        self.config = config
        self.dim = int(meta["dim"])
        self.stride = stride_of(self.dim)
        self.uuid = bytes.fromhex(meta["uuid"])
        self.writable = writable
        self.lock = threading.RLock()
        self.segments: dict[int, Segment] = {}
        #: (tier, day) -> segment ids, so that placing a record does not look at every partition
        self.groups: dict[tuple[int, int], list[int]] = {}
        #: rows of partitions that no longer have a file
        self.dropped: dict[int, SegmentRow] = {}
        self._tiers = tiers
        self._pid = os.getpid()
        self._failed: BaseException | None = None
        self._closed = False
        self._head = catalog.head()
        self._next_segment_id = 1
        self._journal_bytes = 0
        self._retired: list[tuple[int, int, bytes]] = []
        self._view = View((), -1, 0)
        self._shown: list[Partition] = []
        self._position: dict[int, int] = {}

    # -- state --------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        return self._head

    @property
    def where(self) -> str:
        return self.files.root

    def ensure_usable(self, *, write: bool = False) -> None:
        """Raise the typed error for a store that was closed, forked or has failed."""
        if self._closed:
            raise StoreClosedError(
                f"the store at {self.where} was closed", hint="open it again with spector.open"
            )
        if os.getpid() != self._pid:
            raise StoreForkedError(
                f"the store at {self.where} was opened before a fork",
                hint="open it in the child after the fork",
            )
        if self._failed is not None:
            raise StoreFailedError(
                f"an earlier write to {self.where} failed: {self._failed}",
                hint="close this store and open it again; recovery replays what was committed",
            ) from self._failed
        if write and not self.writable:
            raise StoreReadOnlyError(
                f'the store at {self.where} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )

    def fail(self, error: BaseException) -> None:
        """Remember that disk and memory may differ; every later call says so."""
        if self._failed is None:
            self._failed = error

    @property
    def failed(self) -> bool:
        return self._failed is not None

    def view(self) -> View:
        """The partitions as of the last commit."""
        return self._view

    def retire_epoch(self) -> int:
        """Epoch to compare after a scan: when it has moved on, the scan has to be repeated."""
        return self._head.retire_epoch

    # -- opening ------------------------------------------------------------------------------

    def adopt_segments(self, *, verify: bool) -> None:
        """Open every partition that the catalog names and publish the first view."""
        for row in self.catalog.segments():
            self.groups.setdefault((row.tier, row.day), []).append(row.id)
            if row.state == PartitionState.COMPACTED:
                self.dropped[row.id] = row  # its sequence number stays taken
                continue
            segment = self._segment(row)
            segment.open(verify=verify)
            segment.release()
            self.segments[row.id] = segment
        found = self.catalog.main.execute("SELECT coalesce(max(id), 0) FROM segment").fetchone()
        self._next_segment_id = int(found[0]) + 1
        self.publish()

    def _segment(self, row: SegmentRow) -> Segment:
        tier = self._tiers.get(row.tier)
        if tier is None:
            raise StoreError(
                f"{row.path} belongs to tier {row.tier}, which is not registered",
                hint="pass the tier to spector.open(extra_tiers=[...])",
            )
        return Segment(
            self.files, row, magic=tier.magic, stride=self.stride, dim=self.dim, uuid=self.uuid,
            writable=self.writable,
        )

    def publish(self, changed: Iterable[int] | None = None) -> None:
        """Make the current state visible to scans; ``changed`` names the partitions to look at."""
        if changed is None:
            live = [segment for segment in self.segments.values() if segment.row.slots]
            live.sort(key=lambda segment: (segment.row.tier, segment.row.day, segment.row.sequence))
            self._shown = [segment.partition() for segment in live]
            self._position = {p.segment_id: n for n, p in enumerate(self._shown)}
        else:
            for segment_id in changed:
                segment, position = self.segments.get(segment_id), self._position.get(segment_id)
                if segment is None or position is None or not segment.row.slots:
                    self.publish()
                    return
                self._shown[position] = segment.partition()
        self._view = View(tuple(self._shown), self._head.change_seq, self._head.retire_epoch)

    # -- change -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Collect changes, then commit them at once. Leaving with an error changes nothing."""
        with self.lock:
            self.ensure_usable(write=True)
            tx = Transaction(self, self._head)
            committed = False
            try:
                with self.catalog.writing() as connection:
                    tx.connection = connection
                    yield tx
                    tx.write_journal()
                committed = True
                tx.apply()
            except BaseException as error:
                if committed or _is_unsafe(error):
                    self.fail(error)
                if not committed:
                    tx.undo()
                raise
            self._head = tx.head()
            self.publish(tx.changed())
            if self._journal_bytes >= self.config.checkpoint_bytes:
                self.checkpoint()

    def checkpoint(self) -> None:
        """Make every committed byte durable in its partition, then empty the journal."""
        with self.lock:
            self.ensure_usable(write=True)
            if not self._journal_bytes:
                return
            try:
                self._retire()
                for segment in self.segments.values():
                    segment.sync()
                with self.catalog.writing() as connection:
                    connection.execute(
                        "DELETE FROM journal WHERE seq <= ?", (self._head.journal_seq,)
                    )
            except BaseException as error:
                self.fail(error)
                raise
            self._journal_bytes = 0
            self._release_files()

    def _retire(self) -> None:
        """Tombstone the slots that moved memories left behind; readers are told first."""
        if not self._retired:
            return
        with self.catalog.writing() as connection:
            connection.execute("UPDATE head SET retire_epoch = retire_epoch + 1")
        self._head = replace(self._head, retire_epoch=self._head.retire_epoch + 1)
        for segment_id, slot, block in self._retired:
            if segment_id in self.segments:
                self.segments[segment_id].write_mutable(slot, block)
        self._retired = []

    def _release_files(self) -> None:
        kept = 0
        for segment in sorted(self.segments.values(), key=lambda s: -s.row.id):
            kept += 1
            if kept > _OPEN_FILES:
                segment.release()

    def note_retired(self, items: list[tuple[int, int, bytes]]) -> None:
        self._retired.extend(items)

    def note_journal(self, count: int) -> None:
        self._journal_bytes += count

    def claim_segment_id(self) -> int:
        claimed = self._next_segment_id
        self._next_segment_id += 1
        return claimed

    def new_segment(self, row: SegmentRow, *, slots: int) -> Segment:
        """Create the file of a partition, durably, with room for ``slots`` records."""
        segment = self._segment(row)
        whole = row.capacity * self.stride
        room = whole if not self.files.durable else min(
            whole, max(slots * self.stride, self.config.min_extent_bytes - PARTITION_HEADER_BYTES)
        )
        segment.create(row.path, allocate=room)
        return segment

    def tier_files(self, code: int) -> TierFiles:
        return self._tiers[code]

    def drop_segment(self, segment_id: int) -> None:
        """Forget a partition whose file is gone; scans that still hold its map finish in peace."""
        segment = self.segments.pop(segment_id, None)
        if segment is not None:
            row = segment.row
            self.dropped[segment_id] = replace(
                row, state=int(PartitionState.COMPACTED), slots=0, live=0
            )
            segment.close()

    def record_image(self, segment_id: int, slot: int) -> Bytes:
        """(stride,) u8: the bytes of one record, for verified reads."""
        segment = self.segments.get(segment_id)
        if segment is None or slot >= segment.row.slots:
            raise PartitionCorruptError(
                f"the catalog names slot {slot} of partition {segment_id}, which does not exist",
                hint="run: spector check PATH",
            )
        image: Bytes = segment.records()[slot]
        return image

    def close(self) -> None:
        """Checkpoint (unless something failed), then let go of every file. Idempotent."""
        with self.lock:
            if self._closed:
                return
            same_process = os.getpid() == self._pid
            try:
                if same_process and self.writable and self._failed is None:
                    self.checkpoint()
            finally:
                self._closed = True
                for segment in self.segments.values():
                    segment.close()
                self._view = View((), -1, 0)
                if same_process:
                    self.catalog.close()


class Transaction:
    """Changes that become visible and durable together."""

    def __init__(self, store: Store, head: Head) -> None:
        self.store = store
        self.connection: sqlite3.Connection
        self._before = head
        self._last_id = head.last_id
        self._journal: list[tuple[int, int, int, bytes | memoryview]] = []
        self._rows: dict[int, SegmentRow] = {}
        self._created: dict[int, Segment] = {}
        self._dropped: list[tuple[int, str]] = []

    # -- ids and partitions -------------------------------------------------------------------

    def note_id(self, record_id: int) -> None:
        """Record that this id was given out, so that it never is again."""
        self._last_id = max(self._last_id, record_id)

    def row(self, segment_id: int) -> SegmentRow:
        """The segment's row as this transaction sees it."""
        staged = self._rows.get(segment_id)
        if staged is not None:
            return staged
        segment = self.store.segments.get(segment_id)
        return segment.row if segment is not None else self.store.dropped[segment_id]

    def partitions_of(self, tier: int, day: int) -> list[SegmentRow]:
        """The partitions of a tier and day by sequence, as this transaction sees them."""
        ids = self.store.groups.get((tier, day), ())
        created = (i for i, row in self._rows.items() if (row.tier, row.day) == (tier, day))
        rows = [self.row(i) for i in dict.fromkeys((*ids, *created))]
        return sorted(rows, key=lambda row: row.sequence)

    def create_segment(
        self, *, tier: int, day: int, sequence: int, capacity: int, slots: int,
        generation: int = 0, state: int = PartitionState.ACTIVE, replaces: int | None = None,
    ) -> SegmentRow:
        """A new partition; its file is durable before the catalog can name it."""
        files = self.store.tier_files(tier)
        row = SegmentRow(
            id=replaces if replaces is not None else self.store.claim_segment_id(),
            tier=tier, day=day, sequence=sequence, generation=generation,
            path=files.path(day, sequence, generation), state=state, capacity=capacity,
            slots=0, live=0,
        )
        self._created[row.id] = self.store.new_segment(row, slots=slots)
        self._rows[row.id] = row
        return row

    def set_state(self, segment_id: int, state: PartitionState) -> None:
        """Walk one step in the life of a partition."""
        row = self.row(segment_id)
        check_transition(row.state, state, row.path)
        self._rows[segment_id] = replace(row, state=int(state))
        self._journal.append((segment_id, JOURNAL_HEADER, 0, b""))

    def drop_segment(self, segment_id: int) -> None:
        """Remove a partition without live records; its file goes after the commit."""
        row = self.row(segment_id)
        assert row.live == 0, "a partition with live records may not be dropped"
        self._rows[segment_id] = replace(row, state=int(PartitionState.COMPACTED), slots=0)
        self.connection.execute("DELETE FROM journal WHERE segment_id = ?", (segment_id,))
        self._dropped.append((segment_id, row.path))

    def abandon_segment(self, segment_id: int) -> None:
        """Remove a partition whose records have all been moved by this transaction."""
        self._rows[segment_id] = replace(self.row(segment_id), live=0)
        self.drop_segment(segment_id)

    def replace_segment(self, old: SegmentRow, images: Bytes) -> None:
        """The partition created with ``replaces=old.id`` takes over with ``images`` as its content.

        The new file is complete and durable before the catalog names it, so it needs no redo
        images; the ones of the old file go in the same transaction.
        """
        segment, row = self._created[old.id], self._rows[old.id]
        row = replace(row, slots=len(images), live=len(images))
        self._rows[old.id] = row
        segment.write_records(0, as_bytes(images))
        segment.write_header(row)
        segment.sync()
        self.connection.execute("DELETE FROM journal WHERE segment_id = ?", (old.id,))
        self._dropped.append((-1, old.path))

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
        self._journal.append((segment_id, JOURNAL_RECORDS, first, as_bytes(images)))
        return first

    def overwrite(self, segment_id: int, slot: int, image: Bytes) -> None:
        """Replace a dead record in place; only volatile ring tiers do this."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live + 1)
        self._journal.append((segment_id, JOURNAL_RECORDS, slot, as_bytes(image)))

    def evict(self, segment_id: int) -> None:
        """Count out a live record whose slot is about to be overwritten."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live - 1)

    def set_mutable(self, segment_id: int, slot: int, block: bytes) -> None:
        """Stage new mutable bytes of a live record."""
        self._rows.setdefault(segment_id, self.row(segment_id))
        self._journal.append((segment_id, JOURNAL_MUTABLE, slot, block))

    def tombstone(self, segment_id: int, slot: int, block: bytes, *, later: bool = False) -> None:
        """Stage the death of a record; ``later`` when the memory lives on in another slot."""
        row = self.row(segment_id)
        self._rows[segment_id] = replace(row, live=row.live - 1)
        self._journal.append((segment_id, JOURNAL_RETIRE if later else JOURNAL_MUTABLE, slot, block))

    def _allocate(self, segment_id: int, slots: int) -> None:
        segment = self._created.get(segment_id) or self.store.segments[segment_id]
        config = self.store.config
        segment.allocate(slots, low=config.min_extent_bytes, high=config.max_extent_bytes)

    # -- the three steps of a commit, called by Store.transaction -------------------------------

    def head(self) -> Head:
        return Head(
            last_id=self._last_id,
            change_seq=self._before.change_seq + 1,
            journal_seq=self._before.journal_seq + len(self._journal),
            retire_epoch=self._before.retire_epoch,
        )

    def changed(self) -> list[int]:
        return list(self._rows)

    def write_journal(self) -> None:
        """Rows of the changed segments and redo images, inside the catalog's transaction."""
        head = self.head()
        db = self.connection
        first = self._before.journal_seq + 1
        if self.store.files.durable:
            db.executemany(
                "INSERT INTO journal VALUES (?, ?, ?, ?, ?)",
                [(first + n, *entry) for n, entry in enumerate(self._journal)],
            )
        db.executemany(
            "INSERT OR REPLACE INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (r.id, r.tier, r.day, r.sequence, r.generation, r.path, r.state, r.capacity,
                 r.slots, r.live, head.change_seq)
                for r in self._rows.values()
            ],
        )
        db.execute(
            "UPDATE head SET last_id = ?, change_seq = ?, journal_seq = ?",
            (head.last_id, head.change_seq, head.journal_seq),
        )

    def apply(self) -> None:
        """After the commit: copy the images into the partitions, then the headers."""
        store = self.store
        for segment_id, segment in self._created.items():
            previous = store.segments.get(segment_id)
            if previous is not None:
                old = previous.row
                previous.write_header(replace(old, state=int(PartitionState.COMPACTED)))
                previous.close()
            store.segments[segment_id] = segment
            group = store.groups.setdefault((segment.row.tier, segment.row.day), [])
            if segment_id not in group:
                group.append(segment_id)
        retired = []
        for segment_id, kind, slot, image in self._journal:
            if kind == JOURNAL_RECORDS:
                store.segments[segment_id].write_records(slot, image)
            elif kind == JOURNAL_MUTABLE:
                store.segments[segment_id].write_mutable(slot, bytes(image))
            elif kind == JOURNAL_RETIRE:
                retired.append((segment_id, slot, bytes(image)))
        store.note_retired(retired)
        for segment_id, row in self._rows.items():
            if row.state != PartitionState.COMPACTED:
                store.segments[segment_id].write_header(row)
        for segment_id, path in self._dropped:
            if segment_id >= 0:
                store.drop_segment(segment_id)
            store.files.remove(path)
            store.files.sync_dir(path)
        store.note_journal(sum(len(entry[3]) + 64 for entry in self._journal))

    def undo(self) -> None:
        """Remove the files that this transaction created; nothing else was touched."""
        for segment in self._created.values():
            segment.close()
            with contextlib.suppress(SpectorError):
                self.store.files.remove(segment.row.path)


def _is_unsafe(error: BaseException) -> bool:
    """True when a failed transaction may have left the catalog's own state in doubt.

    A full disk rolls back cleanly, and so does everything a caller did wrong. An I/O error from
    SQLite or from a partition's sync does not: the next read may see what the disk never got.
    """
    if not isinstance(error, StoreError) or isinstance(error, (StoreFullError, StoreReadOnlyError)):
        return False
    cause = error.__cause__
    return isinstance(cause, OSError) or type(cause).__module__ == "sqlite3"

