"""Finds expressions of time in the tokens of a cue, with their positions and meanings.

Every rule reads a bounded number of tokens, so a cue is read in one pass. `time_range_in` combines
the expressions ("before", "between ... and").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Final

from spector.language.time import calendar as spans
from spector.language.time import vocabulary as timewords
from spector.language.time.calendar import Span
from spector.language.time.reader import Atom, TokenReader
from spector.language.words import plain

__all__ = ["expressions"]

_PREPOSITIONS: Final = frozenset(
    """in of during since until till by before after last next early mid late from between through
    around""".split()
)
#: words after "may" which make it a verb
_VERBS: Final = frozenset("be have not also well i he she it they we you".split())
_YEAR_WORDS: Final = frozenset(
    "in of during since until till by before after from year and to yil".split()
)
#: folded like tokens, which decomposes Hangul
_YEAR_SIGNS: Final = ("年", plain("년"))
_MONTH_SIGNS: Final = ("月", plain("월"))
_DAY_SIGNS: Final = ("日", "号", plain("일"))
_PARTS_OF_DAY: Final = frozenset("morning afternoon evening sabah aksam ogleden".split())
_ORDINALS: Final = frozenset(("st", "nd", "rd", "th"))


def expressions(of: TokenReader) -> Iterator[Atom]:
    """Expressions from left to right, without overlaps."""
    at = 0
    while at < len(of.tokens):
        atom = _expression(of, at)
        if atom is not None:
            yield atom
        at = max(at + 1, atom.end if atom else 0)


def _expression(of: TokenReader, at: int) -> Atom | None:
    word = of.word(at)
    rules = _OF_NUMBERS if word.isdecimal() else _OF_WORDS.get(word, ())
    for rule in rules:
        atom = rule(of, at)
        if atom is not None:
            return atom
    return None


# -- dates of the calendar -------------------------------------------------------------------------


def _numeric(of: TokenReader, at: int) -> Atom | None:
    """2023-05-08, 2023-05, 2023/5/8, 8.5.2023, 5/8/2023 (8 May or 5 August)."""
    sign = of.word(at + 1)
    if sign not in ("-", "/", ".") or not of.joined(at, 3):
        return None
    full = of.word(at + 3) == sign and of.joined(at, 5)
    parts = [of.word(at), of.word(at + 2), *([of.word(at + 4)] if full else [])]
    if not all(each.isdecimal() and len(each) <= 4 for each in parts):
        return None
    first, second, *third = map(int, parts)
    tried: list[tuple[int, int, int]] = []
    if len(parts[0]) == 4 and full:
        tried = [(first, second, third[0])]
    elif len(parts[0]) == 4 and sign == "-" and len(parts[1]) == 2 and 1900 <= first < 2200:
        if 1 <= second <= 12:
            return Atom(at, of.after_case(at + 3), (spans.month(first, second),))
    elif full and len(parts[2]) == 4:
        tried = [(third[0], second, first)]
        if sign == "/":
            tried.append((third[0], first, second))
    found = []
    for each in tried:
        try:
            found.append(spans.day(date(*each)))
        except ValueError:
            continue
    return Atom(at, of.after_case(at + 5), tuple(sorted(set(found)))) if found else None


def _signed(of: TokenReader, at: int) -> Atom | None:
    """2023年5月8日, 2023年5月, 2023년 5월 8일."""
    marks = [of.word(at + n) for n in (1, 3, 5)]
    found = of.year(at)
    second = of.word(at + 2)
    if found is None or marks[0] not in _YEAR_SIGNS or not second.isdecimal():
        return None
    number = int(second) if len(second) <= 2 else 0
    if not 1 <= number <= 12 or not marks[1].startswith(_MONTH_SIGNS):
        return None
    third = of.word(at + 4)
    if marks[1] in _MONTH_SIGNS and third.isdecimal() and marks[2].startswith(_DAY_SIGNS):
        try:
            return Atom(at, at + 6, (spans.day(date(found[0], number, int(third[:3]))),))
        except ValueError:
            return None
    return Atom(at, at + 4, (spans.month(found[0], number),))


def _day_and_month(of: TokenReader, at: int) -> Atom | None:
    """8 May, 8th of May 2023, the 8th of May, 8 Mayıs."""
    word = of.word(at)
    if not (word.isdecimal() and len(word) <= 2 and 1 <= int(word) <= 31):
        return None
    end = at + 1
    if of.word(end) in _ORDINALS:
        end += 1
    if of.word(end) in ("of", "de", "."):  # 8 de mayo, 8. Mai
        end += 1
    number = timewords.MONTHS.get(of.word(end)) or timewords.ABBREVIATED.get(of.word(end))
    if number is None or (of.word(end) == "may" and of.word(end + 1) in _VERBS):
        return None
    the_day, the_month = int(word), number
    return of.dated(at, end + 1, lambda y: spans.day(date(y, the_month, the_day)))


def _month(of: TokenReader, at: int) -> Atom | None:
    """May 8, May 8th, 2023, May 8-10, May 2023, in May, 2023 Mayıs, Mayıs'ta."""
    lead = of.year(at)
    begin, at = (at, lead[1]) if lead and of.word(lead[1]) in timewords.MONTHS else (at, at)
    word = of.word(at)
    number = timewords.MONTHS.get(word)
    short = number is None
    if number is None:
        number = timewords.ABBREVIATED.get(word)
    if number is None:
        return None
    end = at + 1
    if short and of.word(end) == ".":
        end += 1
    if lead and begin != at:
        year, the_month = lead[0], number
        return Atom(begin, of.after_case(end), (spans.month(year, the_month),))
    with_day = _days_of_month(of, begin, end, number)
    if with_day is not None:
        return with_day
    has_year = of.year_after(end) is not None
    if short and (not has_year or word in timewords.ONLY_WITH_DAY):
        return None
    if word in timewords.AMBIGUOUS and not has_year and not _surely_month(of, at):
        return None
    the_month = number
    return of.dated(begin, end, lambda y: spans.month(y, the_month))


