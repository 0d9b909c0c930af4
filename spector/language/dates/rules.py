"""What the rows of a grammar mean: each name that a table writes behind ``=>`` or ``@``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from spector.language.dates import numbers  # noqa: F401 -- it fills the tables of names
from spector.language.dates.grammar import PLACES, ROWS, Env, Reader
from spector.language.dates.period import (  # fmt: skip
    Meaning,
    Period,
    day,
    from_first,
    holiday_in,
    inside,
    joined,
    moved,
    nth_unit,
    nth_weekday,
    of_month,
    opened,
    relative,
    shifted,
    stretch,
    third,
    unit_at,
    week_of_year,
    yearly,
    years,
)

Made = Meaning | None
#: tolerance of "a week ago" in days, either way
_WEEK_SLACK: Final = 3
#: months of the parts of a year
_MONTHS: Final = {"month": 1, "quarter": 3, "season": 3, "half": 6, "year": 12}


# -- the calendar ----------------------------------------------------------------------------------


def month_day(r: Reader, e: Env) -> Made:
    return yearly(lambda year: of_month(year, e["m"], e["n"]), e.get("y"))


def part_of_year(r: Reader, e: Env) -> Made:
    """A month, a quarter, a season of the northern hemisphere, a half, or all of it."""
    grain, size = e["u"], _MONTHS[e["u"]]
    first = e["m"] if "m" in e else size * (e.get("n", 1) - 1) + 1
    if first > 12:
        return None
    made = yearly(lambda year: stretch(date(year, first, 1), size, "month"), e.get("y"), grain)
    return replace(made, bare=True) if made and "bare" in e else made


def holiday(r: Reader, e: Env) -> Made:
    return yearly(lambda year: holiday_in(year, e["h"], wide=r.cue), e.get("y"))


def decade(r: Reader, e: Env) -> Made:
    first = e["n"]
    if first % 10 or first < 20:
        return None
    if first >= 100:
        return Meaning((years(first, 10),), "decade")
    return Meaning((years(1900 + first, 10), years(2000 + first, 10)), "decade", relative=True)


def century(r: Reader, e: Env) -> Made:
    return Meaning((years((e["n"] - 1) * 100 or 1, 100),), "century")


def iso_week(r: Reader, e: Env) -> Made:
    made = week_of_year(e.get("y", 0 if r.cue else r.today.year), e["n"])
    return Meaning((made,), "week", relative="y" not in e) if made else None


# -- from the day of the message -------------------------------------------------------------------


def days(r: Reader, e: Env) -> Made:
    """yesterday, dünden önceki iki gün."""
    count = e["c"][0] if "c" in e else 1
    return relative(day(moved(r.today, e["n"] + count * e.get("more", 0))))


def lately(r: Reader, e: Env) -> Made:
    """Some day of the last two weeks."""
    return relative(Period(moved(r.today, -14), moved(r.today, r.cue)), "span", vague=True)


def step(r: Reader, e: Env) -> Made:
    """next week, last year."""
    unit = e["u"]
    if unit == "day" and e["s"] == 0:
        return None
    return relative(unit_at(r.today, e["s"], unit), "span" if unit == "workweek" else unit)


def several(r: Reader, e: Env) -> Made:
    """The next or the last so many units, that of today left out, but not in a question."""
    sign, today = e["s"], r.today
    if "a" in e:
        parts, vague = e["a"]
    else:
        count, vague = e.get("n", (1, False))
        parts = ((count, e["u"]),)
        if "plural" in e and (vague or count < 2 or not r.text(e["end"] - 1).endswith("s")):
            return None
    count, unit = parts[0]
    if not sign or not count or unit in ("workweek", "weekend"):
        return None
    if r.cue:
        ends = (-count, 0) if sign < 0 else (0, count)
        first, last = (shifted(today, n, unit) for n in ends)
        made = Period(first, moved(last, 1))
    elif unit in ("quarter", "decade"):
        nearest, farthest = (1, count) if sign > 0 else (-count, -1)
        made = Period(unit_at(today, nearest, unit).first, unit_at(today, farthest, unit).end)
    elif sign > 0:
        first = moved(today, 1)
        made = Period(first, _away(first, parts, 1))
    else:
        made = Period(_away(today, parts, -1), today)
    return relative(made, "span", vague=vague)


def _away(of: date, parts: Sequence[tuple[int, str]], sign: int) -> date:
    for count, unit in parts:
        of = shifted(of, sign * count, unit)
    return of


def away(r: Reader, e: Env) -> Made:
    """two weeks ago, in 3 days; in a question as exact as one remembers, and nothing ahead."""
    (parts, vague), today = e["a"], r.today
    count, unit = parts[-1]
    named = {"month": "month", "quarter": "month"}.get(unit, "year")
    if unit == "workweek" or (r.cue and e["sign"] > 0):
        return None
    is_long = unit in ("month", "quarter", "half", "year", "decade", "century")
    if r.cue:
        slack = max(1, count // 3) if vague else 0
        far, near = (shifted(today, -n, unit) for n in (count + slack, max(1, count - slack)))
        loose = 0 if unit == "day" else _WEEK_SLACK
        about = Period(moved(far, -loose), moved(near, loose + 1))
        if is_long:
            about = Period(unit_at(far, 0, unit).first, unit_at(near, 0, unit).end)
        return relative(about, "span", vague=vague or unit != "day")
    there = _away(today, parts, e["sign"])
    made = relative(day(there), vague=vague)
    if "exact" in e or not is_long:
        return made
    return replace(made, named=(unit_at(there, 0, named),), named_grain=named)


def within(r: Reader, e: Env) -> Made:
    (parts, vague), today = e["a"], r.today
    return None if r.cue else relative(Period(today, _away(today, parts, 1)), "span", vague=vague)


def beside(r: Reader, e: Env) -> Made:
    """two days after Christmas; in a question "the week before 9 June" is all of that week."""
    (parts, vague), sign = e.get("a", (((1, e.get("u")),), False)), e["sign"]
    unit = parts[0][1]

    def of(each: Period) -> Period | None:
        base = each.first if sign < 0 else each.last
        if base is None:
            return None
        if not r.cue or unit == "day":
            return day(_away(base, parts, sign))
        if unit == "weekend":
            ahead = -base.weekday() - 1 if sign < 0 else (5 - base.weekday()) % 7 or 7
            return unit_at(moved(base, ahead), 0, unit)
        far, near = sorted((_away(base, parts, sign), moved(base, sign)))
        return Period(far, moved(near, 1))

    made = inside(_known(r, e["d"]), of, "day")
    return replace(made, vague=vague) if made else None


def _known(r: Reader, meaning: Meaning) -> Meaning:
    """A meaning with its year; in a question all of it decides on the year."""
    return meaning if r.cue else meaning.resolved(r.today)


def lasting(r: Reader, e: Env) -> Made:
    """for 3 days from today; two weeks starting May 20th."""
    (parts, vague), begins = e["a"], _known(r, e["d"])
    if begins.grain != "day":
        return None
    made = inside(begins, from_first(lambda of: Period(of, _away(of, parts, 1))), "span")
    return replace(made, vague=vague) if made else None


def recurring(r: Reader, e: Env) -> Made:
    """The last, this year's or the next of what comes once a year."""
    meaning, sign, this = e["d"], e["s"], r.today.year
    make = meaning.of_year
    if e.get("y"):
        return yearly(make, e["y"], meaning.grain)
    if not 3 <= this <= 9996 or not make:
        return None
    around = [made for each in range(this - 2, this + 3) if (made := make(each))]
    over = [each for each in around if each.end and each.end <= r.today]
    if sign > 0:
        found = [each for each in around if each.first and each.first > r.today]
    elif sign < 0:
        found = over[-1:]
    else:  # this winter began last year
        found = [each for each in (make(this - 1), make(this)) if each]
        found = [each for each in found if each not in over] or found[-1:]
    return relative(found[0], meaning.grain) if found else None


