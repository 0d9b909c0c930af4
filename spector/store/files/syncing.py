"""How bytes get from the system's memory to the medium, for files and directories alike.

On macOS ``fsync`` hands them to the drive, which may keep them in its own memory and write them in
any order; ``F_FULLFSYNC`` waits until they are on the medium (fsync(2) and fcntl(2) there). SQLite
does the same for the catalog when it is told to (``PRAGMA fullfsync``).
"""

from __future__ import annotations

import errno
import os
from typing import Any

from spector.process import held_by_calling

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None

__all__ = ["sync_all", "sync_data", "sync_folder"]

#: what a file system says that has no such call, a share for instance
_UNKNOWN = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.ENODEV}


def sync_all(fd: int) -> None:
    """Make a file, or the names in a directory, durable. No failure is tried again.

    Raises:
        OSError: the bytes may be lost, whatever a later call says.
    """
    if not _full(fd):
        os.fsync(fd)


def sync_folder(path: str) -> None:
    """Make creations, renames and removals in a directory durable.

    Raises:
        OSError
    """
    held: list[int] = []
    try:
        sync_all(held_by_calling(held, os.open, path or ".", os.O_RDONLY | os.O_CLOEXEC))
    finally:
        if held:  # nothing can come between this and the call
            os.close(held[0])


def sync_data(fd: int) -> None:
    """The same for a file's bytes and its size; its times may stay behind."""
    if not _full(fd):
        getattr(os, "fdatasync", os.fsync)(fd)


def _full(fd: int) -> bool:
    """False where the system, or this file system, has no more to offer than ``fsync``."""
    command = getattr(fcntl, "F_FULLFSYNC", None)
    if command is None:
        return False
    try:
        fcntl.fcntl(fd, command)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return False
        raise
    return True
