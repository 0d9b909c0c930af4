"""A store: the catalog, its partitions, and the one order in which they change.

Every change goes through :meth:`Store.transaction`. Its commit is the catalog's commit; only then
are the bytes copied to the partitions, and only then does a new view appear to scans::

    validate -> allocate room -> BEGIN, rows, full text, redo images, COMMIT     (durable here)
             -> pwrite images -> pwrite headers -> publish view -> return

A checkpoint syncs the partitions and empties the journal. Opening replays what is left in it. What
becomes of the slot that a memory has left: see ``RetireQueue``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from threading import get_ident
from typing import Protocol

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
from spector.layout import stride_of
from spector.process import Sole, completed, held_by_calling, managed
from spector.store.catalog import (
    RELAXED_LOG,
    SPENT,
    UNSYNCED,
    Catalog,
    Head,
    Log,
    note_opening,
    raise_epoch,
    trim_journal,
)
from spector.store.core.snapshots import PartitionSet, StoreContext, View
from spector.store.core.transaction import Stage, Transaction
from spector.store.files import CHECK, Bytes, is_missing
from spector.store.partitions import ExpectedHeader
from spector.store.sqlite import SQL_ERRORS, copy_log

#: greater than any journal number
_NEVER = (1 << 63) - 1
#: the first commit after an opening advances the change counter by less than this, at random
_LEAP = 1 << 36
#: one call of ``index_rest`` builds this many times what a recall may build
_QUIET_STEPS = 10
_QUIET_ROWS = 20_000
_SNAPSHOT_ATTEMPTS = 20
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


class WordKeeper(Protocol):
    """The index of a store's words, which it writes into files."""

    def save(self, store: Store) -> None:
        """Write the files that are worth it, under the store's lock; a full disk raises nothing."""

    def follow(self, store: Store) -> None:
        """Take over what was committed, as the next recall would; without the store's lock."""

    def files_are_gone(self) -> None:
        """The files have been removed."""


