"""Days that come once a year, from how a table writes them.

``12-25`` is a date, ``11 thu 4`` the fourth Thursday of November (-1 is the last), ``easter -2`` two
days before Easter; a second part widens it in questions by days before and after: ``12-25 1 1``.
"""

from __future__ import annotations

from datetime import date
from typing import Final

from spector.language.dates.period import Period, day, moved, nth_weekday, stretch

_DAYS: Final = "mon tue wed thu fri sat sun".split()


def holiday_in(year: int, written: str, *, wide: bool = False) -> Period | None:
    """The day of a year that a table writes; ``wide`` with the days around it that one means."""
    form, _, around = written.partition("/")
    first, *more = form.split()
    if first == "easter":
        return day(moved(_easter(year), int(more[0])))
    if more:
        month = stretch(date(year, int(first), 1), 1, "month")
        found = nth_weekday(month, _DAYS.index(more[0]), int(more[1]))
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
