"""Merge a copy of a write-ahead log into a copy of its catalog, beyond what SQLite would read.

SQLite drops everything after the first damaged frame of its log. But each frame's checksum
continues from the one stored before it, so every later frame can be verified by itself, and a page
that a later frame has again is not lost. So the newest image of each page goes into the copy of the
catalog; the image that it replaces stays in the copy of the log, where it can be searched.

A power cut leaves a torn end, too: parts of one transaction that was never acknowledged. If only
such a part follows the damage, the copy stays as SQLite would read it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.store.catalog import CATALOG_NAME
from spector.store.files import DiskFiles, File
from spector.store.sqlite import read_frames, read_head

__all__ = ["LOG_COPY", "Merged", "merge"]

#: the copy of the log, under a name that SQLite ignores
LOG_COPY: Final = f"{CATALOG_NAME}.old"
_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_DEFAULT_PAGE: Final = 4096
_Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Merged:
    """The result of merging a log."""

    page_bytes: int = _DEFAULT_PAGE
    #: byte of the first frame that SQLite would drop although commits follow
    damaged_at: int | None = None
    #: commits after that place
    commits: int = 0
    #: no commit is missing, as far as the log can tell
    exact: bool = True
    #: numbers of the pages of which the log had images, the last written first
    newest: list[int] = field(default_factory=list)
    #: (offset in ``LOG_COPY``, page number) of replaced images, newest first
    older: list[tuple[int, int]] = field(default_factory=list)


def merge(scratch: DiskFiles, unread: Sequence[tuple[int, int]]) -> Merged:
    """Merge the copies in ``scratch``; ``unread`` are byte ranges of the log that read as zeros.

    Nothing is changed without a log, or with one that makes no sense.
    """
    name = f"{CATALOG_NAME}-wal"
    if not scratch.exists(name):
        return Merged()
    create = not scratch.exists(CATALOG_NAME)
    with (
        contextlib.closing(scratch.open(name)) as log,
        contextlib.closing(scratch.open(CATALOG_NAME, create=create)) as catalog,
    ):
        out = Merged(page_bytes=_page_bytes(catalog, log))
        work = _Merge(catalog, log, unread, out)
        work.run()
        out.exact = out.exact and not (create and log.size())
    scratch.replace(name, LOG_COPY)
    return out


def _page_bytes(catalog: File, log: File) -> int:
    said = [int.from_bytes(log.read_at(8, 4), "big"), int.from_bytes(catalog.read_at(16, 2), "big")]
    said = [65_536 if size == 1 else size for size in said]
    return next((s for s in said if s in {1 << n for n in range(9, 17)}), _DEFAULT_PAGE)


class _Merge:
    def __init__(
        self, catalog: File, log: File, unread: Sequence[tuple[int, int]], out: Merged
    ) -> None:
        self._catalog, self._log, self._unread, self._out = catalog, log, unread, out
        self._size = _FRAME_HEAD + out.page_bytes
        head = log.read_at(0, _HEAD)
        self._sound, order, salts = read_head(head)
        found = read_frames(log, head, out.page_bytes, order, salts if self._sound else None)
        self._heads, self._linked = found.heads, found.linked
        if not self._sound:
            salts = _likely_salts(self._heads["salts"])
        self._fit: _Flags = (self._heads["page"] != 0) & (self._heads["salts"] == salts)
        self._commit: _Flags = self._fit & (self._heads["size_after"] != 0)

    def run(self) -> None:
        shown, out = self._shown(), self._out
        behind = np.flatnonzero(self._commit)
        behind = behind[behind >= shown]
        end = int(behind[-1]) + 1 if len(behind) else shown
        out.exact = not self._is_cut(end)
        unpaired: list[int] = []
        if end > shown:
            out.damaged_at, out.commits = self._damaged_at(shown), len(behind)
            if not self._is_whole(shown, end):
                out.exact = False
                if len(behind) == 1:
                    unpaired, end = [n for n in range(shown, end) if self._fit[n]], shown
        self._write([n for n in range(end) if self._fit[n]], unpaired)

    def _shown(self) -> int:
        """How many frames SQLite would read."""
        if not self._sound:  # it takes the log for an empty one
            return 0
        whole = self._fit & self._linked
        valid = len(whole) if whole.all() else int(np.argmin(whole))
        ends = np.flatnonzero(self._commit[:valid])
        return int(ends[-1]) + 1 if len(ends) else 0

    def _damaged_at(self, shown: int) -> int:
        broken = ~(self._fit & self._linked)
        broken[:shown] = False
        first = int(np.argmax(broken)) if broken.any() else shown
        return _HEAD + first * self._size if self._sound else 0

    def _is_whole(self, shown: int, end: int) -> bool:
        """True when the newest image of each page of these frames has a correct checksum."""
        newest: dict[int, bool] = {}
        for n in range(shown, end):
            if not self._fit[n]:  # its page number is unknown
                return False
            newest[int(self._heads["page"][n])] = bool(self._linked[n])
        return all(newest.values())

    def _is_cut(self, end: int) -> bool:
        """True when the disk cannot read what follows, which may be more of the log."""
        for n in range(end, len(self._fit) + 1):
            low = _HEAD + n * self._size
            if any(a < low + self._size and low < b for a, b in self._unread):
                return True
            if n < len(self._fit) and not self._fit[n]:
                return False
        return False

    def _write(self, frames: list[int], unpaired: list[int]) -> None:
        """Swap the newest image of each page with what the catalog has in its place."""
        heads, size, out = self._heads, self._out.page_bytes, self._out
        # a catalog grows by no more pages than were written
        most = self._catalog.size() // size + len(heads)
        newest = {int(heads["page"][n]): n for n in frames if heads["page"][n] <= most}
        out.older = [
            (self._at(n), int(heads["page"][n]))
            for n in (*reversed(unpaired), *reversed(frames))
            if newest.get(int(heads["page"][n])) != n
        ]
        out.newest = sorted(newest, key=lambda page: -newest[page])
        for page, n in newest.items():
            old = self._catalog.read_at((page - 1) * size, size)
            self._catalog.extend(page * size)
            self._catalog.write_at((page - 1) * size, self._log.read_at(self._at(n), size))
            if len(old) == size:
                self._log.write_at(self._at(n), old)
                out.older.append((self._at(n), page))
        sizes = [int(heads["size_after"][n]) for n in frames if self._commit[n]]
        self._settle_header(sizes[-1] if sizes and sizes[-1] <= most else 0)

    def _at(self, n: int) -> int:
        return _HEAD + n * self._size + _FRAME_HEAD

    def _settle_header(self, pages: int) -> None:
        """Write the header for a database without a log, with the page count of the last commit."""
        head = bytearray(self._catalog.read_at(0, 100))
        if not head.startswith(b"SQLite format 3\0"):
            return
        head[18:20] = b"\x01\x01"
        if pages:
            head[28:32] = pages.to_bytes(4, "big")
            head[92:96] = head[24:28]
        self._catalog.write_at(0, bytes(head))


def _likely_salts(salts: NDArray[np.uint64]) -> int:
    """The salts of most frames, for a log whose header is damaged; 0 without frames."""
    if not len(salts):
        return 0
    values, counts = np.unique(salts, return_counts=True)
    return int(values[np.argmax(counts)])
