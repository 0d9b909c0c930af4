"""English dates relative to the day of the message: next Friday, two weeks ago, end of May."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

from spector.language.dates import period as at
from spector.language.dates.english import words
from spector.language.dates.english.calendar import Found, month_at, month_day, weekday_at
from spector.language.dates.english.numbers import number, year
from spector.language.dates.figures import figures
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader

__all__ = ["Rule", "away", "named_day", "only", "recurring", "stepped", "unit_at"]

Rule = Callable[[Reader, int], Found]


def only(period: Period, grain: str = "day", *, vague: bool = False) -> Meaning:
    """A meaning of one reading, relative to the day of the message."""
    return Meaning((period,), grain, relative=True, vague=vague)


def named_day(r: Reader, start: int) -> Found:
    """today, tomorrow, the day before yesterday, last night, this morning."""
    today = r.today
    end = r.says(start, "the day before yesterday", "day before yesterday")
    if end > start:
        return only(at.day(at.moved(today, -2))), end
    end = r.says(start, "the day after tomorrow", "day after tomorrow")
    if end > start:
        return only(at.day(at.moved(today, 2))), end
    end = r.says(start, "the other day")
    if end > start:
        return only(Period(at.moved(today, -14), today), "span", vague=True), end
    if r.text(start) == "now" and r.text(start - 1) in (
        "and",
        "to",
        "until",
        "till",
        "through",
        "between",
        "from",
    ):
        return only(at.day(today)), start + 1
    end = r.says(start, "last night", "last evening")
    if end > start:
        return only(at.day(at.moved(today, -1))), end
    end = r.says(start, "this morning", "this afternoon", "this evening")
    if end > start:
        return only(at.day(today)), end
    step = words.DAYS.get(r.text(start))
    if step is None:
        return None
    return only(at.day(at.moved(today, step))), start + 1


def unit_at(r: Reader, start: int) -> tuple[str, int] | None:
    """(unit, end) of week, work days, years."""
    end = r.says(start, "business day", "business days", "working day", "working days",
                 "work day", "work days", "workday", "workdays")  # fmt: skip
    if end > start:
        return "workday", end
    end = r.says(start, "working week", "work week", "workweek", "business week")
    if end > start:
        return "workweek", end
    text = r.text(start)
    if text == "calendar" and r.text(start + 1) in words.UNITS:
        return words.UNITS[r.text(start + 1)], start + 2
    if text == "week" and r.text(start + 1) == "-" and r.text(start + 2) == "end":
        return "weekend", start + 3
    unit = words.UNITS.get(text)
    return (unit, start + 1) if unit else None


def stepped(r: Reader, start: int) -> Found:
    """next week, last May, this Friday, the past three months, next 3 days."""
    begin = start
    start += r.text(start) == "the"
    counted = number(r, start)
    if counted is not None and r.text(counted[1]) in words.STEPS and not counted[2]:
        behind = unit_at(r, counted[1] + 1)  # "the 3 next weeks"
        step = words.STEPS[r.text(counted[1])]
        if (
            behind is None
            or step == 0
            or behind[0] == "weekend"
            or (counted[0] > 1 and not r.text(behind[1] - 1).endswith("s"))
        ):
            return None
        return _several(r, r.text(counted[1]), step, counted[0], behind)
    word = r.text(start)
    step = words.STEPS.get(word, 9)
    if step == 9:
        return None
    counted = number(r, start + 1)
    if counted is not None and step:
        behind = unit_at(r, counted[1])
        if behind is not None and behind[0] != "weekend":
            made = _several(r, word, step, counted[0], behind)
            return (replace(made[0], vague=counted[2]), made[1])
    named = weekday_at(r, start + 1)
    if named is not None and word == "past":
        back = (r.today.weekday() - named[0]) % 7 or 7
        return only(at.day(at.moved(r.today, -back))), named[1]
    if named is not None:
        after = named[1] + (r.text(named[1]) in ("-", ","))
        dated = figures(r, after, day_first=False, sure=True) or month_day(r, after)
        if dated is not None:
            return _on_weekday(r, dated, named[0])
        monday = at.moved(r.today, 7 * step - r.today.weekday())
        return only(at.day(at.moved(monday, named[0]))), named[1]
    unit = unit_at(r, start + 1)
    if unit is not None:
        return _unit(r, word, step, unit, begin)
    month = month_at(r, start + 1)
    if month is not None:
        if word == "this" and r.text(start + 1) == "may" and r.word(start + 1).raw[:1] == "m":
            return None
        which = month[0]
        return recurring(r, step, lambda y: at.month(y, which), "month", month[1])
    name = words.SEASONS.get(r.text(start + 1))
    if name is not None:
        return recurring(r, step, lambda y: at.season(y, name), "season", start + 2)
    return None


def _on_weekday(r: Reader, dated: tuple[Meaning, int], number_of: int) -> Found:
    """Of the readings of a date those that fall on a weekday, where one does."""
    meaning = dated[0].resolved(r.today)
    fits = tuple(
        each
        for each in meaning.periods
        if each.first is not None and each.first.weekday() == number_of
    )
    return replace(meaning, periods=fits or meaning.periods), dated[1]


def _unit(r: Reader, word: str, step: int, unit: tuple[str, int], begin: int) -> Found:
    what, end = unit
    if what == "workweek":
        whole = at.unit_at(r.today, step, "week")
        return only(Period(whole.first, whole.end and at.moved(whole.end, -2)), "span"), end
    if what == "day" and (step == 0 or r.text(end - 1) == "night"):
        return (only(at.day(r.today)), end) if r.text(begin) == "this" else None
    if what == "day":
        return only(at.day(at.moved(r.today, step))), end
    rolling = word == "past" and what not in ("weekend", "quarter")
    if rolling:
        return only(Period(at.at_day(r.today, -1, what), r.today), "span"), end
    return only(at.unit_at(r.today, step, what), what), end


def _several(
    r: Reader, word: str, step: int, count: int, unit: tuple[str, int]
) -> tuple[Meaning, int]:
    """The next or the last so many units, that of today left out."""
    what, end = unit
    if what == "quarter" or what == "decade":
        this = at.unit_at(r.today, 0, what)
        first, last = this.first or r.today, this.end or r.today
        if step > 0:
            return only(Period(last, at.at_day(last, count, what)), "span"), end
        return only(Period(at.at_day(first, -count, what), first), "span"), end
    more = r.says(end, "and")
    extra = number(r, more)
    there = at.at_day(r.today if step < 0 else at.moved(r.today, 1), step * count, what)
    while extra is not None and not extra[2]:
        behind = unit_at(r, extra[1])
        if behind is None or r.text(behind[1]) in ("ago", "later", "from", "after", "before"):
            break
        there, end = at.at_day(there, step * extra[0], behind[0]), behind[1]
        extra = number(r, r.says(end, "and"))
    if step > 0:
        return only(Period(at.moved(r.today, 1), there), "span"), end
    return only(Period(there, r.today), "span"), end


def recurring(r: Reader, step: int, make: Callable[[int], Period], grain: str, end: int) -> Found:
    """The last, this year's or the next of what comes once a year."""
    after = r.says(end, "of", ",")
    given = year(r, after)
    if given is not None:
        return Meaning((make(given[0]),), grain), given[1]
    this = r.today.year
    if not 3 <= this <= 9996:
        return None
    if step == 0:
        before = make(this - 1)
        running = before.end is not None and before.end > r.today
        return only(before if running else make(this), grain), end
    around = [make(each) for each in range(this - 2, this + 3)]
    if step < 0:
        over = [each for each in around if each.end is not None and each.end <= r.today]
        return only(over[-1], grain), end
    ahead = [each for each in around if each.first is not None and each.first > r.today]
    return only(ahead[0], grain), end


