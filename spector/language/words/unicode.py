"""Unicode normalization of untrusted text in linear time, and folding for comparison."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

#: quadratic cost does not matter for shorter text
_SHORT: Final = 1000
#: no language has more than 30 marks on a letter (UAX #15, stream-safe text)
_LONG_RUN: Final = re.compile(b"\1{32,}")
_QUOTES: Final = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u0131": "i",
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\uff1f": "?", "\u061f": "?", "\uff01": "!",
})  # fmt: skip


def normalize_unicode(form: Literal["NFC", "NFD"], text: str) -> str:
    """`unicodedata.normalize` in linear time.

    The library sorts the marks of a letter by insertion, with the GIL held: 80 KB of alternating
    marks above and below take seconds. So long runs are sorted first. That does not change the
    result, because marks of one class keep their order.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize(form, text)
    classes = bytes(map(bool, map(unicodedata.combining, text)))
    pieces: list[str] = []
    done = 0
    for run in _LONG_RUN.finditer(classes):
        each = text[run.start() : run.end()]  # a mark may decompose into two
        parts = "".join(unicodedata.normalize("NFD", mark) for mark in each)
        pieces += (text[done : run.start()], *sorted(parts, key=unicodedata.combining))
        done = run.end()
    return unicodedata.normalize(form, "".join((*pieces, text[done:])))


def normalize_nfkc(text: str) -> str:
    """NFKC in linear time.

    Characters are decomposed one by one first, because some decompose into marks (the halfwidth
    voiced sound mark), and only :func:`normalize_unicode` handles runs of those. The parts are
    joined rather than translated: where the allocator cannot grow memory in place, a translation
    that outgrows the text is copied for each character.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize("NFKC", text)
    return normalize_unicode("NFC", "".join(map(_APART.__getitem__, text)))


def plain(text: str) -> str:
    """Fold a text: lower case, no marks, ``ı`` to ``i``, straight quotes and dashes.

    The result may have another length than the text, so positions do not correspond.
    """
    if text.isascii():
        return text.lower()
    apart = normalize_unicode("NFD", text.lower().translate(_QUOTES))
    return "".join(filter(is_no_mark, apart))


def is_no_mark(char: str) -> bool:
    """False for a combining mark, which belongs to the character before it."""
    return char.isascii() or not unicodedata.combining(char)


class _Apart(dict[str, str]):
    """Character -> its compatibility decomposition, cached on first use."""

    def __missing__(self, character: str) -> str:
        value = unicodedata.normalize("NFKD", character)
        if len(self) < 200_000:
            self[character] = value
        return value


_APART: Final = _Apart()
