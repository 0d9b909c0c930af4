"""Reading a file around what its disk cannot read: one finding for each bad stretch.

Files are read by calls. A map of a file would end the process at a sector that cannot be read, and
SQLite would report it once for each question, a check once for each record behind it.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spector.errors import StoreError
from spector.store.files.protocol import File, Files

#: operating systems read whole pages: a page with a bad sector is lost as a whole
_PAGE: Final = 4096
#: consecutive failures, page by page, before the end of a bad stretch is searched for
_PATIENCE: Final = 16
#: errors of a disk, a driver or a file system with checksums that has lost bytes
_OF_THE_DISK: Final = {
    getattr(errno, name)
    for name in "EIO ENODATA EUCLEAN EBADMSG EREMOTEIO ETIMEDOUT EILSEQ".split()
    if hasattr(errno, name)
}
_BLOCK_BYTES: Final = 1 << 20
#: memories that a message names; ``Problem.ids`` has all of them
_NAMED: Final = 8
#: longer holes are skipped: 64 MiB of zeros take 50 ms to read, and a file can be extended by
#: terabytes of them in no time
_HOLE: Final = 64 << 20


class Unread(list[tuple[int, int]]):
    """Ranges of a file that its disk cannot read, by ascending offset."""

    #: name of the last error of the disk
    why = ""


def written_ranges(file: File) -> Iterator[tuple[int, int]]:
    """(first, end) of the written ranges of a file, in order.

    Long holes lie between and after them. Shorter holes are part of a range.
    """
    low, high = 0, 0
    while (found := file.extent(high)) is not None:
        first, end = found
        if first - high > _HOLE:
            if high > low:
                yield low, high
            low = first
        high = end
    size = file.size()
    if 0 <= size - high <= _HOLE:
        high = size
    if high > low:
        yield low, high


def written_end(file: File) -> int:
    """Where the first long hole of a file begins, or the file ends."""
    return next((high for low, high in written_ranges(file) if not low), 0)


def read_around(
    file: File, offset: int, length: int, *, within_bad: bool = False
) -> tuple[bytes, Unread]:
    """(bytes of a range up to the end of the file, unreadable ranges, which are zeros in them).

    A read that meets a bad sector fails or ends early. The failed page is skipped, and reading goes
    on after it in steps that double. A disk may take seconds for each failure, so after several in
    a row (or at once ``within_bad``) the end of the bad stretch is searched for instead.

    Raises:
        StoreError: reading failed for another reason than the disk.
    """
    end = min(offset + length, file.size())
    out = bytearray(max(0, end - offset))
    bad = Unread()
    at, step, failures = offset, length, _PATIENCE if within_bad else 0
    while at < end:
        want = min(step, end - at)
        data = _read(file, at, want, bad)
        if data is None:
            behind = min(end, at - at % _PAGE + _PAGE)
            if at + want > behind and not failures:
                step = behind - at
                continue
            failures += 1
            if failures > _PATIENCE:
                behind = _edge(file, at - at % _PAGE, end, bad)
            bad[:] = join_ranges(bad, [(at, behind)])
            at, step = behind, _PAGE
            continue
        if not data:  # it has just been truncated
            return bytes(out[: at - offset]), bad
        out[at - offset : at - offset + len(data)] = data
        at, step, failures = at + len(data), min(2 * step, length), 0
    return bytes(out), bad


def _read(file: File, at: int, length: int, bad: Unread) -> bytes | None:
    """Bytes of a file; None where its disk cannot read them, for the reason in ``bad``."""
    try:
        return file.read_at(at, length)
    except StoreError as error:
        if not is_of_disk(error):
            raise
        bad.why = errno.errorcode.get(error.errno or 0, "")
        return None


def is_of_disk(error: StoreError) -> bool:
    """True for a read error of the disk, not of the caller or the system."""
    return error.errno in _OF_THE_DISK


def _edge(file: File, low: int, end: int, bad: Unread) -> int:
    """The end of a bad stretch that includes the page ``low``; ``end`` if no end is found.

    The distance doubles until a page can be read, then a binary search finds the edge. Good pages
    within a long stretch are given up.
    """
    step = _PAGE
    while low + step < end and _read(file, low + step, 1, bad) is None:
        low, step = low + step, 2 * step
    high = min(low + step, (end - 1) // _PAGE * _PAGE)
    if high <= low or (low + step >= end and _read(file, high, 1, bad) is None):
        return end
    while high - low > _PAGE:
        middle = low + (high - low) // _PAGE // 2 * _PAGE
        if _read(file, middle, 1, bad) is None:
            low = middle
        else:
            high = middle
    return high


def join_ranges(bad: list[tuple[int, int]], more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Append ranges to ranges, merging those that touch."""
    out = list(bad)
    for low, high in more:
        if out and out[-1][1] == low:
            low = out.pop()[0]
        out.append((low, high))
    return out


