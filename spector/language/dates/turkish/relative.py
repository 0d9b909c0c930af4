"""Turkish dates relative to the day of the message: geçen hafta, iki hafta önce, yarın akşam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Final

from spector.language.dates import period as at
from spector.language.dates.period import Meaning, Period
from spector.language.dates.reader import Reader
from spector.language.dates.turkish import calendar, words
from spector.language.dates.turkish.calendar import Found
from spector.language.dates.turkish.words import number, stem

__all__ = [
    "ABLATIVE", "amounts_at", "away", "directed", "moved_by", "named_day", "only", "stepped",
    "unit_at",
]  # fmt: skip

ABLATIVE: Final = ("dan", "den", "tan", "ten")
_DAY_PARTS: Final = frozenset(
    """sabah sabahi sabahki aksam aksami aksamki gece gecesi gececi oglen ogleden aksamustu
    ikindi""".split()
)


def only(period: Period, grain: str = "day", *, vague: bool = False) -> Meaning:
    return Meaning((period,), grain, relative=True, vague=vague)


def named_day(r: Reader, start: int) -> Found:
    """bugün, yarın akşam, dün gece, evvelsi gün, öbür gün, bu sabah, dünden önceki gün."""
    if r.text(start) == "bu" and r.text(start + 1) in _DAY_PARTS:
        return only(at.day(r.today)), start + 2
    found = stem(r, start, words.DAYS)
    if found is None:
        return None
    base, suffix = found
    end = start + 1
    away = words.DAYS[base]
    if base in ("obur", "evvelsi", "evvelki"):
        if r.text(end)[:3] != "gun":
            return None
        end += 1
    if suffix.endswith(ABLATIVE) and r.text(end) in ("onceki", "sonraki"):
        sign = -1 if r.text(end) == "onceki" else 1
        counted = number(r, end + 1)
        at_unit = counted[1] if counted else end + 1
        if r.text(at_unit) == "gun":
            away += sign * (counted[0] if counted else 1)
            end = at_unit + 1
    return only(at.day(at.moved(r.today, away))), end


def unit_at(r: Reader, start: int) -> tuple[str, str, int] | None:
    """(unit, ending, end) of hafta, ayın, yılı, hafta sonu."""
    if r.text(start) == "haftasonu" or (
        r.text(start) == "hafta" and r.text(start + 1).startswith("sonu")
    ):
        end = start + 1 + (r.text(start) == "hafta")
        return "weekend", r.text(end - 1)[4:], end
    if r.text(start) == "is" and r.text(start + 1).startswith("gun"):
        return "workday", r.text(start + 1)[3:], start + 2
    if r.text(start) == "ceyrek" and r.text(start + 1).startswith("yil"):
        return "quarter", r.text(start + 1)[3:], start + 2
    found = stem(r, start, words.UNITS)
    if found is None:
        return None
    return words.UNITS[found[0]], found[1], start + 1


def stepped(r: Reader, start: int) -> Found:
    """geçen hafta, önümüzdeki iki hafta içinde, bu yaz, gelecek hafta pazartesi, haftaya salı."""
    if r.text(start) in ("haftaya", "seneye"):
        unit = "week" if r.text(start) == "haftaya" else "year"
        whole = at.unit_at(r.today, 1, unit)
        return _weekday_in(r, whole, start + 1, unit)
    if r.text(start) in ("ayni", "o") and r.text(start) == "ayni":
        same = unit_at(r, start + 1)
        return (only(at.unit_at(r.today, 0, same[0]), same[0]), same[2]) if same else None
    start += r.text(start) == "bu" and r.text(start + 1) in ("yaklasan", "gectigimiz", "gelecek")
    step = words.STEPS.get(r.text(start))
    if step is None:
        return None
    counted = number(r, start + 1)
    if counted is not None and step:
        unit_found = unit_at(r, counted[1])
        if unit_found is not None and unit_found[0] != "weekend":
            made = _several(r, step, counted[0], unit_found[0], vague=counted[2])
            end = unit_found[2]
            if step > 0 and r.text(end) in ("icinde", "icerisinde"):
                there = at.at_day(r.today, counted[0], unit_found[0])
                return only(Period(r.today, there), "span", vague=counted[2]), end + 1
            return made, end
    if r.text(start) == "son":
        return None
    named = calendar.weekday_at(r, start + 1)
    if named is not None and r.text(start) == "yaklasan":
        ahead = (named[0] - r.today.weekday()) % 7 or 7
        return only(at.day(at.moved(r.today, ahead))), named[1]
    if named is not None:
        monday = at.moved(r.today, 7 * step - r.today.weekday())
        return only(at.day(at.moved(monday, named[0]))), named[1]
    named_unit = unit_at(r, start + 1)
    if named_unit is not None:
        what, _, end = named_unit
        if what == "day":
            if r.text(start + 1) not in ("gun", "gunu", "gunku") or step == 0:
                return None
            if r.text(start) == "gecen":
                return only(Period(at.moved(r.today, -14), r.today), "span", vague=True), end
            if r.text(start) == "onceki":
                return only(at.day(at.moved(r.today, -2))), end
            return only(at.day(at.moved(r.today, step))), end
        return _weekday_in(r, at.unit_at(r.today, step, what), end, what)
    month = calendar.month_at(r, start + 1)
    if month is not None:
        return _recurring(r, step, lambda y: at.month(y, month[0]), "month", month[2])
    name = stem(r, start + 1, words.SEASONS)
    if name is not None:
        return _recurring(
            r, step, lambda y: at.season(y, words.SEASONS[name[0]]), "season", start + 2
        )
    return None


def _weekday_in(r: Reader, whole: Period, end: int, grain: str) -> Found:
    """ "gelecek hafta pazartesi": the day of that week."""
    named = calendar.weekday_at(r, end) if grain == "week" else None
    if named is not None and whole.first is not None:
        return only(at.day(at.moved(whole.first, named[0]))), named[1]
    return only(whole, grain), end


def _several(r: Reader, step: int, count: int, unit: str, *, vague: bool) -> Meaning:
    if unit == "quarter":
        this = at.unit_at(r.today, 0, unit)
        first, last = this.first or r.today, this.end or r.today
        if step > 0:
            return only(Period(last, at.at_day(last, count, unit)), "span")
        return only(Period(at.at_day(first, -count, unit), first), "span")
    if step > 0:
        first = at.moved(r.today, 1)
        return only(Period(first, at.at_day(first, count, unit)), "span", vague=vague)
    return only(Period(at.at_day(r.today, -count, unit), r.today), "span", vague=vague)


def _recurring(r: Reader, step: int, make: Callable[[int], Period], grain: str, end: int) -> Found:
    given = calendar.year_at(r, end)
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


def away(r: Reader, start: int) -> Found:
    """iki hafta önce, 3 gün sonra, iki ay içinde, bir hafta kadar önce."""
    found = amounts_at(r, start)
    if found is None:
        return None
    amounts, end, vague = found
    return directed(r, r.today, amounts, end, vague=vague)


def directed(
    r: Reader, base: date, amounts: list[tuple[int, str]], end: int, *, vague: bool
) -> Found:
    end += r.text(end) in ("kadar", "daha")
    word = r.text(end)
    if word in ("once", "onceki", "oncesi", "oncesinde", "evvel", "oncesine", "onceden"):
        return _day_away(moved_by(base, amounts, -1), amounts, vague=vague), end + 1
    if word in ("sonra", "sonraki", "sonrasi", "sonrasinda", "sonrasina", "icinde", "icerisinde"):
        return _day_away(moved_by(base, amounts, 1), amounts, vague=vague), end + 1
    return None


def _day_away(there: date, amounts: list[tuple[int, str]], *, vague: bool) -> Meaning:
    named = at.around(there, amounts[-1][1])
    meaning = only(at.day(there), vague=vague)
    return replace(meaning, named=(named[0],), named_grain=named[1]) if named else meaning


def amounts_at(r: Reader, start: int) -> tuple[list[tuple[int, str]], int, bool] | None:
    found: list[tuple[int, str]] = []
    vague, end, here = False, start, start
    while len(found) < 4:
        counted = number(r, here)
        unit = unit_at(r, counted[1]) if counted else None
        if (
            counted is None
            or unit is None
            or unit[0] == "weekend"
            or unit[1] not in ("", "luk", "lik", "den", "dan")
        ):
            break
        found.append((counted[0], unit[0]))
        vague |= counted[2]
        end = here = unit[2]
        here += r.text(here) in ("ve", ",")
    return (found, end, vague) if found else None


def moved_by(of: date, amounts: list[tuple[int, str]], sign: int) -> date:
    for count, unit in amounts:
        of = at.at_day(of, sign * count, unit)
    return of
