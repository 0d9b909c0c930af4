"""Building a directory beside the place where it is to appear: one at a time, whole or not at all.

A run that was killed leaves its directory behind, under a name that only depends on the place. The
lock in it died with the process, so the next run to the same place takes it over and empties it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from spector.errors import StoreError, StoreLockedError
from spector.store.files import DiskFiles
from spector.store.lock import WriterLock
from spector.store.trees import Place, put_in_place, remove_tree

__all__ = ["building", "claim", "clear"]


@contextlib.contextmanager
def building(place: Place) -> Iterator[tuple[DiskFiles, WriterLock]]:
    """An empty directory with its lock, which takes its place when the block has come to its end.

    When the block fails, everything in it goes; the place is as it was.

    Raises:
        StoreLockedError: another one is being made for the same place.
    """
    files = DiskFiles(place.staging)
    files.make_root()
    lock = claim(files, place)
    try:
        clear(files)
        yield files, lock
        put_in_place(place.staging, place.target)
    except BaseException:
        with contextlib.suppress(StoreError):  # what went wrong first is what matters
            remove_tree(place.staging)
        raise
    finally:
        lock.release()


def claim(files: DiskFiles, place: Place) -> WriterLock:
    """Who has the lock builds here; leftovers are of somebody dead."""
    try:
        lock = WriterLock(files.root)
    except StoreLockedError as error:
        raise _busy(place) from error
    if not files.exists("LOCK"):  # the other one finished between our two steps
        lock.release()
        raise _busy(place)
    return lock


def clear(files: DiskFiles) -> None:
    """Remove what somebody left, but the lock."""
    for name in files.listing():
        if name != "LOCK":
            files.remove(name)


def _busy(place: Place) -> StoreLockedError:
    return StoreLockedError(
        f"another copy to {place.target} is being made", hint="wait until it is done"
    )
