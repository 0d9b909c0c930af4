"""Recognize a shortage of memory in the errors of libraries.

A library that cannot be mapped raises an ImportError, a thread without a stack a RuntimeError, a
map of a file an OSError. Taken for a missing package or a damaged file, they would send the user to
repair something that is whole.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

__all__ = ["is_short_of_memory", "said_as_memory_error"]

_WORDS = (
    "failed to map segment",
    "cannot allocate memory",
    "bad alloc",
    "bad_alloc",
    "out of memory",
    "cannot create shared object descriptor",
    "can't start new thread",
    # how CPython 3.11 reports an import for which there is no memory
    "error return without exception set",
)


def is_short_of_memory(error: BaseException) -> bool:
    """True for an error that means that the process gets no more memory."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    said = str(error).lower()
    return any(words in said for words in _WORDS)


@contextlib.contextmanager
def said_as_memory_error() -> Iterator[None]:
    """Raise a MemoryError where loading a library fails for lack of memory."""
    try:
        yield
    except (ImportError, OSError, SystemError) as error:
        if not is_short_of_memory(error):
            raise
        raise MemoryError(f"too little memory: {error}") from error
