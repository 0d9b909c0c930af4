"""English dates of the calendar: 8 May 2023, in May, on Friday, on the third."""

from __future__ import annotations

from datetime import date
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.english import words
from spector.language.dates.english.numbers import ordinal, year
from spector.language.dates.figures import figures
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader

__all__ = [
    "Found", "day_number", "month_at", "month_day", "month_only", "ordinal_alone", "skipped",
    "weekday", "weekday_at",
]  # fmt: skip

Found = tuple[Meaning, int] | None

#: months that people are called by, and words of other meanings: no "to" or "for" makes them dates
_DOUBTFUL_MONTHS: Final = frozenset("april may june jun august march mar dec jan".split())
_SURE: Final = frozenset(
    """in of during since until till by last next this early mid late around end beginning start
    every""".split()
)
_LEADS: Final = frozenset(
    """in of during since until till by before after last next this early mid late from between
    through to around for the end beginning start on and every mid""".split()
)
_AFTER_ORDINAL: Final = frozenset("at to until till through and for i we".split())


def month_at(r: Reader, start: int) -> tuple[int, int] | None:
    """(number, end) of the name of a month, with the full stop of a short one."""
    number = words.MONTHS.get(r.text(start))
    if number is None:
        return None
    if r.text(start) == "sept" or len(r.text(start)) == 3:
        dotted = r.text(start + 1) == "." and r.joined(start + 1) and start + 2 < len(r.words)
        return number, start + 1 + dotted
    return number, start + 1


def weekday_at(r: Reader, start: int) -> tuple[int, int] | None:
    """(number, end) of a weekday, Monday is 0."""
    text = r.text(start)
    if text in words.WEEKDAYS:
        return words.WEEKDAYS[text], start + 1
    if text in words.SHORT_WEEKDAYS and (
        text not in ("sun", "sat", "wed", "mon")
        or r.word(start).raw[:1].isupper()
        or r.text(start - 1) in ("on", "next", "last", "this", "by", "until")
    ):
        dotted = r.text(start + 1) == "." and r.joined(start + 1) and start + 2 < len(r.words)
        return words.SHORT_WEEKDAYS[text], start + 1 + dotted
    return None


def month_day(r: Reader, start: int) -> Found:
    """Friday, May 8th, 2023; the 8th of May; May 8; 8 May '23."""
    begin = start
    named = weekday_at(r, start)
    if named is not None:
        start = skipped(r, named[1], ",", "the", "-")
    elif r.text(start) == "the":
        start += 1
    found = _day_then_month(r, start) or _month_then_day(r, start) or _year_first(r, start)
    if found is None:
        return _weekday_and_number(r, named, start) if named is not None else None
    meaning, end = found
    behind = weekday_at(r, skipped(r, end, ",", "("))
    if named is None and behind is not None:
        end = behind[1]
        end += r.text(end) == ")"
    del begin
    return meaning, end


def _year_first(r: Reader, start: int) -> Found:
    """2019/Aug/01, 2019 August 1."""
    given = year(r, start) if r.word(start).text.isdecimal() else None
    if given is None:
        return None
    month = month_at(r, given[1] + (r.text(given[1]) in ("-", "/")))
    if month is None:
        return None
    counted = ordinal(r, month[1]) or day_number(r, month[1] + (r.text(month[1]) in ("-", "/")))
    made = at.of_month(given[0], month[0], counted[0]) if counted else None
    return (Meaning((made,)), counted[1]) if made and counted else None


def skipped(r: Reader, start: int, *signs: str) -> int:
    while r.text(start) and r.text(start) in signs:
        start += 1
    return start


def _day_then_month(r: Reader, start: int) -> Found:
    counted = ordinal(r, start) or day_number(r, start)
    if counted is None or (r.text(start - 1) == ":" and r.joined(start)):
        return None
    of, end = counted
    end = r.says(end, "day of")
    mark = r.text(end)
    end += mark in ("of", "-", "/", ".")
    month = month_at(r, end)
    if month is None or not 1 <= of <= 31:
        return None
    return _with_year(r, month[0], of, month[1], mark=mark)


