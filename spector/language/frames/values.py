"""Values of statements in one normal form: numbers, amounts, dates, names."""

from __future__ import annotations

import re
from typing import Final

from spector.clock import MS_PER_DAY, iso_of_ms
from spector.language.dates import time_range_in
from spector.language.words import plain
from spector.process import keeps

_LONGEST: Final = 200
#: two moments of different years, months, weekdays and hours: what reads the same from both needs
#: no reference time
_FIRST_NOW: Final = 951_998_400_000  # 2000-03-02
_SECOND_NOW: Final = 1_404_864_000_000  # 2014-07-09
_YEAR: Final = 2000
_PIECE: Final = re.compile(r"[$€£₺¥]|\d+(?:[.,:/-]\d+)*%?|[^\W\d_]+|\+\+|#")
#: "v" of a version, and what stands before a date and does not move it
_PREFIX: Final = re.compile(r"(?i)\b(?:v(?=\d)|(?:by|until|on|at|the)\s+(?=\S))")
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d{1,2})?")
_DECIMAL: Final = re.compile(r"(\d+)[.,](\d+)")
_CLOCK: Final = re.compile(r"(\d{1,2})[:.](\d{2})")
_HALF_DAY: Final = re.compile(r"(?i)(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?m\.?")
#: of a mailbox or a page: each sign of it counts
_ADDRESS: Final = re.compile(r"(?i)(?:mailto:)?([^\s@]+@[^\s@]+|[a-z][a-z0-9+.-]*://\S+)")
_PHONE: Final = re.compile(r"\+?[\d\s().-]{7,24}")

