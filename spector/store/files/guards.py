"""Only regular files, only below the root, only for their owner.

A store's directory may have been unpacked from somewhere, or written to by others. So a link, a
pipe or a device in the place of a file is refused instead of followed or waited for, and what
group or others may do with our files is taken back whenever the store is opened for writing.
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
    "OPEN_FLAGS", "identity", "identity_if_any", "make_private_folder",
    "refuse_other_than_files", "refuse_strange_folders", "require_regular", "tighten",
]

#: never through a link in the last place, and never waiting for the other end of a pipe
OPEN_FLAGS: Final = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OTHERS: Final = 0o077
_HINT: Final = (
    "move it away without deleting it, and put the file itself in its place; or restore a backup"
)


def require_regular(held: FileIO, path: str, *, created: bool = False) -> os.stat_result:
    """What is behind a descriptor, which is closed if that is no regular file.

    A file that was ``created`` belongs to its owner alone, whatever the umask.
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
    """Raise when a directory between the root and the file ``name`` is a link, or none."""
    at = name.find("/")
    while at >= 0:
        path = f"{root}/{name[:at]}"
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(path).st_mode
            if not stat.S_ISDIR(mode):
                raise StoreError(f"{path} is {kind_of(mode)}, not a directory", hint=_HINT)
        at = name.find("/", at + 1)


def refuse_other_than_files(*paths: str) -> None:
    """Raise when one of them is there and is a link, a pipe, a device or a directory.

    For files that a library opens for us, which would follow a link, or wait for a pipe.
    """
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # whoever opens it next says why
            continue
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path} is {kind_of(mode)}, not a file", hint=_HINT)


def identity(path: str) -> tuple[int, int] | None:
    """Device and number of the file at a path; None when there is none to be seen."""
    try:
        return identity_if_any(path)
    except OSError:
        return None


def identity_if_any(path: str) -> tuple[int, int] | None:
    """The same, but None only when there certainly is none.

    Raises:
        OSError: that cannot be found out.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def make_private_folder(path: str) -> None:
    """Make a directory for its owner alone, whatever the umask."""
    os.mkdir(path, 0o700)
    if stat.S_IMODE(os.lstat(path).st_mode) & 0o777 != 0o700:
        os.chmod(path, 0o700)


def tighten(root: str) -> None:
    """Take from group and others whatever they may do with the directory and the files in it.

    Only what belongs to this user is touched, and nothing gets rights that it did not have.
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
            f"the store at {root} could be changed by everybody on this machine until now; "
            "run: spector check PATH",
            UserWarning, stacklevel=2,
        )  # fmt: skip


def _everything(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """The directory, and every regular file and directory in it; links are not followed."""
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


