"""Whether a store can be used: open, closed, inherited by a fork, or failed."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from threading import get_ident

from spector.errors import (
    StoreClosedError,
    StoreError,
    StoreFailedError,
    StoreForkedError,
    StoreFullError,
    StoreReadOnlyError,
    without_frames,
)
from spector.process import Sole

__all__ = ["StoreStatus", "is_unsafe"]

#: the number of no thread
_NO_THREAD = 0


class StoreStatus(Sole):
    """Raises the typed error for a store that cannot be used, and knows why it cannot."""

    def __init__(self, where: str, *, writable: bool) -> None:
        self.where = where
        self.writable = writable
        self._pid = os.getpid()
        self._failed: BaseException | None = None
        #: closing has begun, in the thread of this number; no other thread may begin a call
        self._closing: int | None = None
        self._closed = False
        #: every file, map and index has been released
        self._shut = False

    def ensure_usable(self, *, write: bool = False) -> None:
        """Raise the typed error for a store that was closed, forked or has failed."""
        if self._closed or (self._closing is not None and self._closing != get_ident()):
            raise StoreClosedError(
                f"the store at {self.where} was closed", hint="open it again with spector.open"
            )
        if self.forked:
            raise StoreForkedError(
                f"the store at {self.where} was opened before a fork",
                hint="close it before the fork and open it in the child afterwards, or start the"
                " child without a fork",
            )
        if self._failed is not None:
            cause = str(self._failed) or type(self._failed).__name__  # an interrupt has no words
            raise StoreFailedError(
                f"an earlier write to {self.where} failed: {cause}",
                hint="close this store and open it again; recovery replays what was committed",
            ) from self._failed
        if write and not self.writable:
            raise StoreReadOnlyError(
                f'the store at {self.where} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )

    def fail(self, error: BaseException) -> None:
        """Note that disk and memory may differ; every later call raises."""
        if self._failed is None:
            # without its frames: they refer to this store, which could never be freed
            self._failed = without_frames(error)

    @contextlib.contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Fail the store when work beside a transaction leaves the catalog in doubt."""
        try:
            yield
        except BaseException as error:
            if is_unsafe(error):
                self.fail(error)
            raise

    @property
    def failed(self) -> bool:
        return self._failed is not None

    @property
    def forked(self) -> bool:
        """True in a child of the process that opened the store."""
        return os.getpid() != self._pid

    @property
    def is_open(self) -> bool:
        """False once closed, and in a process that was forked from the one that opened it."""
        return not self._closed and os.getpid() == self._pid

    @property
    def is_shut(self) -> bool:
        """True when closing has released everything, or this process had nothing to release."""
        return self._shut or self.forked

    def refuse_calls(self, *, own: bool = False) -> None:
        """Let only this thread, which is about to close the store, begin a call from now on.

        With ``own`` not even this one: it closes the store later, at the end of its call.
        """
        if not self.forked:
            self._closing = _NO_THREAD if own else get_ident()


def is_unsafe(error: BaseException) -> bool:
    """True when a failed transaction may have left the catalog's own state in doubt.

    A full disk rolls back cleanly, and so do too many open files, a busy catalog and every mistake
    of the caller. An I/O error from SQLite or from a partition's sync does not: the next read may
    see what the disk never got.
    """
    if not isinstance(error, StoreError) or isinstance(error, (StoreFullError, StoreReadOnlyError)):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        return code is None or code & 0xFF != sqlite3.SQLITE_BUSY
    return isinstance(cause, OSError) and cause.errno not in {errno.EMFILE, errno.ENFILE}
