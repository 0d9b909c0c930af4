"""Words of a text as entity rules and heads see them: where they stand and how they are written."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.process import keeps

#: a mention, a hashtag, an address, a word with inner marks, a clitic, any other sign
_WORD: Final = re.compile(
    r"https?://\S+|[@#]\w+|(?<=\w)['’]\w+|\w+(?:[-&.]\w+)*|[^\w\s]", re.UNICODE
)
#: buckets of the hashed affixes
AFFIXES: Final = 512
#: bits of :func:`shape_features`
SHAPES: Final = 16
_ENDS: Final = frozenset(".!?")
#: bits that the text decides: the word opens a sentence; most words have a capital
_OPENS: Final = 8
_CAPITALS: Final = 11


class Word(NamedTuple):
    """A word and its place in the text."""

    text: str
    start: int
    end: int


@keeps(512)
def split_words(text: str) -> tuple[Word, ...]:
    """The words and signs of a text, clitics apart (``It's`` is ``It`` and ``'s``).

    Persons, names by rules and names by the head are looked for in the same words.
    """
    return tuple(Word(each.group(), each.start(), each.end()) for each in _WORD.finditer(text))


def shape_features(words: Sequence[str]) -> NDArray[np.float32]:
    """(n, 16) of zeros and ones: how each word is written, and whether it begins a sentence."""
    out = np.array([_shape_of(word) for word in words], np.float32).reshape(len(words), SHAPES)
    for at in range(len(words)):
        out[at, _OPENS] = at == 0 or words[at - 1] in _ENDS
    capitals = sum(each[:1].isupper() for each in words) > 0.6 * len(words)
    out[:, _CAPITALS] = capitals
    return out


@keeps(4096)
def _shape_of(word: str) -> tuple[bool, ...]:
    """What is known of a word without its text."""
    letters = [each for each in word if each.isalpha()]
    upper = sum(each.isupper() for each in letters)
    first = word[:1].isupper()
    return (
        first, len(letters) > 1 and upper == len(letters), bool(letters) and not upper,
        any(each.isdigit() for each in word), word[:1] == "@", word[:1] == "#",
        "http" in word, not letters, False, len(letters) == 1,
        0 < upper < len(letters) and not (first and upper == 1), False, "-" in word,
        "'" in word or "\u2019" in word, word[-1:] == ".", len(word) > 8,
    )  # fmt: skip


def affix_features(words: Sequence[str]) -> NDArray[np.float32]:
    """(n, 512) of zeros and ones: hashed prefixes, suffixes and the word itself, in lower case."""
    out = np.zeros((len(words), AFFIXES), np.float32)
    for at, word in enumerate(words):
        out[at, list(affix_buckets(word))] = 1.0
    return out


@keeps(4096)
def affix_buckets(word: str) -> tuple[int, ...]:
    """The features of `affix_features` that are 1, ascending."""
    low = word.lower()
    pieces = (f"p2{low[:2]}", f"p3{low[:3]}", f"s2{low[-2:]}", f"s3{low[-3:]}", f"w{low}")
    found = {zlib.crc32(each.encode("utf-8", "surrogatepass")) % AFFIXES for each in pieces}
    return tuple(sorted(found))
