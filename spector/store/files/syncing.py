"""Sync files and directories to the medium.

On macOS ``fsync`` passes bytes to the drive, which may keep them in its own memory and write them
in any order; ``F_FULLFSYNC`` waits until they are on the medium (fsync(2) and fcntl(2) there).
SQLite does the same for the catalog with ``PRAGMA fullfsync``.
"""

from __future__ import annotations

import errno
import os
from typing import Any

from spector.process import held_by_calling

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: the store refuses to open there
    fcntl = None


#: errors of a file system that lacks the call, a network share for instance
_UNKNOWN = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.ENODEV}


def sync_all(fd: int) -> None:
    """Make a file, or the names in a directory, durable. Never retry a failure.

    Raises:
        OSError: the bytes may be lost, even if a later call succeeds.
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
        if held:  # no signal is handled between this and the call
            os.close(held[0])


def sync_data(fd: int) -> None:
    """Make a file's bytes and size durable, but not its times."""
    if not _full(fd):
        getattr(os, "fdatasync", os.fsync)(fd)


def _full(fd: int) -> bool:
    """Sync with F_FULLFSYNC; False where the system or file system lacks it."""
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