def _surely_month(of: TokenReader, at: int) -> bool:
    """True if the words around "may" or "mart" make it a month."""
    if of.word(at) == "may" and of.word(at + 1) in _VERBS:
        return False
    if of.word(at - 1) in _PREPOSITIONS:
        return True
    return of.word(at + 1).startswith("ayi") or of.after_case(at + 1) != at + 1


def _days_of_month(of: TokenReader, begin: int, end: int, number: int) -> Atom | None:
    """The day or days after the name of a month, if there are any."""
    first = of.word(end + 1) if of.word(end) == "the" else of.word(end)
    if not (first.isdecimal() and len(first) <= 2 and 1 <= int(first) <= 31):
        return None
    end += 1 + (of.word(end) == "the")
    end += of.word(end) in _ORDINALS
    low = high = int(first)
    upto = of.word(end + 1)
    spanned = of.word(end) in ("-", "to") and upto.isdecimal() and len(upto) <= 2
    if spanned and low < int(upto) <= 31:
        high, end = int(upto), end + 2
        end += of.word(end) in _ORDINALS
    return of.dated(begin, end, lambda y: spans.days(date(y, number, low), date(y, number, high)))


def _part(of: TokenReader, at: int) -> Atom | None:
    """early May 2023, the end of 2022, mid-June."""
    which = timewords.PARTS.get(of.word(at))
    if which is None:
        return None
    next_at = at + 1
    while next_at < at + 3 and of.word(next_at) in ("-", "of", "in", "the", "on"):
        next_at += 1
    for rule in (_month, _season, _year):
        atom = rule(of, next_at)
        if atom is None:
            continue
        found = tuple(spans.part(each, which) for each in atom.spans)
        if atom.of_year is None:
            return Atom(at, atom.end, found)
        return Atom(at, atom.end, found, _part_of(atom.of_year, which))
    return None


def _part_of(make: Callable[[int], Span], which: str) -> Callable[[int], Span]:
    return lambda y: spans.part(make(y), which)


def _season(of: TokenReader, at: int) -> Atom | None:
    """summer of 2022, 2022 yazında. A season without a year is not a time."""
    lead = of.year(at)
    name = timewords.SEASONS.get(of.word(lead[1] if lead else at))
    if name is None:
        return None
    found = lead or of.year_after(at + 1)
    if found is None:
        return None
    return Atom(at, lead[1] + 1 if lead else found[1], (spans.season(found[0], name),))