_UNITS_OF_TEN: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "sifir": 0, "bir": 1, "iki": 2, "uc": 3, "dort": 4, "bes": 5, "alti": 6, "yedi": 7, "sekiz": 8,
    "dokuz": 9, "on": 10, "yirmi": 20, "otuz": 30, "kirk": 40, "elli": 50, "altmis": 60,
    "yetmis": 70, "seksen": 80, "doksan": 90,
}  # fmt: skip
_MULTIPLIERS: Final = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "yuz": 100, "bin": 1000,
    "milyon": 10**6, "milyar": 10**9, "k": 1000, "m": 10**6, "mn": 10**6,
}  # fmt: skip
#: spellings and plurals of one unit
_UNITS: Final = {
    spelling: unit
    for unit, spellings in {
        "eur": "€ eur euro euros avro", "usd": "$ usd dollar dollars dolar bucks",
        "gbp": "£ gbp pound pounds sterlin", "try": "₺ try tl lira liras turk",
        "km": "km kilometer kilometers kilometre kilometres", "mi": "mi mile miles mil",
        "m": "meter meters metre metres", "cm": "cm centimeter centimeters centimetre santim",
        "kg": "kg kilo kilos kilogram kilograms", "g": "gram grams gr",
        "gb": "gb gigabyte gigabytes", "mb": "mb megabyte megabytes", "tb": "tb terabyte terabytes",
        "h": "h hr hrs hour hours saat", "min": "min mins minute minutes dakika dk",
        "s": "sec secs second seconds saniye", "day": "day days gun", "week": "week weeks hafta",
        "month": "month months ay", "year": "year years yr yrs yil sene", "%": "percent yuzde",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
UNITS: Final = frozenset(_UNITS.values())
#: say nothing about a value
_EMPTY: Final = frozenset(
    """a an the of at in on to my our your his her their its this that about around
    approximately roughly exactly only just now currently city town state old years
    yasinda yasindayim civarinda yaklasik tam sadece simdi olan""".split()
)
#: one word for the same thing in two spellings
_SPELLINGS: Final = {
    "colour": "color", "gray": "grey", "centre": "center", "theatre": "theater",
    "favourite": "favorite", "noon": "12:00", "midnight": "00:00",
}  # fmt: skip


def normal_value(text: str, *, reference_time: int | None = None) -> str:
    """The value in its normal form, so that two spellings of one value are equal.

    Numbers lose thousands separators and words for them ("two thousand" is 2000), amounts their
    spelling of the unit, dates become ISO days or ranges, names lose case, accents and articles.

    Args:
        text: an object as extracted. reference_time: milliseconds since 1970 that "tomorrow" is
            counted from; without it, relative dates stay words.
    """
    return _normal(text[:_LONGEST], reference_time)


def forms_differ(first: str, second: str) -> bool:
    """Whether two values in their normal form cannot both be the one value of a slot.

    A value that only adds words to the other ("Berlin", "Berlin in Germany") does not differ.
    """
    if first == second or not first or not second:
        return False
    if "".join(first.split()) == "".join(second.split()):
        return False
    one, other = set(first.split()), set(second.split())
    if any(char.isdigit() for char in first + second):
        return _numbers(one) != _numbers(other) or not (one <= other or other <= one)
    return not (one <= other or other <= one)


def is_date(text: str, reference_time: int | None = None) -> bool:
    """Whether a text is a date or a time of day and nothing else."""
    text = text[:_LONGEST]
    if _CLOCK.fullmatch(text.strip()):
        return True
    return _date(text, _SECOND_NOW if reference_time is None else reference_time) is not None


def _numbers(pieces: set[str]) -> set[str]:
    return {each for each in pieces if any(map(str.isdigit, each))}


@keeps(4096)
def _normal(text: str, reference_time: int | None) -> str:
    text = _PREFIX.sub("", text.strip().strip("\"'“”‘’.,;:!?()[]"), count=1)
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        return address[1].lower()
    if _PHONE.fullmatch(text) and sum(map(str.isdigit, text)) >= 7 and not _date(text, _FIRST_NOW):
        return "".join(filter(str.isdigit, text))
    day = _day(text, reference_time)
    if day is not None:
        return day
    out: list[str] = []
    pieces = [_SPELLINGS.get(piece, piece) for piece in _PIECE.findall(plain(text))]
    at = 0
    while at < len(pieces):
        value, after = _number(pieces, at)
        if value is not None:
            out.append(value)
        elif pieces[at] in _UNITS and (out or pieces[at] in "$€£₺"):
            out.append(_UNITS[pieces[at]])
        elif pieces[at] not in _EMPTY:
            out.append(pieces[at])
        at = after
    if not out:
        out = pieces
    units = set(_UNITS.values())
    if len(out) == 2 and out[0] in units:
        out.reverse()
    return " ".join(out)


def _day(text: str, reference_time: int | None) -> str | None:
    if text.isdecimal():
        return None
    if reference_time is not None:
        return _date(text, reference_time)
    first = _date(text, _FIRST_NOW, _YEAR)
    if first is None or first != _date(text, _SECOND_NOW, _YEAR):
        return None
    return first if str(_YEAR) in text else first.replace(f"{_YEAR}-", "--")


def _date(text: str, now_ms: int, year: int | None = None) -> str | None:
    """ISO day or range of a text that is an expression of time and nothing else."""
    half = _HALF_DAY.fullmatch(text)
    if half and 1 <= int(half[1]) <= 12:
        hour = int(half[1]) % 12 + 12 * (half[3] in "pP")
        return f"{hour:02}:{half[2] or '00'}"
    clock = _CLOCK.fullmatch(text)
    if clock and ":" in text and int(clock[1]) < 24 and int(clock[2]) < 60:
        return f"{int(clock[1]):02}:{clock[2]}"
    found = time_range_in(text, now_ms, () if year is None else (year,))
    if found is None or len(found.spans) != 1:
        return None
    rest = plain(text).replace(plain(found.words), " ", 1)
    if any(piece not in _EMPTY and piece not in _TIME_FILLERS for piece in _PIECE.findall(rest)):
        return None
    span = found.spans[0]
    first, last = iso_of_ms(span.start_ms)[:10], iso_of_ms(span.end_ms - 1)[:10]
    if span.end_ms - span.start_ms < MS_PER_DAY:
        return iso_of_ms(span.start_ms)
    return first if first == last else f"{first}..{last}"


_TIME_FILLERS: Final = frozenset("by next until from e a de da te ta ye ya i the".split())


def _number(pieces: list[str], at: int) -> tuple[str | None, int]:
    """The number that begins at a piece, in digits, and the piece behind it."""
    word = pieces[at]
    if word[0].isdigit():
        value, after = _digits(word), at + 1
        if (
            after < len(pieces)
            and pieces[after] in _MULTIPLIERS
            and value.isdecimal()
            and (pieces[after] not in ("m",))
        ):
            return str(int(value) * _MULTIPLIERS[pieces[after]]), after + 1
        return value, after
    if word not in _UNITS_OF_TEN and word not in ("hundred", "thousand", "yuz", "bin"):
        return None, at + 1
    if word in ("on", "bin", "bir") and len(pieces) == 1:
        return None, at + 1
    total = current = 0
    while at < len(pieces) and (
        pieces[at] in _UNITS_OF_TEN or (pieces[at] in _MULTIPLIERS and len(pieces[at]) > 2)
    ):
        word = pieces[at]
        if word in _UNITS_OF_TEN:
            current += _UNITS_OF_TEN[word]
        elif _MULTIPLIERS[word] == 100:
            current = max(current, 1) * 100
        else:
            total += max(current, 1) * _MULTIPLIERS[word]
            current = 0
        at += 1
    return str(total + current), at


def _digits(word: str) -> str:
    percent = "%" if word.endswith("%") else ""
    word = word.rstrip("%")
    if _THOUSANDS.fullmatch(word):
        separator = next(char for char in word if not char.isdigit())
        word = word.replace(separator, "")
    decimal = _DECIMAL.fullmatch(word)
    if decimal:
        whole, part = decimal.groups()
        return f"{int(whole)}.{part}{percent}" if len(whole) < 20 else word
    return (
        str(int(word))
        if word.isascii() and word.isdigit() and len(word) < 10 and (not word.startswith("0"))
        else word
    ) + percent
