"""Turkish dates of the calendar: 4 Ocak 2019, Mayıs'ın üçü, 2022 yazı, 1990'lar, 2018 yılı."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.figures import figures
from spector.language.dates.holidays import TURKISH_HOLIDAYS
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader
from spector.language.dates.turkish import words
from spector.language.dates.turkish.words import number, stem

__all__ = ["Found", "day_number", "decade", "genitive", "holiday", "month_at", "month_day",
           "month_only", "season", "weekday", "weekday_at", "year_alone", "year_at"]  # fmt: skip

Found = tuple[Meaning, int] | None

#: January is a stove, October is sowing, December a gap: they need a capital or a case
_DOUBTFUL: Final = frozenset(("ocak", "ocag", "ekim", "aralik", "aralig", "kasim", "mart"))
_COUNTED: Final = frozenset(
    "kisi tane adet lira tl euro dolar metre km kilo satir kelime kez kere puan yuzde".split()
)
#: "haftada bir", "ayda bir"
_EACH: Final = re.compile(r"(?:gun|hafta|ay|yil|sene)[dt][ae]")
_DAYS_OF_WEEKS: Final = re.compile(
    r"(?:pazartesi|sali|carsamba|persembe|cuma|cumartesi|pazar)l[ae]r"
)
_DAY_WORDS: Final = ("gunu", "gununde", "gunune", "gunundeki", "gun")


def genitive(ending: str) -> bool:
    return ending.endswith(("in", "un"))


def month_at(r: Reader, start: int) -> tuple[int, str, int] | None:
    """(number, ending, end) of a month, with "ayı" behind it."""
    found = stem(r, start, words.MONTHS)
    if found is None:
        return None
    base, ending = found
    if base == "aralig" and ending[:1] == "i" and r.word(start).raw[:1].islower():
        return None  # "aralığı": its range
    if (
        len(base) == 3
        and base not in ("may", "oca")
        and (r.text(start) != base or not r.word(start).raw[:1].isupper())
        and not r.word(start - 1).text.isdecimal()
    ):
        return None
    if len(base) == 3 and r.text(start) != base:
        return None
    behind = stem(r, start + 1, {"ay": 1})
    if behind is not None and r.text(start + 1).startswith("ayi"):
        return words.MONTHS[base], behind[1], start + 2
    return words.MONTHS[base], ending, start + 1


def weekday_at(r: Reader, start: int) -> tuple[int, int] | None:
    """(number, end) of a weekday, with "günü" behind it; not of "pazartesileri"."""
    found = stem(r, start, words.WEEKDAYS)
    if found is None or (found[1].startswith(("lar", "ler")) and found[1] not in ("", "lar")):
        return None
    base = found[0]
    if len(base) <= 4 and base not in ("sali", "cuma"):
        if r.text(start) != base:
            return None
        if base in ("per", "car", "cum") and len(r.words) > 3:
            return None
    end = start + 1
    if r.text(end) in ("gunleri", "gunlerinde"):
        return None  # every Tuesday
    if r.text(end) in _DAY_WORDS:
        end += 1
    return words.WEEKDAYS[base], end


def year_at(r: Reader, start: int) -> tuple[int, int] | None:
    """(year, end) of 2019, 2019 yılı, iki bin on sekiz."""
    word = r.word(start)
    if word.text.isdecimal():
        if len(word.text) != 4 or not 1000 <= word.number <= 2999:
            return None
        value, end = word.number, start + 1
    else:
        if word.text not in ("iki", "bin"):
            return None
        counted = number(r, start)
        if counted is None or not 1500 <= counted[0] <= 2999:
            return None
        value, end = counted[0], counted[1]
    behind = stem(r, end, {"yil": 1, "sene": 1})
    if behind is not None and behind[1].startswith(("i", "s")) and not word.suffix:
        end += 1
    return value, end


def day_number(r: Reader, start: int) -> tuple[int, int] | None:
    """(day, end) of 3, üç, yirmi dokuz, "3'ü"."""
    counted = number(r, start)
    if counted is None or counted[2] or not 1 <= counted[0] <= 31:
        return None
    if r.word(start).text.isdecimal() and len(r.text(start)) > 2:
        return None
    return counted[0], counted[1]


def month_day(r: Reader, start: int) -> Found:
    """Cuma 18 Temmuz 2014, temmuz 18 cuma, martın üçü, 9 Mayıs Salı günü."""
    named = weekday_at(r, start)
    begin = named[1] if named is not None else start
    begin += r.text(begin) == ","
    found = _day_then_month(r, begin) or _month_then_day(r, begin) or _year_first(r, begin)
    if found is None and named is not None:
        found = _weekday_and_number(r, named, begin)
    if found is None:
        return None
    meaning, end = found
    behind = weekday_at(r, end + (r.text(end) == ","))
    if behind is not None and not r.word(end - 1).suffix:
        end = behind[1]
    elif r.text(end) in _DAY_WORDS:
        end += 1
    return meaning, end


def _weekday_and_number(r: Reader, named: tuple[int, int], start: int) -> Found:
    """Pazartesi 21'i, perşembe 29/03: the nearest such days."""
    dated = figures(r, start, day_first=True, sure=True)
    if dated is not None:
        return dated if r.text(start + 1) != "-" or r.text(start + 3) == "-" else None
    word = r.word(start)
    if (
        not word.text.isdecimal()
        or len(word.text) > 2
        or (not word.suffix.startswith(("i", "u", "s")))
    ):
        return None
    this = at.of_month(r.today.year, r.today.month, word.number)
    if this is not None and this.first is not None and this.first.weekday() == named[0]:
        return Meaning((this,), relative=True), start + 1
    found = []
    for step in (-1, 1):
        for months in range(0, 14):
            there = at.at_day(r.today.replace(day=1), step * months, "month")
            made = at.of_month(there.year, there.month, word.number)
            if made is None or made.first is None or made.first.weekday() != named[0]:
                continue
            if (made.first < r.today) == (step < 0):
                found.append(made)
                break
    return (Meaning(tuple(found), relative=True), start + 1) if found else None