def _holiday(of: TokenReader, at: int) -> Atom | None:
    for length in (5, 4, 3, 2, 1):
        entry = timewords.HOLIDAYS.get(tuple(of.word(at + n) for n in range(length)))
        if entry is not None:
            number, first, long = entry

            def make(y: int, number: int = number, first: int = first, long: int = long) -> Span:
                begin = date(y, number, first)
                return spans.days(begin, spans.shifted(begin, long - 1, "day"))

            return of.dated(at, at + length, make)
    return None


def _quarter(of: TokenReader, at: int) -> Atom | None:
    """Q3 2023."""
    number = of.word(at + 1)
    if of.word(at) != "q" or number not in ("1", "2", "3", "4") or not of.joined(at, 2):
        return None
    first = int(number) * 3 - 2
    return of.dated(
        at, at + 2, lambda y: spans.hull((spans.month(y, first), spans.month(y, first + 2)))
    )


def _year(of: TokenReader, at: int) -> Atom | None:
    """2023, the 1990s, 2023 yılında. Without a preposition, only years of the store count."""
    found = of.year(at)
    if found is None or of.word(at) == "'":
        return None
    number, end = found
    if of.word(end) == "s" and number % 10 == 0 and of.joined(at, 2):
        whole = spans.hull((spans.year(number), spans.year(number + 9)))
        return Atom(at, end + 1, (whole,), year_only=True)
    end = of.after_case(end)
    sure = of.word(at - 1) in _YEAR_WORDS or end > at + 1 or of.word(end).startswith("yil")
    maker = None if sure else spans.year
    return Atom(at, end, (spans.year(number),), year_only=True, of_year=maker)


# -- relative to now -------------------------------------------------------------------------------


def _relative(at: int, end: int, found: Span, vague: bool = False) -> Atom:
    return Atom(at, end, (found,), relative=True, vague=vague)


def _days_away(of: TokenReader, at: int) -> Atom | None:
    """yesterday, the day before yesterday, this morning, dün, evvelsi gün, the other day."""
    word, then, third = of.word(at), of.word(at + 1), of.word(at + 2)
    if (word, then, third) in (("day", "before", "yesterday"), ("day", "after", "tomorrow")):
        there = spans.shifted(of.today, -2 if then == "before" else 2, "day")
        return _relative(at, at + 3, spans.day(there))
    if (word, then, third) == ("the", "other", "day"):
        return _relative(at, at + 3, spans.rolling(of.now_ms, 14, "day"), vague=True)
    if word in ("this", "bu") and then in _PARTS_OF_DAY:
        return _relative(at, at + 2, spans.day(of.today))
    if word == "last" and then == "night":
        return _relative(at, at + 2, spans.day(spans.shifted(of.today, -1, "day")))
    away = timewords.DAYS.get(word)
    if away is None or (word == "evvelsi" and then != "gun"):
        return None
    end = at + 1 + (word == "evvelsi")
    return _relative(at, end, spans.day(spans.shifted(of.today, away, "day")))


def _step(of: TokenReader, at: int) -> Atom | None:
    """last week, this month, next Monday, last May, last 3 days, geçen hafta sonu, son iki ay."""
    word = of.word(at)
    step = timewords.STEPS.get(word)
    if step is None:
        return None
    then, end = of.word(at + 1), at + 2
    amount = of.number(at + 1)
    what = of.word(amount[1] if amount else at + 1)
    if word in timewords.TURKISH_STEPS and what in timewords.ENGLISH:
        return None
    if amount and of.word(amount[1]) in timewords.UNITS and step != 0:
        unit = timewords.UNITS[of.word(amount[1])]
        found = spans.rolling(of.now_ms, -step * amount[0], unit)
        return _relative(at, amount[1] + 1, found, vague=amount[2])
    if then.startswith("hafta") and of.word(end).startswith("sonu"):
        then, end = "haftasonu", end + 1
    if word == "onceki" and then == "gun":
        return _relative(at, end, spans.day(spans.shifted(of.today, -2, "day")))
    if then in timewords.WEEKDAYS:
        return _relative(at, end, spans.weekday(of.today, timewords.WEEKDAYS[then], step))
    unit = timewords.UNITS.get(then, "")
    if unit and unit not in ("minute", "hour", "day"):
        the_last = of.word(at - 1) == "the" and of.word(at - 2) in ("in", "over", "during", "for")
        if (word in ("past", "son") or (word == "last" and the_last)) and unit != "weekend":
            return _relative(at, end, spans.rolling(of.now_ms, 1, unit))
        return _relative(at, end, spans.calendar_unit(of.today, unit, step))
    the_month = timewords.MONTHS.get(then)
    if the_month and not (word in ("this", "bu") and then == "may"):
        return _yearly(of, at, end, step, lambda y: spans.month(y, the_month))
    name = timewords.SEASONS.get(then)
    if name:
        return _yearly(of, at, end, step, lambda y: spans.season(y, name))
    return None


