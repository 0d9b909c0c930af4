"""A store that several processes write: it follows the others, and has the lock only for a write.

Between two writes it is a reader. A write takes the lock in its turn, follows what others have
committed, commits, copies that into the partitions and lets go. Where the last writer did not let
go in good order, because it was killed or had the store for itself, the store is first opened and
closed as by a single writer, which recovers it.
"""

from __future__ import annotations

import contextlib
import operator
import sqlite3
from collections.abc import Callable
from functools import partial
from threading import get_ident
from typing import Any, Final

from spector.errors import StoreError, StoreForkedError, StoreLockedError
from spector.layout import FORMAT_VERSION, PartitionState
from spector.process import Resource, completed, drop, held_by_calling, take
from spector.store.catalog import (
    CATALOG_NAME,
    Catalog,
    Head,
    SegmentRow,
    note_opening,
    segments_in_journal,
)
from spector.store.core import Transaction, View, record_nothing
from spector.store.files import WriterLock, read_durable_mark
from spector.store.opening.opening import Attempt
from spector.store.opening.reader import ReadStore, followed
from spector.store.opening.recovery import open_writer
from spector.store.sqlite import need_no_lock

#: seconds that closing waits at most for its turn to tidy up
_CLOSE_WAIT_S: Final = 1.0
_called: Final = operator.methodcaller("__call__")


class Hold(Resource):
    """The right of one thread to change a shared store, from one lock to its release."""

    __slots__ = ("is_current", "is_sure", "lock", "store", "taken", "thread", "wait_s")

    def __init__(self, store: SharedStore, wait_s: float) -> None:
        self.store, self.wait_s = store, wait_s
        self.thread = get_ident()
        self.lock: WriterLock | None = None
        #: whether the store's own lock is held
        self.taken: list[bool] = []
        #: what was committed before is in the partitions
        self.is_sure = False
        #: what others have committed has been taken over
        self.is_current = False

    @property
    def is_here(self) -> bool:
        return self.thread == get_ident() and self.lock is not None and self.lock.is_held

    def __enter__(self) -> None:
        take(self)
        try:
            self.store.ensure_usable()
            # without the store's own lock: other threads read meanwhile
            self.lock = WriterLock(self.store.where, wait_s=self.wait_s)
            held_by_calling(self.taken, self.store.lock.acquire, True)
            self.store.begin(self, self.lock)
        except BaseException as error:
            self.abandon(error)
            drop(self)
            raise

    def __exit__(self, *raised: object) -> None:
        completed(self._end)
        drop(self)

    def abandon(self, error: BaseException | None) -> None:
        with contextlib.suppress(Exception):
            completed(self._end)

    def _end(self) -> None:
        try:
            if self.taken and self.lock is not None:
                self.store.end(self, self.lock)
        finally:
            if self.lock is not None:
                self.lock.release()
            if self.taken:  # both in one call, which no interrupt divides
                list(map(_called, (self.taken.clear, self.store.lock.release)))