def ago(r: Reader, e: Env) -> Any:
    """Minutes from now; in a question about then, or since then."""
    count, vague = e.get("n", (0.5, False))
    minutes = e["sign"] * count * e["k"]
    if not r.cue:
        return None if vague or not count else minutes
    ends = (minutes, 0) if "since" in e else (1.5 * minutes - 1, min(1 + 0.5 * minutes, 0))
    return Meaning(relative=True, vague="since" not in e, grain="minute", minutes=ends)


# -- days of the week and of a month ---------------------------------------------------------------


def weekday(r: Reader, e: Env) -> Made:
    """Friday: the last one and the next one."""
    at, end = e["at"], e["end"]
    if r.cue and end == at + 1 and not (r.stands_in("before_month", at - 1) or r.ending(at)):
        return None
    step_before = r.find("step", at - 3)
    if step_before and r.stands_in("and_or", at - 1) and r.find("weekday", at - 2):
        return step_weekday(r, {**e, "s": step_before[0]})  # "next Monday and Tuesday"
    ahead = (e["w"] - r.today.weekday()) % 7
    ends = (ahead - 7, ahead)
    return Meaning(tuple(day(moved(r.today, each)) for each in ends), relative=True)


def step_weekday(r: Reader, e: Env) -> Made:
    """next Friday: that of the next week; in a question the next one."""
    sign, away = e["s"], e["w"] - r.today.weekday()
    if (r.cue or "near" in e) and sign:
        away = away % 7 or 7 if sign > 0 else -(-away % 7 or 7)
    else:
        away += 7 * sign
    return relative(day(moved(r.today, away + 7 * e.get("more", 0))))


