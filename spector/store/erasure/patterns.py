"""Search for many byte strings in one pass over many gigabytes.

A text of 100 KB has three thousand pieces of 32 bytes; as Python objects they would take forty
times their size. So these are kept in sorted arrays, and only the few shorter pieces as objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_BYTES", "PIECE_BYTES", "Finder", "Pieces", "cut"]

PIECE_BYTES: Final = 32
#: shorter pieces are found everywhere
LEAST_BYTES: Final = 6
#: pieces taken of one value at most, evenly spaced: all of a mebibyte
_MOST_PIECES: Final = 1 << 15
#: offsets of the 4-byte words that are hashed: four of a whole piece, two of a shorter one
_LONG_STEPS: Final = (0, 9, 18, PIECE_BYTES - 4)
_SHORT_STEPS: Final = (0, LEAST_BYTES - 4)
#: odd multipliers, from the golden ratio and MurmurHash3; any others would do
_ODD: Final = tuple(map(np.uint32, (2_654_435_761, 0xCC9E2D51, 0x1B873593, 0xE6546B65 | 1)))
#: least and largest size of a table, in bits; the number of pieces decides: 32 MiB at most
_LEAST_HASH_BITS: Final = 16
_MOST_HASH_BITS: Final = 25
#: candidates that match nothing before the tables are rebuilt
_MOST_IN_VAIN: Final = 4096
#: candidates of one block that are compared at once
_PLACES_AT_ONCE: Final = 1 << 16
#: the owner of a piece that belongs to no memory
_NO_OWNER: Final = -1

#: a piece of 32 bytes; numpy compares such strings bytewise and pads shorter ones with zeros
_WHOLE: Final = f"S{PIECE_BYTES}"
_Whole = NDArray[np.bytes_]


class Pieces:
    """The pieces to search for, each with its kind and the memories that own it."""

    def __init__(self) -> None:
        self._names: list[str] = []
        #: pieces of 32 bytes, with kinds and owners, in the order in which they were added
        self._whole = bytearray()
        self._kinds, self._owners = array("B"), array("q")
        #: on demand: the same sorted without duplicates, and where the owners of each piece begin
        self._sorted: tuple[_Whole, NDArray[np.int64]] | None = None
        #: shorter piece -> kind, and -> owners: most have one
        self._other: dict[bytes, int] = {}
        self._owners_of_other: dict[bytes, int | list[int]] = {}

    def add(self, piece: bytes, kind: str, owner: int | None = None) -> None:
        """Add a piece; of one that is added again, the first kind and all owners count."""
        if kind not in self._names:
            self._names.append(kind)
        number = self._names.index(kind)
        if len(piece) == PIECE_BYTES:
            assert self._sorted is None, "pieces are added before they are looked for"
            self._whole += piece
            self._kinds.append(number)
            self._owners.append(_NO_OWNER if owner is None else owner)
            return
        self._other.setdefault(piece, number)
        if owner is not None and self._owners_of_other.setdefault(piece, owner) != owner:
            before = self._owners_of_other[piece]
            also = before if isinstance(before, list) else [before]
            self._owners_of_other[piece] = also
            also.append(owner)

    def __len__(self) -> int:
        return len(self._sort()[0]) + len(self._other)

    def kind(self, piece: bytes) -> str:
        if len(piece) != PIECE_BYTES:
            return self._names[self._other[piece]]
        rows, starts = self._sort()
        return self._names[self._kinds[int(starts[_index(rows, piece)])]]

    def owners(self, piece: bytes) -> list[int]:
        """The ids of the memories that own a piece."""
        if len(piece) != PIECE_BYTES:
            found = self._owners_of_other.get(piece, [])
            return found if isinstance(found, list) else [found]
        rows, starts = self._sort()
        n = _index(rows, piece)
        return [owner for owner in self._owners[starts[n] : starts[n + 1]] if owner != _NO_OWNER]

    def finder(self) -> Finder:
        return Finder(self._other, self._sort()[0])

    def _sort(self) -> tuple[_Whole, NDArray[np.int64]]:
        if self._sorted is None:
            rows = np.frombuffer(self._whole, _WHOLE)
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            self._whole = bytearray()
            self._kinds = array("B", np.frombuffer(self._kinds, np.uint8)[order].tobytes())
            self._owners = array("q", np.frombuffer(self._owners, np.int64)[order].tobytes())
            firsts = _firsts(rows)
            starts = np.append(firsts, len(rows))
            self._sorted = (rows if len(firsts) == len(rows) else rows[firsts], starts)
        return self._sorted


class Finder:
    """Finds pieces in blocks of bytes; a hash of their beginning rules out nearly every offset."""

    def __init__(self, pieces: Iterable[bytes], whole: _Whole | None = None) -> None:
        """
        Args:
            whole: (n,) more pieces, of 32 bytes, sorted and without duplicates.
        """
        if whole is None:
            pieces = set(pieces)
            rows = np.array([p for p in pieces if len(p) == PIECE_BYTES], dtype=_WHOLE)
            whole = np.sort(rows)
        self._whole = whole
        self._other = frozenset(piece for piece in pieces if len(piece) != PIECE_BYTES)
        #: pieces that are still searched for
        self._wanted = np.ones(len(whole), dtype=np.bool_)
        self._others_wanted = set(self._other)
        lengths = [len(piece) for piece in self._other]
        self.longest = max([*lengths, PIECE_BYTES] if len(whole) else lengths, default=0)
        self._left = self._count = len(whole) + len(self._other)
        self._build()

    def begin(self) -> None:
        """Search for all pieces again from now on."""
        if self._left < self._count:
            self._wanted[:] = True
            self._others_wanted = set(self._other)
            self._left = self._count
            self._build()

    def found(self, pieces: Collection[bytes]) -> None:
        """Stop searching for these pieces until ``begin``."""
        for piece in pieces:
            if len(piece) != PIECE_BYTES:
                self._left -= piece in self._others_wanted
                self._others_wanted.discard(piece)
            elif len(self._whole):
                n = _index(self._whole, piece)
                if self._wanted[n] and _bytes_of(self._whole[n : n + 1]).tobytes() == piece:
                    self._wanted[n] = False
                    self._left -= 1

    @property
    def done(self) -> bool:
        """True when no piece is searched for any more."""
        return not self._left

    def search(self, blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[bytes, int]]:
        """(piece, offset) of every match of each piece until it is ``found``.

        Args:
            blocks: (offset, bytes) by ascending offset; where they overlap is searched twice.
        """
        for start, block in blocks:
            if self._is_worn:
                self._build()
            wanted = self._others_wanted
            for piece in self._shortest:
                at = block.find(piece) if piece in wanted else -1
                while at >= 0:
                    yield piece, start + at
                    at = block.find(piece, at + 1) if piece in wanted else -1
            words = _words(block if self._beginnings or self._table is not None else b"")
            for beginnings in self._beginnings:
                for at in beginnings.places(words).tolist():
                    for length in beginnings.lengths.get(block[at : at + beginnings.size], ()):
                        piece = block[at : at + length]
                        if piece in wanted:
                            yield piece, start + at
                        else:
                            self._in_vain += 1
            for piece, at in self._search_whole(block, words):
                yield piece, start + at

    def _search_whole(self, block: bytes, words: NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
        if self._table is None or len(block) < PIECE_BYTES:
            return
        places = self._table.places(words)
        there = np.lib.stride_tricks.sliding_window_view(
            np.frombuffer(block, np.uint8), PIECE_BYTES
        )
        for first in range(0, len(places), _PLACES_AT_ONCE):
            some = places[first : first + _PLACES_AT_ONCE]
            rows = there[some].view(_WHOLE)[:, 0]
            which = np.minimum(np.searchsorted(self._whole, rows), len(self._whole) - 1)
            hit = self._wanted[which] & (self._whole[which] == rows)
            self._in_vain += len(some) - int(np.count_nonzero(hit))
            for at, n in zip(some[hit].tolist(), which[hit].tolist(), strict=True):
                if self._wanted[n]:
                    yield block[at : at + PIECE_BYTES], at
                else:
                    self._in_vain += 1

    @property
    def _is_worn(self) -> bool:
        """True when pieces that were found, and occur everywhere, slow the search for the rest."""
        left, built = self._left, self._built
        return 2 * left < built or (left < built and self._in_vain > max(built, _MOST_IN_VAIN))

    def _build(self) -> None:
        """Build the tables for the pieces that are still wanted."""
        self._built = self._left
        #: candidates that matched no piece that is still wanted
        self._in_vain = 0
        self._shortest = [piece for piece in self._others_wanted if len(piece) < LEAST_BYTES]
        short = [p for p in self._others_wanted if LEAST_BYTES <= len(p) < PIECE_BYTES]
        longer = [piece for piece in self._others_wanted if len(piece) > PIECE_BYTES]
        self._beginnings = [
            _Beginnings(pieces, steps)
            for pieces, steps in ((short, _SHORT_STEPS), (longer, _LONG_STEPS))
            if pieces
        ]
        all_wanted = bool(self._wanted.all())
        rows = self._whole if all_wanted else self._whole[self._wanted]
        self._table = _Table(_bytes_of(rows), _LONG_STEPS) if len(rows) else None


class _Table:
    """A hash table of how some pieces begin."""

    def __init__(self, beginnings: NDArray[np.uint8], steps: tuple[int, ...]) -> None:
        """
        Args:
            beginnings: (n, size) u8; the last four bytes are those of the last step.
        """
        self._steps = steps
        hashes = np.zeros(len(beginnings), dtype=np.uint32)
        for step, odd in zip(steps, _ODD, strict=False):
            words = np.ascontiguousarray(beginnings[:, step : step + 4]).view("<u4")[:, 0]
            hashes += words * odd
        self._hashes = np.unique(hashes)
        bits = (16 * len(self._hashes)).bit_length()
        bits = min(max(bits, _LEAST_HASH_BITS), _MOST_HASH_BITS)
        self._shift = np.uint32(32 - bits)
        #: the first bits of a hash rule out most offsets with one lookup
        self._there = np.zeros(1 << bits, dtype=np.bool_)
        self._there[self._hashes >> self._shift] = True

    def places(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Offsets at which one of the pieces may begin."""
        count = max(len(words) - self._steps[-1], 0)
        hashes = np.zeros(count, dtype=np.uint32)
        for step, odd in zip(self._steps, _ODD, strict=False):
            hashes += words[step : step + count] * odd
        at = np.flatnonzero(self._there[hashes >> self._shift])
        hashes = hashes[at]
        which = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        found: NDArray[np.intp] = at[self._hashes[which] == hashes]
        return found