class SharedStore(ReadStore):
    """``shared=True``: reads like a reader, and writes in turn with other processes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wait_s = self.shared_for_s = 0.0
        #: recovers the store under the lock
        self.recover: Callable[[WriterLock], object] = _recover_nothing
        self.catalog.shared = True
        self.catalog.may_write = False
        self.partitions.indexes.keeps_files = False
        self._hold: Hold | None = None
        #: the change counter up to which a writer has taken over everything
        self._left_at = -1
        self._has_committed = False

    # -- reading ------------------------------------------------------------------------------

    @property
    def writes_alone(self) -> bool:
        hold = self._hold
        return hold is not None and hold.is_here

    @property
    def head(self) -> Head:
        """The counters of the last commit of any process."""
        if not self.writes_alone:
            with contextlib.suppress(StoreError):  # closed or failed: those that were seen last
                self.view()
        return self._head

    def view(self) -> View:
        return self._view if self.writes_alone else super().view()

    def retire_epoch(self) -> int:
        if self.writes_alone:
            return self._epoch
        with self.lock, self.catalog.latest() as db:
            return self.catalog.head(db).retire_epoch

    # -- writing ------------------------------------------------------------------------------

    def exclusive(self) -> contextlib.AbstractContextManager[object]:
        if self.writes_alone:
            return self.lock
        return Hold(self, self.wait_s)

    def begin(self, hold: Hold, lock: WriterLock) -> None:
        """Both locks have been taken: bring everything to the last commit."""
        self.ensure_usable()
        self._hold = hold
        if not lock.was_let_go:
            self.recover(lock)
        hold.is_sure = True
        self.catalog.refuse_unlocked, self.catalog.may_write = lock.refuse_removed, True
        self.record_durable = partial(lock.record_durable, self.uuid)
        self.partitions.indexes.keeps_files = True
        self._catch_up(lock)
        hold.is_current = True

    def _catch_up(self, lock: WriterLock) -> None:
        before = self._seen
        with self.catalog.latest() as db:
            self.refresh(db)
            if self._pending and self._seen != before:  # it lacks what its last writer said it has
                self.recover(lock)
                self.refresh(db)
        if self._pending:
            self._drop_copies()
        waiting = self.partitions.retired_files
        if len(waiting):
            waiting.keep([path for path in waiting if self.files.exists(path)])
        if self._head.change_seq != self._left_at:
            self.partitions.resume_ids()
            for each in self.when_moved:
                each()

    def _drop_copies(self) -> None:
        """The files have by now what private copies were made for."""
        changed, self._pending = self._pending, set()
        for segment_id in changed:
            segment = self.segments.get(segment_id)
            if segment is not None:
                segment.patched = None
                segment.forget_partition()
                segment.check_room()
        self.publish(changed)

    def end(self, hold: Hold, lock: WriterLock) -> None:
        """Before both locks are released: end what an interrupt has left. Idempotent."""
        if self._hold is not hold:
            return
        # a closing that was cut off has closed the catalog, and nothing is open in that
        with contextlib.suppress(StoreError, sqlite3.ProgrammingError):
            self._settle()
            if not self._shut:
                self.catalog.roll_back()
        if hold.is_sure and self._current is None and not self.failed:
            lock.let_go()
        self.catalog.refuse_unlocked, self.catalog.may_write = need_no_lock, False
        self.record_durable = record_nothing
        self.partitions.indexes.keeps_files = False
        if hold.is_current:
            self._left_at = self._head.change_seq
        self._hold = None

    def _finish(self, tx: Transaction) -> None:
        super()._finish(tx)
        self._has_committed = True
        self._seen = self._head

    def note_id(self, record_id: int) -> None:
        """Other processes give it out no more, either."""
        with self.transaction() as tx:
            tx.note_id(record_id)

    @property
    def _is_first(self) -> bool:
        return not self._has_committed

    def note_change(self, db: sqlite3.Connection, change_seq: int) -> None:
        """One line for each opening, not for each write."""
        if self._is_first:
            note_opening(db, change_seq, self._head.change_seq)

    def _adopt(self, row: SegmentRow) -> bool:
        """As a reader does; a writer also has to know the names that are taken."""
        group = self.partitions.groups.setdefault((row.tier, row.day), [])
        if row.id not in group:
            group.append(row.id)
        present = self.segments.get(row.id)
        if present is not None and present.row.path != row.path:
            self.partitions.drop_retired_slots(row.id)
        is_new = super()._adopt(row)
        if row.state == PartitionState.COMPACTED:
            self.partitions.dropped[row.id] = row
        return is_new

    def checkpoint(self) -> None:
        """The same, for what other processes have written as well."""
        with self.exclusive():
            self.ensure_usable(write=True)
            with self.catalog.latest() as db:
                for segment_id in segments_in_journal(db):
                    if segment_id in self.segments:
                        self.segments[segment_id].dirty = True
            self.partitions.resume_retired_slots()
            super().checkpoint()

    # -- closing ------------------------------------------------------------------------------

    def _close(self) -> None:
        over = self.forked or self._shut or self._closed
        if over or self._failed is not None or self.writes_alone:
            super()._close()
            return
        try:
            with Hold(self, min(self.wait_s, _CLOSE_WAIT_S)):
                super()._close()
        except StoreError:
            if self._closed:  # in its turn, and what failed was the closing itself
                raise
            self.writable = False  # another one tidies up
            super()._close()

    def _release(self) -> None:
        super()._release()
        self.recover = _recover_nothing
        self.when_moved.clear()


def open_shared(attempt: Attempt, wait_s: float, *, present: bool) -> SharedStore:
    """The store at the newest commit.

    It is recovered first, unless another process is writing it now, which has done so.

    Raises:
        StoreLockedError: there is nothing to read yet, and another process has the store.
    """
    _recovered(attempt, 0.0 if present else wait_s, needed=not present)
    try:
        store = _follow(attempt, wait_s)
        if store.format_version == FORMAT_VERSION:
            return store
    except StoreForkedError:  # it stays so, however long one waits
        raise
    except StoreError:
        pass
    # it is damaged, or another process is about to create or migrate it
    attempt.give_up()
    attempt.made.clear()
    _recovered(attempt, wait_s, needed=True)
    return _follow(attempt, wait_s)


def _recovered(attempt: Attempt, wait_s: float, *, needed: bool) -> None:
    """Create or recover the store, in turn."""
    try:
        lock = WriterLock(attempt.files.root, wait_s=wait_s)
    except StoreLockedError:
        if needed:
            raise
        return
    try:
        _recover(attempt, lock)
        lock.let_go()
    finally:
        completed(lock.release)


def _recover(attempt: Attempt, lock: WriterLock) -> None:
    """Open the store as a single writer does, and close it."""
    again = attempt.anew()
    try:
        store = open_writer(again, "strict", lock)
    except BaseException:
        again.give_up()
        raise
    completed(store.close)


def _follow(attempt: Attempt, wait_s: float) -> SharedStore:
    files = attempt.files
    mark = read_durable_mark(files.root)
    catalog = Catalog(f"{files.root}/{CATALOG_NAME}", mode="rw", durability="strict")
    attempt.made.append(catalog)
    store = followed(attempt, SharedStore, catalog, mark, writable=True)
    store.wait_s = store.shared_for_s = wait_s
    again = attempt.anew()
    store.recover = partial(_recover, again)
    return store


def _recover_nothing(lock: WriterLock) -> None:
    """A closed store writes nothing."""
