"""Only regular files, only below the root, only for their owner.

A store's directory may come from an archive, or others may have written to it. So a link, a pipe or
a device in the place of a file is refused instead of followed or waited for, and the rights of
group and others are removed whenever the store is opened for writing.
"""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from collections.abc import Iterator
from io import FileIO
from typing import Final

from spector.errors import StoreError
from spector.process import kind_of

__all__ = [
    "OPEN_FLAGS",
    "identity",
    "identity_if_any",
    "make_private_folder",
    "refuse_other_than_files",
    "refuse_strange_folders",
    "require_regular",
    "tighten",
]

#: never through a link in the last place, and never waiting for the other end of a pipe
OPEN_FLAGS: Final = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OTHERS: Final = 0o077
_HINT: Final = (
    "move it away without deleting it, and put the file itself in its place; or restore a backup"
)


def require_regular(held: FileIO, path: str, *, created: bool = False) -> os.stat_result:
    """The status of a descriptor's file; a descriptor of anything else is closed.

    A file that was ``created`` gets mode 0600, whatever the umask.

    Raises:
        StoreError: it is not a regular file.
    """
    try:
        status = os.fstat(held.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{path} is {kind_of(status.st_mode)}, not a file", hint=_HINT)
        if created and stat.S_IMODE(status.st_mode) != 0o600:
            os.fchmod(held.fileno(), 0o600)
    except BaseException:
        held.close()
        raise
    return status


def refuse_strange_folders(root: str, name: str) -> None:
    """Raise when a parent of ``name`` below the root is a link, or not a directory."""
    at = name.find("/")
    while at >= 0:
        path = f"{root}/{name[:at]}"
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(path).st_mode
            if not stat.S_ISDIR(mode):
                raise StoreError(f"{path} is {kind_of(mode)}, not a directory", hint=_HINT)
        at = name.find("/", at + 1)


def refuse_other_than_files(*paths: str) -> None:
    """Raise when one of the paths is a link, a pipe, a device or a directory.

    For files that a library opens, which would follow a link or wait for a pipe.
    """
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # opening it will say why
            continue
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path} is {kind_of(mode)}, not a file", hint=_HINT)


def identity(path: str) -> tuple[int, int] | None:
    """(device, inode) of the file at a path; None when it is missing or cannot be seen."""
    try:
        return identity_if_any(path)
    except OSError:
        return None


def identity_if_any(path: str) -> tuple[int, int] | None:
    """(device, inode) of the file at a path; None when it certainly does not exist.

    Raises:
        OSError: that is unknown.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def make_private_folder(path: str) -> None:
    """Make a directory with mode 0700, whatever the umask."""
    os.mkdir(path, 0o700)
    if stat.S_IMODE(os.lstat(path).st_mode) & 0o777 != 0o700:
        os.chmod(path, 0o700)


def tighten(root: str) -> None:
    """Take all rights to a directory and the files in it from group and others.

    Only files of this user change, and no rights are added.
    """
    open_to_all = False
    for path, status in _everything(root):
        if status.st_uid != os.geteuid() or not status.st_mode & _OTHERS:
            continue
        open_to_all |= bool(status.st_mode & stat.S_IWOTH)
        with contextlib.suppress(OSError):
            os.chmod(path, stat.S_IMODE(status.st_mode) & ~_OTHERS)
    if open_to_all:
        warnings.warn(
            f"until now every user of this machine could change the store at {root}; "
            "run: spector check PATH",
            UserWarning,
            stacklevel=2,
        )


def _everything(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """The directory and every regular file and directory below it; links are not followed."""
    with contextlib.suppress(OSError):
        yield root, os.lstat(root)
    waiting = [root]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                folder = entry.is_dir(follow_symlinks=False)
                if folder:
                    waiting.append(entry.path)
                if folder or entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        yield entry.path, entry.stat(follow_symlinks=False)
