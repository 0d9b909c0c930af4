"""A text as the trained head sees it: hashed pieces of words, and counts of words of feeling."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.language.emotion.signs import signs_in
from spector.language.tables import Lexicon, table_of, words_of
from spector.language.words import plain
from spector.process import keeps

#: buckets of the hashed pieces
BUCKETS: Final = 1 << 16
#: lists of words, and signs, whose counts are features; question marks are the last
COUNTED: Final = (
    "anger", "disgust", "fear", "intensifiers", "joy", "negative", "negative_strong",
    "negative_weak", "negators_before", "positive", "positive_strong", "positive_weak",
    "profanity", "sadness", "strong", "surprise", "urgent",
    "sign anger", "sign disgust", "sign fear", "sign joy", "sign sadness", "sign surprise", "?",
)  # fmt: skip
#: the language that the head was trained on
_LANGUAGE: Final = "en"
_MOST_WORDS: Final = 400
_TOKEN: Final = re.compile(r"\[\w+\]|[^\W_]+(?:'[^\W_]+)*|[!?.]{2,8}|[^\w\s]")
#: lengths of the pieces of a word
_PIECES: Final = (3, 4, 5)


def hashed_features(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(buckets, counts) of a text: words, pairs of words and pieces of words; buckets ascending."""
    words = _TOKEN.findall(plain(text))[:_MOST_WORDS]
    counts: Counter[int] = Counter()
    for one, other in zip(["", *words], [*words, ""], strict=True):
        counts[_bucket(f"b{one} {other}")] += 1
    for word in words:
        counts.update(_of_word(word))
    buckets = np.array(sorted(counts), np.int64)
    return buckets, np.array([counts[int(each)] for each in buckets], np.float32)


def dense_features(text: str) -> NDArray[np.float32]:
    """(24,) twice the logarithm of one more than each count of COUNTED."""
    counts = Counter(each.name for each in _lexicon().matches(words_of(text)))
    counts.update(f"sign {name}" for _, name in signs_in(text))
    counts["?"] = text.count("?")
    return np.array([2.0 * np.log1p(counts[each]) for each in COUNTED], np.float32)


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon(table_of(_LANGUAGE, "emotion").words)


def _bucket(piece: str) -> int:
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS


@keeps(4096)
def _of_word(word: str) -> tuple[int, ...]:
    """The buckets of a word and of its pieces; conversations repeat their words."""
    framed = f"<{word[:20]}>"
    pieces = [
        "c" + framed[at : at + size] for size in _PIECES for at in range(len(framed) - size + 1)
    ]
    return tuple(_bucket(each) for each in ("w" + word, *pieces))