class Store(StoreStatus):
    """One catalog and its partitions. Thread-safe; one process writes, any number read."""

    def __init__(
        self, context: StoreContext, catalog: Catalog, meta: Mapping[str, str], *, writable: bool
    ) -> None:
        files = context.files
        super().__init__(files.root, writable=writable)
        self.files = files
        self.catalog = catalog
        self.kernel = context.kernel
        self.meta = dict(meta)
        self.config = context.config
        self.dim = int(meta["dim"])
        self.stride = stride_of(self.dim)
        self.uuid = bytes.fromhex(meta["uuid"])
        #: older than this code's only in a reader, and in a writer that is about to migrate
        self.format_version = int(meta["format_version"])
        self.lock = threading.RLock()
        #: the store whose lock this one shares
        self._leader: Store | None = None
        #: seconds to wait for other processes, where these write as well
        self.shared_for_s: float | None = None
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
        header = ExpectedHeader(0, self.stride, self.dim, self.uuid, self.format_version)
        self.partitions = PartitionSet(context, catalog, header, writable=writable)
        #: the partitions by number
        self.segments = self.partitions.by_id
        #: commits of this process that moved memories; one that is about to be made counts
        #: already, so that a catalog in memory is never ahead of it
        self.moves = 0
        self._view = View((), -1, 0)
        #: the transaction that is under way, or that an interrupt has cut off
        self._current: Transaction | None = None
        self._log = Log(files, catalog)
        self._journal_bytes = 0
        self._opened_at = self._head.change_seq
        self._leap = 0
        if self.writable and files.durable:
            self._leap = int.from_bytes(os.urandom(8), "little") % _LEAP
        #: the index of its words, once one has been opened
        self.words: WordKeeper | None = None
        #: called with the change counter of a commit once that is durable
        self.record_durable: Callable[[int], None] = record_nothing

    def fail_unless_unchanged(self, error: BaseException) -> None:
        """After ``error`` in a change of the catalog: fail, unless it is known to be undone."""
        try:
            self.catalog.roll_back()
            unchanged = not is_unsafe(error) and self.catalog.head() == self._head
        except (SpectorError, *SQL_ERRORS):
            unchanged = False
        if not unchanged:
            self.fail(error)

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

    def share_lock(self, other: Store) -> None:
        """Let one lock guard this store and the other one."""
        self.lock, self._leader = other.lock, other

    # -- publishing ---------------------------------------------------------------------------

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

    # -- change -------------------------------------------------------------------------------

    @managed
    def transaction(self) -> Iterator[Transaction]:
        """Collect changes, then commit them at once. An error inside changes nothing.

        An interrupt changes nothing, or all of it: the catalog says whether there was a commit, not
        the error that was raised. What was committed is finished, and where that cannot be done the
        store fails: opening it again finishes it.

        Raises:
            StoreError: this thread is in a transaction of this store already, as a signal handler
                that writes can be.
        """
        with self.exclusive():
            self._settle()
            self.ensure_usable(write=True)
            tx = Transaction(self, self._head, self.next_change_seq())
            try:
                self._current = tx
                with self.catalog.writing() as connection:
                    tx.connection = connection
                    noted = self.catalog.ends.write(connection, self.catalog.path)
                    yield tx
                    self.moves += tx.moves_memories  # before a scan can see it in the catalog
                    tx.write_journal()
                    tx.stage = Stage.COMMITTING
                self._finish(tx)
                self._current = None
                self.catalog.ends.forget(noted)
            except BaseException as error:
                if self._current is tx:
                    self._settle_now(tx, error)
                raise
            # The write is safe whatever becomes of these: on a full disk the next write tries
            # again, after any other failure the next call raises.
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
            self.record_durable(tx.head().change_seq)
        tx.apply()
        self._journal_bytes += tx.journal_bytes
        self._head = tx.head()
        self.publish(tx.changed())
        tx.stage = Stage.DONE

    def _settle(self) -> None:
        """End a transaction that an interrupt has cut off. The lock is held.

        Raises:
            StoreError: it was not cut off, but goes on further down in this thread's stack.
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
        """Find out what became of a transaction, and bring the store to the same state."""
        self._current = tx
        reason = error if error is not None else StoreError("a change was interrupted")
        if tx.stage is Stage.DONE:
            self._current = None
            return
        # After some errors it is unknown whether the log has the commit, and its content now need
        # not be what survives. The next opening decides, and removes the new files or uses them.
        if tx.stage is not Stage.APPLYING and not is_unsafe(reason):
            found = self._head_after(tx)
            if found == self._head:  # it was rolled back
                self.moves = self._view.moves
                tx.release(remove=True)
                self._current = None
                return
            if found == tx.head():  # it was committed
                try:
                    self._finish(tx)
                except BaseException:
                    self.fail(reason)
                    raise
                self._current = None
                return
        self.fail(reason)
        self._current = None
        tx.release(remove=False)

    def _head_after(self, tx: Transaction) -> Head | None:
        """The catalog's counters after a transaction that did not come to its end; None: unknown."""
        try:
            self.catalog.roll_back()
            return self._head if tx.stage is Stage.OPEN else self.catalog.head()
        except (SpectorError, *SQL_ERRORS):
            return None

    def checkpoint(self) -> None:
        """Make every committed byte durable in its partition, then empty the journal.

        What was committed before cannot be lost in a power cut afterwards, in relaxed mode either.
        """
        # of what is in memory, other processes know nothing: it waits for none of them
        with self.exclusive() if self.files.durable else self.lock:
            self.ensure_usable(write=True)
            try:
                if self.catalog.relaxed:
                    self.sync_log()
                slots, files = self.partitions.retired_slots, self.partitions.retired_files
                if not (self._journal_bytes or len(slots) or len(files)):
                    return
                self.catalog.ensure_writable()
                self._retire_slots()
                self.partitions.remove_retired_files()
                for segment in self.segments.values():
                    segment.sync()
                # the entry of a slot that cannot be retired yet stays in the journal
                waiting = min((slot.journal_seq for slot in slots), default=_NEVER)
                with self.catalog.writing() as db:
                    trim_journal(db, self._head.journal_seq, waiting)
            except BaseException as error:
                # On a full disk the catalog has rolled back, and the journal still has everything.
                # So has a log that has lost its name, and closing copies it.
                full = isinstance(error, StoreFullError)
                nameless = error.__cause__ is None and self.catalog.has_lost_log()
                if not (full or nameless) or isinstance(error.__cause__, OSError):
                    self.fail(error)
                raise
            self._journal_bytes = 0
            self.partitions.trim_files()
            self.partitions.indexes.save_some()

    def index_rest(self) -> None:
        """Build a bounded number of missing scan indexes and save them; for quiet times."""
        self.follow_words()
        for _ in range(_QUIET_STEPS):
            with self.exclusive():  # given back in between: writers wait for one step at most
                self.ensure_usable(write=True)
                if not self.partitions.indexes.behind:
                    break
                rows = self.config.index_rows_per_recall or _QUIET_ROWS
                self.show(self.partitions.indexes.catch_up(rows))
        with self.exclusive():
            self.partitions.indexes.save_some()
            if self.words is not None:
                self.words.save(self)

    def follow_words(self) -> None:
        """Have the index of words take over what was committed, if one is in use.

        Else the next recall does, or who saves the index: for a long time under the lock, if many
        partitions were rewritten.
        """
        if self.words is not None and self.files.durable:
            self.words.follow(self)

    def next_change_seq(self) -> int:
        """Change counter of the next commit.

        It only grows, and the first commit after an opening advances it by a random distance. So no
        value is used twice, even if a power cut or a restored copy takes the catalog back: a
        derived file that bears the counter of a row was made from exactly what the row describes.
        """
        return self._head.change_seq + 1 + (self._leap if self._is_first else 0)

    @property
    def _is_first(self) -> bool:
        return self._head.change_seq == self._opened_at

    def note_id(self, record_id: int) -> None:
        """A volatile store gives out this id; the only writer notes it when it closes."""

    def note_change(self, db: sqlite3.Connection, change_seq: int) -> None:
        """Inside the transaction that sets the counter: note the first change of an opening."""
        if self._is_first and self.files.durable:
            note_opening(db, change_seq, self._opened_at)

    def _retire_slots(self) -> None:
        """Tombstone the slots that moved memories left behind, where no scan looks any more."""
        if not len(self.partitions.retired_slots):
            return
        due = self.partitions.retired_slots.take(copy_log(self.catalog))
        if self.catalog.in_memory and due:  # scans there compare epochs, and start over
            with self.catalog.writing() as db:
                raise_epoch(db)
            self._head = replace(self._head, retire_epoch=self._head.retire_epoch + 1)
            self.publish(())  # scans that start from here on have seen the moves
        touched = {slot.segment_id for slot in due if slot.segment_id in self.segments}
        for slot in due:
            if slot.segment_id in touched:
                self.segments[slot.segment_id].write_mutable(slot.slot, slot.block)
        if due:
            self.publish(touched)

    def sync_log(self) -> None:
        """Make the catalog's commits durable, which a relaxed writer otherwise leaves to chance."""
        self._log.sync()
        self.record_durable(self._head.change_seq)

    def end_unsynced(self) -> None:
        """Note that every commit is durable: a relaxed writer has closed, or its partitions have
        been reconciled after a power cut."""
        self.catalog.set_meta({RELAXED_LOG: self._log.salts(), UNSYNCED: None})

    def close(self) -> None:
        """Checkpoint (unless something failed), then release every file. Idempotent."""
        completed(self._close)

    def _close(self) -> None:
        if self.forked:  # the lock may be held by a thread that does not exist here
            self._closed = True
            return
        with self.lock:
            if self._shut:
                return
            if self._closed:  # an interrupt has cut off an earlier call
                self._release()
                return
            self._closing = get_ident()
            # a directory that was removed on purpose needs no checkpoint, and no error
            removed = self.files.durable and is_missing(self.files.root)
            # a log that has lost its name takes no commit; SQLite copies it when it closes
            removed = removed or (self._failed is None and self.catalog.has_lost_log())
            try:
                with contextlib.suppress(StoreError):
                    self._settle()
                if self.writable and self._failed is None and not removed:
                    finished = True
                    try:
                        self.checkpoint()
                    except StoreFullError:  # what is in the log, the next opening finishes
                        if self._failed is not None:
                            raise
                        finished = False
                    if not sys.is_finalizing():
                        self.partitions.indexes.save_all()
                        if self.words is not None:
                            self.words.save(self)
                    if self.catalog.relaxed and finished:
                        # on a full disk the note stays, and the next opening reconciles needlessly
                        with contextlib.suppress(StoreFullError), self.noting_failure():
                            self.end_unsynced()
            finally:
                self._closed = True
                self._release()

    def _release(self) -> None:
        """Closed: keep no file, no map and no index, however long this object is kept."""
        self.partitions.release()
        self._view = View((), -1, 0)
        self.words = None
        self.catalog.close(failed=self._failed is not None)
        self._shut = True


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


def record_nothing(change_seq: int) -> None:
    """A store in memory, or for reading, has no lock file of its own."""
