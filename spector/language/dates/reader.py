"""Tokens of a text with the suffix behind an apostrophe, and where they stand in the text."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from spector.language.dates.period import Meaning
from spector.language.words import tokens

__all__ = ["Reader", "Word", "read"]

_APOSTROPHES: Final = ("'",)


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign.

    Attributes:
        text: folded, without what stands behind an apostrophe.
        suffix: folded, what stands behind the apostrophe.
        start, core, end: where it stands; ``core`` is its end without the suffix.
    """

    text: str
    raw: str
    suffix: str
    start: int
    core: int
    end: int

    @property
    def number(self) -> int:
        """The number that it is written as in digits, else -1."""
        return int(self.text) if self.text.isdecimal() and len(self.text) <= 8 else -1


_EMPTY: Final = Word("", "", "", -1, -1, -1)


@lru_cache(maxsize=512)
def _parts(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.split())


class Reader:
    """The words of a text and the day from which it counts."""

    def __init__(self, words: list[Word], today: date) -> None:
        self.words = words
        self.today = today
        #: what was read at a place before, and how deep the reading is in its parts
        self.known: dict[int, tuple[Meaning, int] | None] = {}
        self.depth = 0

    def word(self, at: int) -> Word:
        return self.words[at] if 0 <= at < len(self.words) else _EMPTY

    def text(self, at: int) -> str:
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def says(self, at: int, *phrases: str) -> int:
        """The position after the first of the phrases that stands here; ``at`` if none does."""
        for phrase in phrases:
            parts = _parts(phrase)
            if self.text(at) == parts[0] and all(
                self.text(at + n) == part for n, part in enumerate(parts)
            ):
                return at + len(parts)
        return at

    def joined(self, at: int) -> bool:
        """True if a word follows the one before it without a gap."""
        return 0 < at < len(self.words) and self.words[at - 1].end == self.words[at].start


def read(text: str, today: date) -> Reader:
    """The words of a text, positions those of the text as it is."""
    composed, origin = _composed(text)
    found: list[Word] = []
    plain_tokens = tokens(composed)
    at = 0
    while at < len(plain_tokens):
        token = plain_tokens[at]
        behind = plain_tokens[at + 2] if at + 2 < len(plain_tokens) else None
        mark = plain_tokens[at + 1] if at + 1 < len(plain_tokens) else None
        suffix, end, step = "", token.end, 1
        if (
            behind is not None
            and mark is not None
            and mark.text in _APOSTROPHES
            and not token.sign
            and behind.text.isalpha()
            and token.end == mark.start
            and mark.end == behind.start
        ):
            suffix, end, step = behind.text, behind.end, 3
        found.append(
            Word(token.text, token.raw, suffix, origin[token.start], origin[token.end], origin[end])
        )
        at += step
    return Reader(found, today)


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