def _yearly(
    of: TokenReader, at: int, end: int, step: int, make: Callable[[int], Span]
) -> Atom | None:
    """The last, this year's or the next period that comes once a year."""
    found = of.year_after(end)
    if found:
        return Atom(at, found[1], (make(found[0]),))
    this = of.today.year
    around = [make(each) for each in range(max(this - 2, 1), min(this + 2, 9998) + 1)]
    if step < 0:
        over = [each for each in around if each.end_ms <= of.now_ms]
        return _relative(at, end, over[-1]) if over else None
    if step > 0:
        ahead = [each for each in around if each.start_ms > of.now_ms]
        return _relative(at, end, ahead[0]) if ahead else None
    return _relative(at, end, make(this))


def _ago(of: TokenReader, at: int) -> Atom | None:
    """two weeks ago, a few days ago, iki hafta önce."""
    amount = of.number(at)
    if amount is None:
        return None
    value, unit_at, vague = amount
    unit = timewords.UNITS.get(of.word(unit_at))
    after = of.word(unit_at + 1)
    if unit is None or after not in timewords.AGO:
        return None
    turkish = of.word(unit_at) in timewords.TURKISH_UNITS
    if turkish != (after in ("once", "onceki", "evvel")) or after == "earlier":
        return None
    found = spans.ago(of.now_ms, value, unit, vague)
    return _relative(at, unit_at + 2, found, vague=vague or unit != "day")


def _weekday(of: TokenReader, at: int) -> Atom | None:
    """on Monday, pazartesi günü: the last one, today included. Not "on Mondays"."""
    number = timewords.WEEKDAYS.get(of.word(at))
    if number is None:
        return None
    end = at + 1
    if of.word(end) in ("gunu", "gunku"):
        end += 1
    elif of.word(at - 1) != "on" and of.after_case(end) == end:
        return None
    if number == of.today.weekday():
        return _relative(at, end, spans.day(of.today))
    return _relative(at, end, spans.weekday(of.today, number, -1))


_Rule = Callable[[TokenReader, int], Atom | None]
#: rules for expressions that begin with a number
_OF_NUMBERS: Final[tuple[_Rule, ...]] = (
    _numeric, _signed, _day_and_month, _ago, _season, _month, _year,
)  # fmt: skip


def _by_word() -> dict[str, tuple[_Rule, ...]]:
    """First words of expressions, with the rules to try for each, in order."""
    starts: tuple[tuple[_Rule, Iterable[str]], ...] = (
        (_ago, timewords.NUMBERS),
        (_month, (*timewords.MONTHS, *timewords.ABBREVIATED)),
        (_season, timewords.SEASONS),
        (_part, timewords.PARTS),
        (_holiday, {words[0] for words in timewords.HOLIDAYS}),
        (_quarter, ("q",)),
        (_days_away, (*timewords.DAYS, "day", "the", "this", "bu", "last")),
        (_step, timewords.STEPS),
        (_weekday, timewords.WEEKDAYS),
    )
    rules: dict[str, tuple[_Rule, ...]] = {}
    for rule, words in starts:
        for word in words:
            rules[word] = (*rules.get(word, ()), rule)
    return rules


_OF_WORDS: Final = _by_word()
