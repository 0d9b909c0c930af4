"""Finding many pieces of bytes in one pass over many gigabytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_BYTES", "PIECE_BYTES", "Finder", "cut"]

PIECE_BYTES: Final = 32
#: shorter pieces are found everywhere
LEAST_BYTES: Final = 6
#: of a value so many pieces are taken, evenly: all there are of a mebibyte
_MOST_PIECES: Final = 1 << 15
#: where the four times four bytes, or two times, lie that tell a whole piece from others, or a
#: shorter one
_LONG_STEPS: Final = (0, 9, 18, PIECE_BYTES - 4)
_SHORT_STEPS: Final = (0, LEAST_BYTES - 4)
#: any odd numbers; of the golden ratio, and of the constants of MurmurHash3
_ODD: Final = tuple(map(np.uint32, (2_654_435_761, 0xCC9E2D51, 0x1B873593, 0xE6546B65 | 1)))
#: sizes of the tables, in bits, between which their number of pieces chooses: the largest are 8 MiB
_LEAST_HASH_BITS: Final = 16
_MOST_HASH_BITS: Final = 22
#: places that are looked at in vain before the tables are built anew
_MOST_IN_VAIN: Final = 4096


class Finder:
    """Finds pieces in blocks of bytes: a hash of how they begin rules nearly every offset out."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._all = frozenset(pieces)
        self._wanted = set(self._all)
        self.longest = max(map(len, self._all), default=0)
        self._build()

    def begin(self) -> None:
        """From now on all of them are looked for again."""
        if len(self._wanted) < len(self._all):
            self._wanted = set(self._all)
            self._build()

    def found(self, pieces: Collection[bytes]) -> None:
        """These need not be looked for any more, until ``begin``."""
        self._wanted.difference_update(pieces)

    @property
    def done(self) -> bool:
        """Nothing is looked for any more."""
        return not self._wanted

    def search(self, blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[bytes, int]]:
        """(piece, offset) of every place of each piece, until it is ``found``.

        Args:
            blocks: (offset, bytes), in the order of offsets; what they share is searched twice.
        """
        for start, block in blocks:
            if self._is_worn:
                self._build()
            wanted = self._wanted
            for piece in self._shortest:
                at = block.find(piece) if piece in wanted else -1
                while at >= 0:
                    yield piece, start + at
                    at = block.find(piece, at + 1) if piece in wanted else -1
            words = _words(block if self._beginnings else b"")
            for beginnings in self._beginnings:
                for at in beginnings.places(words):
                    for length in beginnings.lengths.get(block[at : at + beginnings.size], ()):
                        piece = block[at : at + length]
                        if piece in wanted:
                            yield piece, start + at
                        else:
                            self._in_vain += 1

    @property
    def _is_worn(self) -> bool:
        """What is found already, and is everywhere, slows the search for the rest."""
        left, built = len(self._wanted), self._built
        return 2 * left < built or (left < built and self._in_vain > max(built, _MOST_IN_VAIN))

    def _build(self) -> None:
        """Tables of what is wanted now."""
        self._built = len(self._wanted)
        #: places that were looked at and are of no piece that is still wanted
        self._in_vain = 0
        self._shortest = [piece for piece in self._wanted if len(piece) < LEAST_BYTES]
        short = [piece for piece in self._wanted if LEAST_BYTES <= len(piece) < PIECE_BYTES]
        long = [piece for piece in self._wanted if len(piece) >= PIECE_BYTES]
        self._beginnings = [
            _Beginnings(pieces, steps)
            for pieces, steps in ((short, _SHORT_STEPS), (long, _LONG_STEPS)) if pieces
        ]


class _Beginnings:
    """Pieces by their first bytes.

    Which of them it is, is looked up by as many bytes as there are lengths of pieces that begin so,
    so that a beginning which many share (``{"place": "``) costs no more than one.
    """

    def __init__(self, pieces: Collection[bytes], steps: tuple[int, ...]) -> None:
        self._steps = steps
        self.size = steps[-1] + 4
        lengths: dict[bytes, set[int]] = {}
        for piece in pieces:
            lengths.setdefault(piece[: self.size], set()).add(len(piece))
        self.lengths = {begin: sorted(each) for begin, each in lengths.items()}
        bits = min(max((16 * len(lengths)).bit_length(), _LEAST_HASH_BITS), _MOST_HASH_BITS)
        self._shift = np.uint32(32 - bits)
        self._there = np.zeros(1 << bits, dtype=np.bool_)
        self._there[self._hashes(_words(b"".join(lengths)))[:: self.size]] = True

    def places(self, words: NDArray[np.uint32]) -> list[int]:
        """Offsets at which one of the pieces may begin."""
        found: list[int] = np.flatnonzero(self._there[self._hashes(words)]).tolist()
        return found

    def _hashes(self, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """A hash of ``size`` bytes from each offset on that has so many."""
        count = max(len(words) - self._steps[-1], 0)
        found = np.zeros(count, dtype=np.uint32)
        for step, odd in zip(self._steps, _ODD, strict=False):
            found += words[step : step + count] * odd
        found >>= self._shift
        return found


def _words(data: bytes) -> NDArray[np.uint32]:
    """(n - 3,) the four bytes from each offset on."""
    wide = np.frombuffer(data, np.uint8).astype(np.uint32)
    words = wide[:-3].copy()
    for n, shift in enumerate((8, 16, 24), 1):
        words |= wide[n : len(wide) - 3 + n] << np.uint32(shift)
    return words


def cut(data: bytes) -> Iterator[bytes]:
    """Pieces of a value that cover it, so that any 63 bytes of it hold a whole one."""
    if len(data) <= PIECE_BYTES:
        yield data
        return
    count = min(_MOST_PIECES, -(-len(data) // PIECE_BYTES))
    for n in range(count):
        start = n * (len(data) - PIECE_BYTES) // (count - 1)
        yield data[start : start + PIECE_BYTES]
