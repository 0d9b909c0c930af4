"""The catalog's write-ahead log: synced on request, copied into the catalog when it is long.

SQLite would copy a long log by itself after a commit, but it hides a sync that fails during the
copy. The next commit would then sync the same file again, which can succeed although the disk has
lost what the first sync should have written. So the copy is requested here, and a failure is an
error.
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

#: a log is copied when it is longer than the catalog, at the latest when it is longer than this
LONG_BYTES = 32 << 20
#: how much further it may grow when it could not start over
_STEP_BYTES: Final = 4 << 20
#: how long a commit then waits for readers of an older moment; most recalls are shorter
_PATIENCE_MS: Final = 50
#: the wait grows with the log, up to this
_MOST_PATIENCE_MS: Final = 2000
LOG_NAME: Final = f"{CATALOG_NAME}-wal"


class Log:
    """The log of a store's catalog; absent in memory and on some file systems."""

    def __init__(self, files: Files, catalog: Catalog) -> None:
        self._files = files
        self._catalog = catalog
        #: a log that could not start over is left alone up to this size
        self._enough = 0
        #: its size at the last look; a shorter log has started over
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
        """The salts that distinguish this log from later ones; None without a log."""
        with contextlib.suppress(StoreNotFoundError):
            log = self._files.open(LOG_NAME, writable=False)
            try:
                return salts_of(log) or None
            finally:
                log.close()
        return None

    def shorten(self) -> None:
        """After a commit: copy a long log, so that the next commit starts it over.

        That needs a moment at which no reader sees an older one. Beside readers that never pause
        such a moment does not come by chance, and the log would grow for ever. So the commit waits
        for them: briefly at first, four times as long when the log is twice as long as it should
        be. Readers that begin meanwhile need no log. After a wait in vain the log grows by a
        quarter before the next attempt. So it starts over in the end unless a reader keeps one
        moment for longer than ``_MOST_PATIENCE_MS``; beside such readers it grows while they last.

        Raises:
            StoreError: the copy failed, and the store with it.
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
        # a log that is copied whole starts over by itself, unless readers of its end prevent that
        if not copied or over >= 2:
            copied = restart_log(self._catalog, _patience_ms(over))
        # a log that starts over is cut and then shorter than this; any other is looked at later
        self._enough = size + (_STEP_BYTES // 4 if copied else max(_STEP_BYTES, size // 4))


def _patience_ms(over: float) -> int:
    """How long to wait for readers when the log is ``over`` times its proper length."""
    return max(_PATIENCE_MS, min(_MOST_PATIENCE_MS, int(_PATIENCE_MS * over**2)))
