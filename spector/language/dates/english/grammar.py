"""The grammar of English dates: single ones, from one to another, before and after one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.english import calendar, parts, periods, relative
from spector.language.dates.english.calendar import Found
from spector.language.dates.english.numbers import ordinal
from spector.language.dates.figures import figures
from spector.language.dates.joining import joined, opened
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader
from spector.language.dates.tense import SHIFTS

__all__ = ["english_date"]

#: "the last day of the first week of ..." goes no deeper
_DEEPEST: Final = 8
_JOINTS: Final = ("to", "until", "till", "through", "thru", "up to", "-", "~", "'til", "til")
_BEFORE: Final = (
    "before",
    "prior to",
    "earlier than",
    "no later than",
    "not later than",
    "sooner than",
)
_UNTIL: Final = ("until", "till", "by", "til", "up to", "as late as", "through")
_AFTER: Final = ("after", "later than", "greater than", "more than")
_SINCE: Final = (
    "since", "as early as", "no earlier than", "not before", "on or after", "starting from",
    "starting on", "starting", "beginning on", "any time from", "anytime from",
)  # fmt: skip


def english_date(r: Reader, start: int) -> Found:
    """The longest expression that begins here."""
    found = _best(_between(r, start), _modified(r, start), _pair(r, start), _simple(r, start))
    if found is None or (found[1] == start + 1 and r.text(start) == "now"):
        return None
    return _continued(r, found)


def _continued(r: Reader, found: tuple[Meaning, int]) -> Found:
    """ "2018 or later", "May or earlier": open to one side."""
    meaning, end = found
    for how, phrases in (
        ("since", ("or later", "or after", "and later", "and after", "onwards", "onward",
                   "and onwards", "and onward", "or afterwards", "on and after",
                   "and greater", "or greater", "or more")),
        ("until", ("or earlier", "or before", "and earlier", "and before")),
    ):  # fmt: skip
        after = r.says(end, *phrases)
        if after > end:
            opened_up = opened(meaning.resolved(r.today), how)
            return opened_up, after
    return found


def _best(*found: Found) -> Found:
    return max((each for each in found if each), key=lambda each: each[1], default=None)


def _simple(r: Reader, start: int) -> Found:
    """The longest single date that begins here; each place is read once."""
    if start in r.known:
        return r.known[start]
    if r.depth >= _DEEPEST:
        return None
    r.known[start] = None  # what is being read is not part of itself
    r.depth += 1
    found = _best(
        figures(r, start, day_first=False), calendar.month_day(r, start),
        calendar.month_only(r, start), periods.quarter(r, start), periods.season(r, start),
        periods.decade(r, start), periods.year_alone(r, start), relative.named_day(r, start),
        relative.stepped(r, start), relative.away(r, start, _simple),
        parts.nth(r, start, _simple), parts.part(r, start, _simple),
        parts.with_weekday(r, start, _simple), parts.holiday(r, start),
        calendar.weekday(r, start), calendar.ordinal_alone(r, start), _within_month(r, start),
        _quarter_of(r, start),
    )  # fmt: skip
    if found is not None and found[0].grain == "day":
        found = _with_other_day(r, found)
    r.depth -= 1
    r.known[start] = found
    return found


def _with_other_day(r: Reader, found: tuple[Meaning, int]) -> tuple[Meaning, int]:
    """ "in 3 days on Friday": one day named twice."""
    meaning, end = found
    after = r.says(end, "on")
    named = calendar.weekday_at(r, after)
    if named is None or after == end or not meaning.periods:
        return found
    fits = [
        each
        for each in meaning.periods
        if each.first is not None and each.first.weekday() == named[0]
    ]
    return (replace(meaning, periods=tuple(fits)), named[1]) if fits else found


def _within_month(r: Reader, start: int) -> Found:
    """the 21st of next month, the third of this month."""
    start += r.text(start) == "the"
    counted = ordinal(r, start) or calendar.day_number(r, start)
    if counted is None or r.text(counted[1]) != "of":
        return None
    month = relative.stepped(r, counted[1] + 1)
    if month is None and r.says(counted[1] + 1, "the month") > counted[1] + 1:
        month = Meaning((at.unit_at(r.today, 0, "month"),), "month"), counted[1] + 3
    if month is None or month[0].grain != "month":
        return None
    first = month[0].periods[0].first
    made = at.of_month(first.year, first.month, counted[0]) if first else None
    return (Meaning((made,), relative=True), month[1]) if made else None


def _quarter_of(r: Reader, start: int) -> Found:
    """next year's first quarter is written so seldom that only "first quarter" is read."""
    start += r.text(start) == "the"
    counted = ordinal(r, start)
    if counted is None or r.text(counted[1]) != "quarter" or r.text(counted[1] + 1) == "of":
        return None
    if not 1 <= counted[0] <= 4:
        return None
    which = counted[0]

    def yearly(year: int) -> Period:
        return at.quarter(year, which)

    return Meaning(grain="quarter", of_year=yearly), counted[1] + 1


