"""Open a file that the user names, if it is a regular one."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from spector.errors import StoreError
from spector.process.resources import held_by_calling

_GIVEN: Final = "save its content in a file, and name that"


def open_given(path: str | os.PathLike[str]) -> int:
    """A descriptor for reading a file that the user names; links to files are followed.

    A pipe, a socket or a device is refused: reading it could block or never end.

    Raises:
        StoreError: it is not a file. OSError: it cannot be opened.
    """
    named = os.fspath(path)
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
    held: list[int] = []
    try:
        mode = os.fstat(held_by_calling(held, os.open, named, flags)).st_mode
        if not stat.S_ISREG(mode):
            raise StoreError(f"{named} is {kind_of(mode)}, not a file", hint=_GIVEN)
    except BaseException as error:
        if held:
            os.close(held[0])
        elif isinstance(error, OSError) and error.errno == errno.ENXIO:  # opening a socket
            raise StoreError(f"{named} is a socket or device, not a file", hint=_GIVEN) from error
        raise
    return held[0]


def kind_of(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a socket or device" if not stat.S_ISREG(mode) else "a file"
