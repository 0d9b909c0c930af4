"""Dates in figures: 2023-05-08, 8.5.2023, 5/8/23, 22/04, 20161016."""

from __future__ import annotations

from typing import Final

from spector.language.dates import period as at
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader

__all__ = ["figures"]

_SIGNS: Final = ("-", "/", ".")
#: what makes of two figures a date, and not a fraction or a score
_BEFORE: Final = frozenset(
    """this next on by since until till before after from to for starting monday tuesday wednesday
    thursday friday saturday sunday mon tue wed thu fri sat sun due between and pazartesi sali
    carsamba persembe cuma cumartesi pazar""".split()
)


def figures(
    r: Reader, start: int, *, day_first: bool, sure: bool = False
) -> tuple[Meaning, int] | None:
    """A date in figures that begins here.

    Args:
        day_first: 5/8 is the fifth of August, as everywhere but in the United States.
        sure: what stands before says already that these are no times or scores.
    """
    first = r.word(start)
    if not first.text.isdecimal() or (
        r.joined(start) and (r.text(start - 1) not in "(['\"-/_~" or _of_number(r, start))
    ):
        return None
    if len(first.text) == 8 and not r.joined(start + 1):
        return _packed(first.text, start)
    sign = r.text(start + 1)
    day_first |= sign == "." and r.text(start + 3) == "."  # nowhere is the month first with dots
    spaced = not r.joined(start + 1)
    second = r.word(start + 2)
    if (
        sign not in _SIGNS
        or not sign
        or not second.text.isdecimal()
        or len(second.text) > 2
        or (spaced == r.joined(start + 2))
    ):
        return None
    third = r.word(start + 4)
    long = r.text(start + 3) == sign and third.text.isdecimal()
    if long and r.joined(start + 3) and r.joined(start + 4):
        return _full(r, start, day_first=day_first)
    if spaced and sign != "/":
        return None
    if len(first.text) == 4:
        return _month_of_year(r, start, sign)
    return _without_year(r, start, sign, day_first=day_first, sure=sure)


def _of_number(r: Reader, start: int) -> bool:
    """Whether figures go on with a number before them that is no date itself."""
    if not (r.word(start - 2).text.isdecimal() and r.joined(start - 1)):
        return False
    return r.text(start - 3) not in _SIGNS


def _packed(text: str, start: int) -> tuple[Meaning, int] | None:
    year, month, of = int(text[:4]), int(text[4:6]), int(text[6:])
    if not (1900 <= year <= 2100 and 1 <= month <= 12):
        return None
    found = at.of_month(year, month, of)
    return (Meaning((found,)), start + 1) if found else None


def _full(r: Reader, start: int, *, day_first: bool) -> tuple[Meaning, int] | None:
    parts = [r.word(start + n) for n in (0, 2, 4)]
    one, two, three = (part.number for part in parts)
    end = start + 5
    sign = r.text(start + 1)
    if (
        r.text(end) == sign
        and r.joined(end)
        and r.word(end + 1).text.isdecimal()
        and (r.joined(end + 1))
    ):
        return None  # a number of a thing: 133-03-03-2020
    if len(parts[0].text) == 4:
        return _made(one, two, three, end)
    if len(parts[2].text) not in (2, 4):
        return None
    orders = ((one, two), (two, one)) if day_first else ((two, one), (one, two))
    for year in [three] if len(parts[2].text) == 4 else _centuries(three):
        for of, month in orders:
            made = _made(year, month, of, end)
            if made is not None:
                return made
    return None


def _centuries(two_digits: int) -> list[int]:
    near = two_digits + 2000
    return [near if two_digits < 40 else near - 100]


def _made(year: int, month: int, of: int, end: int) -> tuple[Meaning, int] | None:
    if not (1 <= year <= 9998 and 1 <= month <= 12):
        return None
    found = at.of_month(year, month, of)
    return (Meaning((found,)), end) if found else None


def _month_of_year(r: Reader, start: int, sign: str) -> tuple[Meaning, int] | None:
    year, month = r.word(start).number, r.word(start + 2).number
    if sign == "." or len(r.text(start + 2)) != 2 or not 1900 <= year <= 2100:
        return None
    if not 1 <= month <= 12:
        return None
    return Meaning((at.month(year, month),), "month"), start + 3


def _without_year(
    r: Reader, start: int, sign: str, *, day_first: bool, sure: bool
) -> tuple[Meaning, int] | None:
    one, two = r.word(start).number, r.word(start + 2).number
    end = start + 3
    if sign == "." and not day_first and not sure:
        return None
    ranged = r.text(end) in ("-", "~") and r.text(end + 2) == sign == "/"
    if len(r.text(start)) > 2 or (r.joined(end) and r.text(end) not in ").,;!?]'" and not ranged):
        return None
    if (
        r.joined(end)
        and r.text(end) in ".,"
        and r.joined(end + 1)
        and (r.word(end + 1).text.isdecimal())
    ):
        return None
    lone = start == 0 and end >= len(r.words) - 1 and sign != "."
    behind = r.text(start - 1) if r.text(start - 1) not in (",", "the") else r.text(start - 2)
    framed = behind in (_BEFORE if sign == "/" else ("on", "due", "since"))
    framed |= r.text(end) in ("-", "~") and r.text(end + 2) == sign == "/"
    framed |= (
        day_first
        and sign == "/"
        and (r.text(end) in ("ile", "ve") or r.text(start - 1) in ("ile", "ve"))
    )
    if not (sure or lone or framed or (day_first and r.word(start + 2).suffix)):
        return None
    given = r.word(end)
    if given.text.isdecimal() and len(given.text) == 4 and not r.joined(end):
        dated = _in_year(one, two, given.number, day_first=day_first)
        if dated is not None:
            return Meaning((dated,)), end + 1
    orders = ((one, two), (two, one)) if day_first else ((two, one), (one, two))
    for of, month in orders:
        if 1 <= month <= 12 and at.of_month(2024, month, of):
            return _yearly(month, of), end
    return None


def _in_year(one: int, two: int, year: int, *, day_first: bool) -> Period | None:
    of, month = (one, two) if day_first else (two, one)
    return at.of_month(year, month, of) if 1 <= month <= 12 and 1900 <= year <= 2100 else None


def _yearly(month: int, of: int) -> Meaning:
    def make(year: int) -> Period | None:
        return at.of_month(year, month, of)

    return Meaning(of_year=make)
