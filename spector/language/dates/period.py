"""Days and spans of days, holidays among them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, NamedTuple

LAST: Final = date.max
#: units that are so many days or months
_DAYS: Final = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
_MONTHS: Final = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
_MOST: Final = 200_000


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


OfYear = Callable[[int], Period | None]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an expression may mean.

    Attributes:
        periods: readings, the past one first; empty while the year is missing.
        grain: the unit that is named: day, week, month, ..., or ``span``.
        of_year: an expression without a year: year -> its period, or None if there is none.
        relative: it depends on the day of the message.
        vague: it says no exact day, week or month ("a few days ago").
        named, named_grain: what "before" and "since" stand before.
        yearly: the year was missing.
        since: "since" is about what is over, whatever the tense.
        bare: a number that may be a year.
        minutes: from now, of the first and the last minute, where it names no day.
    """

    periods: tuple[Period, ...] = ()
    grain: str = "day"
    of_year: OfYear | None = None
    relative: bool = False
    vague: bool = False
    named: tuple[Period, ...] = ()
    named_grain: str = ""
    yearly: bool = False
    since: bool = False
    bare: bool = False
    minutes: tuple[float, float] | None = None

    def resolved(self, today: date) -> Meaning:
        """With the periods of a missing year: the last one that is over, and the next one."""
        if self.periods or self.of_year is None:
            return self
        found = []
        for step in (-1, 1):
            for year in range(today.year - step, today.year + 9 * step, step):
                made = self.of_year(year) if 1 <= year <= 9998 else None
                if made and made.first and made.end and (made.end <= today) == (step < 0):
                    found.append(made)
                    break
        return replace(self, periods=tuple(found), of_year=None, relative=True, yearly=True)


def relative(period: Period, grain: str = "day", *, vague: bool = False) -> Meaning:
    """A meaning of one reading, relative to the day of the message."""
    return Meaning((period,), grain, relative=True, vague=vague)


def yearly(make: OfYear, year: int | None, grain: str = "day") -> Meaning | None:
    """What comes once a year, in one year or with the year missing; None if it never comes."""
    if year is None:
        return Meaning(grain=grain, of_year=make) if make(2023) or make(2024) else None
    made = make(year) if 1 <= year <= 9998 else None
    return Meaning((made,), grain) if made else None


# -- arithmetic of days, within the years 1 to 9999 ------------------------------------------------


def moved(of: date, days: int) -> date:
    """A day so many days away."""
    return date.fromordinal(min(max(of.toordinal() + days, 1), LAST.toordinal()))


def shifted(of: date, amount: int, unit: str) -> date:
    """The day that many units away (back if negative).

    The 31st becomes the last day of a shorter month.
    """
    amount = min(max(amount, -_MOST), _MOST)
    if unit == "workday":
        step = 1 if amount > 0 else -1
        left = min(abs(amount), 5000)
        while left:
            of = moved(of, step)
            left -= of.weekday() < 5
        return of
    if unit in _DAYS:
        return moved(of, amount * _DAYS[unit])
    count = of.year * 12 + of.month - 1 + amount * _MONTHS[unit]
    year, month = divmod(min(max(count, 12), 9999 * 12 + 11), 12)
    return date(year, month + 1, min(of.day, monthrange(year, month + 1)[1]))


def stretch(first: date, amount: int, unit: str) -> Period:
    """So many units from a day on."""
    return Period(first, shifted(first, amount, unit))


def day(of: date) -> Period:
    return Period(of, moved(of, 1))


def of_month(year: int, month: int, which: int) -> Period | None:
    """A day of a month; None where the month has no such day."""
    if 1 <= year <= 9998 and 1 <= month <= 12 and 1 <= which <= monthrange(year, month)[1]:
        return day(date(year, month, which))
    return None


def years(first: int, count: int) -> Period:
    first = min(max(first, 1), 9999 - count)
    return Period(date(first, 1, 1), date(first + count, 1, 1))