def describe_ranges(bad: list[tuple[int, int]]) -> str:
    """Ranges of bytes in words."""
    return "bytes " + ", ".join(f"{low} to {high - 1}" for low, high in bad)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes ``low`` to ``high`` - 1 of a file, and the error of the disk."""

    file: str
    low: int
    high: int
    why: str

    def __str__(self) -> str:
        return f"bytes {self.low} to {self.high - 1} cannot be read from the disk ({self.why})"


@dataclass(frozen=True, slots=True)
class Raw:
    """The first bytes of a file, as many as exist; zeros where the disk cannot read them."""

    data: bytes
    #: bytes of the whole file
    size: int
    bad: tuple[Stretch, ...] = ()


def read_raw(files: Files, name: str, length: int) -> Raw:
    """The first ``length`` bytes of a file, reading around bad sectors.

    Raises:
        StoreError: there is no such file, or it cannot be read for another reason.
    """
    with contextlib.closing(files.open(name, writable=False)) as file:
        bad = Unread()
        data = b"".join(blocks_of(file, 0, length, bad))
        return Raw(data, file.size(), _stretches(name, bad))


def read_file(files: Files, name: str, *, most: int) -> bytes:
    """All of a derived file, by calls and not through a map.

    Raises:
        StoreError: some of it cannot be read, or it has more than ``most`` bytes.
    """
    raw = read_raw(files, name, most)
    problem = str(raw.bad[0]) if raw.bad else ""
    if raw.size > most:
        problem = f"{raw.size} bytes, where there can be {most} at most"
    if problem:
        raise StoreError(problem, hint="delete it: it is derived and will be rebuilt")
    return raw.data


def first_bytes(files: Files, name: str, count: int) -> bytes:
    """The first bytes of a file; fewer of a shorter one.

    Raises:
        StoreError: it does not exist, is not a file, or cannot be read.
    """
    with contextlib.closing(files.open(name, writable=False)) as file:
        return bytes(file.read_at(0, count))


def blocks_of(file: File, at: int, end: int, bad: Unread) -> Iterator[bytes]:
    """The blocks of a file from ``at`` to ``end``; appends unreadable ranges to ``bad``."""
    while at < end:
        within = bool(bad) and bad[-1][1] == at
        block, unread = read_around(file, at, min(_BLOCK_BYTES, end - at), within_bad=within)
        bad.why = unread.why or bad.why
        if not block:
            return
        bad[:] = join_ranges(bad, unread)
        at += len(block)
        yield block


def _stretches(name: str, bad: Unread) -> tuple[Stretch, ...]:
    return tuple(Stretch(name, low, high, bad.why) for low, high in bad)


def unreadable_stretches(name: str, file: File) -> tuple[Stretch, ...]:
    """The unreadable stretches among the written ranges of an open file."""
    bad = Unread()
    for low, high in written_ranges(file):
        for _ in blocks_of(file, low, high, bad):
            pass
    return _stretches(name, bad)


def name_some(ids: Sequence[int]) -> str:
    """``2 memories (7, 9)``; names only the first of many."""
    shown = ", ".join(map(str, ids[:_NAMED]))
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{len(ids)} memor{'y' if len(ids) == 1 else 'ies'} ({shown}{more})"


def is_io_error(error: BaseException | None) -> bool:
    """True for an error of SQLite or of a read that a bad disk explains.

    SQLite also takes a page that the disk fails to read for a malformed one.
    """
    while error is not None:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.Error) and code is not None:
            return code & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT)
        if isinstance(error, StoreError) and is_of_disk(error):
            return True
        error = error.__cause__
    return False
