"""Dates in figures: 2023-05-08, 8.5.2023, 5/8/23, 22/04, 20161016."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from spector.language.dates.grammar import LEXEMES, Found, Reader
from spector.language.dates.period import Meaning, Period, of_month, stretch, yearly

__all__: list[str] = []

#: year, month and day; a number goes on with another sign
_ISO: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|\2\d)")
_PACKED: Final = re.compile(r"((?:19|20)\d\d)()(\d\d)(\d\d)(?![\w'/:-])")
_MONTH: Final = re.compile(r"((?:19|20)\d\d)[-/](\d\d)(?!\d|[-/.]\d)")
_LOCAL: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?!\d|\2\d)")
_SHORT: Final = re.compile(
    r"(\d{1,2})( ?)([-/.])\2(\d{1,2})(?!\d|\3\d|[.,]\d)(?=[\s).,;!?\]']|$|[-~](?P<range>\d+/\d))(?: (\d{4})\b)?"
)


def _figures(r: Reader, at: int, *, sure: bool = False) -> Found:
    """A date in figures.

    Args:
        sure: what stands before says already that these are no times or scores.
    """
    if not r.word(at).text.isdecimal() or (r.joined(at) and not _begins(r, at)):
        return None
    text, start = r.source, r.words[at].start
    if found := _ISO.match(text, start) or _PACKED.match(text, start):
        made = of_month(int(found[1]), int(found[3]), int(found[4]))
        return _meant(r, at, found.end(), [made] if made else [])
    if found := _LOCAL.match(text, start):
        year = int(found[4])
        year += 0 if len(found[4]) == 4 else 2000 if year < 40 else 1900
        dotted = found[2] == "."
        orders = _orders(found[1], found[3], r.grammar.day_first or dotted)
        both = [made for day, month in orders if (made := of_month(year, month, day))]
        return _meant(
            r, at, found.end(), both if r.cue and not (dotted or r.grammar.day_first) else both[:1]
        )
    if found := _MONTH.match(text, start):
        first = of_month(int(found[1]), int(found[2]), 1)
        whole = [stretch(first.first, 1, "month")] if first and first.first else []
        return _meant(r, at, found.end(), whole, "month")
    found = _SHORT.match(text, start)
    return _without_year(r, at, found, sure=sure) if found else None


def _begins(r: Reader, at: int) -> bool:
    """Whether figures that stand behind a sign are no part of a number: 133-03-03-2020."""
    if r.text(at - 1) not in "(['\"-/_~":
        return False
    of_number = r.word(at - 2).text.isdecimal() and r.joined(at - 1)
    return not of_number or r.text(at - 3) in ("-", "/", ".")


def _orders(one: str, two: str, day_first: bool) -> list[tuple[int, int]]:
    """(day, month) in the usual order of a country, and in the other one."""
    pair = int(one), int(two)
    return [pair, pair[::-1]] if day_first else [pair[::-1], pair]


def _meant(r: Reader, at: int, end: int, found: list[Period], grain: str = "day") -> Found:
    periods = tuple(sorted(set(found)))
    if not periods:
        return None
    while at < len(r.words) and r.words[at].start < end:
        at += 1
    return Meaning(periods, grain), at


def _day(month: int, day: int, year: int) -> Period | None:
    return of_month(year, month, day)


def _without_year(r: Reader, at: int, found: re.Match[str], *, sure: bool) -> Found:
    one, gap, sign, two, ranged, year = found.groups()
    day_first, end = r.grammar.day_first, at + 3
    if (sign == "." and not (day_first or sure)) or (sign != "/" and (gap or ranged)):
        return None
    leads = r.stands_in(
        "before_slash" if sign == "/" else "before_figures",
        at - 1 - (r.text(at - 1) in (",", "the")),
    )
    lone = at == 0 and end >= len(r.words) - 1 and sign != "."
    suffixed = day_first and r.word(at + 2).suffix
    paired = sign == "/" and (
        r.stands_in("range_of_days", end) or r.stands_in("range_of_days", at - 1)
    )
    if not (sure or leads or lone or ranged or suffixed or paired):
        return None
    orders = _orders(one, two, day_first)
    if year and 1900 <= int(year) <= 2100 and (dated := of_month(int(year), *orders[0][::-1])):
        return Meaning((dated,)), end + 1
    for day, month in orders:
        if of_month(2024, month, day):
            return yearly(partial(_day, month, day), None), end
    return None


LEXEMES["figures"] = _figures
LEXEMES["sure_figures"] = lambda r, at: _figures(r, at, sure=True)
