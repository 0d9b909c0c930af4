"""The grammar of Turkish dates: what is named first, then its part, then its direction."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.figures import figures
from spector.language.dates.joining import inside_of, joined, nth_unit, nth_weekday, opened
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader
from spector.language.dates.turkish import calendar, words
from spector.language.dates.turkish.calendar import Found
from spector.language.dates.turkish.relative import (
    ABLATIVE,
    amounts_at,
    away,
    directed,
    moved_by,
    named_day,
    only,
    stepped,
    unit_at,
)
from spector.language.dates.turkish.words import ending, number

__all__ = ["turkish_date"]

_DATIVE: Final = ("a", "e")
_UNTIL: Final = ("kadar", "kadarki", "kadarlik", "dek", "degin")


def turkish_date(r: Reader, start: int) -> Found:
    """The longest expression that begins here."""
    return _best(_range(r, start), _simple(r, start))


def _best(*found: Found) -> Found:
    return max((each for each in found if each), key=lambda each: each[1], default=None)


def _simple(r: Reader, start: int) -> Found:
    """A date with its parts behind it: "gelecek yılın ilk çeyreği", "temmuzun son haftası"."""
    found = _best(
        figures(r, start, day_first=True), calendar.month_day(r, start),
        calendar.month_only(r, start), calendar.season(r, start), calendar.decade(r, start),
        calendar.year_alone(r, start), calendar.holiday(r, start), calendar.weekday(r, start),
        named_day(r, start), stepped(r, start), away(r, start), _bare_part(r, start),
    )  # fmt: skip
    for _ in range(4):
        more = _part(r, found) if found else None
        if more is None:
            break
        found = more
    if found is not None and r.text(found[1]).startswith("civar"):
        return found[0], found[1] + 1
    if (
        found is not None
        and r.says(found[1], "daha sonra")
        and found[0].relative
        and (found[0].periods and found[0].grain in ("week", "month", "year"))
    ):
        return _later(r, found)
    return found


def _later(r: Reader, found: tuple[Meaning, int]) -> Found:
    """ "bu yıl daha sonra": what is left of its second half."""
    meaning, end = found
    after = r.says(end, "daha sonra")
    whole = meaning.periods[0]
    if after == end or whole.first is None:
        return found
    late = at.thirds(whole, "late", grain=meaning.grain).first or r.today
    if meaning.grain == "year":
        late = at.at_day(whole.first, 6, "month")
    return only(Period(max(late, r.today), whole.end), "span"), after


def _bare_part(r: Reader, start: int) -> Found:
    """ay sonu, yıl başında, haftanın başları: of the unit of today."""
    unit = unit_at(r, start)
    if unit is None or unit[0] not in ("week", "month", "year", "quarter"):
        return None
    what, suffix, end = unit
    if suffix not in ("", "in", "nin", "un"):
        return None
    here = only(at.unit_at(r.today, 0, what), what)
    if (
        _part_word(r, end) is None
        and not (suffix and _ordinal(r, end))
        and not (suffix and calendar.day_number(r, end))
    ):
        return None
    return _part(r, (here, end))


def _part_word(r: Reader, start: int) -> str | None:
    text = r.text(start)
    for stem_of, which in (("bas", "early"), ("orta", "mid"), ("son", "late")):
        rest = text[len(stem_of) :]
        if text.startswith(stem_of) and rest in (
            "i",
            "inda",
            "indan",
            "ina",
            "lari",
            "larinda",
            "larina",
            "u",
            "unda",
            "una",
            "undan",
            "si",
            "sinda",
            "sina",
            "sindan",
            "larindan",
        ):
            return which
    return None


def _ordinal(r: Reader, start: int) -> tuple[int, int] | None:
    word = r.word(start)
    if word.text in words.ORDINALS:
        return words.ORDINALS[word.text], start + 1
    if word.text.isdecimal() and len(word.text) <= 2:
        if word.suffix.endswith(("nci", "ncu")):
            return word.number, start + 1
        if r.text(start + 1) == "." and r.joined(start + 1) and not r.joined(start + 2):
            return word.number, start + 2
    return None


def _part(r: Reader, found: tuple[Meaning, int]) -> Found:
    """A part of what was named: its last week, first quarter, Monday, 21st, beginning."""
    meaning, end = found
    if meaning.grain in ("day", "span") and not meaning.periods:
        return None
    last = ending(r, end - 1)
    owned = calendar.genitive(last) or not last or last in ("i", "u", "si", "su")
    if not owned or meaning.grain == "day":
        return None
    which = _part_word(r, end)
    if which is not None:
        grain = meaning.grain
        return inside_of(
            meaning, lambda whole: at.thirds(whole, which, grain=grain), "span", end + 1
        )
    counted = _ordinal(r, end)
    if counted is not None and meaning.grain in ("week", "month", "quarter", "season", "year"):
        return _nth(r, meaning, counted)
    if not calendar.genitive(last):
        return None
    named = calendar.weekday_at(r, end)
    if named is not None and meaning.grain == "week":
        return inside_of(meaning, lambda whole: nth_weekday(whole, named[0], 1), "day", named[1])
    if meaning.grain == "month":
        of = calendar.day_number(r, end)
        closed = r.word(of[1] - 1) if of else None
        if of and closed and (closed.suffix or not closed.text.isdecimal()):
            return inside_of(meaning, lambda whole: at.day_of(whole, of[0]), "day", of[1])
    month = calendar.month_at(r, end)
    if month is not None and meaning.grain == "year":
        return inside_of(meaning, lambda whole: at.month_of(whole, month[0]), "month", month[2])
    return None


def _nth(r: Reader, meaning: Meaning, counted: tuple[int, int]) -> Found:
    which, end = counted
    several = number(r, end)
    count = 1
    if several is not None and unit_at(r, several[1]):
        count, end = several[0], several[1]
    named = calendar.weekday_at(r, end)
    if named is not None:
        return inside_of(
            meaning, lambda whole: nth_weekday(whole, named[0], which), "day", named[1]
        )
    unit = unit_at(r, end)
    if unit is None:
        return None
    return inside_of(
        meaning, lambda whole: nth_unit(whole, unit[0], which, count), unit[0], unit[2]
    )


# -- ranges and directions -------------------------------------------------------------------------


def _range(r: Reader, start: int) -> Found:
    """mayıstan eylüle kadar, 3 ile 12 Eylül arası, 2018'den sonra, ağustostan beri."""
    days = _days_of_month(r, start)
    if days is not None:
        return days
    one = _simple(r, start)
    if one is None:
        return None
    meaning, end = one
    last = ending(r, end - 1)
    two = _second(r, meaning, end, last)
    if two is not None:
        return two
    if last.endswith(ABLATIVE):
        return _after_ablative(r, meaning, end)
    if (r.text(end) in ("veya", "ve", "ya") and r.says(end, "veya sonrasi", "ve sonrasi")) or (
        r.text(end + 1).startswith("sonra")
    ):
        if r.text(end) in ("veya", "ve") and r.text(end + 1).startswith("sonra"):
            return opened(meaning.resolved(r.today), "since"), end + 2
        return None
    if last.endswith(_DATIVE) and r.text(end) in _UNTIL:
        return opened(meaning.resolved(r.today), "until"), end + 1
    return None