def _day_then_month(r: Reader, start: int) -> Found:
    of = day_number(r, start)
    if of is None:
        return None
    end = of[1] + (r.text(of[1]) in (".", "-", "/"))
    month = month_at(r, end)
    if month is None or r.word(of[1] - 1).suffix:
        return None
    return _dated(r, month[0], of[0], month[2], closed=bool(r.word(month[2] - 1).suffix))


def _month_then_day(r: Reader, start: int) -> Found:
    month = month_at(r, start)
    if month is None:
        return None
    behind = month[2] + (r.text(month[2]) in ("-", "/") and not month[1])
    of = day_number(r, behind)
    if of is None or (r.text(of[1]) == ":" and r.joined(of[1])):
        return None
    last = r.word(of[1] - 1)
    possessed = last.suffix or not last.text.isdecimal()
    if genitive(month[1]) and not possessed:
        return None
    if stem(r, of[1], words.UNITS) or r.text(of[1]) in ("saat", "saatte", "dakika"):
        return None
    return _dated(r, month[0], of[0], of[1], closed=bool(last.suffix))


def _year_first(r: Reader, start: int) -> Found:
    given = year_at(r, start)
    if given is None:
        return None
    found = _month_then_day(r, given[1]) or _day_then_month(r, given[1])
    if found is None or found[0].of_year is None:
        return None
    made = found[0].of_year(given[0])
    return (Meaning((made,)), found[1]) if made else None


def _dated(r: Reader, month: int, of: int, end: int, *, closed: bool) -> Found:
    behind = end + (r.text(end) in (",", "-", "/", "."))
    given = None if closed else year_at(r, behind)
    if given is not None:
        made = at.of_month(given[0], month, of)
        return (Meaning((made,)), given[1]) if made else None

    def make(which: int) -> Period | None:
        return at.of_month(which, month, of)

    if make(2024) is None:
        return None
    return Meaning(of_year=make), end


def month_only(r: Reader, start: int) -> Found:
    """Mayıs 2018, 2017 Nisan, 2017 yılının nisan ayı, Mayıs'ta, nisan ayında."""
    given = year_at(r, start)
    if given is not None:
        month = month_at(r, given[1])
        if r.text(given[1]).startswith("aralig") and r.word(given[1]).raw[:1].islower():
            return None  # "2014-2018 aralığı": their range
        if month is None or r.word(start).suffix in ("da", "de", "ta", "te"):
            return None
        return Meaning((at.month(given[0], month[0]),), "month"), month[2]
    month = month_at(r, start)
    if month is None:
        return None
    which, ending, end = month
    behind = end + (r.text(end) == ",")
    given = year_at(r, behind) if not r.word(end - 1).suffix else None
    if given is not None:
        return Meaning((at.month(given[0], which),), "month"), given[1]
    if r.text(start) in words.MONTHS and len(r.text(start)) == 3:
        return None
    capital, alone = r.word(start).raw[:1].isupper(), len(r.words) == 1
    if not (ending or alone or end > start + 1 or stem(r, end, words.PARTS)) and (
        (capital and start > 0) or (stem(r, start, words.MONTHS) or ("", ""))[0] in _DOUBTFUL
    ):
        return None  # people are called Nisan and Eylül

    def make(year: int) -> Period | None:
        return at.month(year, which)

    return Meaning(grain="month", of_year=make), end


