"""BERT's uncased WordPiece tokenizer in plain Python with a word cache, and windows of tokens.

Returns the ids of the ``tokenizers`` library (clean text, isolate CJK, strip accents, lower case,
split punctuation, greedy longest match), faster, because conversations repeat their words.
Equality is proved by ``tests/providers/test_wordpiece.py``. Two choices:

- Greek capital sigma becomes the medial small sigma everywhere, as in ``tokenizers``. Python's
  ``str.lower`` would write the final form at the end of a word.
- ``[CLS]``, ``[MASK]`` and the like inside a text are ordinary characters, never special
  tokens, because a user's text must not control the model.

Some 490 marks and punctuation characters of rare scripts, added to Unicode after that library's
tables were made, are classified by Python's newer tables and may give other tokens, mostly [UNK].
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import ModelFileError
from spector.language.words import normalize_unicode
from spector.process import KEEPERS

VOCAB_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_VOCAB_PATH: Final = Path(__file__).parent / "data" / "vocab.txt"

UNK_ID: Final = 100
CLS_ID: Final = 101
SEP_ID: Final = 102

#: the model was trained on 256 tokens; two of them are [CLS] and [SEP]
WINDOW_TOKENS: Final = 254
OVERLAP_TOKENS: Final = 50
#: tokens per run of the model; measured optimum, larger batches exceed the L2 cache
BATCH_TOKENS: Final = 512

#: (text index, token ids) of one window
Window = tuple[int, NDArray[np.uint16]]

#: a longer word is one [UNK], as in BERT
MAX_WORD_CHARS: Final = 100
#: a longer run without white space is tokenized but not cached
_MAX_CACHED_CHARS: Final = 64

#: control (but tab, LF, CR), format and private-use characters, NUL and U+FFFD: dropped
_DROPPED: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ufffd"
    "\ue000-\uf8ff\U000110bd\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f\U000f0000-\U000ffffd\U00100000-\U0010fffd]+"
)
#: ideographs, each of which is a word
_CJK: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"
)
_CJK_CHAR: Final = re.compile(f"([{_CJK}])")
_ASCII_WORD: Final = re.compile(r"[0-9a-z]+|[^0-9a-z\s]")


@lru_cache(maxsize=1)
def load_vocabulary() -> dict[str, int]:
    """The packaged vocabulary, token -> id, checked against its pinned hash.

    Raises:
        ModelFileError: the file is missing or is not the pinned one.
    """
    try:
        raw = _VOCAB_PATH.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"vocabulary {_VOCAB_PATH} cannot be read: {error}",
            hint="reinstall spector: pip install --force-reinstall spector-memory",
        ) from error
    found = hashlib.sha256(raw).hexdigest()
    if found != VOCAB_SHA256:
        raise ModelFileError(
            f"vocabulary {_VOCAB_PATH} is damaged: sha256 {found[:16]}..., "
            f"expected {VOCAB_SHA256[:16]}...",
            hint="reinstall spector: pip install --force-reinstall spector-memory",
        )
    return {token: index for index, token in enumerate(raw.decode("utf-8").split("\n")[:-1])}


class WordPiece:
    """Text -> token ids without [CLS] and [SEP]. Safe to share between threads.

    Args:
        cache_words: most distinct words cached. A full cache is cleared, which bounds it to some
            10 MB at the default.
    """

    def __init__(self, *, cache_words: int = 50_000) -> None:
        vocabulary = load_vocabulary()
        self._heads = {token: i for token, i in vocabulary.items() if token[:2] != "##"}
        self._tails = {token[2:]: i for token, i in vocabulary.items() if token[:2] == "##"}
        self._max_piece = max(map(len, vocabulary))
        self._cache: dict[str, tuple[int, ...]] = {}
        self._cache_words = cache_words
        self._cache_lock = threading.Lock()
        KEEPERS.add(self)

    def drop_caches(self) -> None:
        """Clear the cache."""
        with self._cache_lock:
            self._cache.clear()

    def encode(self, text: str) -> list[int]:
        """Ids of one text of any length; empty if it has no visible character."""
        cache = self._cache
        ids: list[int] = []
        for chunk in _DROPPED.sub("", text).split():
            known = cache.get(chunk)
            if known is None:
                known = self._encode_chunk(chunk)
            ids += known
        return ids

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        """Ids of a run without white space: normalize, split, look up, cache."""
        ids: list[int] = []
        for word in _split_words(_fold_chunk(chunk)):
            ids += self._encode_word(word)
        found = tuple(ids)
        if len(chunk) <= _MAX_CACHED_CHARS:
            with self._cache_lock:
                if len(self._cache) >= self._cache_words:
                    self._cache.clear()
                self._cache[chunk] = found
        return found

    def _encode_word(self, word: str) -> list[int]:
        """Greedy longest match from the left; one [UNK] if a part is not in the vocabulary."""
        whole = self._heads.get(word)
        if whole is not None:
            return [whole]
        if len(word) > MAX_WORD_CHARS:
            return [UNK_ID]
        ids: list[int] = []
        start, pieces = 0, self._heads
        while start < len(word):
            end = min(len(word), start + self._max_piece)
            while (piece := pieces.get(word[start:end])) is None:
                end -= 1
                if end == start:
                    return [UNK_ID]
            ids.append(piece)
            start, pieces = end, self._tails
        return ids


def _fold_chunk(chunk: str) -> str:
    """Put spaces around ideographs, strip accents, lower the case."""
    if chunk.isascii():
        return chunk.lower()
    spaced = _CJK_CHAR.sub(r" \1 ", chunk)
    bare = "".join(c for c in normalize_unicode("NFD", spaced) if _category(c) != "Mn")
    return bare.replace("\u03a3", "\u03c3").lower()


def _split_words(text: str) -> list[str]:
    """Split at white space; every punctuation character is a word of its own."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    words: list[str] = []
    for part in text.split():
        start = 0
        for at, char in enumerate(part):
            if _is_punctuation(char):
                if start < at:
                    words.append(part[start:at])
                words.append(char)
                start = at + 1
        if start < len(part):
            words.append(part[start:])
    return words


