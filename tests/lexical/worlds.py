"""Random rows of words for tests of blocks, tails and the calls that read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spector.kernel.postings import Tail, length_codes
from spector.lexical.block import Block, invert, run

Row = dict[int, int]

__all__ = ["Row", "block_of", "random_rows", "tail_of", "vocabulary"]


def vocabulary(rng: np.random.Generator, words: int) -> NDArray[np.uint64]:
    """(words,) distinct hashes; neighbours in the filter of a tail are among them."""
    hashes = rng.integers(0, 2**64, words, np.uint64)
    hashes[: words // 8] = (hashes[: words // 8] & np.uint64(0xFFFF)) | np.uint64(7 << 60)
    return np.unique(hashes)


def random_rows(
    rng: np.random.Generator, known: NDArray[np.uint64], rows: int, most: int
) -> list[Row]:
    """Rows of up to ``most`` of the known words, some common and most rare, some rows empty."""
    out: list[Row] = []
    for _ in range(rows):
        size = int(rng.integers(0, most + 1))
        chosen = (len(known) * rng.random(size) ** 4).astype(int)
        row: Row = {}
        for word in known[chosen].tolist():
            row[word] = min(255, row.get(word, 0) + int(rng.choice([1, 1, 1, 2, 40, 255])))
        out.append(row)
    return out


def tail_of(rows: Sequence[Row], ids: Sequence[int], lengths: Sequence[int] | None = None) -> Tail:
    """A tail of rows whose words are given as counts by hash."""
    ordered = [sorted(row.items()) for row in rows]
    flat = [item for row in ordered for item in row]
    long = lengths or [sum(row.values()) for row in rows]
    return Tail(
        hash=np.array([word for word, _ in flat], np.uint64),
        start=np.cumsum([0, *map(len, ordered)]).astype(np.uint32),
        count=np.array([count for _, count in flat], np.uint8),
        length=length_codes(np.array(long)),
        id=np.array(ids, np.uint64),
        rows=len(rows),
    )


def block_of(tail: Tail, *segments: tuple[int, int]) -> Block:
    """A block of a tail's rows: (segment id, rows) for each run, and chains of three rows."""
    slots = np.arange(tail.rows)
    before = np.where(slots % 3 == 0, 0, 1).astype(np.uint16)
    after = np.where((slots % 3 == 2) | (slots == tail.rows - 1), 0, 1).astype(np.uint16)
    runs = [
        run(segment_id, 1, rows, change_seq=5, records_crc=77)
        for segment_id, rows in segments or ((1, tail.rows),)
    ]
    joined = np.concatenate(runs)
    joined["first"] = np.cumsum(joined["rows"]) - joined["rows"]
    return Block(invert(tail), before, after, joined)
