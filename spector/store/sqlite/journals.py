"""Refuse files beside a catalog that would damage it once SQLite opens it.

SQLite rolls a database back with any journal that it finds beside it, before it reads anything
else. A catalog is in write-ahead mode from its first page on, so it has a journal of its own at one
moment only: while that first page is written. A process that was killed then leaves a catalog
without content and a journal that says so. Every other journal came from outside, with a copy of
the store or by another program, and would put pages of another moment into a complete catalog.

Beside a database without a single page SQLite deletes the log, even when it only reads. So a
catalog that was truncated to nothing would lose the commits in its log.
"""

from __future__ import annotations

import os
from typing import Final

from spector.errors import CatalogCorruptError
from spector.store.files import OPEN_FLAGS, open_descriptor

__all__ = ["has_journal", "refuse_harm"]

_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
#: the largest page that SQLite has
_MOST_PAGE_BYTES: Final = 1 << 16
#: up to the number of pages that the database had before, at byte 16, and their size, at byte 24
_HEAD_BYTES: Final = 28


def has_journal(path: str) -> bool:
    """Whether SQLite would roll the catalog at ``path`` back when it opens it for writing."""
    return bool(_start(f"{path}-journal", 1).strip(b"\0"))


def refuse_harm(path: str) -> None:
    """Raise when SQLite would lose something by opening the catalog at ``path``, even to read it.

    Nothing is changed. The remains of a creation that was killed look alike but hold nothing to
    lose, and pass.

    Raises:
        CatalogCorruptError: a journal beside it is not that of its own creation, or it is empty
            and its log has commits.
    """
    if not _size(path, absent=-1) and _size(f"{path}-wal") and _has_partitions(path):
        raise CatalogCorruptError(
            f"{path} is empty; what is left of it is in {path}-wal, which SQLite would delete",
            hint="salvage what there is: spector check PATH --repair DEST; or restore a backup",
        )
    # a journal that is empty or begins with a zero byte is ignored, so this costs one lstat
    if not has_journal(path) or _is_of_creation(path):
        return
    raise CatalogCorruptError(
        f"{path}-journal is not of this catalog's creation, and SQLite would roll the catalog back"
        " with it",
        hint="move it out of the directory and keep it, then run: spector check PATH; if another"
        " program was changing the catalog, restore a backup, or salvage what there is: spector"
        " check PATH --repair DEST",
    )


def _is_of_creation(path: str) -> bool:
    """Whether the catalog has no content yet that a rollback could remove.

    The catalog itself is not opened: closing it would drop SQLite's locks.
    """
    head = _start(f"{path}-journal", _HEAD_BYTES)
    most = _MOST_PAGE_BYTES
    if len(head) == _HEAD_BYTES and head.startswith(_MAGIC):
        if any(head[16:20]):  # the database had pages before
            return False
        most = min(most, int.from_bytes(head[24:28], "big"))
    if _size(path) > most:
        return False
    # commits may still be in the log alone; partitions are created before the commit
    return not _size(f"{path}-wal") or not _has_partitions(path)


def _has_partitions(path: str) -> bool:
    folders = os.walk(os.path.dirname(path))
    return any(name.endswith(".mem") for _, _, names in folders for name in names)


def _start(path: str, count: int) -> bytes:
    """The first bytes of a regular file; none if it is not there or cannot be read."""
    try:
        if not os.lstat(path).st_size:
            return b""
        held = open_descriptor(path, OPEN_FLAGS | os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.pread(held.fileno(), count, 0)
    except OSError:
        return b""
    finally:
        held.close()


def _size(path: str, *, absent: int = 0) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return absent