def on_weekday(r: Reader, e: Env) -> Made:
    """Of the readings of a date those that fall on a weekday."""
    meaning: Meaning = e["d"].resolved(r.today)
    fits = tuple(each for each in meaning.periods if each.first and each.first.weekday() == e["w"])
    if not fits and ("strict" in e or (e.get("keep") == 1 and len(meaning.periods) > 1)):
        return None
    return meaning if "keep" in e else replace(meaning, periods=fits or meaning.periods)


def nearest(r: Reader, e: Env) -> Made:
    """The 21st, Friday the 13th: the last such day and the next one, with ``this`` of this month."""
    wanted, found = e.get("w"), []
    if not (12 if "late" in e else 0) < e["n"] <= 31:
        return None
    for sign in (-1, 1):
        for months in range(14):
            there = shifted(r.today.replace(day=1), sign * months, "month")
            made = of_month(there.year, there.month, e["n"])
            if not made or not made.first or wanted not in (None, made.first.weekday()):
                continue
            if not months and "this" in e:
                return Meaning((made,), relative=True)
            if (made.first < r.today) == (sign < 0):
                found.append(made)
                break
    return Meaning(tuple(found), relative=True) if found else None


# -- parts -----------------------------------------------------------------------------------------


def nth(r: Reader, e: Env) -> Made:
    """the last day of May, its first Friday; in a question weeks are seven days each."""
    meaning, which, unit = e["d"], e["n"], e.get("u", "day")
    count = e["c"][0] if "c" in e else 1
    is_other = e.get("grain", meaning.grain) != meaning.grain
    if is_other or meaning.grain == "day" or (which < 0 and not e.keys() & {"u", "w"}):
        return None
    if "w" in e:
        return inside(meaning, lambda each: nth_weekday(each, e["w"], which), "day")
    if unit not in ("week", "weekend") or not r.cue:
        return inside(meaning, lambda each: nth_unit(each, unit, which, count), unit)

    def week(whole: Period) -> Period | None:
        first = whole.first if which > 0 or not whole.end else moved(whole.end, -7)
        first = moved(first or r.today, 7 * max(which - 1, 0))
        return unit_at(first, 0, unit) if unit == "weekend" else stretch(first, count, unit)

    return inside(meaning, week, unit)