def _comes_again(r: Reader, start: int) -> bool:
    """Whether a day of the week is every such day: "her salı", "iki haftada bir salı",
    "cumaları", "cumalar hariç"."""
    before, two_before = r.text(start - 1), r.text(start - 2)
    return (
        before == "her"
        or (before == "bir" and _EACH.fullmatch(two_before) is not None)
        or _DAYS_OF_WEEKS.match(r.text(start)) is not None
    )


def weekday(r: Reader, start: int) -> Found:
    named = weekday_at(r, start)
    if named is None or _comes_again(r, start):
        return None
    away = (named[0] - r.today.weekday()) % 7
    if away == 0:
        periods = (at.day(at.moved(r.today, -7)), at.day(r.today))
    else:
        periods = (at.day(at.moved(r.today, away - 7)), at.day(at.moved(r.today, away)))
    return Meaning(periods, relative=True), named[1]


def year_alone(r: Reader, start: int) -> Found:
    """2018'de, 2018 yılı, 1998."""
    given = year_at(r, start)
    word = r.word(start)
    if given is None or not 1500 <= given[0] <= 2100:
        return None
    if word.text.isdecimal():
        if r.joined(start) and r.text(start - 1) in "-/.:+$#&=":
            return None
        if r.joined(start + 1) and r.text(start + 1) in "/:%." and r.joined(start + 2):
            return None
        if r.text(given[1]) in _COUNTED or (not 1900 <= given[0] <= 2100 and not word.suffix):
            return None
    elif given[1] == start + 2 and r.text(start) == "iki":
        return None
    return Meaning((at.year(given[0]),), "year"), given[1]


def decade(r: Reader, start: int) -> Found:
    """1990'lar, 90'larda, 21. yüzyıl, 15'inci yüzyılda."""
    word = r.word(start)
    if word.text.isdecimal():
        if word.suffix.startswith(("lar", "ler")) and word.number % 10 == 0:
            if len(word.text) == 4 and 1000 <= word.number <= 2990:
                return Meaning((at.years(word.number, 10),), "decade"), start + 1
            if len(word.text) == 2 and word.number >= 20:
                found = (at.years(1900 + word.number, 10), at.years(2000 + word.number, 10))
                return Meaning(found, "decade", relative=True), start + 1
        dotted = start + 1 + (r.text(start + 1) == "." and r.joined(start + 1))
        if (dotted > start + 1 or word.suffix.endswith(("nci", "ncu"))) and 1 < word.number < 100:
            behind = stem(r, dotted, {"yuzyil": 1, "asir": 1})
            if behind is not None:
                return Meaning((at.years((word.number - 1) * 100, 100),), "century"), dotted + 1
    return None


def season(r: Reader, start: int) -> Found:
    """2022 yazı, 2019 kışında."""
    given = year_at(r, start)
    name = stem(r, given[1], words.SEASONS) if given is not None else None
    if given is None or name is None:
        return None
    made = Meaning((at.season(given[0], words.SEASONS[name[0]]),))
    return replace(made, grain="season"), given[1] + 1


def holiday(r: Reader, start: int) -> Found:
    """Cumhuriyet Bayramı, 2024 yılbaşı, Anneler Günü'nde."""
    given = year_at(r, start)
    begin = given[1] if given is not None else start
    for length in (5, 4, 3, 2, 1):
        pieces = [r.text(begin + n) for n in range(length)]
        key = " ".join(pieces)
        make = TURKISH_HOLIDAYS.get(key)
        if make is None:
            bare = next(
                (
                    name
                    for name in TURKISH_HOLIDAYS
                    if key.startswith(name)
                    and key[len(name) :] in ("nda", "nde", "ndan", "nden", "na", "ne")
                ),
                "",
            )
            make = TURKISH_HOLIDAYS.get(bare)
        if make is None or "" in pieces:
            continue
        end = begin + length
        if given is None:
            given = year_at(r, end)
            end = given[1] if given is not None else end
        if given is not None and 1 <= given[0] <= 9998:
            return Meaning((make(given[0]),)), end
        return Meaning(of_year=make), end
    return None