def day_number(r: Reader, start: int) -> tuple[int, int] | None:
    """A day in figures or plain words: 8, fifteen, twenty five."""
    word = r.word(start)
    if word.text.isdecimal():
        return (word.number, start + 1) if len(word.text) <= 2 else None
    if word.text in words.TENS and words.TENS[word.text] in (20, 30):
        ones = start + 1 + (r.text(start + 1) == "-")
        if r.text(ones) in words.COUNTS:
            return words.TENS[word.text] + words.COUNTS[r.text(ones)], ones + 1
        return words.TENS[word.text], start + 1
    value = words.COUNTS.get(word.text) or words.TEENS.get(word.text)
    return (value, start + 1) if value else None


def _month_then_day(r: Reader, start: int) -> Found:
    month = month_at(r, start)
    if month is None:
        return None
    number, end = month
    mark = r.text(end)
    end += mark in ("-", "/", ",")
    end += r.text(end) == "the"
    counted = ordinal(r, end) or day_number(r, end)
    if counted is None or not 1 <= counted[0] <= 31:
        return None
    of, end = counted
    if r.text(end) == ":" and r.joined(end) and r.word(end + 1).text.isdecimal():
        return None  # "May 8:30"
    return _with_year(r, number, of, end, mark=mark)


def _with_year(r: Reader, month: int, of: int, end: int, *, mark: str) -> Found:
    """Args: mark: the sign between day and month; "8-May-23" has a short year, "May 8-23" has not."""
    after = end
    while r.text(after) in (",", "of", "-", "/", ".", "in") and after < end + 2:
        after += 1
    sign = r.text(after - 1) if after > end else ""
    found = year(r, after, short=sign == "of" or (sign in ("-", "/") and sign == mark))
    if found is not None and (r.text(found[1]) in (":", "am", "pm") and found[0] >= 2100):
        found = None
    if found is not None:
        made = at.of_month(found[0], month, of)
        return (Meaning((made,)), found[1]) if made else None

    def make(which: int) -> Period | None:
        return at.of_month(which, month, of)

    if all(make(each) is None for each in (2023, 2024)):
        return None
    return Meaning(of_year=make), end


def _weekday_and_number(r: Reader, named: tuple[int, int], start: int) -> Found:
    """Wednesday 13th, Friday the 13th, Monday 21, Friday 7/6: the nearest such days."""
    number = named[0]
    dated = figures(r, start, day_first=False, sure=True)
    if dated is not None:
        return _fitting(r, dated, number)
    counted = ordinal(r, start)
    word = r.word(start)
    if (
        counted is None
        and start == named[1]
        and word.text.isdecimal()
        and word.number > 12
        and (r.text(start + 1) not in (":", "-", "/", "h") and len(word.text) == 2)
    ):
        counted = word.number, start + 1
    if counted is None or not 1 <= counted[0] <= 31:
        return None
    today, found = r.today, []
    for step in (-1, 1):
        for months in range(0, 14):
            there = at.at_day(today.replace(day=1), step * months, "month")
            made = at.of_month(there.year, there.month, counted[0])
            if made is None or made.first is None or made.first.weekday() != number:
                continue
            if (made.first < today) == (step < 0):
                found.append(made)
                break
    return (Meaning(tuple(found), relative=True), counted[1]) if found else None


def _fitting(r: Reader, dated: tuple[Meaning, int], number: int) -> Found:
    """Figures behind a weekday are a date where one of its readings falls on that day."""
    meaning = dated[0].resolved(r.today)
    fits = any(
        each.first is not None and each.first.weekday() == number for each in meaning.periods
    )
    return (meaning, dated[1]) if fits or len(meaning.periods) == 1 else None