def _second(r: Reader, one: Meaning, end: int, last: str) -> Found:
    if last.endswith(ABLATIVE):
        found = _simple(r, end) or _day_like(r, one, end)
        if found is None:
            return None
        after = found[1]
        if r.text(after) in _UNTIL and ending(r, after - 1).endswith(_DATIVE):
            both = joined(one, found[0])
            return (both, after + 1) if both else None
        return None
    if r.text(end) in ("ile", "ve") or last.endswith(("la", "le")):
        begin = end + (r.text(end) in ("ile", "ve"))
        found = _simple(r, begin)
        if found is None:
            return None
        behind = r.text(found[1])
        if behind.startswith("aras") or behind.startswith("aral"):
            both = joined(one, found[0])
            return (both, found[1] + behind.startswith("aras")) if both else None
        return None
    if r.text(end) in ("-", "~"):
        found = _simple(r, end + 1) or _day_like(r, one, end + 1)
        if found is not None:
            both = joined(one, found[0])
            after = found[1]
            return (both, after + r.text(after).startswith("aras")) if both else None
    return None


def _day_like(r: Reader, one: Meaning, start: int) -> Found:
    del r, one, start
    return None


def _days_of_month(r: Reader, start: int) -> Found:
    """Eylül'ün 3'üyle 12'si arası, 3-12 Eylül, 3 ile 12 Eylül arasında."""
    month = calendar.month_at(r, start)
    if month is not None and calendar.genitive(month[1]):
        one = calendar.day_number(r, month[2])
        if one is None:
            return None
        middle = one[1] + (r.text(one[1]) in ("ile", "ve", "-"))
        two = calendar.day_number(r, middle)
        if two is None or not r.text(two[1]).startswith(("aras", "kadar")):
            return None
        return _days(one[0], two[0], month[0], None), two[1] + 1
    one = calendar.day_number(r, start)
    if one is None:
        return None
    suffix = ending(r, one[1] - 1)
    if r.text(one[1]) not in ("ile", "ve", "-") and not suffix.endswith(("la", "le", *ABLATIVE)):
        return None
    middle = one[1] + (r.text(one[1]) in ("ile", "ve", "-"))
    two = calendar.day_number(r, middle)
    month = calendar.month_at(r, two[1]) if two is not None else None
    if two is None or month is None:
        return None
    given = calendar.year_at(r, month[2])
    end = given[1] if given else month[2]
    end += r.text(end).startswith("aras") or r.text(end) in _UNTIL
    return _days(one[0], two[0], month[0], given[0] if given else None), end