class _Beginnings:
    """Pieces of several lengths by their first bytes.

    A candidate takes one lookup for each length of the pieces that share its beginning; so a
    beginning that many share (``{"place": "``) costs no more than one.
    """

    def __init__(self, pieces: Collection[bytes], steps: tuple[int, ...]) -> None:
        self.size = steps[-1] + 4
        lengths: dict[bytes, set[int]] = {}
        for piece in pieces:
            lengths.setdefault(piece[: self.size], set()).add(len(piece))
        self.lengths = {begin: sorted(each) for begin, each in lengths.items()}
        joined = np.frombuffer(b"".join(lengths), np.uint8)
        self._table = _Table(joined.reshape(-1, self.size), steps)

    def places(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Offsets at which one of the pieces may begin."""
        return self._table.places(words)


def _bytes_of(rows: _Whole) -> NDArray[np.uint8]:
    """(n, 32) u8 view of (n,) pieces."""
    return np.frombuffer(np.ascontiguousarray(rows), np.uint8).reshape(-1, PIECE_BYTES)


def _firsts(rows: _Whole) -> NDArray[np.int64]:
    """(k,) where each run of equal pieces begins in sorted ones."""
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = rows[1:] != rows[:-1]
    return np.flatnonzero(new).astype(np.int64, copy=False)


def _index(rows: _Whole, piece: bytes) -> int:
    """The position of a piece among sorted ones, if it is there."""
    return min(int(np.searchsorted(rows, np.array(piece, dtype=_WHOLE))), len(rows) - 1)


def _words(data: bytes) -> NDArray[np.uint32]:
    """(n - 3,) u32, the four bytes at each offset."""
    wide = np.frombuffer(data, np.uint8).astype(np.uint32)
    words = wide[:-3].copy()
    for n, shift in enumerate((8, 16, 24), 1):
        words |= wide[n : len(wide) - 3 + n] << np.uint32(shift)
    return words


def cut(data: bytes) -> Iterator[bytes]:
    """Cut a value into pieces, so that any 63 bytes of it contain a whole one."""
    if len(data) <= PIECE_BYTES:
        yield data
        return
    count = min(_MOST_PIECES, -(-len(data) // PIECE_BYTES))
    for n in range(count):
        start = n * (len(data) - PIECE_BYTES) // (count - 1)
        yield data[start : start + PIECE_BYTES]
