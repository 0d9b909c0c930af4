"""Periods of whole days, and what an expression of time may mean: one or two of them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, NamedTuple

from spector.language.time import shifted

__all__ = [
    "Meaning", "Period", "around", "at_day", "day", "day_of", "halves", "month", "month_of",
    "moved", "of_month", "period_of", "quarter", "season", "thirds", "unit_at", "week_of_year",
    "year", "years",
]  # fmt: skip

_FIRST: Final = date(1, 1, 1)
_LAST: Final = date(9999, 12, 31)
#: units that are so many of another one
_MULTIPLES: Final = {"fortnight": (14, "day"), "decade": (10, "year"), "century": (100, "year"),
                     "half": (6, "month")}  # fmt: skip
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


class Period(NamedTuple):
    """Whole days, ``first`` to before ``end``; None where it is open.

    ``until`` is the first day of the last named part: 1 May in "from March to May".
    """

    first: date | None
    end: date | None
    until: date | None = None

    @property
    def last(self) -> date | None:
        """The last day of it; None where it is open."""
        return None if self.end is None else moved(self.end, -1)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an expression may mean.

    Attributes:
        periods: readings, the past one first; empty while the year is missing.
        grain: the unit that is named: day, week, month, ..., or ``span``.
        of_year: an expression without a year: year -> its period, or None if there is none.
        relative: it depends on the day of the message.
        vague: it says no exact day, week or month ("a few days ago").
        number: the day alone, of "the third", which a month may complete.
    """

    periods: tuple[Period, ...] = ()
    grain: str = "day"
    of_year: Callable[[int], Period | None] | None = None
    relative: bool = False
    vague: bool = False
    number: int = 0
    #: what "before" and "since" stand before, and its grain
    named: tuple[Period, ...] = ()
    named_grain: str = ""
    #: the year was missing
    yearly: bool = False
    #: "since" is about what is over, whatever the tense
    since: bool = False

    def resolved(self, today: date) -> Meaning:
        """With the periods of a missing year: the last one that is over, and the next one."""
        if self.periods or self.of_year is None:
            return self
        found = []
        for step in (-1, 1):
            for at in range(today.year - step, today.year + 9 * step, step):
                made = self.of_year(at) if 1 <= at <= 9998 else None
                if made is None or made.first is None or made.end is None:
                    continue
                if (made.end <= today) == (step < 0):
                    found.append(made)
                    break
        return replace(self, periods=tuple(found), of_year=None, relative=True, yearly=True)


def moved(of: date, days: int) -> date:
    """A day so many days away, within the years 1 to 9999."""
    return date.fromordinal(min(max(of.toordinal() + days, 1), _LAST.toordinal()))


def at_day(of: date, amount: int, unit: str) -> date:
    """The day that many units away."""
    if unit == "workday":
        step = 1 if amount > 0 else -1
        left = min(abs(amount), 5000)
        while left:
            of = moved(of, step)
            left -= of.weekday() < 5
        return of
    times, base = _MULTIPLES.get(unit, (1, unit))
    amount = min(max(amount, -200_000), 200_000) * times
    return shifted(of, amount, base)


def day(of: date) -> Period:
    return Period(of, moved(of, 1))


def month(at: int, number: int) -> Period:
    first = date(at, number, 1)
    return Period(first, moved(first, monthrange(at, number)[1]))


def around(there: date, unit: str) -> tuple[Period, str] | None:
    """What "so many years ago" names: the year, or the month; None where it names a day."""
    if unit in ("year", "decade", "century", "half"):
        return year(there.year) if there.year < 9999 else Period(there, _LAST), "year"
    if unit in ("month", "quarter"):
        return month(there.year, there.month), "month"
    return None


def of_month(at: int, number: int, which: int) -> Period | None:
    """A day of a month; None where the month has no such day."""
    if 1 <= at <= 9998 and 1 <= which <= monthrange(at, number)[1]:
        return day(date(at, number, which))
    return None


def day_of(whole: Period, which: int) -> Period | None:
    """A day of the month that a period begins in."""
    first = whole.first
    return None if first is None else of_month(first.year, first.month, which)


def month_of(whole: Period, number: int) -> Period | None:
    """A month of the year that a period begins in."""
    return None if whole.first is None else month(whole.first.year, number)


def year(at: int) -> Period:
    return Period(date(at, 1, 1), date(at + 1, 1, 1) if at < 9999 else _LAST)


def years(at: int, count: int) -> Period:
    at = min(max(at, 1), 9999 - count)
    return Period(date(at, 1, 1), date(at + count, 1, 1))


def quarter(at: int, number: int) -> Period:
    first = date(at, 3 * number - 2, 1)
    return Period(first, shifted(first, 3, "month"))


def halves(at: int, number: int) -> Period:
    first = date(at, 6 * number - 5, 1)
    return Period(first, shifted(first, 6, "month"))


def season(at: int, name: str) -> Period:
    """Three months, in the northern hemisphere."""
    first = date(at, _SEASONS[name], 1)
    return Period(first, shifted(first, 3, "month"))


def unit_at(today: date, step: int, unit: str) -> Period:
    """The whole unit so many units from that of today: this week (0), last month (-1)."""
    if unit in ("day", "workday"):
        return day(at_day(today, step, unit))
    if unit in ("week", "fortnight", "weekend"):
        monday = moved(today, 7 * step * (2 if unit == "fortnight" else 1) - today.weekday())
        if unit == "weekend":
            return Period(moved(monday, 5), moved(monday, 7))
        return Period(monday, moved(monday, 14 if unit == "fortnight" else 7))
    if unit == "half":
        there = shifted(date(today.year, 1 if today.month < 7 else 7, 1), 6 * step, "month")
        return Period(there, shifted(there, 6, "month"))
    if unit in ("decade", "century"):
        size = 10 if unit == "decade" else 100
        return years(today.year // size * size + size * step, size)
    there = shifted(today.replace(day=1), step, unit)
    if unit == "month":
        return month(there.year, there.month)
    if unit == "quarter":
        return quarter(there.year, (there.month - 1) // 3 + 1)
    return year(there.year)


def thirds(whole: Period, which: str, *, grain: str) -> Period:
    """The early, middle or late part of a period: halves of weeks and months, else thirds."""
    if grain == "year" and whole.first is not None:
        cuts = [shifted(whole.first, 4 * n, "month") for n in range(4)]
        at = ("early", "mid", "late").index(which)
        return Period(cuts[at], cuts[at + 1])
    first, end = whole.first or _FIRST, whole.end or _LAST
    length = (end - first).days
    if grain in ("week", "month") and which != "mid":
        cut = moved(first, 3 if grain == "week" else 15)
        return Period(first, cut) if which == "early" else Period(cut, end)
    one, two = moved(first, length // 3), moved(first, 2 * length // 3)
    return {"early": Period(first, one), "mid": Period(one, two), "late": Period(two, end)}[which]


def period_of(parts: Iterable[Period]) -> Period:
    """From the first part to the last one, both included."""
    found = list(parts)
    until = found[-1].until or found[-1].first
    return Period(found[0].until or found[0].first, found[-1].end, until)


def week_of_year(at: int, number: int) -> Period | None:
    """A week by its ISO number."""
    try:
        monday = date.fromisocalendar(at, number, 1)
    except ValueError:
        return None
    return Period(monday, monday + timedelta(7))
