"""Errors of the operating system, as the typed errors that a user can act on."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from spector.errors import (
    StoreError,
    StoreFullError,
    StoreNotFoundError,
    StoreReadOnlyError,
)

__all__ = ["is_missing", "is_time_limit", "translate_os_errors", "typed_os_error"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextlib.contextmanager
def translate_os_errors(action: str, path: str) -> Iterator[None]:
    """Turn an ``OSError`` into the typed error a user can act on."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise typed_os_error(error, action, path) from error


def is_time_limit(error: OSError) -> bool:
    """True for a time limit of the caller's, raised in a signal handler."""
    return isinstance(error, TimeoutError) and error.errno is None


def typed_os_error(error: OSError, action: str, path: str) -> StoreError:
    """The spector error for an ``OSError`` met while doing ``action`` to ``path``.

    Raises:
        TimeoutError: ``error`` is one without a system error number: a signal handler raised it,
            and its time limit is not a fault of the file.
    """
    if is_time_limit(error):
        raise error
    reason = error.strerror or str(error)
    message = f"cannot {action} {path}: {reason}"
    found: StoreError
    if error.errno in _FULL:
        found = StoreFullError(message, hint="free some space, then try again")
    elif error.errno in _DENIED:
        found = StoreReadOnlyError(
            message, hint='check the permissions, or open with mode="r" to read only'
        )
    elif error.errno == errno.ENOENT:
        found = StoreNotFoundError(message, hint="check the path")
    elif error.errno == errno.ELOOP:
        found = StoreError(
            f"cannot {action} {path}: it is a symbolic link",
            hint="move the link away without deleting what it leads to, and put the file itself in"
            " its place; or restore a backup",
        )
    elif error.errno == errno.ENAMETOOLONG:
        found = StoreError(message, hint="choose a shorter name")
    elif error.errno in (errno.EMFILE, errno.ENFILE):
        found = StoreError(message, hint="raise the limit of open files: ulimit -n")
    elif error.errno == errno.ENOMEM:
        found = StoreError(message, hint="memory is short: free some, then try again")
    else:
        found = StoreError(message, hint="run: spector check PATH")
    found.errno = error.errno
    return found


def is_missing(path: str) -> bool:
    """True when a path certainly does not exist; False also when that is unknown."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False