def _days(first: int, last: int, month: int, year: int | None) -> Meaning:
    def make(which: int) -> Period | None:
        one, two = at.of_month(which, month, first), at.of_month(which, month, last)
        return at.period_of((one, two)) if one and two else None

    if year is not None:
        made = make(year)
        return Meaning((made,) if made else (), "span")
    return Meaning(grain="span", of_year=make)


def _after_ablative(r: Reader, meaning: Meaning, end: int) -> Found:
    """2018'den sonra, ağustostan beri, bugünden itibaren iki gün içinde, noelden iki gün önce."""
    resolved = meaning.resolved(r.today)
    word = r.text(end)
    word, end = (r.text(end + 1), end + 1) if word == "daha" else (word, end)
    amounts = amounts_at(r, end + (word in ("itibaren", "sonra", "once", "baslayarak")))
    if amounts is not None and resolved.periods:
        starts = [each.first for each in resolved.periods if each.first is not None]
        if word in ("itibaren", "baslayarak") and r.text(amounts[1]) in ("boyunca", "suresince"):
            spans = [Period(first, moved_by(first, amounts[0], 1)) for first in starts]
            return replace(resolved, periods=tuple(spans), grain="span"), amounts[1] + 1
        if word in ("itibaren", "baslayarak") or word not in ("sonra", "once"):
            made = [directed(r, first, amounts[0], amounts[1], vague=False) for first in starts]
            moved = [each for each in made if each is not None]
            if not moved:
                return None
            periods = tuple(each[0].periods[0] for each in moved)
            return replace(moved[0][0], periods=periods), moved[0][1]
    if word in ("once", "evvel", "oncesi", "onceki"):
        return opened(resolved, "before"), end + 1
    if word in ("sonra", "sonrasi", "sonraki"):
        return opened(resolved, "after"), end + 1
    if word in ("beri", "bu", "itibaren"):
        if word == "bu" and r.text(end + 1) != "yana":
            return None
        return opened(resolved, "since"), end + 1 + (word == "bu")
    if word in ("buyuk", "gec"):
        return opened(resolved, "after"), end + 1
    return None
