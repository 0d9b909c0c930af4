"""File descriptors that an interrupt neither loses nor closes twice."""

from __future__ import annotations

import os
from io import FileIO

from spector.process import held_by_calling

__all__ = ["open_descriptor"]


def open_descriptor(path: str, flags: int, mode: int = 0o600) -> FileIO:
    """Open a file; the returned object closes the descriptor when it is dropped.

    It does so in C, where no signal is handled, unlike in a ``__del__``.

    Raises:
        OSError
    """
    numbers: list[int] = []
    files: list[FileIO] = []
    try:
        held_by_calling(numbers, os.open, path, flags, mode)
        return held_by_calling(files, FileIO, numbers[0])
    except BaseException:
        if files:
            files[0].close()
        elif numbers:
            os.close(numbers[0])
        raise
