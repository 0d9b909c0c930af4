"""Deliberate faults, patched into a recorded child: the replay must find each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from spector.errors import StoreNotFoundError
from spector.store.backup import destination as trees
from spector.store.catalog.catalog import Catalog
from spector.store.core.store import Store
from spector.store.core.transaction import Transaction
from spector.store.files.disk import DiskFile, DiskFiles
from spector.store.partitions.segment import Segment

__all__ = ["MUTANTS"]


def skipped_sync() -> None:
    """Partitions are never synced: a checkpoint empties the journal all the same."""

    def sync(segment: Segment) -> None:
        segment.dirty = False

    Segment.sync = sync  # type: ignore[method-assign]


def wrong_order() -> None:
    """A checkpoint empties the journal first and syncs the partitions then."""
    checkpoint = Store.checkpoint

    def wrong(store: Store) -> None:
        sync, late = Segment.sync, []

        def later(segment: Segment) -> None:
            late.append(segment)

        Segment.sync = later  # type: ignore[method-assign]
        try:
            checkpoint(store)
        finally:
            Segment.sync = sync  # type: ignore[method-assign]
        for segment in late:
            segment.sync()

    Store.checkpoint = wrong  # type: ignore[method-assign]


def missing_directory_sync() -> None:
    """The names of new files are left to chance."""

    def sync_dir(files: DiskFiles, name: str) -> None:
        pass

    DiskFiles.sync_dir = sync_dir  # type: ignore[method-assign]


def missing_folder_sync() -> None:
    """The names of new directories are left to chance."""

    def sync_directory(files: DiskFiles, path: str) -> None:
        pass

    DiskFiles._sync_directory = sync_directory  # type: ignore[method-assign]


def early_unlink() -> None:
    """A compaction's old file goes before the commit that lets it go."""
    write_journal, remove = Transaction.write_journal, DiskFiles.remove

    def early(tx: Transaction) -> None:
        for _, path in tx._dropped:
            tx.partitions.files.remove(path)
            tx.partitions.files.sync_dir(path)
        write_journal(tx)

    def lenient(files: DiskFiles, name: str) -> None:
        with contextlib.suppress(StoreNotFoundError):
            remove(files, name)

    Transaction.write_journal = early  # type: ignore[method-assign]
    DiskFiles.remove = lenient  # type: ignore[method-assign]


def relaxed_log() -> None:
    """A strict store whose log is not synced at commits."""
    init = Catalog.__init__

    def wrong(catalog: Catalog, path: str, *, mode: str, durability: str, **more: bool) -> None:
        init(catalog, path, mode=mode, durability="relaxed", **more)

    Catalog.__init__ = wrong  # type: ignore[method-assign,assignment]


def unsynced_backup() -> None:
    """A copy is renamed into place and nothing of it has been synced."""
    real = DiskFile.sync

    def sync(file: DiskFile) -> None:
        if ".incomplete" not in file._path:
            real(file)

    def sync_tree(root: str) -> None:
        pass

    DiskFile.sync = sync  # type: ignore[method-assign]
    trees._sync_tree = sync_tree


MUTANTS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        skipped_sync,
        wrong_order,
        missing_directory_sync,
        missing_folder_sync,
        early_unlink,
        relaxed_log,
        unsynced_backup,
    )
}
