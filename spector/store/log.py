"""The catalog's log: made durable when asked for, and copied into the catalog when it is long.

SQLite would copy a long log by itself, after a commit, but it says nothing when a sync fails while
it does. The next commit would then sync the same file again, which can succeed although the disk
has lost what the first sync should have written. So we ask for the copy, and a failure is an error.
"""

from __future__ import annotations

import contextlib
from typing import Final

from spector.errors import StoreNotFoundError
from spector.store.catalog import CATALOG_NAME, MOST_LOG_BYTES, Catalog
from spector.store.files import Files
from spector.store.frames import salts_of
from spector.store.leaving import UNKNOWN_MARKS

__all__ = ["LOG_NAME", "LONG_BYTES", "Log"]

#: a log that has grown beyond this is copied
LONG_BYTES = 32 << 20
#: how much further it may grow when not all of it could be copied
_STEP_BYTES: Final = 4 << 20
LOG_NAME: Final = f"{CATALOG_NAME}-wal"


class Log:
    """The log of a store's catalog. A catalog in memory has none, nor have some file systems."""

    def __init__(self, files: Files, catalog: Catalog) -> None:
        self._files = files
        self._catalog = catalog
        self._enough = LONG_BYTES

    def sync(self) -> None:
        """Make every commit durable."""
        with contextlib.suppress(StoreNotFoundError):
            log = self._files.open(LOG_NAME, writable=False)
            try:
                log.sync()
            finally:
                log.close()

    def salts(self) -> str | None:
        """What tells this log from later ones; None when there is none."""
        with contextlib.suppress(StoreNotFoundError):
            log = self._files.open(LOG_NAME, writable=False)
            try:
                return salts_of(log) or None
            finally:
                log.close()
        return None

    def shorten(self) -> None:
        """After a commit: copy a long log, as far as no reader needs it, so that it begins anew.

        A log that begins anew keeps its size, so only growth says that it has become long again.

        Raises:
            StoreError: it failed, and the store with it.
        """
        if self._catalog.in_memory:
            return
        try:
            size = self._files.size_of(LOG_NAME)
        except StoreNotFoundError:
            return
        if size <= self._enough:
            return
        marks = self._catalog.marks()
        copied = marks is not None and marks != UNKNOWN_MARKS and marks.frames == marks.seen_by_all
        self._enough = (
            min(max(size, LONG_BYTES), MOST_LOG_BYTES) if copied else size + _STEP_BYTES
        )