def side(r: Reader, e: Env) -> Made:
    """early May, the end of next month; ``until`` is what "before", "from" and "to" count from."""
    meaning, which = e["d"], e["p"]
    if meaning.grain in ("day", "span"):
        return None

    def of(whole: Period) -> Period:
        made = third(whole, "late" if which == "end" else which, meaning.grain, loose=r.cue)
        if r.grammar.day_first:
            return made
        if which == "mid" and whole.first and whole.end:
            return made._replace(until=moved(whole.first, (whole.end - whole.first).days // 2))
        return made._replace(until={"early": made.first, "end": made.end}.get(which))

    return inside(meaning, of, "span")


def earlier(r: Reader, e: Env) -> Made:
    """earlier this week, later in the year, the rest of it."""
    meaning, late = e["d"], e["late"]
    if not meaning.relative or not meaning.periods:
        return None
    whole = meaning.periods[0]
    first, end = whole.first or r.today, whole.end or r.today
    if "rest" in e:
        return relative(Period(r.today, meaning.periods[-1].end), "span")
    if meaning.grain in ("day", "span"):
        return None
    cut = third(whole, "late", meaning.grain).first or r.today
    if meaning.grain == "year":
        cut = shifted(first, 6, "month")
    if end <= r.today:
        made = third(whole, "late" if late else "early", meaning.grain)
    elif late:
        made = Period(max(cut, r.today), end)
    else:
        made = Period(first, min(cut, max(r.today, first)))
    return relative(made, "span")


def week_of(r: Reader, e: Env) -> Made:
    """The week of a day, the weekend that is nearest to it."""
    unit = e["u"]
    if e["d"].grain != "day" or unit not in ("week", "weekend"):
        return None

    def of(first: date) -> Period | None:
        if unit == "weekend" and 0 < first.weekday() < 4:
            return None  # in the middle of a week: either weekend may be meant
        early = unit == "weekend" and first.weekday() == 0
        return unit_at(moved(first, -3) if early else first, 0, unit)

    return inside(e["d"], from_first(of), unit)


# -- from one to another, before and after one -----------------------------------------------------


def between(r: Reader, e: Env) -> Made:
    return joined(e["d"], e["e"])


def days_of(r: Reader, e: Env) -> Made:
    """3 to 12 of September; "28-3 May" began in April."""

    def of(whole: date) -> Period | None:
        first, last = (of_month(whole.year, whole.month, e[each]) for each in "ab")
        if e["b"] < e["a"]:
            back = shifted(whole, -1, "month")
            first = of_month(back.year, back.month, e["a"])
        return Period(first.first, last.end, last.first) if first and last else None

    whole = e["d"] if "d" in e else part_of_year(r, {**e, "u": "month"})
    return inside(whole, from_first(of), "span") if whole and whole.grain == "month" else None


def to_day(r: Reader, e: Env) -> Made:
    """The second day of "April 9th through 17th" and of "Nov 19-20"."""

    def of(first: date) -> Period | None:
        there = shifted(first.replace(day=1), int(e["n"] <= first.day), "month")
        last = of_month(there.year, there.month, e["n"])
        return Period(first, last.end, last.first) if last else None

    return inside(e["d"], from_first(of), "span") if e["d"].grain == "day" else None


def open_ended(r: Reader, e: Env) -> Made:
    """before May, since last week; in a question what starts on a day is no time since then."""
    return None if r.cue and "ahead" in e else opened(_known(r, e["d"]), e["how"])


# -- places ----------------------------------------------------------------------------------------


def apart(r: Reader, at: int) -> bool:
    """No minutes of a time."""
    return not (r.text(at - 1) == ":" and r.joined(at))


def unmoved(r: Reader, at: int) -> bool:
    """Nothing was moved from here: "moved from Friday to Monday" is no span."""
    at -= r.text(at) != "from"
    return r.text(at) != "from" or not any(r.stands_in("moved", at - n) for n in range(1, 9))


def unsuffixed(r: Reader, at: int) -> bool:
    return not r.word(at - 1).suffix


def no_verb(r: Reader, at: int) -> bool:
    """Not as in "this may be"."""
    return r.word(at).raw != "may" or r.text(at - 1) != "this"


def month_alone(r: Reader, at: int) -> bool:
    """A month without a day or a year that is no name and no verb."""
    text, before = r.text(at), r.text(at - 1)
    capital = r.word(at).raw[:1].isupper()
    if r.grammar.day_first:
        if r.word(at).suffix or len(r.words) == 1 or r.find("side", at + 1):
            return True
        return not (capital and at > 0) and not r.stands_in("doubtful_month", at) and len(text) > 3
    if (
        r.stands_in("lower_doubtful", at)
        and not capital
        and not r.stands_in("before_lower", at - 1)
    ):
        return False
    if r.cue and text not in r.grammar.classes["month"].words:
        return False
    doubtful = r.stands_in("doubtful_month", at)
    if r.stands_in("before_doubtful" if doubtful else "before_month", at - 1):
        return True
    joints = ("-", "to", "through", "until")
    paired = (r.text(at + 1) in joints and r.rule("any_month", at + 2)) or (
        before in (*joints, "and") and r.rule("any_month", at - 2)
    )
    return bool(paired) or (capital and len(r.words) <= 2) or (r.cue and not doubtful)


def bare_year(r: Reader, at: int) -> bool:
    """A number that may be a year by what stands before it."""
    if r.joined(at) and r.text(at - 1) in "-/.:+$#&=~":
        return r.text(at - 1) in "-~" and len(r.text(at - 2)) == 4
    if r.stands_in("before_year", at - 1) or len(r.words) == 1:
        return True
    return r.text(at).isdecimal() and 1900 <= r.word(at).number <= 2050


def year_ends(r: Reader, at: int) -> bool:
    """A number is a year by what stands behind it."""
    if r.word(at - 1).text.isdecimal() and not 1500 <= r.word(at - 1).number <= 2100:
        return False
    sign, behind = r.text(at), r.text(at + 1) if r.joined(at + 1) else ""
    if r.joined(at) and (
        sign in "s%:"
        or (sign == "." and behind.isdecimal())
        or (sign in "-/" and behind and not (behind.isdecimal() and len(behind) == 4))
    ):
        return False
    return not r.stands_in("counted", at)


ROWS.update({each.__name__: each for each in (
    month_day, part_of_year, holiday, decade, century, iso_week, days, lately, step, several, away,
    within, beside, lasting, recurring, ago, weekday, step_weekday, on_weekday, nearest, nth, side,
    earlier, week_of, between, days_of, to_day, open_ended,
)})  # fmt: skip
PLACES.update({each.__name__: each for each in (
    apart, unmoved, unsuffixed, no_verb, month_alone, bare_year, year_ends,
)})  # fmt: skip
