"""Postings of many texts at once: each row's terms, their counts, and its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from spector.language.words import Analysis, is_stop, term_hash

__all__ = ["EncodedTexts", "encode_texts"]

_U16: int = 0xFFFF


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTexts:
    """Postings of n texts, by ascending row and then hash; lengths saturate at 65,535.

    Attributes:
        hash, row, count: (postings,) u64, i64, u8. Occurrences in the text (255 at most), plus one
            if the field has the term.
        content: (n,) u16, words without stop words.
    """

    hash: NDArray[np.uint64]
    row: NDArray[np.int64]
    count: NDArray[np.uint8]
    content: NDArray[np.uint16]


class _Codes(dict[str, int]):
    """Numbers of terms, in the order of their first occurrence."""

    def __missing__(self, term: str) -> int:
        code = self[term] = len(self)
        return code


def encode_texts(
    texts: Sequence[Analysis], fields: Sequence[NDArray[np.uint64]], key: bytes
) -> EncodedTexts:
    """The postings of some texts.

    Args:
        texts: n of them.
        fields: n arrays with the hashes of a text's field terms, each once.
        key: of the hashes.
    """
    codes = _Codes()
    stream: list[int] = []
    lengths: list[int] = []
    joined: list[int] = []
    joined_row: list[int] = []
    for n, found in enumerate(texts):
        stream += [codes[word] for word in found.words]
        lengths.append(len(found.words))
        for term in (*found.joined, *found.signs):
            joined.append(codes[term])
            joined_row.append(n)
    hashes = np.array(list(map(term_hash, codes, repeat(key))), np.uint64)
    stops = np.array(list(map(is_stop, codes)), bool)
    at = np.array(stream, np.int64)
    row = np.repeat(np.arange(len(texts)), lengths)
    content = ~stops[at] if len(at) else np.zeros(0, bool)
    keys = [hashes[at], hashes[np.array(joined, np.int64)], *fields]
    rows = [
        row,
        np.array(joined_row, np.int64),
        np.repeat(np.arange(len(texts)), [len(field) for field in fields]),
    ]
    key_, row_, count = _combine(np.concatenate(keys), np.concatenate(rows))
    long = np.bincount(row[content], minlength=len(texts))
    return EncodedTexts(key_, row_, count, _saturate(long))


def _combine(
    keys: NDArray[np.uint64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint8]]:
    """Each (row, term) once, with its count."""
    if not len(keys):
        return keys.astype(np.uint64), rows, np.zeros(0, np.uint8)
    terms, place = np.unique(keys, return_inverse=True)
    both = np.sort(rows * len(terms) + place)  # one sort of numbers: several times a lexsort
    new = np.concatenate(([True], both[1:] != both[:-1]))
    first = np.flatnonzero(new)
    count = np.minimum(np.diff(np.append(first, len(keys))), 255).astype(np.uint8)
    row, term = np.divmod(both[first], len(terms))
    return terms[term], row, count


def _saturate(values: NDArray[np.int64]) -> NDArray[np.uint16]:
    return np.minimum(values, _U16).astype(np.uint16)
