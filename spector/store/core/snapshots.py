"""The read half of a store: the view of its partitions, and the catalog at the same moment."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from types import TracebackType

from spector.config import Config
from spector.errors import CatalogCorruptError, PartitionCorruptError
from spector.kernel.contract import Kernel
from spector.layout import stride_of
from spector.process import held_by_calling
from spector.store.catalog import SPENT, Catalog, Head
from spector.store.core.partition_set import PartitionSet
from spector.store.core.status import StoreStatus
from spector.store.core.view import TierFiles, View
from spector.store.files import Bytes, Files

__all__ = ["StoreViews"]

_SNAPSHOT_ATTEMPTS = 20


class _Pinned:
    """A view with the catalog's snapshot of the same moment, which is the resource."""

    __slots__ = ("_lease", "_store")

    def __init__(self, store: StoreViews) -> None:
        self._store = store
        self._lease = store.catalog.snapshot()

    def __enter__(self) -> View:
        db = self._lease.__enter__()
        try:
            return self._store._indexed(self._store._settled_view(db))
        except BaseException as error:
            self._lease.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lease.__exit__(kind, error, trace)


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
        return _Pinned(self)

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
                        hint="run: spector check PATH",
                    )
                records = segment.records()
        image: Bytes = records[slot]
        return image