def away(r: Reader, start: int, deeper: Rule) -> Found:
    """two weeks ago, in 3 days, a week from now, two days after Christmas, within 9 months."""
    within = r.says(start, "within the next", "within next", "within the coming", "within")
    lead = within if within > start else r.says(start, "in", "after")
    counted = _amounts(r, lead)
    if counted is None:
        return None
    amounts, end, vague = counted
    today = r.today
    if any(unit == "workweek" for _, unit in amounts):
        return None
    comma = r.text(end) == "," and r.text(end + 1) in ("from", "starting")
    begins = comma or r.text(end) in ("starting", "beginning")
    if begins or (lead == start and r.text(start - 1) == "for"):
        return _lasting(r, amounts, end, deeper, vague=vague)
    if lead > start:
        if r.text(start) == "after" and r.text(end) not in ("from", "after"):
            return None
        there = _moved(today, amounts, 1)
        if within > start:
            return only(Period(today, at.moved(there, 0)), "span", vague=vague), end
        more = r.says(end, "time", "from now", "from today")
        if r.text(end) == "'" or r.word(end - 1).suffix == "s":
            more = r.says(end, "time", "' time")
        return _day_away(there, amounts, vague), more
    after = r.says(end, "ago", "back", "earlier", "before now")
    if after > end and r.text(end) != "back":
        there = _moved(today, amounts, -1)
        if r.text(after) == "today":
            return only(at.day(there)), after + 1
        return _day_away(there, amounts, vague), after
    if r.text(end) == "back" and r.text(end + 1) in ("", ".", ",", "!", ";"):
        return _day_away(_moved(today, amounts, -1), amounts, vague), after
    after = r.says(end, "from now", "from today", "later", "hence", "after today", "after now")
    if after > end:
        return _day_away(_moved(today, amounts, 1), amounts, vague), after
    if r.text(end) in ("before", "after", "from", "prior"):
        return _beside(r, amounts, end, deeper, vague=vague)
    return None


