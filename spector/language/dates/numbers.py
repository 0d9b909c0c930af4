"""Numbers, hours and dates in figures: names that grammars use."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from spector.language.dates.grammar import BEGINNINGS, LEXEMES, Found, Reader
from spector.language.dates.period import Meaning, Period, of_month, stretch, yearly

#: years that stand for themselves, without a month or "in"
_LEAST_YEAR: Final = 1000
_MOST_YEAR: Final = 2999


def number(r: Reader, at: int) -> Found:
    """(value, whether it is vague) of a number up to 9999."""
    word = r.word(at)
    if word.text.isdecimal():
        return ((word.number, False), at + 1) if len(word.text) <= 4 else None
    vague = r.find("vague", at)
    if vague is not None:
        return (vague[0], True), vague[1]
    if r.stands_in("one", at):
        return (1, False), at + 1
    found = _in_words(r, at)
    return None if found is None else ((found[0], False), found[1])


def _in_words(r: Reader, at: int) -> tuple[int, int] | None:
    """(value, end) of twenty-five, two hundred and five, iki bin on sekiz."""
    found = _below_hundred(r, at)
    for name in ("thousand", "hundred"):
        value, end = found or (1, at)
        if r.stands_in(name, end):
            base = value * (1000 if name == "thousand" else 100)
            more = _in_words(r, end + 1 + r.stands_in("and", end + 1))
            found = (base + more[0], more[1]) if more and more[0] < 1000 else (base, end + 1)
    return found


def _below_hundred(r: Reader, at: int) -> tuple[int, int] | None:
    tens = r.find("tens", at)
    word = tens or r.find("ones", at)
    bare = not r.ending(at)
    if word is None or (word[0] in (1, 10) and not bare and not r.word(at).suffix):
        return None  # "biri" and "onu" are pronouns
    if tens is None or not bare:
        return word
    ones = r.find("ones", tens[1] + (r.text(tens[1]) == "-"))
    return (tens[0] + ones[0], ones[1]) if ones and ones[0] < 10 and tens[0] % 10 == 0 else tens


def ordinal(r: Reader, at: int) -> Found:
    """21st, first, twenty-first, 3'üncü, 3."""
    word = r.word(at)
    if word.text.isdecimal():
        if len(word.text) > 2:
            return None
        if r.joined(at + 1) and r.stands_in("ordinal_mark", at + 1):
            return word.number, at + 2
        dotted = r.grammar.day_first and r.text(at + 1) == "." and r.joined(at + 1)
        if dotted and not r.joined(at + 2):
            return word.number, at + 2
        marked = r.grammar.day_first and word.suffix.endswith(("nci", "ncu"))
        return (word.number, at + 1) if marked else None
    tens = r.find("tens", at)
    if tens is not None and tens[0] in (20, 30):
        ones = r.find("ordinal_word", tens[1] + (r.text(tens[1]) == "-"))
        if ones is not None and 0 < ones[0] < 10:
            return tens[0] + ones[0], ones[1]
    return r.find("ordinal_word", at)


def day_number(r: Reader, at: int) -> Found:
    """A day of a month: 8, 8th, fifteen, twenty five."""
    if r.word(at).text.isdecimal() and len(r.text(at)) > 2:
        return None
    counted = ordinal(r, at) or to_99(r, at) or _in_words(r, at)
    return counted if counted and 1 <= counted[0] <= 31 else None


def year(r: Reader, at: int) -> Found:
    """2019, '87, nineteen eighty six, two thousand and five."""
    word = r.word(at)
    if word.text.isdecimal():
        return _long_year(r, at)
    if word.text == "'" and r.word(at + 1).text.isdecimal() and len(r.text(at + 1)) == 2:
        return _full(r.word(at + 1).number), at + 2
    high = r.find("ones", at) or r.find("tens", at)
    low = _below_hundred(r, high[1]) if high and 10 < high[0] <= 20 else None
    if high and low and low[0] >= 10:
        return high[0] * 100 + low[0], low[1]
    found = _in_words(r, at)
    return found if found and 1100 <= found[0] <= _MOST_YEAR else None


