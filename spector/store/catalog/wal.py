"""The catalog's log: made durable when asked for, and copied into the catalog when it is long.

SQLite would copy a long log by itself, after a commit, but it says nothing when a sync fails while
it does. The next commit would then sync the same file again, which can succeed although the disk
has lost what the first sync should have written. So we ask for the copy, and a failure is an error.
"""

from __future__ import annotations

import contextlib
from typing import Final

from spector.errors import StoreNotFoundError
from spector.store.catalog.catalog import Catalog
from spector.store.catalog.schema import CATALOG_NAME
from spector.store.files import Files
from spector.store.sqlite import (
    LEAST_LOG_BYTES,
    UNKNOWN_MARKS,
    copy_log,
    limit_log,
    restart_log,
    salts_of,
)

__all__ = ["LOG_NAME", "LONG_BYTES", "Log"]

#: a log that has grown beyond the catalog, or at most beyond this, is copied
LONG_BYTES = 32 << 20
#: how much further it may grow when it could not begin anew
_STEP_BYTES: Final = 4 << 20
#: how long a commit then waits for readers who look at an older moment; most recalls are shorter
_PATIENCE_MS: Final = 50
#: beside readers who look longer it waits longer, the longer the log, up to this
_MOST_PATIENCE_MS: Final = 2000
LOG_NAME: Final = f"{CATALOG_NAME}-wal"


class Log:
    """The log of a store's catalog. A catalog in memory has none, nor have some file systems."""

    def __init__(self, files: Files, catalog: Catalog) -> None:
        self._files = files
        self._catalog = catalog
        #: a log that could not begin anew is left alone up to this size
        self._enough = 0
        #: as seen last; one that is shorter has begun anew
        self._size = 0

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
        """After a commit: copy a long log, so that the next commit begins it anew.

        That needs a moment in which no reader looks at an older one. Beside readers who never pause
        there is none by chance, and the log would grow for ever. So they are waited for, a little
        at first, and four times as long when the log is twice as long as it should be; those who
        begin meanwhile need no log. Where that was in vain, the log grows by a quarter before the
        next attempt. So it begins anew at last if no reader looks at one moment for longer than
        ``_MOST_PATIENCE_MS``; beside those who do it grows as long as they take turns.

        Raises:
            StoreError: it failed, and the store with it.
        """
        if self._catalog.in_memory:
            return
        least = min(LEAST_LOG_BYTES, LONG_BYTES)
        try:
            size, before = self._files.size_of(LOG_NAME), self._size
            self._size = size
            if size < before:
                self._enough = 0
            if size <= max(least, self._enough):
                return
            long = max(least, min(self._files.size_of(CATALOG_NAME), LONG_BYTES))
        except StoreNotFoundError:
            return
        if size <= long:
            return
        limit_log(self._catalog, long)
        marks = copy_log(self._catalog)
        copied = marks is not None and marks != UNKNOWN_MARKS and marks.frames == marks.seen_by_all
        over = size / max(1, long)
        # one that is all copied begins anew by itself, unless readers of its end keep it from that
        if not copied or over >= 2:
            copied = restart_log(self._catalog, _patience_ms(over))
        # one that begins anew is cut, and then shorter than this; else it is looked at later
        self._enough = size + (_STEP_BYTES // 4 if copied else max(_STEP_BYTES, size // 4))


def _patience_ms(over: float) -> int:
    """How long to wait for readers when the log is so many times as long as it should be."""
    return max(_PATIENCE_MS, min(_MOST_PATIENCE_MS, int(_PATIENCE_MS * over**2)))
