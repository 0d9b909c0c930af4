"""Tokens of a text with the suffix behind an apostrophe, and where they stand in the text."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from spector.language.words import tokens


class Word(NamedTuple):
    """A word, number or sign.

    Attributes:
        text: folded, without what stands behind an apostrophe.
        suffix: folded, what stands behind the apostrophe.
        start, end: where it stands, with the suffix.
    """

    text: str
    raw: str
    suffix: str
    start: int
    end: int

    @property
    def number(self) -> int:
        """The number that it is written as in digits, else -1."""
        return int(self.text) if self.text.isdecimal() and len(self.text) <= 8 else -1


def read(text: str) -> list[Word]:
    """The words of a text, positions those of the text as it is."""
    composed, origin = _composed(text)
    found: list[Word] = []
    pieces = tokens(composed)
    at = 0
    while at < len(pieces):
        token, suffix, end = pieces[at], "", pieces[at].end
        if (
            at + 2 < len(pieces)
            and pieces[at + 1].text == "'"
            and pieces[at + 2].text.isalpha()
            and not token.sign
            and token.end == pieces[at + 1].start
            and pieces[at + 1].end == pieces[at + 2].start
        ):
            at += 2
            suffix, end = pieces[at].text, pieces[at].end
        found.append(Word(token.text, token.raw, suffix, origin[token.start], origin[end]))
        at += 1
    return found


def _composed(text: str) -> tuple[str, list[int]]:
    """A text with its marks combined, and the place in the text of each place in it."""
    if text.isascii() or not any(map(unicodedata.combining, text)):
        return text, list(range(len(text) + 1))
    pieces: list[str] = []
    origin: list[int] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFC", text[at : min(end, at + 30)])
        piece = piece[:1] + "".join(c for c in piece[1:] if not unicodedata.combining(c))
        pieces.append(piece)
        origin += [at] * len(piece)
        at = end
    return "".join(pieces), [*origin, len(text)]
