"""What both grammars do with meanings: parts of one, from one to another, before and after one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spector.language.dates import period as at
from spector.language.dates.period import Meaning, Period

__all__ = ["inside_of", "joined", "nth_unit", "nth_weekday", "opened"]


def inside_of(
    meaning: Meaning, make: Callable[[Period], Period | None], grain: str, end: int
) -> tuple[Meaning, int] | None:
    """A meaning with each of its periods replaced by a part of it."""
    inner = meaning.of_year
    if inner is not None and not meaning.periods:

        def yearly(which: int) -> Period | None:
            whole = inner(which)
            return make(whole) if whole is not None else None

        return Meaning(grain=grain, of_year=yearly), end
    found = [made for each in meaning.periods if (made := make(each)) is not None]
    if not found:
        return None
    return Meaning(tuple(found), grain, relative=meaning.relative), end


def nth_weekday(period: Period, number: int, which: int) -> Period | None:
    """The so-manieth weekday of a period, Monday is 0; -1 is the last."""
    if period.first is None or period.end is None:
        return None
    if which < 0:
        last = at.moved(period.end, -1)
        return at.day(at.moved(last, -((last.weekday() - number) % 7)))
    there = at.moved(period.first, (number - period.first.weekday()) % 7 + 7 * (which - 1))
    return at.day(there) if there < period.end else None


def nth_unit(period: Period, unit: str, which: int, count: int = 1) -> Period | None:
    """The so-manieth unit of a period, ``count`` of them; a week belongs where its Thursday is."""
    if period.first is None or period.end is None:
        return None
    if unit in ("week", "weekend"):
        if which < 0:
            last = at.moved(period.end, -1)
            thursday = at.moved(last, -((last.weekday() - 3) % 7) - 7 * (count - 1))
        else:
            thursday = at.moved(period.first, (3 - period.first.weekday()) % 7 + 7 * (which - 1))
        if not period.first <= thursday < period.end:
            return None
        monday = at.moved(thursday, -3)
        if unit == "weekend":
            return Period(at.moved(monday, 5), at.moved(monday, 7))
        return Period(monday, at.moved(monday, 7 * count))
    if which < 0:
        return Period(at.at_day(period.end, -count, unit), period.end)
    there = at.at_day(period.first, (which - 1) * count, unit)
    end = at.at_day(there, count, unit)
    return Period(there, end) if end <= period.end else None


def opened(meaning: Meaning, how: str) -> Meaning:
    """Before, until, since or after what is meant."""
    found = []
    for each in meaning.periods:
        if how == "before":
            found.append(Period(None, each.until or each.first))
        elif how == "until":
            found.append(Period(None, each.end, each.until or each.first))
        elif how == "since":
            found.append(Period(each.first, None))
        else:
            found.append(Period(each.until or each.end, None))
    return replace(
        meaning,
        periods=tuple(found),
        grain="span",
        named=meaning.periods,
        named_grain=meaning.grain,
        since=how == "since",
    )


def joined(one: Meaning, two: Meaning) -> Meaning | None:
    """From one to the other; a missing year is that of the one that has a year."""
    if one.of_year is not None and two.of_year is not None and not one.periods:
        first, second = one.of_year, two.of_year

        def yearly(year: int) -> Period | None:
            a, b = first(year), second(year)
            if a is not None and b is not None and a.first and b.first and b.first < a.first:
                b = second(year + 1)
            return at.period_of((a, b)) if a is not None and b is not None else None

        return Meaning(grain="span", of_year=yearly)
    if one.of_year is not None and not one.periods and two.periods:
        given = [_beside(one, each, -1) for each in two.periods]
        one = replace(one, periods=tuple(each for each in given if each), of_year=None)
    elif two.of_year is not None and not two.periods and one.periods:
        given = [_beside(two, each, 1) for each in one.periods]
        two = replace(two, periods=tuple(each for each in given if each), of_year=None)
    found = []
    for each in one.periods:
        ends = [
            other
            for other in two.periods
            if other.first is not None and each.first is not None and other.first >= each.first
        ]
        if ends:
            found.append(at.period_of((each, ends[0])))
    if not found:
        return None
    return Meaning(tuple(found), "span", relative=one.relative or two.relative)


def _beside(yearly: Meaning, limit: Period, step: int) -> Period | None:
    """The nearest of a yearly date that is not after (-1) or not before (1) another."""
    if limit.first is None or yearly.of_year is None:
        return None
    for year in (limit.first.year, limit.first.year + step):
        made = yearly.of_year(year) if 1 <= year <= 9998 else None
        if made is None or made.first is None:
            continue
        if (made.first - limit.first).days * step >= 0:
            return made
    return None
