"""Reading a file around what its disk cannot read."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final, Protocol

from spector.errors import StoreError

__all__ = ["is_of_disk", "join", "read_around", "spans", "written"]

#: an operating system reads whole pages: what one cannot give is lost as a whole
_PAGE: Final = 4096
#: failures in a row, page by page, before the end of a bad stretch is searched for
_PATIENCE: Final = 16
#: what a disk, its driver or a file system with checksums says of bytes that it has lost
_OF_THE_DISK: Final = {
    getattr(errno, name) for name in (
        "EIO", "ENODATA", "EUCLEAN", "EBADMSG", "EREMOTEIO", "ETIMEDOUT", "EILSEQ",
    ) if hasattr(errno, name)
}


#: a longer stretch that nobody has written to is passed over: zeros that the system makes up take
#: 50 ms to read, and a file can be made longer by terabytes of them in no time
_HOLE: Final = 64 << 20


class _Readable(Protocol):
    def read_at(self, offset: int, length: int) -> bytes: ...

    def size(self) -> int: ...


class _Mapped(Protocol):
    def extent(self, offset: int) -> tuple[int, int] | None: ...

    def size(self) -> int: ...


def written(file: _Mapped) -> Iterator[tuple[int, int]]:
    """(first, end) of the bytes of a file that somebody may have written, in order.

    Between them, and behind the last, are long stretches of zeros that take no room on the disk.
    Shorter ones are part of what they lie between or behind.
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


def read_around(
    file: _Readable, offset: int, length: int, *, within_bad: bool = False
) -> tuple[bytes, list[tuple[int, int]]]:
    """What a range of a file holds up to its end, and the ranges that cannot be read: zeros here.

    A read that meets a bad sector fails, or ends early. So the page that failed is passed over and
    reading goes on behind it, in steps that double. A disk may take seconds for each failure: after
    some in a row (or at once ``within_bad``) the end of the bad stretch is searched for instead.

    Raises:
        StoreError: reading failed for another reason than the disk.
    """
    end = min(offset + length, file.size())
    out = bytearray(max(0, end - offset))
    bad: list[tuple[int, int]] = []
    at, step, failures = offset, length, _PATIENCE if within_bad else 0
    while at < end:
        want = min(step, end - at)
        data = _read(file, at, want)
        if data is None:
            behind = min(end, at - at % _PAGE + _PAGE)
            if at + want > behind and not failures:
                step = behind - at
                continue
            failures += 1
            if failures > _PATIENCE:
                behind = _edge(file, at - at % _PAGE, end)
            bad = join(bad, [(at, behind)])
            at, step = behind, _PAGE
            continue
        if not data:  # somebody has cut it off meanwhile
            return bytes(out[: at - offset]), bad
        out[at - offset : at - offset + len(data)] = data
        at, step, failures = at + len(data), min(2 * step, length), 0
    return bytes(out), bad


def _read(file: _Readable, at: int, length: int) -> bytes | None:
    """Bytes of a file; None where its disk cannot read them."""
    try:
        return file.read_at(at, length)
    except StoreError as error:
        if not is_of_disk(error):
            raise
        return None


def is_of_disk(error: StoreError) -> bool:
    """True for the error of a read that the disk, and not the caller or the system, has failed."""
    return error.errno in _OF_THE_DISK


def _edge(file: _Readable, low: int, end: int) -> int:
    """Where a bad stretch ends that goes on at the page ``low``; ``end`` if it is not seen to end.

    The distance doubles until a page can be read, and halves again between the last that could not
    and that one. Good pages that a long stretch may have within are given up.
    """
    step = _PAGE
    while low + step < end and _read(file, low + step, 1) is None:
        low, step = low + step, 2 * step
    high = min(low + step, (end - 1) // _PAGE * _PAGE)
    if high <= low or (low + step >= end and _read(file, high, 1) is None):
        return end
    while high - low > _PAGE:
        middle = low + (high - low) // _PAGE // 2 * _PAGE
        if _read(file, middle, 1) is None:
            low = middle
        else:
            high = middle
    return high


def join(bad: list[tuple[int, int]], more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges and those behind them, with the ones that touch made one."""
    out = list(bad)
    for low, high in more:
        if out and out[-1][1] == low:
            low = out.pop()[0]
        out.append((low, high))
    return out


def spans(bad: list[tuple[int, int]]) -> str:
    """Ranges of bytes in words."""
    return "bytes " + ", ".join(f"{low} to {high - 1}" for low, high in bad)
