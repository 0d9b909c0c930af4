"""Holidays that the calendar fixes: by their date, by a weekday of a month, or by Easter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Final

from spector.language.dates.period import Period, day, moved

__all__ = ["ENGLISH_HOLIDAYS", "TURKISH_HOLIDAYS"]

Make = Callable[[int], Period]


def _fixed(month: int, of: int) -> Make:
    return lambda year: day(date(year, month, of))


def _weekday(month: int, number: int, which: int) -> Make:
    """The so-manieth weekday of a month; -1 is the last."""

    def make(year: int) -> Period:
        if which < 0:
            last = moved(date(year, month, 28), 3)
            while last.month != month:
                last = moved(last, -1)
            return day(moved(last, -((last.weekday() - number) % 7)))
        first = date(year, month, 1)
        return day(moved(first, (number - first.weekday()) % 7 + 7 * (which - 1)))

    return make


def _easter(away: int) -> Make:
    """So many days from Easter Sunday (Meeus, Jones and Butcher)."""

    def make(year: int) -> Period:
        a, b, c = year % 19, year // 100, year % 100
        d, e = b // 4, b % 4
        g = (8 * b + 13) // 25
        h = (19 * a + b - d - g + 15) % 30
        i, k = c // 4, c % 4
        m = (32 + 2 * e + 2 * i - h - k) % 7
        n = (a + 11 * h + 22 * m) // 451
        month, of = divmod(h + m - 7 * n + 114, 31)
        return day(moved(date(year, month, of + 1), away))

    return make


_THANKSGIVING: Final = _weekday(11, 3, 4)

ENGLISH_HOLIDAYS: Final[dict[str, Make]] = {
    **dict.fromkeys(("christmas", "christmas day", "xmas", "xmas day"), _fixed(12, 25)),
    **dict.fromkeys(("christmas eve", "xmas eve"), _fixed(12, 24)), "boxing day": _fixed(12, 26),
    **dict.fromkeys(("new years eve", "new year eve"), _fixed(12, 31)),
    **dict.fromkeys(("new years day", "new years", "new year day"), _fixed(1, 1)),
    **dict.fromkeys(("halloween", "halloween day"), _fixed(10, 31)),
    **dict.fromkeys(("valentines day", "valentine day", "valentines"), _fixed(2, 14)),
    "st patricks day": _fixed(3, 17), "saint patricks day": _fixed(3, 17),
    "april fools": _fixed(4, 1), "april fools day": _fixed(4, 1), "earth day": _fixed(4, 22),
    "may day": _fixed(5, 1), "independence day": _fixed(7, 4), "veterans day": _fixed(11, 11),
    "juneteenth": _fixed(6, 19), "groundhog day": _fixed(2, 2), "epiphany": _fixed(1, 6),
    "all saints day": _fixed(11, 1), "all souls day": _fixed(11, 2),
    "international womens day": _fixed(3, 8), "womens day": _fixed(3, 8),
    **dict.fromkeys(("thanksgiving", "thanksgiving day"), _THANKSGIVING),
    "black friday": lambda year: day(moved(_THANKSGIVING(year).end or date(year, 11, 30), 0)),
    **dict.fromkeys(("labor day", "labour day"), _weekday(9, 0, 1)),
    "memorial day": _weekday(5, 0, -1), "columbus day": _weekday(10, 0, 2),
    **dict.fromkeys(("presidents day", "washingtons birthday"), _weekday(2, 0, 3)),
    **dict.fromkeys(("martin luther king day", "mlk day"), _weekday(1, 0, 3)),
    **dict.fromkeys(("mothers day", "mother day"), _weekday(5, 6, 2)),
    **dict.fromkeys(("fathers day", "father day"), _weekday(6, 6, 3)),
    **dict.fromkeys(("easter", "easter sunday", "easter day"), _easter(0)),
    "good friday": _easter(-2), "easter monday": _easter(1), "ash wednesday": _easter(-46),
    "palm sunday": _easter(-7), "pentecost": _easter(49), "whit monday": _easter(50),
    "corpus christi": _easter(60), "ascension day": _easter(39), "mardi gras": _easter(-47),
    "holy thursday": _easter(-3), "maundy thursday": _easter(-3),
}  # fmt: skip

TURKISH_HOLIDAYS: Final[dict[str, Make]] = {
    "yilbasi": _fixed(1, 1), "yilbasi gecesi": _fixed(12, 31),
    "sevgililer gunu": _fixed(2, 14), "kadinlar gunu": _fixed(3, 8),
    "cocuk bayrami": _fixed(4, 23), "ulusal egemenlik bayrami": _fixed(4, 23),
    "ulusal egemenlik ve cocuk bayrami": _fixed(4, 23), "isci bayrami": _fixed(5, 1),
    "genclik bayrami": _fixed(5, 19), "spor bayrami": _fixed(5, 19),
    "genclik ve spor bayrami": _fixed(5, 19), "zafer bayrami": _fixed(8, 30),
    "demokrasi bayrami": _fixed(7, 15), "cumhuriyet bayrami": _fixed(10, 29),
    "noel": _fixed(12, 25), "ogretmenler gunu": _fixed(11, 24),
    "anneler gunu": _weekday(5, 6, 2), "babalar gunu": _weekday(6, 6, 3),
}  # fmt: skip