def month_only(r: Reader, start: int) -> Found:
    """May 2023, 2023 May, in May, the April."""
    begin = start
    lead = year(r, start) if r.word(start).text.isdecimal() else None
    if lead is not None:
        month = month_at(r, lead[1])
        if month is None or (ordinal(r, month[1]) or r.word(month[1]).text.isdecimal()):
            return None
        return Meaning((at.month(lead[0], month[0]),), "month"), month[1]
    month = month_at(r, start)
    if month is None:
        return None
    number, end = month
    after = end
    while r.text(after) in (",", "of", "-", "/", "in") and after < end + 2:
        after += 1
    of = r.text(after - 1) == "of" and after > end
    found = year(r, after, short=of or (r.text(after - 1) in "-/" and after > end))
    if found is not None:
        return Meaning((at.month(found[0], number),), "month"), found[1]
    text = r.text(start)
    capital = r.word(start).raw[:1].isupper()
    previous = r.text(begin - 1)
    lone = len(r.words) <= 2
    leads = _SURE if text in _DOUBTFUL_MONTHS else _LEADS
    pair = r.text(end) in ("-", "to", "through", "until") and month_at(r, end + 1) is not None
    behind = r.text(begin - 1) in ("-", "to", "through", "until", "and") and (
        r.text(begin - 2) in words.MONTHS
    )
    if previous not in leads and not pair and not behind and not (lone and capital):
        return None
    if text in ("may", "march") and not capital and previous not in ("in", "of", "since", "until"):
        return None
    if r.word(end).text.isdecimal() and len(r.text(end)) <= 2 and r.text(end + 1) not in (":",):
        return None  # "Feb 30" is no February

    def make(which: int) -> Period | None:
        return at.month(which, number)

    return Meaning(grain="month", of_year=make), end


def weekday(r: Reader, start: int) -> Found:
    """Friday: the last one and the next one."""
    named = weekday_at(r, start)
    if (
        named is None
        or r.text(start - 1) in ("every", "each", "alternate", "other")
        or r.text(named[1]) in ("mornings", "afternoons", "evenings", "nights")
    ):
        return None
    step = words.STEPS.get(r.text(start - 3), 9)
    if step != 9 and r.text(start - 1) in ("and", "or") and weekday_at(r, start - 2):
        monday = at.moved(r.today, 7 * step - r.today.weekday())  # "next Monday and Tuesday"
        return Meaning((at.day(at.moved(monday, named[0])),), relative=True), named[1]
    away = (named[0] - r.today.weekday()) % 7
    if away == 0:
        periods = (at.day(at.moved(r.today, -7)), at.day(r.today))
    else:
        periods = (at.day(at.moved(r.today, away - 7)), at.day(at.moved(r.today, away)))
    return Meaning(periods, relative=True), named[1]


def ordinal_alone(r: Reader, start: int) -> Found:
    """on the 21st: the last one and the next one."""
    named = r.text(start) == "the" or r.text(start - 1) in ("on", "by")
    if not named or r.text(start - 1) not in (
        "of",
        "on",
        "by",
        "until",
        "till",
        "since",
        "before",
        "after",
        "from",
        "between",
        "to",
        "through",
        "and",
    ):
        return None
    counted = ordinal(r, start + (r.text(start) == "the"))
    if counted is None or not 1 <= counted[0] <= 31:
        return None
    behind = r.text(counted[1])
    if behind and behind not in ".,;!?)-" and behind not in _AFTER_ORDINAL:
        return None
    return Meaning(tuple(_nearest(r.today, counted[0])), relative=True, number=counted[0]), counted[
        1
    ]


def _nearest(today: date, of: int) -> list[Period]:
    found = []
    for step in (-1, 1):
        for months in range(0, 4):
            there = at.at_day(today.replace(day=1), step * months, "month")
            made = at.of_month(there.year, there.month, of)
            if made is not None and made.first is not None and (made.first < today) == (step < 0):
                found.append(made)
                break
    return found
