"""Parts of English periods: the last day of May, early June, Monday of next week, holidays."""

from __future__ import annotations

from spector.language.dates import period as at
from spector.language.dates.english import words
from spector.language.dates.english.calendar import Found, weekday_at
from spector.language.dates.english.numbers import number, ordinal, year
from spector.language.dates.english.relative import Rule, away, only, recurring, stepped, unit_at
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
    end += r.text(end) in ("morning", "afternoon", "evening", "night")
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
    short = r.says(start, "eoy", "eom", "eow", "boy", "bom")
    if short > start and r.text(start)[0] in "eb":
        unit = {"y": "year", "m": "month", "w": "week"}[r.text(start)[2]]
        side = "late" if r.text(start)[0] == "e" else "early"
        if unit != "year" or r.text(start) == "eoy" or r.word(start).raw.isupper():
            return only(_side(at.unit_at(r.today, 0, unit), side, unit), "span"), short
    rest = r.says(start, "rest of", "remainder of", "remaining of")
    if rest > start:
        left = _bare(r, rest) or deeper(r, rest)
        if left is None or not left[0].relative or not left[0].periods:
            return None
        return only(Period(r.today, left[0].periods[-1].end), "span"), left[1]
    which = words.PARTS.get(r.text(start))
    if r.text(start) in ("earlier", "later") and (
        r.text(start + 1) == "in" or r.text(start + 1) in words.STEPS
    ):
        return _rest(r, r.text(start), start + 1 + (r.text(start + 1) == "in"), deeper)
    if which is None:
        return None
    next_at = start + 1
    if r.text(start) in ("start", "end", "beginning", "middle") and r.text(next_at) != "of":
        return None
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
        meaning,
        lambda whole: _side(whole, which, meaning.grain, ends=r.text(start) == "end"),
        "span",
        end,
    )


def _side(whole: Period, which: str, grain: str, *, ends: bool = False) -> Period:
    """A part of a period; ``until`` is the point that "before", "from" and "to" count from."""
    made = at.thirds(whole, which, grain=grain)
    if which == "mid" and whole.first is not None and whole.end is not None:
        return made._replace(until=at.moved(whole.first, (whole.end - whole.first).days // 2))
    if which == "early":
        return made._replace(until=made.first)
    return made._replace(until=made.end) if ends else made


def _rest(r: Reader, word: str, start: int, deeper: Rule) -> Found:
    found = deeper(r, start)
    if found is None or not found[0].relative or found[0].grain == "day":
        return None
    meaning, end = found
    whole = meaning.periods[0]
    late = at.thirds(whole, "late", grain=meaning.grain).first or r.today
    if meaning.grain == "year" and whole.first is not None:
        late = at.at_day(whole.first, 6, "month")
    if whole.end is not None and whole.end <= r.today:
        return only(
            at.thirds(whole, "late" if word == "later" else "early", grain=meaning.grain), "span"
        ), end
    if word == "later":
        return only(Period(max(late, r.today), whole.end), "span"), end
    return only(Period(whole.first, min(late, max(r.today, whole.first or r.today))), "span"), end


def with_weekday(r: Reader, start: int, deeper: Rule) -> Found:
    """Monday of next week, next week Monday, the week of May 8, the weekend of Halloween."""
    named = weekday_at(r, start)
    if named is not None and r.says(named[1], "after next") > named[1]:
        ahead = (named[0] - r.today.weekday()) % 7 or 7
        return only(at.day(at.moved(r.today, ahead + 7))), named[1] + 2
    if named is not None:
        after = r.says(named[1], "of", "in", "the", ",")
        gone = away(r, named[1], deeper)
        if (
            gone is not None
            and not gone[0].vague
            and gone[0].periods[0].first is not None
            and (gone[0].periods[0].first.weekday() == named[0])
        ):
            return gone
        behind = stepped(r, after)
        if behind is not None and behind[0].grain == "week" and behind[0].periods[0].first:
            return only(at.day(at.moved(behind[0].periods[0].first, named[0]))), behind[1]
        return None
    week = stepped(r, start)
    if week is not None and week[0].grain == "week" and week[0].periods[0].first:
        owned = bool(r.word(week[1] - 1).suffix)
        behind_at = week[1] if owned else r.says(week[1], "on", "'s", ",", "-")
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
        deeper(r, unit[1] + 2) if r.text(unit[1] + 1) in ("the", "on") else None
    )
    if found is None or found[0].grain != "day":
        return None
    what = unit[0]
    return inside_of(
        found[0],
        lambda each: _around(each, what),
        what,
        found[1],
    )


def _around(each: Period, unit: str) -> Period | None:
    """The week of a day, the weekend that is nearest to it."""
    if each.first is None:
        return None
    if unit == "weekend" and 0 < each.first.weekday() < 4:
        return None  # in the middle of a week: either weekend may be meant
    early = unit == "weekend" and each.first.weekday() == 0
    return at.unit_at(at.moved(each.first, -3) if early else each.first, 0, unit)


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