def _lasting(
    r: Reader, amounts: list[tuple[int, str]], end: int, deeper: Rule, *, vague: bool
) -> Found:
    """for 3 days from today; two weeks starting May 20th."""
    end = r.says(end, ",")
    begin = r.says(end, "from", "starting from", "starting on", "starting", "beginning on",
                   "beginning")  # fmt: skip
    if begin == end:
        return None
    found = deeper(r, begin) or (deeper(r, begin + 1) if r.text(begin) == "the" else None)
    if found is None or found[0].grain != "day":
        return None
    meaning = found[0].resolved(r.today)
    spans = [
        Period(each.first, _moved(each.first, amounts, 1))
        for each in meaning.periods
        if each.first is not None
    ]
    return Meaning(tuple(spans), "span", relative=meaning.relative, vague=vague), found[1]


def _amounts(r: Reader, start: int) -> tuple[list[tuple[int, str]], int, bool] | None:
    """The amounts of "2 years, 1 month and 21 days"."""
    found: list[tuple[int, str]] = []
    vague, end, at_word = False, start, start
    while len(found) < 6:
        counted = number(r, at_word)
        if counted is None:
            behind = unit_at(r, at_word + 1) if r.text(at_word) == "another" else None
            if behind is None:
                break
            counted = (1, at_word + 1, False)
        more = r.text(counted[1])
        if more == "more":
            counted = (counted[0], counted[1] + 1, counted[2])
        unit = unit_at(r, counted[1])
        if unit is None or unit[0] == "weekend":
            break
        found.append((counted[0], unit[0]))
        vague |= counted[2]
        end = unit[1]
        at_word = end
        while r.text(at_word) in (",", "and") and at_word < end + 2:
            at_word += 1
    return (found, end, vague) if found else None


def _moved(of: date, amounts: list[tuple[int, str]], sign: int) -> date:
    for count, unit in amounts:
        of = at.at_day(of, sign * count, unit)
    return of


def _day_away(there: date, amounts: list[tuple[int, str]], vague: bool) -> Meaning:
    named = at.around(there, amounts[-1][1])
    meaning = only(at.day(there), vague=vague)
    return replace(meaning, named=(named[0],), named_grain=named[1]) if named else meaning


def _beside(
    r: Reader, amounts: list[tuple[int, str]], end: int, deeper: Rule, *, vague: bool
) -> Found:
    """two days after Christmas, a week before 3 May."""
    sign = -1 if r.text(end) in ("before", "prior") else 1
    start = end + 1 + (r.text(end) == "prior" and r.text(end + 1) == "to")
    start += r.text(start) == "the" and weekday_at(r, start) is None
    found = deeper(r, start)
    if found is None:
        return None
    meaning = found[0].resolved(r.today)
    moved = []
    for each in meaning.periods:
        base = each.first if sign < 0 else (each.last if each.first != each.last else each.first)
        if base is None:
            return None
        moved.append(at.day(_moved(base, amounts, sign)))
    return Meaning(tuple(moved), relative=meaning.relative, vague=vague), found[1]