# -- from one to another ---------------------------------------------------------------------------


def _between(r: Reader, start: int) -> Found:
    """between 3 and 12 September, from May to August, from 4-23 in next month."""
    lead = r.text(start)
    if lead not in ("between", "from"):
        return None
    joints = ("and", "to", "-") if lead == "between" else _JOINTS
    return _pair(r, start + 1, joints)


def _pair(r: Reader, start: int, joints: tuple[str, ...] = _JOINTS) -> Found:
    if r.text(start - 1) == "from" and any(r.text(start - n) in SHIFTS for n in range(2, 10)):
        return None  # "moved from Friday to Monday" is no span
    bare = _days_of(r, start, joints)
    if bare is not None:
        return bare
    one = _simple(r, start)
    if one is None:
        return None
    middle = r.says(one[1], *joints)
    if middle == one[1]:
        return None
    two = _best(
        _completed(r, one[0], middle),
        _simple(r, middle),
        _simple(r, middle + 1) if r.text(middle) == "the" else None,
    )
    if two is None:
        return None
    both = joined(one[0], two[0])
    return (both, two[1]) if both else None


def _completed(r: Reader, one: Meaning, start: int) -> Found:
    """The second day of "April 9th through 17th" and of "Nov 19-20"."""
    start += r.text(start) == "the"
    counted = ordinal(r, start) or calendar.day_number(r, start)
    if counted is None or one.grain != "day" or not 1 <= counted[0] <= 31:
        return None
    if r.text(counted[1]) in ("am", "pm", "a", "p", ":", "hours", "days", "weeks", "minutes"):
        return None
    of = counted[0]

    def after(first: Period) -> Period | None:
        if first.first is None:
            return None
        made = at.of_month(first.first.year, first.first.month, of)
        if made is None or made.first is None or made.first <= first.first:
            there = at.at_day(first.first.replace(day=1), 1, "month")
            made = at.of_month(there.year, there.month, of)
        return made

    if one.of_year is not None and not one.periods:
        inner = one.of_year

        def yearly(year: int) -> Period | None:
            first = inner(year)
            return after(first) if first else None

        return Meaning(of_year=yearly), counted[1]
    made = [after(each) for each in one.periods]
    if not made or any(each is None for each in made):
        return None
    return Meaning(tuple(each for each in made if each), relative=one.relative), counted[1]


def _days_of(r: Reader, start: int, joints: tuple[str, ...]) -> Found:
    """ "3 to 12 of September", "4-23 in next month": days before their month."""
    at_first = start + (r.text(start) == "the")
    one = ordinal(r, at_first) or calendar.day_number(r, at_first)
    if one is None:
        return None
    middle = r.says(one[1], *joints)
    if middle == one[1]:
        return None
    middle += r.text(middle) == "the"
    two = ordinal(r, middle) or calendar.day_number(r, middle)
    if two is None or not (1 <= one[0] <= 31 and 1 <= two[0] <= 31):
        return None
    behind = r.says(two[1], "of", "in", ",")
    month = calendar.month_at(r, behind)
    if month is not None:
        whole = calendar.month_only(r, behind)
        number, end = month
        if whole is not None and whole[0].periods and whole[0].periods[0].first:
            first = whole[0].periods[0].first
            period = _days(first.year, first.month, one[0], first.month, two[0])
            return (Meaning((period,), "span"), whole[1]) if period else None

        def yearly(year: int) -> Period | None:
            return _days(year, number, one[0], number, two[0])

        return Meaning(grain="span", of_year=yearly), end
    step = relative.stepped(r, behind)
    if step is None or step[0].grain != "month" or not step[0].periods[0].first:
        return None
    first = step[0].periods[0].first
    period = _days(first.year, first.month, one[0], first.month, two[0])
    return (Meaning((period,), "span", relative=True), step[1]) if period else None


def _days(year: int, month: int, first: int, last_month: int, last: int) -> Period | None:
    one = at.of_month(year, month, first)
    two = at.of_month(year, last_month, last)
    if one is None or two is None or one.first is None or two.first is None:
        return None
    if two.first < one.first:
        back = at.at_day(one.first.replace(day=1), -1, "month")
        one = at.of_month(back.year, back.month, first)
        if one is None:
            return None
    return at.period_of((one, two))


# -- before and after ------------------------------------------------------------------------------


def _modified(r: Reader, start: int) -> Found:
    """before May, since last week, by Friday, after 2018."""
    for phrases, how in (
        (_BEFORE, "before"),
        (_UNTIL, "until"),
        (_SINCE, "since"),
        (_AFTER, "after"),
    ):
        end = r.says(start, *phrases)
        if end == start:
            continue
        found = _simple(r, end) or (
            _simple(r, end + 1) if r.text(end) in ("the", "on", "about") else None
        )
        if found is None:
            continue
        return opened(found[0].resolved(r.today), how), found[1]
    return None
