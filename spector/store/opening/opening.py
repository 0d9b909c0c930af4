"""Opening a store: create it, or bring it to its last commit, or follow it as a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from spector.config import Config
from spector.errors import StoreNotFoundError, StoreReadOnlyError
from spector.kernel.contract import Kernel
from spector.process import Resource, completed, drop, take
from spector.store.catalog import CATALOG_NAME, Catalog
from spector.store.core import Store, TierFiles
from spector.store.files import DiskFiles, MemoryFiles, WriterLock
from spector.store.opening.attempt import UNBORN, Attempt
from spector.store.opening.non_stores import holds_only, no_store_at
from spector.store.opening.stamp import Stamp

__all__ = ["OpenedStore", "no_store", "open_disk", "open_memory"]


@dataclass(slots=True, eq=False)
class OpenedStore(Resource):
    """A store and, for the writer, the lock that belongs to it; a context manager."""

    store: Store
    lock: WriterLock | None
    created: bool

    def close(self) -> None:
        """Close the store and release the lock, even if closing fails.

        Call it again after an interrupt; finished steps are skipped.
        """
        completed(self._close)

    def __enter__(self) -> Store:
        take(self)
        return self.store

    def __exit__(self, *exc: object) -> None:
        self.close()
        drop(self)

    def abandon(self, error: BaseException | None) -> None:
        self.close()

    def _close(self) -> None:
        try:
            self.store.close()
        finally:
            if self.lock is not None and self.store.is_shut:
                completed(self.lock.release)


def open_memory(
    stamp: Stamp, tiers: Iterable[TierFiles], config: Config, kernel: Kernel
) -> OpenedStore:
    """A store that lives in memory and vanishes with it."""
    catalog = Catalog(":memory:", mode="rw", durability="relaxed")
    meta = stamp.new_meta()
    catalog.create(meta)
    store = Store(
        MemoryFiles(),
        catalog,
        kernel,
        meta=meta,
        tiers={t.code: t for t in tiers},
        config=config,
        writable=True,
    )
    store.publish()
    return OpenedStore(store, None, created=True)


def open_disk(
    root: str,
    stamp: Stamp,
    tiers: Iterable[TierFiles],
    config: Config,
    kernel: Kernel,
    *,
    mode: str,
    durability: str,
    held: WriterLock | None = None,
    wait_s: float = 0.0,
    shared: bool = False,
) -> OpenedStore:
    """Open, create or follow the store in the directory ``root``.

    Args:
        held: the lock of that directory, if the caller has it already; it is not released.
        wait_s: seconds to wait for another writer; if shared, before each write.
        shared: have the lock only for the length of a write.

    Raises:
        StoreNotFoundError: ``mode="r"`` and there is none.
        StoreLockedError: another writer has it.
        ModelMismatchError, FormatVersionError, CatalogCorruptError, PartitionCorruptError
    """
    files = DiskFiles(root)
    attempt = Attempt(files, stamp, {tier.code: tier for tier in tiers}, config, kernel)
    if mode == "r":
        from spector.store.opening.read_only import open_reader

        return OpenedStore(open_reader(attempt), None, created=False)
    present = files.exists(CATALOG_NAME)
    if (
        not present
        and not files.is_empty()
        and not holds_only(files.root, UNBORN)
        and files.is_free(CATALOG_NAME)  # else another process is creating it
    ):
        raise no_store_at(files.root, "pass an empty or new directory, or the directory of a store")
    if present and not files.writable():
        raise StoreReadOnlyError(
            f"{files.root} cannot be written", hint='open it with mode="r", or fix the permissions'
        )
    if not present:
        stamp.new_meta()  # a stamp without a dimension is refused before anything is created
        files.make_root()
    if shared:
        return _open_shared(attempt, wait_s, present)
    lock = held or WriterLock(files.root, wait_s=wait_s)
    try:
        store, created = _writing()(attempt, durability, lock)
        return OpenedStore(store, lock, created=created)
    except BaseException:
        attempt.give_up()
        if held is None:
            lock.release()
        raise


@cache
def _writing() -> Callable[[Attempt, str, WriterLock], tuple[Store, bool]]:
    """What opens a store for writing; at the end of the interpreter nothing is imported anew."""
    from spector.store.opening.recovery import open_writer

    return open_writer


def _open_shared(attempt: Attempt, wait_s: float, present: bool) -> OpenedStore:
    from spector.store.opening.shared import open_shared

    try:
        store, created = open_shared(attempt, wait_s, present=present)
        return OpenedStore(store, None, created=created)
    except BaseException:
        attempt.give_up()
        raise


def no_store(files: DiskFiles, hint: str = "check the path") -> StoreNotFoundError:
    """The error for a directory without a catalog: a damaged store, or a folder of stores."""
    return no_store_at(files.root, hint)
