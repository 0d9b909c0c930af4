"""The standard streams of the command: any of them may be closed, full or unreadable."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

from spector.errors import InvalidInputError

__all__ = ["fill_closed", "input_blocks", "input_text", "silence_stdout"]

#: what takes the place of one that is closed: the first two fail when they are used, the third
#: swallows, as there is nobody to tell
_INSTEAD: Final = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
_BLOCK_BYTES: Final = 1 << 20


def fill_closed() -> None:
    """Open what is closed of the three, so that no file of a store gets the number of one.

    Whatever a library writes to a standard stream would go into that file.
    """
    for fd, flags in enumerate(_INSTEAD):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)  # the lowest number that is free
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(os.dup(0))))
    if sys.stdout is None:
        sys.stdout = _writing_to(1)
    if sys.stderr is None:
        sys.stderr = _writing_to(2)


def _writing_to(fd: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(os.dup(fd), "w")), errors="backslashreplace"
    )


def input_text() -> str:
    """All of standard input.

    Raises:
        InvalidInputError: it is closed, or a directory, or not open to read.
    """
    with _told():
        return sys.stdin.read()


def input_blocks() -> Iterator[bytes]:
    """Standard input in blocks; raises as `input_text` does."""
    with _told():
        stream: BinaryIO = sys.stdin.buffer
        while block := stream.read(_BLOCK_BYTES):
            yield block


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"standard input cannot be read: {error.strerror or error}",
            hint="name a file, or pipe the input into the command",
        ) from error


def silence_stdout() -> None:
    """Keep the interpreter from complaining when it flushes a closed pipe at exit."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
