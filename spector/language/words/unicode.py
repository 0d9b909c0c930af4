"""Unicode normalization of text that nobody has looked at yet, and the form that is compared."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

__all__ = ["is_no_mark", "normalize_nfkc", "normalize_unicode", "plain"]

#: shorter text is done with before a quadratic cost could be felt
_SHORT: Final = 1000
#: no language stacks more marks than 30 on a letter (UAX #15, stream-safe text)
_LONG_RUN: Final = re.compile(b"\1{32,}")
_QUOTES: Final = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u0131": "i",
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\uff1f": "?", "\u061f": "?", "\uff01": "!",
})  # fmt: skip


def normalize_unicode(form: Literal["NFC", "NFD"], text: str) -> str:
    """`unicodedata.normalize`, in a time that grows with the length of the text only.

    The library sorts the marks after a letter by moving each past all that belong behind it, one by
    one, while no other thread can run: for 80 KB of alternating marks above and below, seconds.
    Long runs are handed over sorted, which changes nothing: marks of one class keep their order,
    and canonical equivalents have one normal form.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize(form, text)
    classes = bytes(map(bool, map(unicodedata.combining, text)))
    pieces: list[str] = []
    done = 0
    for run in _LONG_RUN.finditer(classes):
        each = text[run.start() : run.end()]  # one may stand for two
        parts = "".join(unicodedata.normalize("NFD", mark) for mark in each)
        pieces += (text[done : run.start()], *sorted(parts, key=unicodedata.combining))
        done = run.end()
    return unicodedata.normalize(form, "".join((*pieces, text[done:])))


def normalize_nfkc(text: str) -> str:
    """NFKC, in a time that grows with the length of the text only.

    Characters are taken apart one by one first: what looks harmless can be made of marks (the
    halfwidth voiced sound mark), and only :func:`normalize` may meet runs of those. They are joined
    and not translated: a translation that outgrows the text is moved again for each character
    where the C library's allocator cannot grow memory in its place.
    """
    if len(text) <= _SHORT or text.isascii():
        return unicodedata.normalize("NFKC", text)
    return normalize_unicode("NFC", "".join(map(_APART.__getitem__, text)))


def plain(text: str) -> str:
    """Lower case, no marks on letters, ``ı`` as ``i``, straight quotes and dashes.

    The result may have another length than the text: positions in one mean nothing in the other.
    """
    if text.isascii():
        return text.lower()
    apart = normalize_unicode("NFD", text.lower().translate(_QUOTES))
    return "".join(filter(is_no_mark, apart))


def is_no_mark(char: str) -> bool:
    """Whether a character stands for itself, and not on the one before it."""
    return char.isascii() or not unicodedata.combining(char)


class _Apart(dict[str, str]):
    """A character -> its compatibility decomposition, kept once it was asked for."""

    def __missing__(self, character: str) -> str:
        value = unicodedata.normalize("NFKD", character)
        if len(self) < 200_000:
            self[character] = value
        return value


_APART: Final = _Apart()
