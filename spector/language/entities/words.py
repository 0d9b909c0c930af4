"""Words of a text as entity rules and heads see them: where they stand and how they are written."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["AFFIXES", "SHAPES", "Word", "affix_features", "shape_features", "split_words"]

#: a mention, a hashtag, an address, a word with inner marks, a clitic, any other sign
_WORD: Final = re.compile(
    r"https?://\S+|[@#]\w+|'\w+|’\w+|\w+(?:[-&.]\w+)*|[^\w\s]", re.UNICODE
)
#: buckets of the hashed affixes
AFFIXES: Final = 512
#: bits of :func:`shape_features`
SHAPES: Final = 16
_ENDS: Final = frozenset(".!?")


class Word(NamedTuple):
    """A word and its place in the text."""

    text: str
    start: int
    end: int


def split_words(text: str) -> list[Word]:
    """The words and signs of a text, clitics apart (``It's`` is ``It`` and ``'s``)."""
    return [Word(each.group(), each.start(), each.end()) for each in _WORD.finditer(text)]


def shape_features(words: Sequence[str]) -> NDArray[np.float32]:
    """(n, 16) of zeros and ones: how each word is written, and whether it begins a sentence."""
    capitals = sum(each[:1].isupper() for each in words) > 0.6 * len(words)
    rows = []
    for at, word in enumerate(words):
        letters = [each for each in word if each.isalpha()]
        upper = sum(each.isupper() for each in letters)
        first = word[:1].isupper()
        rows.append((
            first, len(letters) > 1 and upper == len(letters), bool(letters) and not upper,
            any(each.isdigit() for each in word), word[:1] == "@", word[:1] == "#",
            "http" in word, not letters, at == 0 or words[at - 1] in _ENDS, len(letters) == 1,
            0 < upper < len(letters) and not (first and upper == 1), capitals, "-" in word,
            "'" in word or "’" in word, word[-1:] == ".", len(word) > 8,
        ))  # fmt: skip
    return np.array(rows, np.float32).reshape(len(words), SHAPES)


def affix_features(words: Sequence[str]) -> NDArray[np.float32]:
    """(n, 512) of zeros and ones: hashed prefixes, suffixes and the word itself, in lower case."""
    out = np.zeros((len(words), AFFIXES), np.float32)
    for at, word in enumerate(words):
        low = word.lower()
        for piece in (f"p2{low[:2]}", f"p3{low[:3]}", f"s2{low[-2:]}", f"s3{low[-3:]}", f"w{low}"):
            out[at, zlib.crc32(piece.encode("utf-8", "surrogatepass")) % AFFIXES] = 1.0
    return out
