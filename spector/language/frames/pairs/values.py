"""Amounts, days and hours of two sentences: has one of what both are about been moved?"""

from __future__ import annotations

import re
from typing import Final

from spector.language.frames.pairs.lines import SHIFTS, Line, is_of_same
from spector.language.frames.values import normal_value
from spector.language.words import is_stop

__all__ = [
    "UNIT_STEMS", "in_figures", "is_count", "is_day", "is_moved", "is_other_thing", "is_value",
    "names_apart", "values_of",
]

_WEEKDAY: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:today|tonight|tomorrow)\b"
    r"|\b(?:pazartesi|sali|carsamba|persembe|cuma|cumartesi|pazar|yarin|bugun)\w{0,4}\b"
)
_CLOCK: Final = re.compile(
    r"\b\d{1,2}(?::\d{2})?\s*(?:[ap]\.?m\b)|\b\d{1,2}:\d{2}\b|\bsaat \d{1,2}"
    r"|(?<=\bat )\d{1,2}\b(?!\s?(?:[%$€£₺]|[:.,]\d|per ?cent|degrees|euros?|dollars?|lira|k\b"
    r"|\w+s\b))"
    r"|\b(?:1\d|2[0-4]|[1-9])(?= ['’][dt][ae]\b)"
)
_AMOUNT: Final = re.compile(
    r"(?:([$€£₺])\s*)?(\d[\d.,]*\d|\d)\s*((?:bin|milyon|milyar|thousand|million|billion|k)\b)?"
    r"\s*([a-z%$€£₺]+)?"
)
#: what a verb of change gives, right behind it
_TO_VALUE: Final = re.compile(
    r"\b(?:to|until|till|at) (?:the |about |only |just |next |this )?"
    r"(?:[$€£₺]? ?\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow)"
)
_TURKISH_SHIFT: Final = re.compile(
    r"\b(?:degis|ertele|alin|kay|tasin|yuksel|dus|cik|indir|arttir|artir|azalt|cek)"
    r"\w{0,8}[dt][iu]\w{0,3}\b"
)
UNIT_STEMS: Final = frozenset(
    """mg gram kilo kg km mile metr meter hour minut second day week month year euro dollar pound
    lira usd eur gbp percent gb mb dakika saat gun hafta ay yil""".split()
)
#: how alike two texts must be that have no word in common
_LIKE: Final = 0.45


def is_moved(before: Line, after: Line, likeness: float) -> bool:
    """Whether another amount, day or hour is given to what both are about: "They raised my rent
    to 950"."""
    if not SHIFTS.search(after.folded) or not is_of_same(before, after):
        return False
    values, known = values_of(after.folded), values_of(before.folded)
    kinds = [kind for kind in values if kind in known and not values[kind] & known[kind]]
    if not kinds or any(len(known[kind]) > 1 for kind in kinds) or names_apart(before, after):
        return False
    if after.folded.isascii() and not _TO_VALUE.search(after.folded) and not _TURKISH_SHIFT.search(
        after.folded
    ):
        return False
    units = {*values, *known}
    about = {
        stem for stem in after.content & before.content
        if not is_value(stem) and stem not in units and stem not in UNIT_STEMS
    }
    others = {
        stem for stem in after.content - before.content
        if not is_value(stem) and stem not in units and stem not in UNIT_STEMS
        and not SHIFTS.search(stem) and stem not in ("down", "up") and stem.isalpha()
    }  # fmt: skip
    if not about and (others or likeness < _LIKE):
        return False
    return not any(is_other_thing(stem, before, after) for stem in about)


def values_of(folded: str) -> dict[str, set[str]]:
    """Amounts by unit, days and hours in a text."""
    out: dict[str, set[str]] = {}
    days = {_day(found.group()) for found in _WEEKDAY.finditer(folded)}
    if days:
        out["day"] = days
    hours = {normal_value(found.group()) for found in _CLOCK.finditer(folded)}
    if hours:
        out["hour"] = hours
    for found in _AMOUNT.finditer(_CLOCK.sub(" ", folded)):
        unit = found[1] or _unit(found[4] or "")
        if unit and unit not in ("and", "or", "to", "in", "at", "on", "of"):
            amount = normal_value(f"{found[2]} {found[3] or ''} {unit}".replace("  ", " "))
            out.setdefault(amount.rpartition(" ")[2], set()).add(amount)
    return out


