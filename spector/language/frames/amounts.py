"""Values of a short message as people type it: no capitals, no units, no apostrophes.

"pushed to 10" is an hour beside "9:30" and an amount beside "9 km": what a bare number is depends
on the value that it would take the place of.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FIGURES: Final = {
    word: str(at)
    for row, begin in (
        ("two three four five six seven eight nine ten eleven twelve", 2),
        ("second third fourth fifth sixth seventh eighth ninth tenth", 2),
        ("uc dort bes alti yedi sekiz dokuz", 3),
        ("ikinci ucuncu dorduncu besinci altinci yedinci sekizinci dokuzuncu onuncu", 2),
        ("iki", 2),
    )
    for at, word in enumerate(row.split(), begin)
}
_FIGURE: Final = re.compile(rf"\b(?:{'|'.join(sorted(_FIGURES, key=len, reverse=True))})(?= [a-z])")
_MONTHS: Final = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|ocak|subat|mart|nisan|mayis|haziran|temmuz|agustos|eylul|ekim|kasim|aralik)"
)
#: case of a Turkish word or number, with or without an apostrophe
_CASE: Final = r"(?:'?(?:[dt][ae](?:n|ki)?|n?[iu]n|y?[aeiu]|nda|nde|na|ne))?"
_DAYS: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays|weekends"
    r"|pazartesi|cumartesi|carsamba|persembe|cuma|pazar|sali)"
)
_UNIT: Final = (
    r"(?:mg|mcg|ml|g|gr|grams?|kilos?|kg|km|miles?|meters?|metre|cm|lbs?|pounds?|dollars?|bucks"
    r"|usd|euros?|eur|gbp|tl|lira|dolar|avro|percent|gb|mb|hours?|hrs?|minutes?|mins?|saat|dakika"
    r"|weeks?|months?|years?|days?|gun|hafta|ay|yil|[%$€£₺])"
)
#: kind -> pattern, in the order in which they are looked for
_PATTERNS: Final = tuple((kind, re.compile(pattern)) for kind, pattern in (
    ("mail", r"\S+@\S+\.\w+"),
    ("phone", r"\+?\d[\d ()-]{5,}\d"),
    ("date", rf"\b(?:{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd"
             rf"|th)?(?: of)? {_MONTHS}{_CASE})\b"),
    ("day", rf"\b{_DAYS}(?:{_CASE}|'?l?[ae]r[iae]?)\b"),
    ("month", rf"(?<=\bin )(?:march|may)\b|(?<=\bto )(?:march|may)\b|\b(?!(?:may|march|mart|jan|mar"
              rf"|dec|sep|ekim|kasim|ocak)\b){_MONTHS}{_CASE}\b"),
    ("hour", rf"\b\d{{1,2}}(?::\d\d)? ?[ap]\.?m\b|\b\d{{1,2}}[:.]\d\d\b(?! ?{_UNIT}){_CASE}"
             rf"|\b\d{{1,2}} bucu(?:k|g){_CASE}\b|\bsaat \d{{1,2}}{_CASE}\b"
             rf"|(?<=\bat )\d{{1,2}}\b(?! ?{_UNIT})|\b(?:noon|midnight)\b"),
    ("place", r"\b\d+(?:st|nd|rd|th)\b|\b\d+\. ?(?=kat|sinif|sira)"),
    ("code", r"\b(?=[a-z_-]*[a-z])[a-z][a-z_-]{2,}\d[a-z0-9_-]*\b"),
    ("number", rf"(?P<sign>[$€£₺]) ?(?P<of>\d[\d.,]*)|\b(?P<n>\d+(?:[.,]\d+)*)"
               rf"(?: ?(?P<many>k|bin|milyon|million|thousand|grand)(?:y?[ae]|[dt][ae]n?)?\b)?"
               rf"(?:(?<=\d)'?(?:[dt][ae](?:n|ym[iu]s)?|y?[aeiu]|n?[iu]n(?:d[ae]n?|[aeiu])?"
               rf"|l[iu]k|[iu]m[iu]z|y?m[iu]s)\b"
               rf"|(?: ?(?P<unit>{_UNIT})(?:y?[ae]|y?m[iu]s|da|de)?(?![a-z]))?)"),
))  # fmt: skip
_MANY: Final = {
    "k": 1000,
    "bin": 1000,
    "thousand": 1000,
    "grand": 1000,
    "milyon": 10**6,
    "million": 10**6,
}
#: digits of a code, at least
_CODE_DIGITS: Final = 4
#: hours of a day
_DAY_HOURS: Final = 24


class Amount(NamedTuple):
    """A value: its kind, its normal form, the unit of a number, and where it stands."""

    kind: str
    form: str
    unit: str
    start: int
    end: int


def values_and_rest(folded: str) -> tuple[tuple[Amount, ...], str]:
    """The values of a text in folded letters, and the text with blanks in their places."""
    text = _FIGURE.sub(lambda found: _FIGURES[found.group()], folded)
    out: list[Amount] = []
    for kind, pattern in _PATTERNS:
        for found in list(pattern.finditer(text)):
            start, end = found.span()
            if kind == "phone" and sum(map(str.isdigit, found.group())) < _DIGITS:
                continue
            if not text[start:end].strip():
                continue
            out.append(_amount(kind, found))
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return tuple(sorted(out, key=lambda each: each.start)), text


#: digits of a number to call, at least
_DIGITS: Final = 7


def _amount(kind: str, found: re.Match[str]) -> Amount:
    start, end = found.span()
    word = found.group().strip()
    if kind == "number":
        figure = found["of"] or found["n"]
        number = figure.replace(",", "") if "," not in figure[-3:] else figure.replace(",", ".")
        if re.fullmatch(r"\d{1,3}(?:\.\d{3})+", number):
            number = number.replace(".", "")
        form = number.rstrip(".")
        if found["many"] and form.replace(".", "", 1).isdigit():
            form = f"{float(form) * _MANY[found['many']]:g}"
        return Amount(kind, form, _unit_of(found["sign"] or found["unit"] or ""), start, end)
    if kind == "phone":
        word = "".join(filter(str.isdigit, word))
    elif kind == "day":
        word = next(each for each in _STEMS if word.startswith(each))
    elif kind == "hour":
        word = _hour(word)
    elif kind in ("date", "month"):
        word = _date(word)
    elif kind == "place":
        word = "".join(filter(str.isdigit, word))
    return Amount(kind, word, "", start, end)


_STEMS: Final = tuple(
    "mon tues wednes thurs fri satur sun weekday weekend pazartesi cumartesi carsamba persembe cuma"
    " pazar sali".split()
)
_UNITS: Final = (
    ("kilo", "kg"),
    ("dol", "$"),
    ("usd", "$"),
    ("buck", "$"),
    ("eur", "€"),
    ("avro", "€"),
    ("pound", "lb"),
    ("lbs", "lb"),
    ("gbp", "£"),
    ("lira", "tl"),
    ("₺", "tl"),
    ("hour", "h"),
    ("hr", "h"),
    ("saat", "h"),
    ("min", "min"),
    ("dakika", "min"),
    ("percent", "%"),
)


_MONEY: Final = frozenset(("$", "€", "£", "tl", "lb"))


def _unit_of(word: str) -> str:
    return next((unit for start, unit in _UNITS if word.startswith(start)), word.rstrip("s"))


def _hour(word: str) -> str:
    figures = re.findall(r"\d+", word)
    if not figures:
        return "12" if word == "noon" else "0"
    minutes = "30" if "bucu" in word else figures[1] if len(figures) > 1 else "00"
    hour = str(figures[0]).lstrip("0")
    return hour if minutes == "00" else f"{hour}:{minutes}"


def _date(word: str) -> str:
    day = "".join(re.findall(r"\d+", word))
    name = next((each.group() for each in re.finditer(_MONTHS, word)), "")
    return f"{name[:3]} {day}".strip()


def are_of_kind(old: Amount, new: Amount) -> bool:
    """Whether one value may take the place of another."""
    if old.kind == new.kind:
        return (
            old.kind != "number"
            or not new.unit
            or old.unit == new.unit
            or (not old.unit and new.unit in _MONEY)
        )
    kinds = {old.kind, new.kind}
    if kinds == {"hour", "number"}:
        number = old if old.kind == "number" else new
        return not number.unit and number.form.isdigit() and int(number.form) <= _DAY_HOURS
    if kinds == {"place", "number"} and new.kind == "number":
        return not new.unit and new.form.isdigit() and int(new.form) <= 31
    if kinds == {"code", "number"}:
        number = old if old.kind == "number" else new
        return not number.unit and len(number.form) >= _CODE_DIGITS
    return kinds in ({"date", "month"}, {"date", "place"})
