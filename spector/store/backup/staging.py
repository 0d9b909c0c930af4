"""Building a directory beside the place where it is to appear: one at a time, whole or not at all.

A run that was killed leaves its directory behind, under a name that only depends on the place. The
lock in it died with the process, so the next run to the same place takes it over and empties it,
unless somebody has taken it for a store and written to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from spector.errors import StoreError, StoreExistsError, StoreLockedError
from spector.process import managed
from spector.store.backup.destination import Place, refuse_strange
from spector.store.backup.directories import (
    missing_above,
    put_in_place,
    remove_folders,
    remove_tree,
)
from spector.store.files import LOCK_NAME, DiskFiles, DurableMark, WriterLock, read_durable_mark

__all__ = ["building", "clear", "staged"]


@managed
def building(place: Place) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which takes its place when the block has come to its end.

    When the block fails, everything in it goes; the place is as it was.

    Raises:
        StoreLockedError: another one is being made for the same place.
        StoreExistsError: something is at the place.
    """
    place.refuse_taken()
    with staged(place) as (files, lock):
        place.refuse_taken()  # the older copy may have got its name back
        yield files, lock
        put_in_place(place.staging, place.target)


@managed
def staged(place: Place) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which the block has to put in its place.

    When the block fails, everything in it goes, and so do the directories made above it. Before it
    begins, what a crash between two renames has left is put back.

    Raises:
        StoreLockedError: another one is being made for the same place.
        StoreExistsError: what is in the way has been in use as a store since.
        StoreError: what is in the way was left by no copy.
    """
    made = missing_above(place.target)
    try:
        refuse_strange(place.staging)  # it does not even get a lock file
        _refuse_used(place, read_durable_mark(place.staging))
        files = DiskFiles(place.staging)
        if files.root != place.staging:
            raise StoreError(f"{place.staging} is a symbolic link", hint="take it away")
        files.make_root()
        lock = _claim(files, place)
        try:
            refuse_strange(place.staging, mine=False)  # now nobody who builds here changes it
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
def _removed_on_failure(place: Place) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(StoreError):  # what went wrong first is what matters
            remove_tree(place.staging)
        raise


def _claim(files: DiskFiles, place: Place) -> WriterLock:
    """Who has the lock builds here; leftovers are of somebody dead."""
    try:
        lock = WriterLock(files.root, speaks=False)
    except StoreLockedError as error:
        raise _busy(place) from error
    if not files.exists(LOCK_NAME):  # the other one finished between our two steps
        lock.release()
        raise _busy(place)
    return lock


def _refuse_used(place: Place, mark: DurableMark | None) -> None:
    """Raise for a store that somebody has opened to write: what it has learned may be only there.

    What a killed copy has left may be complete, and only its name keeps people from using it.
    """
    if mark is not None:
        raise StoreExistsError(
            f"{place.staging} is a store that has been in use; a copy to {place.target} would be"
            " built in its place",
            hint="rename it or move it away, or choose another destination",
        )


def clear(files: DiskFiles) -> None:
    """Remove what somebody left, but the lock."""
    for name in files.listing():
        if name != LOCK_NAME:
            files.remove(name)


def _busy(place: Place) -> StoreLockedError:
    return StoreLockedError(
        f"another copy to {place.target} is being made", hint="wait until it is done"
    )
