"""Numbers, ordinals and years of English texts, in digits and in words."""

from __future__ import annotations

from typing import Final

from spector.language.dates.english import words
from spector.language.dates.reader import Reader

__all__ = ["is_year", "number", "ordinal", "year"]

_MARKS: Final = frozenset(("st", "nd", "rd", "th"))
#: years that stand for themselves, without a month or "in"
_LEAST_YEAR: Final = 1000
_MOST_YEAR: Final = 2999


def is_year(value: int) -> bool:
    return _LEAST_YEAR <= value <= _MOST_YEAR


def number(r: Reader, at: int) -> tuple[int, int, bool] | None:
    """(value, end, whether it is vague) of a number up to 9999."""
    word = r.word(at)
    if word.text.isdecimal():
        return (word.number, at + 1, False) if len(word.text) <= 4 else None
    start = at
    if word.text in ("a", "an"):
        at += 1
        if r.text(at) not in words.VAGUE:
            return 1, at, False
    if r.text(at) in words.VAGUE:
        end = r.says(at, f"{r.text(at)} of")
        return words.VAGUE[r.text(at)], end if end > at else at + 1, True
    if at != start:
        return None
    found = _below_hundred(r, at)
    if found is None:
        return None
    value, at = found
    if r.text(at) == "hundred":
        value, at = value * 100, at + 1
        more = _below_hundred(r, r.says(at, "and"))
        if more is not None:
            value, at = value + more[0], more[1]
    return value, at, False


def _below_hundred(r: Reader, at: int) -> tuple[int, int] | None:
    text = r.text(at)
    if text in words.COUNTS:
        return words.COUNTS[text], at + 1
    if text in words.TEENS:
        return words.TEENS[text], at + 1
    if text not in words.TENS:
        return None
    ones = at + 1 + (r.text(at + 1) == "-")
    if r.text(ones) in words.COUNTS:
        return words.TENS[text] + words.COUNTS[r.text(ones)], ones + 1
    return words.TENS[text], at + 1


def ordinal(r: Reader, at: int) -> tuple[int, int] | None:
    """(value, end) of 21st, first, twenty-first."""
    word = r.word(at)
    if word.text.isdecimal() and len(word.text) <= 2:
        if r.text(at + 1) in _MARKS and r.joined(at + 1):
            return word.number, at + 2
        return None
    if word.text in words.ORDINALS:
        return words.ORDINALS[word.text], at + 1
    tens = words.TENS.get(word.text)
    ones = at + 1 + (r.text(at + 1) == "-")
    if tens in (20, 30) and words.ORDINALS.get(r.text(ones), 99) < 10:
        return tens + words.ORDINALS[r.text(ones)], ones + 1
    return None


def year(r: Reader, at: int, *, short: bool = False) -> tuple[int, int] | None:
    """(year, end) of 2019, '87, nineteen eighty six, two thousand and five.

    Args:
        short: two digits alone are a year as well: "April of 87".
    """
    word = r.word(at)
    if word.text.isdecimal():
        if len(word.text) == 4 and is_year(word.number):
            return word.number, at + 1
        if short and len(word.text) == 2:
            return _full(word.number), at + 1
        return None
    if word.text == "'" and r.word(at + 1).text.isdecimal() and len(r.text(at + 1)) == 2:
        return _full(r.word(at + 1).number), at + 2
    return _spoken(r, at)


def _spoken(r: Reader, at: int) -> tuple[int, int] | None:
    first = r.text(at)
    if first == "two" and r.text(at + 1) == "thousand":
        end = at + 2
        more = _below_hundred(r, r.says(end, "and"))
        return (2000 + more[0], more[1]) if more else (2000, end)
    high = words.TEENS.get(first) or (20 if first == "twenty" else 0)
    if high < 11:
        return None
    if r.text(at + 1) == "hundred":
        more = _below_hundred(r, r.says(at + 2, "and"))
        return (high * 100 + more[0], more[1]) if more else (high * 100, at + 2)
    low = _below_hundred(r, at + 1)
    if low is not None and low[0] >= 10:
        return high * 100 + low[0], low[1]
    return None


def _full(two_digits: int) -> int:
    """The year of two digits: 1950 to 2049."""
    return two_digits + (2000 if two_digits < 50 else 1900)
