"""Calendar periods as half-open ranges of milliseconds, UTC, proleptic Gregorian.

Pure arithmetic on an injected now. Ranges are clamped to the years 1 to 9999, so no cue can make a
date overflow.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Final, NamedTuple

from spector.clock import MAX_MS, MIN_MS, MS_PER_DAY, from_ms

__all__ = [
    "ALWAYS", "Span", "ago", "calendar_unit", "day", "days", "hull", "month", "part", "rolling",
    "season", "shifted", "today_of", "weekday", "weekend", "year",
]  # fmt: skip

_EPOCH: Final = date(1970, 1, 1).toordinal()
_MS_PER_HOUR: Final = 3_600_000
_SHORT_UNITS: Final = {"minute": 60_000, "hour": _MS_PER_HOUR}
#: tolerance of "a week ago" in days, either way
_WEEK_SLACK: Final = 3
#: first months of the seasons in the northern hemisphere
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


class Span(NamedTuple):
    """Half-open: ``start_ms <= t < end_ms``, milliseconds since 1970-01-01 UTC."""

    start_ms: int
    end_ms: int


ALWAYS: Final = Span(MIN_MS, MAX_MS + 1)


def today_of(now_ms: int) -> date:
    """The UTC date of a time."""
    return from_ms(now_ms).date()


def shifted(start: date, amount: int, unit: str) -> date:
    """Shift a date by days, weeks, months, quarters or years (back if negative).

    The 31st becomes the last day of a shorter month.
    """
    if unit in ("day", "week", "weekend"):
        ordinal = start.toordinal() + amount * (1 if unit == "day" else 7)
        return date.fromordinal(min(max(ordinal, 1), date.max.toordinal()))
    months = amount * {"month": 1, "quarter": 3}.get(unit, 12)
    count = min(max(start.year * 12 + start.month - 1 + months, 12), 9999 * 12 + 11)
    at, of = divmod(count, 12)
    return date(at, of + 1, min(start.day, monthrange(at, of + 1)[1]))


def days(first: date, last: date) -> Span:
    """From the start of one day to the end of another."""
    if last < first:
        first, last = last, first
    begin = (first.toordinal() - _EPOCH) * MS_PER_DAY
    return Span(begin, (last.toordinal() - _EPOCH + 1) * MS_PER_DAY)


def day(of: date) -> Span:
    return days(of, of)


def month(at: int, of: int) -> Span:
    """Month 1..12 of a year 1..9999."""
    return days(date(at, of, 1), date(at, of, monthrange(at, of)[1]))


def year(at: int) -> Span:
    """A year 1..9999."""
    return days(date(at, 1, 1), date(at, 12, 31))


def season(at: int, name: str) -> Span:
    """Three months, in the northern hemisphere: spring from March, ..., winter from December."""
    first = date(at, _SEASONS[name], 1)
    last = shifted(first, 2, "month")
    return days(first, date(last.year, last.month, monthrange(last.year, last.month)[1]))


def weekend(of: date) -> Span:
    """Saturday and Sunday of the week (Monday to Sunday) of a date."""
    saturday = shifted(of, 5 - of.weekday(), "day")
    return days(saturday, shifted(saturday, 1, "day"))


def weekday(of: date, number: int, step: int) -> Span:
    """A weekday (Monday is 0): the last before a date (-1), the next (1), or that week's (0)."""
    if step == 0:
        return day(shifted(of, number - of.weekday(), "day"))
    away = (of.weekday() - number) % 7 or 7 if step < 0 else -((number - of.weekday()) % 7 or 7)
    return day(shifted(of, -away, "day"))


def calendar_unit(of: date, unit: str, step: int) -> Span:
    """The whole week, month, quarter, year, weekend or day ``step`` units from a date."""
    if unit == "weekend":
        return weekend(shifted(of, step, "week"))
    if unit == "week":
        monday = shifted(of, step * 7 - of.weekday(), "day")
        return days(monday, shifted(monday, 6, "day"))
    there = shifted(of.replace(day=1) if unit != "day" else of, step, unit)
    if unit == "day":
        return day(there)
    if unit == "month":
        return month(there.year, there.month)
    if unit == "quarter":
        first = there.replace(month=(there.month - 1) // 3 * 3 + 1)
        last = shifted(first, 2, "month")
        return Span(month(first.year, first.month)[0], month(last.year, last.month)[1])
    return year(there.year)


def ago(now_ms: int, amount: int, unit: str, vague: bool = False) -> Span:
    """The range of "two weeks ago", wider for larger units.

    Days are exact, weeks have a tolerance of three days, months and years are calendar ones.
    ``vague`` ("a few days ago") widens the range by a third of the amount, at least one unit.
    """
    slack = max(1, amount // 3) if vague else 0
    if unit in _SHORT_UNITS:
        size = _SHORT_UNITS[unit]
        centre, wide = now_ms - amount * size, (1 + slack) * size
        return _cut(Span(centre - wide, min(centre + wide, now_ms + 1)))
    now = today_of(now_ms)
    far, near = shifted(now, -amount - slack, unit), shifted(now, -max(1, amount - slack), unit)
    if unit == "day":
        return days(far, near)
    if unit in ("week", "weekend"):
        return days(shifted(far, -_WEEK_SLACK, "day"), shifted(near, _WEEK_SLACK, "day"))
    return hull((calendar_unit(far, unit, 0), calendar_unit(near, unit, 0)))


def rolling(now_ms: int, amount: int, unit: str) -> Span:
    """The last (if negative, the next) ``amount`` units, including today."""
    if unit in _SHORT_UNITS:
        there = now_ms - amount * _SHORT_UNITS[unit]
        return _cut(Span(min(there, now_ms), max(there, now_ms) + 1))
    now = today_of(now_ms)
    return days(shifted(now, -amount, unit), now)


def part(whole: Span, which: str) -> Span:
    """The "early", "mid" or "late" third of a span."""
    third = (whole.end_ms - whole.start_ms) // 3
    begin = whole.start_ms + {"early": 0, "mid": third, "late": 2 * third}[which]
    return Span(begin, whole.end_ms if which == "late" else begin + third)


def hull(spans: tuple[Span, ...]) -> Span:
    """The smallest span that covers all ``spans``, which must not be empty."""
    return Span(min(span[0] for span in spans), max(span[1] for span in spans))


def _cut(span: Span) -> Span:
    start = max(span[0], MIN_MS)
    return Span(start, max(min(span[1], MAX_MS + 1), start + 1))
