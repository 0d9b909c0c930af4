"""Standard streams of the command, any of which may be closed, full or unreadable."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

from spector.errors import InvalidInputError

__all__ = ["fill_closed", "input_blocks", "input_text", "silence_stdout"]

#: flags of the replacements of closed streams: stdin and stdout fail when they are used, stderr
#: discards its output
_INSTEAD: Final = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
_BLOCK_BYTES: Final = 1 << 20


def fill_closed() -> None:
    """Open closed standard streams, so that no file of a store gets their numbers.

    A library that writes to a standard stream would otherwise write into that file.
    """
    for fd, flags in enumerate(_INSTEAD):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number
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
    """Return all of standard input.

    Raises:
        InvalidInputError: it is closed, a directory, or not open for reading.
    """
    with _reading_input():
        return sys.stdin.read()


def input_blocks() -> Iterator[bytes]:
    """Standard input in blocks; raises as `input_text` does."""
    with _reading_input():
        stream: BinaryIO = sys.stdin.buffer
        while block := stream.read(_BLOCK_BYTES):
            yield block


@contextlib.contextmanager
def _reading_input() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"standard input cannot be read: {error.strerror or error}",
            hint="name a file, or pipe input into the command",
        ) from error


def silence_stdout() -> None:
    """Keep the interpreter from reporting an error when it flushes a closed pipe at exit."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
