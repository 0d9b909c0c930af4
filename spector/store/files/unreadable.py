"""What the disk cannot read of a store's files, as a check tells it: one finding a stretch.

A bad sector would otherwise be told once for each record behind it, and by every question that
SQLite is asked. Here the files are read by calls, around what is bad: no map is touched, in which
the same sector would end the process.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spector.errors import StoreError
from spector.store.files.bad_sectors import is_of_disk, join, read_around, written
from spector.store.files.files import File, Files

__all__ = [
    "Raw", "Stretch", "first_bytes", "is_io_error", "name_some", "read_file", "read_raw",
    "unread_in",
]

_BLOCK_BYTES: Final = 1 << 20
#: so many memories are named in a message; ``Problem.ids`` has all of them
_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes ``low`` to ``high`` - 1 of a file, and what the disk said of them."""

    file: str
    low: int
    high: int
    why: str

    def __str__(self) -> str:
        return f"bytes {self.low} to {self.high - 1} cannot be read from the disk ({self.why})"


@dataclass(frozen=True, slots=True)
class Raw:
    """The first bytes of a file as far as they are there; zeros where the disk cannot read them."""

    data: bytes
    #: of the whole file
    size: int
    bad: tuple[Stretch, ...] = ()


class _Noting:
    """A file that remembers what its disk said when it last failed."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.why = ""

    def size(self) -> int:
        return self._file.size()

    def extent(self, offset: int) -> tuple[int, int] | None:
        return self._file.extent(offset)

    def read_at(self, offset: int, length: int) -> bytes:
        try:
            return bytes(self._file.read_at(offset, length))
        except StoreError as error:
            self.why = errno.errorcode.get(error.errno or 0, "")
            raise


def read_raw(files: Files, name: str, length: int) -> Raw:
    """The first ``length`` bytes of a file, around what the disk cannot read.

    Raises:
        StoreError: there is no such file, or it cannot be read for another reason.
    """
    file = files.open(name, writable=False)
    try:
        noting, bad = _Noting(file), list[tuple[int, int]]()
        data = b"".join(_blocks(noting, 0, length, bad))
        return Raw(data, file.size(), _stretches(name, bad, noting))
    finally:
        file.close()


def read_file(files: Files, name: str, *, most: int) -> bytearray:
    """All of a derived file, through calls and not through a map.

    It is read as long as it is when it is opened: a writer may put another one in its place.

    Raises:
        StoreError: some of it cannot be read, or it has more than ``most`` bytes.
    """
    file = files.open(name, writable=False)
    try:
        noting, bad = _Noting(file), list[tuple[int, int]]()
        size, at = file.size(), 0
        if size > most:
            raise StoreError(
                f"{size} bytes, where there can be {most} at most",
                hint="delete it: it is derived, and built anew",
            )
        data = bytearray(size)
        for block in _blocks(noting, 0, size, bad):
            data[at : at + len(block)] = block
            at += len(block)
    finally:
        file.close()
    if bad:
        first = _stretches(name, bad, noting)[0]
        raise StoreError(str(first), hint="delete it: it is derived, and built anew")
    del data[at:]
    return data


def first_bytes(files: Files, name: str, count: int) -> bytes:
    """What a file begins with; fewer bytes of a shorter one.

    Raises:
        StoreError: it is not there, is no file, or cannot be read.
    """
    file = files.open(name, writable=False)
    try:
        return bytes(file.read_at(0, count))
    finally:
        file.close()


def _blocks(
    file: _Noting, at: int, end: int, bad: list[tuple[int, int]]
) -> Iterator[bytes]:
    """A file from ``at`` up to ``end``; ``bad`` is filled on the way."""
    while at < end:
        within = bool(bad) and bad[-1][1] == at
        block, unread = read_around(file, at, min(_BLOCK_BYTES, end - at), within_bad=within)
        if not block:
            return
        bad[:] = join(bad, unread)
        at += len(block)
        yield block


def _stretches(
    name: str, bad: Sequence[tuple[int, int]], file: _Noting
) -> tuple[Stretch, ...]:
    return tuple(Stretch(name, low, high, file.why) for low, high in bad)


def unread_in(name: str, file: File) -> tuple[Stretch, ...]:
    """What the disk cannot read of all that was written to an open file."""
    noting, bad = _Noting(file), list[tuple[int, int]]()
    for low, high in written(file):
        for _ in _blocks(noting, low, high, bad):
            pass
    return _stretches(name, bad, noting)


def name_some(ids: Sequence[int]) -> str:
    """``2 memories (7, 9)``; of many the first ones."""
    shown = ", ".join(map(str, ids[:_NAMED]))
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{len(ids)} memor{'y' if len(ids) == 1 else 'ies'} ({shown}{more})"


def is_io_error(error: BaseException | None) -> bool:
    """True for what SQLite, or a read of ours, says of a disk that cannot read.

    SQLite takes a page that its disk fails to read for a malformed one, too.
    """
    while error is not None:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.Error) and code is not None:
            return code & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT)
        if isinstance(error, StoreError) and is_of_disk(error):
            return True
        error = error.__cause__
    return False
