"""Build a directory beside its destination: one at a time, whole or not at all.

A killed run leaves its directory behind, under a name that depends only on the destination. Its
lock died with the process, so the next run to the same destination takes the directory over and
empties it, unless it has been opened as a store and written to.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from spector.errors import StoreError, StoreExistsError, StoreLockedError
from spector.process import managed
from spector.store.backup.destination import Destination, refuse_strange
from spector.store.backup.directories import (
    missing_above,
    put_in_place,
    remove_folders,
    remove_tree,
)
from spector.store.files import LOCK_NAME, DiskFiles, DurableMark, WriterLock, read_durable_mark

__all__ = ["building", "clear", "staged"]


@managed
def building(place: Destination) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which is moved to the destination at the end of the block.

    When the block fails, the directory is removed and the destination is unchanged.

    Raises:
        StoreLockedError: another copy to the same destination is being made.
        StoreExistsError: something is at the destination.
    """
    place.refuse_taken()
    with staged(place) as (files, lock):
        place.refuse_taken()  # the older copy may have got its name back
        yield files, lock
        put_in_place(place.staging, place.target)


@managed
def staged(place: Destination) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which the block has to move to the destination.

    When the block fails, the directory and the parents made for it are removed. Before it begins, a
    crash between two renames is undone.

    Raises:
        StoreLockedError: another copy to the same destination is being made.
        StoreExistsError: the directory in the way has been used as a store.
        StoreError: what is in the way was not left by a copy.
    """
    made = missing_above(place.target)
    try:
        refuse_strange(place.staging)  # a foreign directory does not even get a lock file
        _refuse_used(place, read_durable_mark(place.staging))
        files = DiskFiles(place.staging)
        if files.root != place.staging:
            raise StoreError(f"{place.staging} is a symbolic link", hint="take it away")
        files.make_root()
        lock = _claim(files, place)
        try:
            refuse_strange(place.staging, mine=False)  # no other copy changes it from here on
            _refuse_used(place, lock.mark)
            with _removed_on_failure(place):
                place.put_back()
                clear(files)
                yield files, lock
        finally:
            lock.release()
    except BaseException:
        remove_folders(made)
        raise


@managed
def _removed_on_failure(place: Destination) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(StoreError):  # the first error matters
            remove_tree(place.staging)
        raise


def _claim(files: DiskFiles, place: Destination) -> WriterLock:
    """Take the lock of the directory; leftovers in it are of a dead process."""
    try:
        lock = WriterLock(files.root, speaks=False)
    except StoreLockedError as error:
        raise _busy(place) from error
    if not files.exists(LOCK_NAME):  # another copy finished between our two steps
        lock.release()
        raise _busy(place)
    return lock


def _refuse_used(place: Destination, mark: DurableMark | None) -> None:
    """Raise for a store that has been opened to write: its new memories may be nowhere else.

    The remains of a killed copy may be complete, and only its name keeps it from being used.
    """
    if mark is not None:
        raise StoreExistsError(
            f"{place.staging} is a store that has been in use; a copy to {place.target} would be"
            " built in its place",
            hint="rename it or move it away, or choose another destination",
        )


def clear(files: DiskFiles) -> None:
    """Remove everything but the lock."""
    for name in files.listing():
        if name != LOCK_NAME:
            files.remove(name)


def _busy(place: Destination) -> StoreLockedError:
    return StoreLockedError(
        f"another copy to {place.target} is being made", hint="wait until it is done"
    )
