"""A store: the catalog, its partitions, and the one order in which they change.

Every change goes through :meth:`Store.transaction`. Its commit is the catalog's commit; only then
are the bytes copied to the partitions, and only then does a new view appear to scans::

    validate -> allocate room -> BEGIN, rows, full text, redo images, COMMIT     (durable here)
             -> pwrite images -> pwrite headers -> publish view -> return

A checkpoint syncs the partitions and empties the journal. Opening replays what is left in it.

When a memory moves to a new slot (its text changed), the old slot keeps its bytes until no snapshot
from before the move is left (``leaving``). A scan that began before the move therefore still finds
the memory at its old place, and one that began after it finds the new place: no reader can fall
between the two, and none has to start over. Only a store in memory, which has no snapshots, raises
an epoch before it retires such slots; scans there do start over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from enum import Enum, auto
from threading import get_ident
from typing import Protocol

from spector.config import Config
from spector.errors import (
    CatalogCorruptError,
    PartitionCorruptError,
    SpectorError,
    StoreClosedError,
    StoreError,
    StoreFailedError,
    StoreForkedError,
    StoreFullError,
    StoreReadOnlyError,
    without_frames,
)
from spector.layout import PARTITION_HEADER_BYTES, PartitionState, stride_of
from spector.process import Sole, completed, held_by_calling, managed
from spector.store.catalog import (
    JOURNAL_RETIRE,
    MOST_SEGMENTS,
    RELAXED_LOG,
    SPENT,
    UNSYNCED,
    Catalog,
    Head,
    LeftSlot,
    Log,
    RetireQueue,
    SegmentRow,
    note_opening,
    recovery_hint,
)
from spector.store.core.transaction import Stage, Transaction
from spector.store.files import Bytes, Files, is_missing
from spector.store.partitions import Indexes, Partition, Segment, remove_idx
from spector.store.sqlite import SQL_ERRORS, copy_log

__all__ = ["Store", "TierFiles", "View"]

_SNAPSHOT_ATTEMPTS = 20
#: a file begins with one page: of most days a store has few memories
FIRST_EXTENT_BYTES = 4096
#: beyond every number of a journal entry
_NEVER = (1 << 63) - 1
#: partitions that keep their descriptor between writes
OPEN_FILES = 64
#: the first commit after an opening moves the change counter by less than this, at random
_LEAP = 1 << 36
#: the number of no thread
_NO_THREAD = 0
#: one call of ``index_rest`` builds so many times what a recall may build
_QUIET_STEPS = 10
_QUIET_ROWS = 20_000


class Outcome(Enum):
    """What has become of a transaction that has not come to its end."""

    ROLLED_BACK = auto()
    COMMITTED = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class TierFiles:
    """What the store must know of a tier to name and stamp its files."""

    code: int
    name: str
    magic: int
    #: path of a partition from its day (or -1), sequence and generation
    path: Callable[[int, int, int], str]


class WordKeeper(Protocol):
    """Who has an index of a store's words, and writes it into files."""

    def save(self, store: Store) -> None:
        """Write what is worth it. The store's lock is held; a full disk is no error."""

    def files_are_gone(self) -> None:
        """The files have been removed."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All partitions with live records at one moment, in the order of tier, day, sequence."""

    partitions: tuple[Partition, ...]
    change_seq: int
    retire_epoch: int
    #: of ``Store.moves``
    moves: int = 0


