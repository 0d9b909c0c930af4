"""Reading a file around what its disk cannot read."""

from __future__ import annotations

import errno
from typing import Final, Protocol

from spector.errors import StoreError

__all__ = ["read_around", "spans"]

#: an operating system reads whole pages: what one cannot give is lost as a whole
_PAGE: Final = 4096


class _Readable(Protocol):
    def read_at(self, offset: int, length: int) -> bytes: ...

    def size(self) -> int: ...


def read_around(file: _Readable, offset: int, length: int) -> tuple[bytes, list[tuple[int, int]]]:
    """What a range of a file holds up to its end, and the ranges that cannot be read: zeros here.

    A read that meets a bad sector fails, or ends early. So the page that failed is passed over and
    reading goes on behind it, in steps that double.

    Raises:
        StoreError: reading failed for another reason than the disk.
    """
    end = min(offset + length, file.size())
    out = bytearray(max(0, end - offset))
    bad: list[tuple[int, int]] = []
    at, step = offset, length
    while at < end:
        try:
            data = file.read_at(at, min(step, end - at))
        except StoreError as error:
            if error.errno != errno.EIO:
                raise
            behind = min(end, at - at % _PAGE + _PAGE)
            if at + min(step, end - at) > behind:
                step = behind - at
                continue
            start = bad.pop()[0] if bad and bad[-1][1] == at else at
            bad.append((start, behind))
            at, step = behind, _PAGE
            continue
        if not data:  # somebody has cut it off meanwhile
            return bytes(out[: at - offset]), bad
        out[at - offset : at - offset + len(data)] = data
        at, step = at + len(data), min(2 * step, length)
    return bytes(out), bad


def spans(bad: list[tuple[int, int]]) -> str:
    """Ranges of bytes in words."""
    return "bytes " + ", ".join(f"{low} to {high - 1}" for low, high in bad)