def _day(word: str) -> str:
    """A day without plural and case endings: "tuesdays", "salidan", "cumartesiye"."""
    bare = word.removesuffix("s")
    return next((each for each in _TURKISH_DAYS if bare.startswith(each)), bare)


#: longer ones first: cuma is in cumartesi
_TURKISH_DAYS: Final = tuple(
    "pazartesi cumartesi carsamba persembe cuma pazar sali yarin bugun".split())
_MONTH: Final = re.compile(
    r"(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|ocak|subat|mart|nisan|mayis|haziran|temmuz|agustos|eylul|ekim|kasim|aralik)\w{0,3}$"
)


_FIGURES: Final = {
    word: str(at) for row, begin in (
        ("two three four five six seven eight nine ten eleven twelve", 2),
        ("second third fourth fifth sixth seventh eighth ninth tenth", 2),
        ("uc dort bes alti yedi sekiz dokuz", 3),
        ("ikinci ucuncu dorduncu besinci altinci yedinci sekizinci dokuzuncu onuncu", 2),
        ("iki", 2),
    ) for at, word in enumerate(row.split(), begin)
}
_FIGURE: Final = re.compile(rf"\b(?:{'|'.join(sorted(_FIGURES, key=len, reverse=True))})(?= [a-z])")


def in_figures(folded: str) -> str:
    """A text with its counts in figures: "the third floor", "two cats"."""
    return _FIGURE.sub(lambda found: _FIGURES[found.group()], folded)


def is_count(folded: str) -> bool:
    """Whether a word is a count or a place in a row: "three", "besinci"."""
    return folded in _FIGURES


def is_day(folded: str) -> bool:
    """Whether a word names a day of the week or a month."""
    return _WEEKDAY.fullmatch(folded) is not None or _MONTH.match(folded) is not None


def _unit(word: str) -> str:
    """A unit without its Turkish endings: "liraya"."""
    found = next((each for each in _LONG_UNITS if word.startswith(each)), None)
    if found is not None:
        return found
    if len(word) > _LONG and word.endswith(("ta", "te", "da", "de")):
        return word[:-2]  # "katta", "kata"
    return word[:-1] if len(word) == _LONG and word.endswith(("a", "e")) else word


#: letters of a short Turkish noun with its case
_LONG: Final = 4
_LONG_UNITS: Final = ("lira", "euro", "dolar", "dakika", "kilo", "saat", "hafta")


def is_value(stem: str) -> bool:
    return any(map(str.isdigit, stem)) or bool(_WEEKDAY.search(stem))


def is_other_thing(stem: str, before: Line, after: Line) -> bool:
    """Whether a noun has other words before it: "the project budget", "the marketing budget"."""
    ones, others = _before(stem, before), _before(stem, after)
    return bool(ones) and bool(others) and not ones & others


def _before(stem: str, line: Line) -> set[str]:
    """Content words right before a noun, its owner included."""
    return {
        line.stems[at - 1] for at, each in enumerate(line.stems)
        if each == stem and at and not is_stop(line.stems[at - 1])
        and not is_value(line.stems[at - 1]) and line.stems[at - 1] not in UNIT_STEMS
        and not SHIFTS.search(line.row[at - 1])
    }


def names_apart(before: Line, after: Line) -> bool:
    """Whether each of two sentences names someone or something that the other does not."""
    one, other = _names(before), _names(after)
    return bool(one - set(after.row)) and bool(other - set(before.row))


def _names(line: Line) -> set[str]:
    """Words with a capital behind the first, without days."""
    return {
        word for word, raw in zip(line.row[1:], line.raw[1:], strict=True)
        if raw[:1].isupper() and word not in ("i", "i'm") and not is_value(word)
    }
