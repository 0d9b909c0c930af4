"""Turkish words of dates, folded, and the endings that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spector.language.dates.reader import Reader

__all__ = [
    "DAYS", "MONTHS", "ORDINALS", "PARTS", "SEASONS", "STEPS", "UNITS", "WEEKDAYS",
    "ending", "number", "stem",
]  # fmt: skip

#: plural, possessive, case and -ki, as far as folded letters tell
_ENDING: Final = re.compile(
    r"(?:l[ae]r)?(?:s?[iu]|[iu]n)?(?:[yn]?[ae]|[yn]?[iu]|n?[iu]n|n?[dt][ae]n?|y?l[ae])?"
    r"(?:ki(?:l[ae]r)?(?:n?[dt][ae]n?)?)?"
)

_MONTH_NAMES: Final = (
    "ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik".split()
)
MONTHS: Final = {
    **{name: n for n, name in enumerate(_MONTH_NAMES, 1)}, "ocag": 1, "aralig": 12,
    **{name[:3]: n for n, name in enumerate(_MONTH_NAMES, 1)},
}  # fmt: skip
del MONTHS["mar"]
WEEKDAYS: Final = {
    **{name: n for n, name in enumerate(
        "pazartesi sali carsamba persembe cuma cumartesi pazar".split())},
    "pzt": 0, "car": 2, "cars": 2, "per": 3, "cum": 4, "cmt": 5,
}  # fmt: skip
UNITS: Final = {
    "gun": "day", "hafta": "week", "ay": "month", "yil": "year", "sene": "year",
    "ceyrek": "quarter", "ceyreg": "quarter", "gece": "day", "yuzyil": "century", "asir": "century",
}  # fmt: skip
SEASONS: Final = {
    "ilkbahar": "spring", "bahar": "spring", "yaz": "summer", "sonbahar": "autumn",
    "guz": "autumn", "kis": "winter",
}  # fmt: skip
STEPS: Final = {
    "bu": 0, "icinde bulundugumuz": 0, "gelecek": 1, "onumuzdeki": 1, "sonraki": 1, "ertesi": 1,
    "yaklasan": 1, "gecen": -1, "gectigimiz": -1, "onceki": -1, "son": -1,
}  # fmt: skip
DAYS: Final = {"bugun": 0, "yarin": 1, "dun": -1, "obur": 2, "evvelsi": -2, "evvelki": -2}
ORDINALS: Final = {
    "ilk": 1, "birinci": 1, "ikinci": 2, "ucuncu": 3, "dorduncu": 4, "besinci": 5, "altinci": 6,
    "yedinci": 7, "sekizinci": 8, "dokuzuncu": 9, "onuncu": 10, "son": -1, "sonuncu": -1,
}  # fmt: skip
PARTS: Final = {"bas": "early", "basi": "early", "orta": "mid", "son": "late", "sonu": "late"}

_ONES: Final = {
    "bir": 1, "iki": 2, "uc": 3, "dort": 4, "dord": 4, "bes": 5, "alti": 6, "yedi": 7, "sekiz": 8,
    "dokuz": 9,
}  # fmt: skip
_TENS: Final = {
    "on": 10, "yirmi": 20, "otuz": 30, "kirk": 40, "elli": 50, "altmis": 60, "yetmis": 70,
    "seksen": 80, "doksan": 90,
}  # fmt: skip


def stem(r: Reader, at: int, table: Mapping[str, object]) -> tuple[str, str] | None:
    """(stem of the table, folded ending) of a word: "mayısta" is of mayıs."""
    text = r.text(at)
    if text in table:
        return text, r.word(at).suffix
    for length in range(min(len(text) - 1, 9), 1, -1):
        base, rest = text[:length], text[length:]
        if base in table and len(rest) <= 8 and _ENDING.fullmatch(rest):
            return base, rest + r.word(at).suffix
    return None


def ending(r: Reader, at: int) -> str:
    """The ending of the last word of an expression, "" for none."""
    word = r.word(at)
    if word.suffix:
        return word.suffix
    if word.text.isdecimal():
        return ""
    for table in (DAYS, MONTHS, WEEKDAYS, UNITS, SEASONS, _ONES, _TENS):
        found = stem(r, at, table)
        if found is not None:
            return found[1]
    return word.text[-5:]


def number(r: Reader, at: int) -> tuple[int, int, bool] | None:
    """(value, end, whether it is vague) of 3, üç, on iki, yirmi dokuz, birkaç, iki bin on."""
    word = r.word(at)
    if word.text.isdecimal():
        return (word.number, at + 1, False) if len(word.text) <= 4 else None
    if word.text == "birkac":
        return 3, at + 1, True
    if word.text == "bir" and r.text(at + 1) == "kac":
        return 3, at + 2, True
    start, total = at, 0
    if word.text in ("iki", "bin"):
        thousand = at + (word.text == "iki")
        if r.text(thousand) == "bin":
            total, at = (2000 if word.text == "iki" else 1000), thousand + 1
    if total and r.text(at) in _ONES and r.text(at + 1) == "yuz":
        total, at = total + 100 * _ONES[r.text(at)], at + 2
    tens = stem(r, at, _TENS)
    if tens is not None and (tens[0] != "on" or r.text(at) == "on"):  # "onu" is a pronoun
        total, at = total + _TENS[tens[0]], at + 1
        if tens[1]:
            return total, at, False
    ones = stem(r, at, _ONES)
    if ones is not None and (ones[0] != "bir" or not ones[1] or at > start):
        total, at = total + _ONES[ones[0]], at + 1
    return (total, at, False) if at > start else None
