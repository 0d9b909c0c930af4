"""Whole directories: what is at a path, and how a finished one gets its name at once.

A copy of a store is built in a directory beside its destination and then renamed, so the
destination never shows half a copy. An older copy is exchanged in one step where the system can
(Linux, ``renameat2``), and in two steps elsewhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import errno
import os
import shlex
import stat
from collections.abc import Iterable

from spector.errors import StoreError
from spector.store.files import LOCK_NAME, sync_folder, translate_os_errors

__all__ = [
    "EntryKind",
    "entry_kind",
    "is_sole",
    "missing_above",
    "mounted",
    "put_in_place",
    "put_instead",
    "remove_folders",
    "remove_tree",
    "share",
]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_MOUNTED = {errno.EBUSY, errno.EXDEV}
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


class EntryKind(enum.Enum):
    """What is at a path."""

    NOTHING = "nothing"
    EMPTY = "an empty directory"
    DIRECTORY = "a directory"
    OTHER = "not a directory"


def entry_kind(path: str) -> EntryKind:
    with translate_os_errors("look at", path):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return EntryKind.OTHER if os.path.islink(path) else EntryKind.NOTHING
        if not stat.S_ISDIR(status.st_mode):
            return EntryKind.OTHER
        return EntryKind.DIRECTORY if os.listdir(path) else EntryKind.EMPTY


def is_sole(path: str) -> bool:
    """True when a file has only this name and is reached through no link."""
    with translate_os_errors("look at", path):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return False
        return (
            stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and os.path.realpath(path) == path
        )


def share(source: str, target: str) -> None:
    """Give a file a second name. Only for a source that is about to be removed.

    A file that has other names already (``cp -al`` of a backup) or is reached through a link is
    refused, because its other owner stays.
    """
    with translate_os_errors("link", target):
        if os.stat(source).st_nlink != 1 or os.path.realpath(source) != source:
            raise OSError(errno.EMLINK, "the file is shared already")
        directory = os.path.dirname(target)
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        os.link(source, target)


def put_in_place(staging: str, target: str) -> None:
    """Rename a finished directory to a free name (or over an empty directory), durably."""
    _sync_tree(staging)
    with translate_os_errors("rename to", target):
        try:
            os.rename(staging, target)
        except OSError as error:
            if error.errno in _MOUNTED:
                raise mounted(target) from error
            raise
    _sync(os.path.dirname(target))


def mounted(target: str) -> StoreError:
    """The error for a directory that cannot be replaced, because a disk is mounted there."""
    return StoreError(
        f"{target} is a mount point: nothing can be put in its place",
        hint=f"name a directory inside it, {shlex.quote(os.path.join(target, 'copy'))}"
        " for instance",
    )


def put_instead(staging: str, target: str, aside: str) -> None:
    """Give the finished directory the name of the older one, which is removed.

    Where two names cannot be exchanged, the older one is ``aside`` for a moment.
    What cannot be removed is left to the next copy: the new one is complete.
    """
    _sync_tree(staging)
    if _exchange(staging, target):
        try:
            _sync(os.path.dirname(target))
        except StoreError:  # a power cut may give the older one its name back, so it stays
            with contextlib.suppress(OSError):
                os.rename(staging, aside)
            raise
        left = staging
    else:
        with translate_os_errors("rename to", target):
            os.rename(target, aside)
            try:
                os.rename(staging, target)
            except OSError:
                os.rename(aside, target)
                raise
        _sync(os.path.dirname(target))
        left = aside
    with contextlib.suppress(StoreError):
        remove_tree(left)


def remove_tree(root: str) -> None:
    """Remove a directory and everything in it; of a link only the link.

    LOCK goes last: without it another copy could start building among the files being removed.
    """
    lock = os.path.join(root, LOCK_NAME)
    with translate_os_errors("remove", root):
        if os.path.islink(root) or not os.path.isdir(root):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(root)
            return
        for directory, folders, names in os.walk(root, topdown=False):
            for name in names:
                path = os.path.join(directory, name)
                if path != lock:
                    os.unlink(path)
            for name in folders:
                path = os.path.join(directory, name)
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    os.rmdir(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock)
        os.rmdir(root)


def missing_above(path: str) -> list[str]:
    """The missing parents of ``path``, lowest first."""
    found = []
    above = os.path.dirname(path)
    while above != os.path.dirname(above) and not os.path.lexists(above):
        found.append(above)
        above = os.path.dirname(above)
    return found


def remove_folders(paths: Iterable[str]) -> None:
    """Remove directories, lowest first, up to the first that is not empty."""
    with contextlib.suppress(OSError):
        for path in paths:
            os.rmdir(path)


def _exchange(one: str, other: str) -> bool:
    """Swap two names in one step; False where the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if not renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    with translate_os_errors("rename to", other):
        raise OSError(code, os.strerror(code))


def _sync_tree(root: str) -> None:
    """Make the names in a directory tree durable; its files have been synced one by one."""
    for directory, _, _ in os.walk(root, topdown=False):
        _sync(directory)


def _sync(path: str) -> None:
    with translate_os_errors("sync directory", path):
        sync_folder(path)