_category = lru_cache(maxsize=4096)(unicodedata.category)


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum() and char > " "
    return _category(char)[0] == "P"


def windows_of(ids: NDArray[np.uint16]) -> Iterator[NDArray[np.uint16]]:
    """Overlapping windows that cover all ids; the last one has at least 51 of them."""
    start = 0
    while True:
        yield ids[start : start + WINDOW_TOKENS]
        if start + WINDOW_TOKENS >= len(ids):
            return
        start += WINDOW_TOKENS - OVERLAP_TOKENS


def batches_of(windows: list[Window]) -> Iterator[list[Window]]:
    """Batches of windows of one length, longest first, so that the pool ends with short ones.

    Windows of one text keep their order, whatever their neighbours are.
    """
    groups: dict[int, list[Window]] = {}
    for window in windows:
        groups.setdefault(len(window[1]), []).append(window)
    for length in sorted(groups, reverse=True):
        group = groups[length]
        step = max(1, BATCH_TOKENS // (length + 2))
        for start in range(0, len(group), step):
            yield group[start : start + step]


def fill_words(
    out: NDArray[np.float32], ends: NDArray[np.int64], hidden: NDArray[np.float32], start: int
) -> None:
    """Give the words of a window the mean of their tokens' hidden states.

    Of a word that two windows have, the first one is read; a word that is in none stays as it is.

    Args:
        out: (n, dim), a row a word of the text.
        ends: (n,), behind its last token each.
        hidden: (tokens, dim) of the window, which begins with token ``start`` of the text.
    """
    before = start + OVERLAP_TOKENS if start else 0
    first, last = np.searchsorted(ends, (before, start + len(hidden)), side="right").tolist()
    at = int(ends[first - 1]) if first else 0
    for n, end in enumerate(ends[first:last].tolist(), first):
        if at >= start:
            one, after = at - start, end - start
            out[n] = hidden[one] if after - one == 1 else hidden[one:after].mean(axis=0)
        at = end