def _long_year(r: Reader, at: int) -> Found:
    word = r.word(at)
    is_year = len(word.text) == 4 and _LEAST_YEAR <= word.number <= _MOST_YEAR
    return (word.number, at + 1) if is_year else None


def _full(two_digits: int) -> int:
    """The year of two digits: 1950 to 2049."""
    return two_digits + (2000 if two_digits < 50 else 1900)


def _short_year(r: Reader, at: int) -> Found:
    """A year, of which two digits are enough: "April of 87"."""
    short = r.word(at).text.isdecimal() and len(r.text(at)) == 2
    return (_full(r.word(at).number), at + 1) if short else year(r, at)


def to_99(r: Reader, at: int) -> Found:
    value = r.word(at).number
    return (value, at + 1) if 1 <= value <= 99 else None


def _named(kind: str, r: Reader, at: int) -> Found:
    """A month or a weekday; a short one with its full stop, or with a capital or a day before it."""
    short = r.grammar.classes[f"short_{kind}"].words.get(r.text(at))
    if short is None:
        none = r.stands_in("no_month", at) and r.word(at).raw[:1].islower()
        return None if none else r.find(kind, at)
    sure = r.word(at).raw[:1].isupper() or len(r.words) == 1 or r.stands_in("before_short", at - 1)
    if r.stands_in("doubtful_short", at) and not (sure or r.word(at - 1).text.isdecimal()):
        return None
    dotted = r.text(at + 1) == "." and r.joined(at + 1) and at + 2 < len(r.words)
    return short, at + 1 + dotted


def amounts(r: Reader, at: int) -> Found:
    """(amounts, whether they are vague) of "2 years, 1 month and 21 days"."""
    found: list[tuple[int, str]] = []
    vague, end = False, at
    while len(found) < 6:
        counted = number(r, at)
        if counted is None:
            if not r.stands_in("another", at):
                break
            counted = (1, False), at + 1
        unit = r.find("unit", counted[1] + r.stands_in("more", counted[1]))
        if (
            unit is None
            or not counted[0][0]
            or unit[0] == "weekend"
            or not r.grammar.ends("counted", r.ending(unit[1] - 1))
        ):
            break
        found.append((counted[0][0], unit[0]))
        vague |= counted[0][1]
        at = end = unit[1]
        while r.stands_in("and_more", at) and at < end + 2:
            at += 1
    return ((tuple(found), vague), end) if found else None


def tens_of_years(r: Reader, at: int) -> Found:
    """1990s, the '90s, 90'lar."""
    word = r.word(at)
    inflected = word.suffix.startswith(("lar", "ler"))
    plural = inflected or word.suffix == "s" or r.text(at + 1) == "s"
    if not word.text.isdecimal() or not plural or len(word.text) not in (2, 4):
        return None
    named = len(word.text) == 4 or inflected or r.text(at - 1) in ("the", "'")
    return (word.number, at + 1 + (not word.suffix)) if named else None


LEXEMES.update({
    "number": number, "to_99": to_99, "ordinal": ordinal, "day_number": day_number, "year": year,
    "long_year": _long_year, "short_year": _short_year, "tens_of_years": tens_of_years,
    "amounts": amounts, "month": partial(_named, "month"), "weekday": partial(_named, "weekday"),
})  # fmt: skip
_COUNT: Final = "ones tens hundred thousand"
BEGINNINGS.update({
    "number": f"{_COUNT} vague one", "amounts": f"{_COUNT} vague one another",
    "ordinal": "ordinal_word tens", "day_number": f"ordinal_word {_COUNT}",
    "year": _COUNT, "short_year": _COUNT, "month": "month short_month",
    "weekday": "weekday short_weekday",
})  # fmt: skip


# Dates in figures: 2023-05-08, 8.5.2023, 5/8/23, 22/04, 20161016.

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
