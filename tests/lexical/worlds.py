"""Random rows of words for tests of blocks, tails and the calls that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract.lexical import (
    WORD_BLOCK_ROWS,
    Postings,
    Tail,
    directory_of,
    length_codes,
)
from spector.lexical.block import COLUMNS, StoredBlock

Row = dict[int, int]

__all__ = ["Row", "block_of", "invert", "mangled", "random_rows", "tail_of", "vocabulary"]


def mangled(rng: np.random.Generator, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy in which one to three numbers are others, often ones that count too much."""
    changed = image.copy()
    for _ in range(int(rng.integers(1, 4))):
        at, width = int(rng.integers(0, len(image) - 8)), int(rng.choice([1, 2, 4, 8]))
        value = rng.choice([0, 1, 255, 2**16, 2**31, 2**63, int(rng.integers(0, 2**63))])
        raw = int(value).to_bytes(9, "little")[:width]
        changed[at : at + width] = np.frombuffer(raw, np.uint8)
    return changed


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


def tail_of(rows: Sequence[Row], ids: Sequence[int]) -> Tail:
    """A tail of rows whose words are given as counts by hash."""
    ordered = [sorted(row.items()) for row in rows]
    flat = [item for row in ordered for item in row]
    return Tail(
        hash=np.array([word for word, _ in flat], np.uint64),
        start=np.cumsum([0, *map(len, ordered)]).astype(np.uint32),
        count=np.array([count for _, count in flat], np.uint8),
        length=length_codes(np.array([sum(row.values()) for row in rows])),
        id=np.array(ids, np.uint64),
        rows=len(rows),
    )


def invert(tail: Tail) -> Postings:
    """The words of a tail's rows, by word."""
    assert tail.rows <= WORD_BLOCK_ROWS
    slots = np.repeat(np.arange(tail.rows), np.diff(tail.start.astype(np.int64)).astype(int))
    order = np.argsort(tail.hash, kind="stable")
    hashes, first = np.unique(tail.hash[order], return_index=True)
    return Postings(
        hash=hashes,
        dir=directory_of(hashes),
        start=np.append(first, len(order)).astype(np.uint32),
        row=slots[order].astype(np.uint16),
        count=tail.count[order],
        length=tail.length,
        id=tail.id,
    )


def block_of(rows: Sequence[Row], ids: Sequence[int]) -> StoredBlock:
    """A block of rows, the other columns filled with something."""
    p = invert(tail_of(rows, ids))
    count = np.arange(len(rows))
    columns: dict[str, NDArray[Any]] = {
        name: (count * 7 % 2 if name == "chained" else count * 3 + n).astype(kind)
        for n, (name, kind) in enumerate(COLUMNS)
    }
    columns["id"] = np.array(ids, "<i8")
    return StoredBlock(0, len(rows), p.hash, p.start, p.row, p.count, p.dir, columns)
