"""Parts of English periods: the last day of May, early June, Monday of next week, holidays."""

from __future__ import annotations

from spector.language.dates import period as at
from spector.language.dates.english import words
from spector.language.dates.english.calendar import Found, weekday_at
from spector.language.dates.english.numbers import number, ordinal, year
from spector.language.dates.english.relative import Rule, only, recurring, stepped, unit_at
from spector.language.dates.holidays import ENGLISH_HOLIDAYS
from spector.language.dates.joining import inside_of, nth_unit, nth_weekday
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader

__all__ = ["holiday", "nth", "part", "with_weekday"]


def nth(r: Reader, start: int, deeper: Rule) -> Found:
    """the last day of May, the first Friday of next month, the second week of 2023."""
    start += r.text(start) == "the"
    counted = (-1, start + 1) if r.text(start) in ("last", "final") else ordinal(r, start)
    if counted is None:
        return None
    which, end = counted
    several = number(r, end)
    if several is not None and unit_at(r, several[1]):
        count, end = several[0], several[1]
    else:
        count = 1
    named = weekday_at(r, end)
    unit = None if named else unit_at(r, end)
    if named is None and unit is None and not (r.text(end) == "of" and which > 0):
        return None
    end = named[1] if named else unit[1] if unit else end
    if r.text(end) not in ("of", "in"):
        return None
    whole = deeper(r, end + 1 + (r.text(end + 1) == "the" and not _is_deep(r, end + 1)))
    if whole is None:
        whole = _bare(r, end + 1)
    if whole is None or whole[0].grain in ("day",):
        return None
    meaning = whole[0]

    def inside(period: Period) -> Period | None:
        if named is not None:
            return nth_weekday(period, named[0], which)
        return nth_unit(period, unit[0] if unit else "day", which, count)

    return inside_of(meaning, inside, unit[0] if unit else "day", whole[1])


def _is_deep(r: Reader, start: int) -> bool:
    return r.text(start + 1) in words.STEPS or r.text(start + 1) in words.PARTS


def _bare(r: Reader, start: int) -> Found:
    """ "of the month": that of today."""
    start += r.text(start) == "the"
    unit = unit_at(r, start)
    if unit is None or unit[0] not in ("week", "month", "quarter", "year"):
        return None
    return only(at.unit_at(r.today, 0, unit[0]), unit[0]), unit[1]


def part(r: Reader, start: int, deeper: Rule) -> Found:
    """early May, the end of next month, mid-2022, later this week."""
    begin = start
    start += r.text(start) == "the"
    which = words.PARTS.get(r.text(start))
    if r.text(start) in ("earlier", "later") and r.text(start + 1) in ("this", "in"):
        return _rest(r, r.text(start), start + 1 + (r.text(start + 1) == "in"), deeper)
    if which is None:
        return None
    next_at = start + 1
    while r.text(next_at) in ("-", "of", "in", "part") and next_at < start + 4:
        next_at += 1
    article = r.text(next_at) == "the"
    found = deeper(r, next_at) or (deeper(r, next_at + 1) if article else None)
    if found is None and r.text(start) in ("beginning", "start", "end", "middle"):
        found = _bare(r, next_at)
    if found is None:
        return None
    meaning, end = found
    if meaning.grain in ("day", "span"):
        return None
    del begin
    return inside_of(
        meaning, lambda whole: at.thirds(whole, which, grain=meaning.grain), "span", end
    )


def _rest(r: Reader, word: str, start: int, deeper: Rule) -> Found:
    found = deeper(r, start)
    if found is None or not found[0].relative or found[0].grain == "day":
        return None
    meaning, end = found
    whole = meaning.periods[0]
    late = at.thirds(whole, "late", grain=meaning.grain).first or r.today
    if word == "later":
        return only(Period(max(late, r.today), whole.end), "span"), end
    return only(Period(whole.first, min(late, max(r.today, whole.first or r.today))), "span"), end


def with_weekday(r: Reader, start: int, deeper: Rule) -> Found:
    """Monday of next week, next week Monday, the week of May 8, the weekend of Halloween."""
    named = weekday_at(r, start)
    if named is not None:
        after = r.says(named[1], "of", "in", "the", ",")
        behind = stepped(r, after)
        if behind is not None and behind[0].grain == "week" and behind[0].periods[0].first:
            return only(at.day(at.moved(behind[0].periods[0].first, named[0]))), behind[1]
        return None
    week = stepped(r, start)
    if week is not None and week[0].grain == "week" and week[0].periods[0].first:
        behind_at = r.says(week[1], "on", "'s", ",") if not r.word(week[1] - 1).suffix else week[1]
        named = weekday_at(r, behind_at)
        if named is not None:
            return only(at.day(at.moved(week[0].periods[0].first, named[0]))), named[1]
    start += r.text(start) == "the"
    unit = unit_at(r, start)
    if unit is None or unit[0] not in ("week", "weekend"):
        return None
    if unit[0] == "week" and r.word(unit[1]).text.isdecimal() and len(r.text(unit[1])) <= 2:
        return _numbered(r, unit[1])
    if r.text(unit[1]) not in ("of", "beginning", "starting", "commencing"):
        return None
    found = deeper(r, unit[1] + 1) or (
        deeper(r, unit[1] + 2) if r.text(unit[1] + 1) in ("the", "on") else None)
    if found is None or found[0].grain != "day":
        return None
    what = unit[0]
    return inside_of(
        found[0],
        lambda each: at.unit_at(each.first, 0, what) if each.first else None,
        what,
        found[1],
    )


def _numbered(r: Reader, start: int) -> Found:
    count, end = r.word(start).number, start + 1
    given = year(r, r.says(end, "of", ",", "in"))

    def make(which: int) -> Period | None:
        return at.week_of_year(which, count)

    if given is not None:
        made = make(given[0])
        return (Meaning((made,), "week"), given[1]) if made else None
    made = make(r.today.year)
    return (only(made, "week"), end) if made else None


def holiday(r: Reader, start: int) -> Found:
    """Christmas, Thanksgiving 2023, next Easter."""
    begin = start
    step = words.STEPS.get(r.text(start), 9) if r.text(start) in words.STEPS else 9
    start += step != 9
    for length in (5, 4, 3, 2, 1):
        key = " ".join(_spelled(r, start + n) for n in range(length))
        make = ENGLISH_HOLIDAYS.get(key)
        if make is None:
            continue
        end = start + length
        given = year(r, r.says(end, "of", ",", "in"))
        if given is not None and 1 <= given[0] <= 9998:
            return Meaning((make(given[0]),)), given[1]
        if step != 9:
            return recurring(r, step, make, "day", end)
        del begin
        return Meaning(of_year=make), end
    return None


def _spelled(r: Reader, start: int) -> str:
    word = r.word(start)
    return word.text + (word.suffix if word.suffix == "s" else "")
