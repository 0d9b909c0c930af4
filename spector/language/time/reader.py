"""Reads numbers, years and case endings from the tokens of a cue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spector.language.time import calendar as spans
from spector.language.time import vocabulary as timewords
from spector.language.time.calendar import Span
from spector.language.words import Token

__all__ = ["Atom", "TokenReader"]

#: tokens between a month and its day or year
_FILLERS: Final = frozenset((",", "of", ".", "'", "the", "ayi")) | timewords.CASES
_COUNTED: Final = frozenset(timewords.NUMBERS) | frozenset(timewords.UNITS)


@dataclass(frozen=True, slots=True)
class Atom:
    """One expression of time: tokens ``begin`` to ``end`` (exclusive) and their meanings.

    Attributes:
        spans: alternatives, ascending; empty while the year is missing.
        of_year: for an expression without a year: year -> span, or ValueError if there is none.
        relative: True if it is relative to now, unlike a calendar date.
        year_only: True for a year without anything else.
        vague: True if it is so imprecise ("a few days ago") that it must not exclude memories.
    """

    begin: int
    end: int
    spans: tuple[Span, ...] = ()
    of_year: Callable[[int], Span] | None = None
    relative: bool = False
    year_only: bool = False
    vague: bool = False


class TokenReader:
    """A list of tokens with a now for relative times."""

    def __init__(self, found: list[Token], now_ms: int) -> None:
        self.tokens = found
        self.now_ms = now_ms
        self.today = spans.today_of(now_ms)

    def word(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def joined(self, at: int, count: int) -> bool:
        """True if ``count`` tokens follow one another without a gap."""
        here = self.tokens[at : at + count]
        return len(here) == count and all(a.end == b.start for a, b in itertools.pairwise(here))

    def number(self, at: int) -> tuple[int, int, bool] | None:
        """(value, end, vague) of a number in digits or words."""
        word = self.word(at)
        if word.isdecimal():
            return (int(word), at + 1, False) if len(word) <= 4 else None
        if word == "bir" and self.word(at + 1) == "kac":
            return 3, at + 2, True
        if word == "on" and self.word(at + 1) not in _COUNTED:
            return None
        value = timewords.NUMBERS.get(word)
        if value is None:
            return None
        end = at + 1
        more = self.word(end)
        if word in ("a", "an") and more in timewords.VAGUE:
            value, end, word = timewords.NUMBERS[more], end + 1, more
        elif word in ("on", "yirmi") and 0 < timewords.NUMBERS.get(more, 99) < 10:
            value, end = value + timewords.NUMBERS[more], end + 1
        if word == "couple" and self.word(end) == "of":
            end += 1
        return value, end, word in timewords.VAGUE

    def year(self, at: int) -> tuple[int, int] | None:
        """(year, end) of a year: 1900..2199, or '23."""
        word = self.word(at)
        if word.isdecimal() and len(word) == 4 and 1900 <= int(word) < 2200:
            return int(word), at + 1
        if word == "'" and self.joined(at, 2):
            short = self.word(at + 1)
            if short.isdecimal() and len(short) == 2:
                return 2000 + int(short), at + 2
        return None

    def year_after(self, at: int) -> tuple[int, int] | None:
        """A year at a token, or after a comma, "of" or a case ending."""
        for skip in range(3):
            found = self.year(at + skip)
            if found:
                return found
            if self.word(at + skip) not in _FILLERS:
                return None
        return None

    def after_case(self, at: int) -> int:
        """The token after a Turkish case ending with an apostrophe; else ``at``."""
        if self.word(at) == "'" and self.word(at + 1) in timewords.CASES and self.joined(at - 1, 3):
            return at + 2
        return at

    def dated(self, begin: int, end: int, make: Callable[[int], Span]) -> Atom | None:
        """An expression from ``make(year)``, with its year if one follows."""
        found = self.year_after(end)
        if found is None:
            return Atom(begin, self.after_case(end), of_year=make)
        at, end = found
        try:
            return Atom(begin, self.after_case(end), (make(at),))
        except ValueError:
            return None