class Store(Sole):
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
        #: older than this code's only in a reader, and in a writer that is about to migrate
        self.format_version = int(meta["format_version"])
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
        #: closing has begun, in the thread of this number; nothing new may begin in any other
        self._closing: int | None = None
        self._closed = False
        #: everything has been let go of
        self._shut = False
        #: the transaction that is under way, or that an interrupt has cut off
        self._current: Transaction | None = None
        self._head = catalog.head()
        self._epoch = self._head.retire_epoch
        counted = max(astuple(self._head))
        if writable and counted >= SPENT:
            raise CatalogCorruptError(
                f"{catalog.path} has a counter at {counted}, near the end of 64 bits",
                hint="salvage the store: spector check PATH --repair DEST; mode='r' can read it",
            )
        self._log = Log(files, catalog)
        self._next_segment_id = 1
        self._journal_bytes = 0
        #: slots of moved memories and files of partitions, which an older snapshot may still need
        self.left_slots: RetireQueue[LeftSlot] = RetireQueue()
        self.left_files: RetireQueue[str] = RetireQueue()
        #: commits of this process that gave memories another place; one that is about to be made
        #: counts already, so that a catalog in memory is never ahead of it
        self.moves = 0
        self._view = View((), -1, 0)
        self._shown: list[Partition] = []
        self._position: dict[int, int] = {}
        self._opened_at = self._head.change_seq
        self._leap = secrets.randbelow(_LEAP) if writable and files.durable else 0
        self.indexes = Indexes(
            files, config, self.segments, dim=self.dim, uuid=self.uuid, writable=writable
        )
        #: who keeps an index of its words, once somebody has asked for one
        self.words: WordKeeper | None = None
        #: called with the change counter of a commit once that is durable
        self.vouch: Callable[[int], None] = _vouch_for_nothing

    # -- state --------------------------------------------------------------------------------

    @property
    def head(self) -> Head:
        return self._head

    @property
    def where(self) -> str:
        return self.files.root

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
            # not as it is: its frames have this store, which could not be freed by itself any more
            self._failed = without_frames(error)

    def fail_unless_unchanged(self, error: BaseException) -> None:
        """After ``error`` in a change of the catalog: fail, unless it is known to be undone."""
        try:
            self.catalog.roll_back()
            unchanged = not _is_unsafe(error) and self.catalog.head() == self._head
        except (SpectorError, *SQL_ERRORS):
            unchanged = False
        if not unchanged:
            self.fail(error)

    @contextlib.contextmanager
    def noting_failure(self) -> Iterator[None]:
        """For work on the catalog beside a transaction: what leaves it in doubt fails the store."""
        try:
            yield
        except BaseException as error:
            if _is_unsafe(error):
                self.fail(error)
            raise

    @property
    def forked(self) -> bool:
        """True in a child of the process that opened the store."""
        return os.getpid() != self._pid

    @property
    def is_open(self) -> bool:
        """False once closed, and in a process that was forked from the one that opened it."""
        return not self._closed and os.getpid() == self._pid

    @property
    def failed(self) -> bool:
        return self._failed is not None

    def view(self) -> View:
        """The partitions as of the last commit."""
        return self._view

    def snapshot(self) -> contextlib.AbstractContextManager[View]:
        """A view and, for this thread, a catalog of the same moment.

        Without it a memory that moves between the two would be looked for in a slot that the view
        does not have. The catalog in memory knows no moments; there the caller has to notice.
        """
        if self.catalog.in_memory:
            return contextlib.nullcontext(self._indexed(self.view()))
        return self._pinned()

    @managed
    def _pinned(self) -> Iterator[View]:
        with self.catalog.snapshot() as db:
            yield self._indexed(self._settled_view(db))

    def _indexed(self, view: View) -> View:
        """The same moment with more scan indexes, if some are missing and nobody writes now."""
        if not self.indexes.behind:
            return view
        taken: list[bool] = []
        try:
            if (
                held_by_calling(taken, self.lock.acquire, False)
                and view is self._view and self.is_open and not self.failed
            ):
                self.show(self.indexes.catch_up())
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

    def _view_at(self, db: sqlite3.Connection, *, last: bool) -> View | None:
        """The view of the moment that ``db`` shows, or None when it has another one.

        With ``last`` there is no other chance, and the store's lock is held.
        """
        if last:
            db.execute("COMMIT")
            db.execute("BEGIN")
        change_seq = self.catalog.head(db).change_seq
        view = self._view
        return view if last or view.change_seq == change_seq else None

    def retire_epoch(self) -> int:
        """Epoch to compare after a scan: when it has moved on, the scan has to be repeated.

        Asked of the catalog, so that it moves with the commit and not when the commit's view has
        been published: the places that a scan looks up in the catalog move at that same moment. On
        disk they move with the snapshot, and only flags change under a scan, after the commit.
        """
        if self.writable and self.files.durable:
            return self._epoch
        with self.catalog.reading() as connection:
            return self.catalog.head(connection).retire_epoch

    def await_view(self) -> None:
        """Return when everything committed before the call is in the view."""
        with self.lock:
            pass

    # -- opening ------------------------------------------------------------------------------

    def adopt_segments(self, *, verify: bool) -> None:
        """Open every partition that the catalog names and publish the first view."""
        for row in self.catalog.segments():
            self.groups.setdefault((row.tier, row.day), []).append(row.id)
            if row.state == PartitionState.COMPACTED:
                self.dropped[row.id] = row  # its sequence number stays taken
                continue
            segment = self.segment_of(row)
            segment.look(verify=verify)
            self.meet(segment)
        with self.catalog.latest() as db:
            found = db.execute("SELECT coalesce(max(id), 0) FROM segment").fetchone()
        self._next_segment_id = int(found[0]) + 1
        self.publish()

    def segment_of(self, row: SegmentRow) -> Segment:
        """A handle for the partition of a row; nothing is opened yet."""
        tier = self._tiers.get(row.tier)
        if tier is None:
            raise StoreError(
                f"{row.path} belongs to tier {row.tier}, which is not registered",
                hint="pass the tier to spector.open(extra_tiers=[...])",
            )
        return Segment(
            self.files, row, magic=tier.magic, stride=self.stride, dim=self.dim, uuid=self.uuid,
            writable=self.writable, version=self.format_version,
            guard=self.config.guard_reads and self.files.durable,
        )

    def meet(self, segment: Segment) -> None:
        """Add a partition that was there before this process."""
        segment.scan.unread = self.files.durable
        segment.scan.adopted_rows = segment.row.slots
        self.segments[segment.row.id] = segment

    def publish(self, changed: Iterable[int] | None = None) -> None:
        """Make the current state visible to scans; ``changed`` names the partitions to look at."""
        ids = self.segments if changed is None else list(changed)
        self.indexes.follow(self.segments[i] for i in ids if i in self.segments)
        self.show(changed)

    def show(self, changed: Iterable[int] | None = None) -> None:
        """A new view of the current state, in which those partitions may have changed."""
        if changed is None:
            live = [segment for segment in self.segments.values() if segment.row.slots]
            live.sort(key=lambda segment: (segment.row.tier, segment.row.day, segment.row.sequence))
            self._shown = [segment.partition() for segment in live]
            self._position = {p.segment_id: n for n, p in enumerate(self._shown)}
        else:
            for segment_id in changed:
                segment, position = self.segments.get(segment_id), self._position.get(segment_id)
                if segment is None or position is None or not segment.row.slots:
                    self.show()
                    return
                self._shown[position] = segment.partition()
        head = self._head
        self._view = View(tuple(self._shown), head.change_seq, head.retire_epoch, self.moves)

    # -- change -------------------------------------------------------------------------------

    @managed
    def transaction(self) -> Iterator[Transaction]:
        """Collect changes, then commit them at once. RetireQueue with an error changes nothing.

        An interrupt changes nothing, or all of it: whether there was a commit is asked of the
        catalog, never concluded from what was raised. What was committed is finished, and where
        that cannot be done the store fails: opening it again finishes it.

        Raises:
            StoreError: this thread is in a transaction of this store already. A signal handler that
                writes can come to that.
        """
        with self.lock:
            self._settle()
            self.ensure_usable(write=True)
            tx = Transaction(self, self._head)
            try:
                self._current = tx
                with self.catalog.writing() as connection:
                    tx.connection = connection
                    yield tx
                    tx.write_journal()
                    tx.stage = Stage.COMMITTING
                self._finish(tx)
                self._current = None
            except BaseException as error:
                if self._current is tx:
                    self._settle_now(tx, error)
                raise
            # The write is safe whatever becomes of these: on a full disk the next write tries
            # again, after any other failure the next call says so.
            with contextlib.suppress(StoreError):
                if self._journal_bytes >= self.config.checkpoint_bytes:
                    self.checkpoint()
                with self.noting_failure():
                    self._log.shorten()

    def _finish(self, tx: Transaction) -> None:
        """After the commit: bring the partitions and the view to its state."""
        tx.stage = Stage.APPLYING
        self._epoch = tx.head().retire_epoch  # before a flag changes in any partition
        if not self.catalog.relaxed:
            self.vouch(tx.head().change_seq)
        tx.apply()
        self._head = tx.head()
        self.publish(tx.changed())
        tx.stage = Stage.DONE

    def _settle(self) -> None:
        """End a transaction that an interrupt has kept from its own end. The lock is held.

        Raises:
            StoreError: it is no such one, but goes on below in this very thread.
        """
        tx = self._current
        if tx is None:
            return
        if tx.is_going_on and not (self._closed or self._closing):
            raise StoreError(
                f"a change of the store at {self.where} is being made by this thread already",
                hint="a signal handler must not write: set a flag in it, and write afterwards",
            )
        self._settle_now(tx, None)

    def _settle_now(self, tx: Transaction, error: BaseException | None) -> None:
        """Find out what has become of a transaction, and make the store agree with it."""
        self._current = tx
        reason = error if error is not None else StoreError("a change was interrupted")
        if tx.stage is Stage.DONE:
            self._current = None
            return
        # After some errors nobody knows whether the log has the commit, and what it says now need
        # not be what it will say. The next opening sees, and removes the new files or needs them.
        if tx.stage is not Stage.APPLYING and not _is_unsafe(reason):
            outcome = self._outcome(tx)
            if outcome is Outcome.ROLLED_BACK:
                self.moves = self._view.moves
                tx.let_go(remove=True)
                self._current = None
                return
            if outcome is Outcome.COMMITTED:
                try:
                    self._finish(tx)
                except BaseException:
                    self.fail(reason)
                    raise
                self._current = None
                return
        self.fail(reason)
        self._current = None
        tx.let_go(remove=False)

    def _outcome(self, tx: Transaction) -> Outcome:
        """What the catalog says of a transaction that has not come to its end."""
        try:
            self.catalog.roll_back()
            if tx.stage is Stage.OPEN:
                return Outcome.ROLLED_BACK
            found = self.catalog.head()
        except (SpectorError, *SQL_ERRORS):
            return Outcome.UNKNOWN
        if found == self._head:
            return Outcome.ROLLED_BACK
        return Outcome.COMMITTED if found == tx.head() else Outcome.UNKNOWN

    def checkpoint(self) -> None:
        """Make every committed byte durable in its partition, then empty the journal.

        What was committed before cannot be lost in a power cut afterwards, in relaxed mode either.
        """
        with self.lock:
            self.ensure_usable(write=True)
            try:
                if self.catalog.relaxed:
                    self.sync_log()
                if not (self._journal_bytes or len(self.left_slots) or len(self.left_files)):
                    return
                self.catalog.ensure_writable()
                self._retire()
                self.remove_left_files()
                for segment in self.segments.values():
                    segment.sync()
                # what is left of a slot that cannot be retired yet goes on being in the journal
                waiting = min((left.journal_seq for left in self.left_slots), default=_NEVER)
                with self.catalog.writing() as connection:
                    connection.execute(
                        "DELETE FROM journal WHERE seq <= ? AND (kind <> ? OR seq < ?)",
                        (self._head.journal_seq, JOURNAL_RETIRE, waiting),
                    )
            except BaseException as error:
                # a catalog without room has rolled back, and the journal still has everything; so
                # has a log without a name, and closing saves that
                full = isinstance(error, StoreFullError)
                nameless = error.__cause__ is None and self.catalog.has_lost_log()
                if not (full or nameless) or isinstance(error.__cause__, OSError):
                    self.fail(error)
                raise
            self._journal_bytes = 0
            self.trim_files()
            self.indexes.save_some()

    def index_rest(self) -> None:
        """Build what scan indexes are missing, a bounded amount, and save it; for quiet times."""
        for _ in range(_QUIET_STEPS):
            with self.lock:  # given back in between, so that writers wait for one step at most
                self.ensure_usable(write=True)
                if not self.indexes.behind:
                    break
                self.show(self.indexes.catch_up(self.config.index_rows_per_recall or _QUIET_ROWS))
        with self.lock:
            self.indexes.save_some()
            if self.words is not None:
                self.words.save(self)

    def next_change_seq(self) -> int:
        """Change counter of the next commit.

        It only grows, and the first commit after an opening takes it a random distance further. So
        no value is used twice, even if a power cut or a restored copy takes the catalog back: a
        derived file that bears the counter of a row was made from exactly what the row describes.
        """
        return self._head.change_seq + 1 + (self._leap if self._is_first else 0)

    @property
    def _is_first(self) -> bool:
        return self._head.change_seq == self._opened_at

    def note_change(self, db: sqlite3.Connection, change_seq: int) -> None:
        """Inside the transaction that takes the counter there: say so where an opening begins."""
        if self._is_first and self.files.durable:
            note_opening(db, change_seq, self._opened_at)

    def begin_retiring(self) -> None:
        """Tell every scan in this store in memory that slots which memories have left now die."""
        with self.catalog.writing() as connection:
            connection.execute("UPDATE head SET retire_epoch = retire_epoch + 1")
        self._head = replace(self._head, retire_epoch=self._head.retire_epoch + 1)

    def _retire(self) -> None:
        """Tombstone the slots that moved memories left behind, where no scan looks any more."""
        if not len(self.left_slots):
            return
        due = self.left_slots.take(copy_log(self.catalog))
        if self.catalog.in_memory and due:  # scans there notice, and start over
            self.begin_retiring()
            self.publish(())  # scans that start from here on have seen the moves
        touched = {left.segment_id for left in due if left.segment_id in self.segments}
        for left in due:
            if left.segment_id in touched:
                self.segments[left.segment_id].write_mutable(left.slot, left.block)
        if due:
            self.publish(touched)

    def remove_left_files(self) -> None:
        """Delete what compaction replaced, unless a reader may be about to open it."""
        if not len(self.left_files):
            return
        for path in self.left_files.take(copy_log(self.catalog)):
            self.files.remove(path)
            with contextlib.suppress(StoreError):  # opening removes it, and check names it
                remove_idx(self.files, path)
            self.files.sync_dir(path)

    def resume_leaving(self) -> None:
        """After opening: take over the slots that the last writer could not retire."""
        with self.catalog.latest() as db:
            for left in db.execute(
                "SELECT seq, segment_id, slot, image FROM journal WHERE kind = ? ORDER BY seq",
                (JOURNAL_RETIRE,),
            ):
                self.left_slots.add(LeftSlot(*left))

    def trim_files(self) -> None:
        """Close partitions until few enough are open; those with unsynced writes are synced."""
        newest_first = sorted(
            (s for s in self.segments.values() if s.is_open), key=lambda s: -s.row.id
        )
        for segment in newest_first[OPEN_FILES:]:
            segment.sync()
            segment.release()

    def sync_log(self) -> None:
        """Make the catalog's commits durable, which a relaxed writer otherwise leaves to chance."""
        self._log.sync()
        self.vouch(self._head.change_seq)

    def end_unsynced(self) -> None:
        """Note that all commits are durable: the writer was a relaxed one and has closed, or a
        power cut ended it and its partitions are reconciled."""
        self.catalog.set_meta({RELAXED_LOG: self._log.salts(), UNSYNCED: None})

    def note_journal(self, count: int) -> None:
        self._journal_bytes += count

    def claim_segment_id(self) -> int:
        """The number of a new partition.

        Raises:
            CatalogCorruptError: none is left, and no store ever counted so far.
        """
        claimed = self._next_segment_id
        if claimed > MOST_SEGMENTS:
            raise CatalogCorruptError(
                f"{self.catalog.path}: the number {claimed - 1} of a partition is damaged",
                hint=recovery_hint(None),
            )
        self._next_segment_id += 1
        return claimed

    def new_segment(self, row: SegmentRow, *, slots: int) -> Segment:
        """Create the file of a partition, durably, with room for ``slots`` records."""
        segment = self.segment_of(row)
        whole = row.capacity * self.stride
        first = min(self.config.min_extent_bytes, FIRST_EXTENT_BYTES) - PARTITION_HEADER_BYTES
        room = min(whole, max(slots * self.stride, first)) if self.files.durable else whole
        segment.create(row.path, allocate=room)
        return segment

    @property
    def tiers(self) -> Mapping[int, TierFiles]:
        return self._tiers

    def tier_files(self, code: int) -> TierFiles:
        return self._tiers[code]

    def drop_segment(self, segment_id: int) -> None:
        """Forget a partition whose file is gone; scans that still hold its map finish in peace."""
        segment = self.segments.pop(segment_id, None)
        if segment is not None:
            self.drop_left_slots(segment_id)
            self.indexes.forget(segment_id)
            row = segment.row
            self.dropped[segment_id] = replace(
                row, state=int(PartitionState.COMPACTED), slots=0, live=0
            )
            segment.close()

    def drop_left_slots(self, segment_id: int) -> None:
        """The partition's file is another one now, or gone: nothing is left to retire in it."""
        self.left_slots.keep([left for left in self.left_slots if left.segment_id != segment_id])

    def record_image(self, segment_id: int, slot: int) -> Bytes:
        """(stride,) u8: the bytes of one record, for verified reads."""
        segment = self.segments.get(segment_id)
        records = None if segment is None else segment.shown()
        if records is None or slot not in range(len(records)):
            with self.lock:  # a commit is just going on, and knows of more
                segment = self.segments.get(segment_id)
                if segment is None or slot not in range(segment.row.slots):
                    raise PartitionCorruptError(
                        f"the catalog names slot {slot} of partition {segment_id}, which does not "
                        "exist",
                        hint="run: spector check PATH",
                    )
                records = segment.records()
        image: Bytes = records[slot]
        return image

    def _checkpoint_if_there_is_room(self) -> bool:
        """Whether all is in the partitions now. If not, every commit is in the log, and the next
        opening finishes; only what fails the store is an error."""
        try:
            self.checkpoint()
        except StoreFullError:
            if self._failed is not None:
                raise
            return False
        return True

    def close(self) -> None:
        """Checkpoint (unless something failed), then let go of every file. Idempotent."""
        completed(self._close)

    def _close(self) -> None:
        if self.forked:  # the lock may be held by a thread that does not exist here
            self._closed = True
            return
        with self.lock:
            if self._shut:
                return
            if self._closed:  # an interrupt has kept an earlier call from the rest
                self._let_go()
                return
            self._closing = get_ident()
            # who has removed the directory does not want to hear that nothing is in it
            removed = self.files.durable and is_missing(self.files.root)
            # a log that has lost its name cannot take a commit; SQLite copies what is in it
            removed = removed or (self._failed is None and self.catalog.has_lost_log())
            try:
                with contextlib.suppress(StoreError):
                    self._settle()
                if self.writable and self._failed is None and not removed:
                    finished = self._checkpoint_if_there_is_room()
                    if not sys.is_finalizing():
                        self.indexes.save_all()
                        if self.words is not None:
                            self.words.save(self)
                    if self.catalog.relaxed and finished:
                        # without room the note stays, and the next opening reconciles for nothing
                        with contextlib.suppress(StoreFullError), self.noting_failure():
                            self.end_unsynced()
            finally:
                self._closed = True
                self._let_go()

    def release_files(self) -> None:
        """Close the partitions; what is not durable in them by now is in the catalog's journal."""
        for segment in list(self.segments.values()):
            segment.close()

    def refuse_calls(self, *, own: bool = False) -> None:
        """From now on only this thread, which is about to close the store, may begin anything.

        With ``own`` not even this one: it closes the store later, at the end of its call.
        """
        if not self.forked:
            self._closing = _NO_THREAD if own else get_ident()

    @property
    def is_shut(self) -> bool:
        """True when closing has let go of everything, or there was nothing to let go of here."""
        return self._shut or self.forked

    def _let_go(self) -> None:
        """Closed: keep no file, no map and no index, however long this object is kept."""
        self.release_files()
        self.segments.clear()
        self.groups.clear()
        self._view = View((), -1, 0)
        self._shown, self._position = [], {}
        self.indexes.let_go()
        self.words = None
        self._tiers = {}  # tiers, which may have this store
        if not self.files.durable:  # slabs of memory
            for name in self.files.listing():
                self.files.discard(name)
        self.catalog.close(failed=self._failed is not None)
        self._shut = True


def _vouch_for_nothing(change_seq: int) -> None:
    """A store without a lock of its own: in memory, or for reading."""


def _is_unsafe(error: BaseException) -> bool:
    """True when a failed transaction may have left the catalog's own state in doubt.

    A full disk rolls back cleanly, and so do too many open files, a busy catalog and everything a
    caller did wrong. An I/O error from SQLite or from a partition's sync does not: the next read
    may see what the disk never got.
    """
    if not isinstance(error, StoreError) or isinstance(error, (StoreFullError, StoreReadOnlyError)):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is None or code & 0xFF != sqlite3.SQLITE_BUSY
    return isinstance(cause, OSError) and cause.errno not in {errno.EMFILE, errno.ENFILE}