def unit_at(today: date, step: int, unit: str) -> Period:
    """The whole unit so many units from that of today: this week (0), last month (-1)."""
    if unit in ("day", "workday"):
        return day(shifted(today, step, unit))
    if unit in ("week", "weekend", "fortnight", "workweek"):
        size = 14 if unit == "fortnight" else 7
        monday = moved(today, size * step - today.weekday())
        first, length = {"weekend": (5, 2), "workweek": (0, 5)}.get(unit, (0, size))
        return Period(moved(monday, first), moved(monday, first + length))
    if unit in ("decade", "century"):
        size = _MONTHS[unit] // 12
        return years(today.year // size * size + size * step, size)
    size = _MONTHS[unit]
    return stretch(
        shifted(date(today.year, (today.month - 1) // size * size + 1, 1), step, unit), 1, unit
    )


def week_of_year(year: int, number: int) -> Period | None:
    """A week by its ISO number."""
    try:
        monday = date.fromisocalendar(year, number, 1)
    except ValueError:
        return None
    return Period(monday, monday + timedelta(7))


# -- parts of periods ------------------------------------------------------------------------------


def third(whole: Period, which: str, grain: str, *, loose: bool = False) -> Period:
    """The early, middle or late part of a period: halves of weeks and months, else thirds.

    Args:
        loose: always a third, with each day that lies partly in it.
    """
    first, end = whole.first or date.min, whole.end or LAST
    at = ("early", "mid", "late").index(which)
    if grain == "year" and not loose:
        return stretch(shifted(first, 4 * at, "month"), 4, "month")
    if grain in ("week", "month") and which != "mid" and not loose:
        cut = moved(first, 3 if grain == "week" else 15)
        return Period(first, cut) if which == "early" else Period(cut, end)
    length = (end - first).days
    return Period(
        moved(first, length * at // 3), moved(first, (length * (at + 1) + 2 * loose) // 3)
    )


def nth_weekday(period: Period, number: int, which: int) -> Period | None:
    """The so-manieth weekday of a period, Monday is 0; -1 is the last."""
    if period.first is None or period.end is None:
        return None
    if which < 0:
        last = moved(period.end, -1)
        return day(moved(last, -((last.weekday() - number) % 7)))
    there = moved(period.first, (number - period.first.weekday()) % 7 + 7 * (which - 1))
    return day(there) if there < period.end else None


def nth_unit(period: Period, unit: str, which: int, count: int = 1) -> Period | None:
    """The so-manieth unit of a period, ``count`` of them; a week belongs where its Thursday is."""
    if period.first is None or period.end is None:
        return None
    if unit in ("week", "weekend"):
        if which < 0:
            last = moved(period.end, -1)
            thursday = moved(last, -((last.weekday() - 3) % 7) - 7 * (count - 1))
        else:
            thursday = moved(period.first, (3 - period.first.weekday()) % 7 + 7 * (which - 1))
        if not period.first <= thursday < period.end:
            return None
        week = unit_at(thursday, 0, unit)
        return week if unit == "weekend" else Period(week.first, moved(thursday, 7 * count - 3))
    if which < 0:
        return Period(shifted(period.end, -count, unit), period.end)
    found = stretch(shifted(period.first, (which - 1) * count, unit), count, unit)
    return found if found.end and found.end <= period.end else None


# -- meanings from meanings ------------------------------------------------------------------------


def inside(meaning: Meaning, make: Callable[[Period], Period | None], grain: str) -> Meaning | None:
    """A meaning with each of its periods replaced by a part of it."""
    inner = meaning.of_year
    if inner is not None and not meaning.periods:

        def of_year(year: int) -> Period | None:
            whole = inner(year)
            return make(whole) if whole is not None else None

        return Meaning(grain=grain, of_year=of_year)
    found = tuple(made for each in meaning.periods if (made := make(each)) is not None)
    return Meaning(found, grain, relative=meaning.relative, vague=meaning.vague) if found else None


def from_first(make: Callable[[date], Period | None]) -> Callable[[Period], Period | None]:
    """What is made of the first day of a period."""
    return lambda each: None if each.first is None else make(each.first)


def opened(meaning: Meaning, how: str) -> Meaning:
    """Before, until, since or after what is meant."""

    def of(each: Period) -> Period:
        return {
            "before": Period(None, each.until or each.first),
            "until": Period(None, each.end, each.until or each.first),
            "since": Period(each.first, None),
            "after": Period(each.until or each.end, None),
        }[how]

    made = inside(meaning, of, "span") or meaning
    return replace(
        made, yearly=meaning.yearly, named=meaning.periods, named_grain=meaning.grain,
        since=how == "since",
    )  # fmt: skip


def joined(one: Meaning, two: Meaning) -> Meaning | None:
    """From one to the other; a missing year is that of the one that has a year."""
    if one.of_year is not None and two.of_year is not None and not one.periods:
        first, second = one.of_year, two.of_year

        def of_year(year: int) -> Period | None:
            a, b = first(year), second(year)
            if a is not None and b is not None and a.first and b.first and b.first < a.first:
                b = second(year + 1)
            return _from_to(a, b) if a is not None and b is not None else None

        return Meaning(grain="span", of_year=of_year)
    one_known = one.periods or tuple(_beside(one, two.periods, -1))
    two_known = two.periods or tuple(_beside(two, one.periods, 1))
    found = []
    for each in one_known:
        ends = [
            other for other in two_known if each.first and other.first and other.first >= each.first
        ]
        if ends:
            found.append(_from_to(each, ends[0]))
    return Meaning(tuple(found), "span", relative=one.relative or two.relative) if found else None


def _from_to(one: Period, two: Period) -> Period:
    """From the first part to the last one, both included."""
    return Period(one.until or one.first, two.end, two.until or two.first)


def _beside(meaning: Meaning, limits: Iterable[Period], step: int) -> Iterable[Period]:
    """The nearest of a yearly date that is not after (-1) or not before (1) each of some others."""
    for limit in limits:
        if limit.first is None or meaning.of_year is None:
            continue
        for year in (limit.first.year, limit.first.year + step):
            made = meaning.of_year(year) if 1 <= year <= 9998 else None
            if made and made.first and (made.first - limit.first).days * step >= 0:
                yield made
                break


# Days that come once a year, from how a table writes them.
#
# ``12-25`` is a date, ``11 thu 4`` the fourth Thursday of November (-1 is the last), ``easter -2`` two
# days before Easter; a second part widens it in questions by days before and after: ``12-25 1 1``.

_WEEKDAYS: Final = "mon tue wed thu fri sat sun".split()


def holiday_in(year: int, written: str, *, wide: bool = False) -> Period | None:
    """The day of a year that a table writes; ``wide`` with the days around it that one means."""
    form, _, around = written.partition("/")
    first, *more = form.split()
    if first == "easter":
        return day(moved(_easter(year), int(more[0])))
    if more:
        month = stretch(date(year, int(first), 1), 1, "month")
        found = nth_weekday(month, _WEEKDAYS.index(more[0]), int(more[1]))
        return found and day(moved(found.first or date.min, int(more[2]) if len(more) > 2 else 0))
    of = date.fromisoformat(f"{year:04}-{first}")
    before, after = map(int, around.split()) if wide and around else (0, 0)
    return Period(moved(of, -before), moved(of, after + 1))


def _easter(year: int) -> date:
    """Easter Sunday (Meeus, Jones and Butcher)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, of = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, of + 1)
