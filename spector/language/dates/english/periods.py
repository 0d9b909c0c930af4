"""English periods of the calendar: in 2019, the nineties, Q3 2022, summer of 2021."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.english import words
from spector.language.dates.english.calendar import Found, skipped
from spector.language.dates.english.numbers import is_year, ordinal, year
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader

__all__ = ["decade", "quarter", "season", "year_alone"]

_YEAR_LEADS: Final = frozenset(
    """in of during since until till by before after from between through to around for year and
    than or circa back - ~""".split()
)
#: behind a bare year these make a number of it
_COUNTED: Final = frozenset(
    """people users items dollars euros lines words miles km calories steps points percent % times
    units pieces characters mb gb kg meters""".split()
)


def year_alone(r: Reader, start: int) -> Found:
    """in 2019, the year 2019, FY 2019, 1998."""
    begin = start
    start = r.says(start, "the year", "year", "calendar year", "fiscal year", "fy", "cy", "cal")
    found = year(r, start)
    word = r.word(start)
    ranged = r.text(start - 1) in ("-", "~") and len(r.text(start - 2)) == 4
    if found is None or (
        r.joined(start) and r.text(start - 1) in "-/.:+$#&=~" and begin == start and not ranged
    ):
        return None
    value, end = found
    if (
        r.joined(end)
        and r.text(end) in ("-", "/")
        and r.joined(end + 1)
        and (r.word(end + 1).text.isdecimal() and len(r.text(end + 1)) != 4)
    ):
        return None
    if word.text.isdecimal():
        if (
            r.joined(end)
            and r.text(end) in ("-", "/", ":", "s", "%")
            and ((r.joined(end + 1) and not r.text(end + 1).isdecimal()) or r.text(end) in "s%:")
        ):
            return None
        if (
            r.joined(end)
            and r.text(end) == "."
            and r.joined(end + 1)
            and (r.word(end + 1).text.isdecimal())
        ):
            return None
        if not 1500 <= value <= 2100 or r.text(end) in _COUNTED:
            return None
    elif begin == start and r.text(begin - 1) not in _YEAR_LEADS:
        return None
    if (
        begin == start
        and r.text(start - 1) not in _YEAR_LEADS
        and not 1900 <= value <= 2050
        and (len(r.words) > 1)
    ):
        return None
    return Meaning((at.year(value),), "year"), end


def decade(r: Reader, start: int) -> Found:
    """the 1990s, the '90s, the nineties, the 21st century."""
    begin = start
    start += r.text(start) == "the"
    counted = ordinal(r, start)
    if counted is not None and r.text(counted[1]) == "century":
        return Meaning((at.years((counted[0] - 1) * 100 or 1, 100),), "century"), counted[1] + 1
    start = r.says(start, "'")
    word, behind = r.word(start), r.word(start + 1)
    plural = word.suffix == "s" or behind.text == "s"
    if word.text.isdecimal() and plural and word.number % 10 == 0:
        end = start + 1 + (word.suffix != "s")
        if len(word.text) == 4 and is_year(word.number):
            return Meaning((at.years(word.number, 10),), "decade"), end
        if len(word.text) == 2 and word.number >= 20 and begin != start:
            return _of_century(word.number), end
    tens = words.DECADES.get(word.text)
    if tens is not None and r.text(start - 1) in ("the", "in", "early", "late", "mid", "-"):
        return _of_century(tens), start + 1
    return None


def _of_century(tens: int) -> Meaning:
    return Meaning((at.years(1900 + tens, 10), at.years(2000 + tens, 10)), "decade", relative=True)


def quarter(r: Reader, start: int) -> Found:
    """Q3 2022, the third quarter of 2022, 2022 Q3, H1 2020, week 31."""
    lead = year(r, start) if r.word(start).text.isdecimal() else None
    begin = lead[1] if lead else start
    begin = skipped(r, begin, "-", ",") if lead else begin
    mark, figure = r.text(begin), r.word(begin + 1)
    if mark in ("q", "h") and figure.text.isdecimal() and r.joined(begin + 1):
        if not 1 <= figure.number <= (4 if mark == "q" else 2):
            return None
        make = at.quarter if mark == "q" else at.halves
        end, count = begin + 2, figure.number
    else:
        counted = ordinal(r, begin)
        if lead is None or counted is None or r.text(counted[1]) != "quarter":
            return None
        make, end, count = at.quarter, counted[1] + 1, counted[0]
        if not 1 <= count <= 4:
            return None
    after = skipped(r, end, ",", "of", "-", "in")
    found = lead or year(r, after, short=True)
    grain = "quarter" if mark != "h" else "half"
    if found is not None:
        return Meaning((make(found[0], count),), grain), max(end, 0 if lead else found[1])

    def yearly(which: int) -> Period | None:
        return make(which, count)

    return Meaning(grain=grain, of_year=yearly), end


def season(r: Reader, start: int) -> Found:
    """summer of 2021, 2021 summer. A season without a year is no date by itself."""
    lead = year(r, start) if r.word(start).text.isdecimal() else None
    name = words.SEASONS.get(r.text(lead[1] if lead else start))
    if name is None:
        return None
    end = (lead[1] if lead else start) + 1
    found = lead or year(r, skipped(r, end, ",", "of"))
    if found is None:
        return None
    return replace(Meaning((at.season(found[0], name),)), grain="season"), max(
        end, 0 if lead else found[1]
    )
