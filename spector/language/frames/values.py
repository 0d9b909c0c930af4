"""Normal values of statements, and the limits of time that they state."""

from __future__ import annotations

import re
from typing import Final

from spector.clock import MS_PER_DAY, from_ms, iso_of_ms
from spector.language.dates import dates_in, time_range_in
from spector.language.statements import NOW
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


def is_date(text: str) -> bool:
    """Whether a text is a date or a time of day and nothing else."""
    text = text[:_LONGEST]
    if _CLOCK.fullmatch(text.strip()):
        return True
    return _date(text, _SECOND_NOW) is not None


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


# What limits a statement: "900 euros with bills", "no coffee after 4 pm", "brüt 60 bin".

#: a time of life that is over
_LONG_AGO: Final = re.compile(
    r"\b(?:(?:years|decades|ages|long) (?:ago|before)|when (?:i|we) (?:was|were)|back then"
    r"|as an? (?:child|kid|teenager|student|boy|girl)|after (?:school|college|university)"
    r"|in my (?:youth|childhood|teens|twenties|thirties|forties)"
    r"|yillar once|cocukken|(?:ogrenci|genc)yken)\b"
)
#: units of a group can be counted in each other; those of two groups, or of none, cannot
UNIT_GROUPS: Final = tuple(
    frozenset(each.split())
    for each in ("s min h day week month year", "g kg", "cm m km", "mb gb tb")
)
_UNIT: Final = (
    r"(?:second|minute|hour|night|day|week|weekend|month|quarter|year|person|head|piece|user|kilo|"
    r"litre|liter|mile|km|kg)"
)
_CONDITION: Final = (
    r"for|during|while|whilst|when|whenever|if|unless|except|before|after|without|until|past"
)
_PLACES: Final = r"with|in|at|on|per|by|to|under|over|between|within"
_RATE: Final = rf"(?:a|an|each|every|per)\s+{_UNIT}s?\b"
#: of a measure, a time or a key, what stands behind it tells which one it is
_BEHIND_MEASURE: Final = re.compile(rf"(?:{_CONDITION}|{_PLACES})\s+\S|{_RATE}|['\u2019]\d")
#: of a name only a condition does: the rest belongs to the name
_BEHIND_NAME: Final = re.compile(r"(?:during|while|whilst|when|whenever|if|unless|for)\s+\S")
_BEHIND_DENIAL: Final = re.compile(
    rf"(?:{_CONDITION}|with|in|at|on|by|under|from)\s+\S|(?:each|every|all)\s+\S"
)
#: what stands behind a statement and limits nothing
_NO_LIMIT: Final = re.compile(
    r"(?:in (?:general|fact|particular|truth|total|my opinion|the least)|at (?:all|the moment|least"
    r"|present|the end|this point)|for (?:now|sure|real|years|ages|good|example|instance|me|free"
    r"|(?:a|\d+|many|several|two|three) .{0,12}(?:time|while|years?|months?|weeks?|days?))"
    r"|on (?:purpose|the whole|it)|by (?:the way|far|now|heart)|to be \w+|after all"
    r"|when (?:i was|he was|she was)|until now|if (?:i remember|i recall|you|that|possible)"
    r"|with (?:pleasure|that said))\b"
)
_ENDS: Final = re.compile(
    r"[,;:.!?()]|\s[-\u2013\u2014]\s"
    r"|\s(?:and|but|because|so|since|which|or|though|although|anymore|now)\b"
)
#: the denial is of the limit alone: "I don't only speak Spanish"
_PARTLY: Final = re.compile(
    r"\b(?:only|just|always|exclusively|solely|necessarily|sadece|yalnizca|yalniz|her zaman"
    r"|sirf)\b"
)
_KEYS: Final = frozenset(
    "password username address email phone url host account pin key code".split()
)
#: which amount is meant, said before it
_TURKISH_AMOUNT: Final = re.compile(
    r"\b(brut|net|saatlik|gunluk|haftalik|aylik|yillik|gecelik|kisi basi|vergisiz|vergili)\b"
)
_TURKISH_LIMIT: Final = re.compile(
    r"\b(?:[^\W\d_]{2,}(?:[dt][ae]|['\u2019][dt][ae]|ken|[iu]nca)|[^\W\d_]+ (?:once|sonra|icin"
    r"|ile|disinda|boyunca)|[^\W\d_]{3,}(?:larla|lerle|yla|yle))(?=\s|$)"
)
_TURKISH_FREE: Final = frozenset(
    """aslinda hakkinda burada orada surada arada sonunda zamanda normalde genelde galiba
    hayatimda anda halde esasinda ayrica neyse zamanlarda aralarda
    herhalde bende bizde sende gercekte""".split()
)
_FRONTED: Final = re.compile(
    rf"\W*(?:(?:and|but|well|so)\s+)?((?:{_CONDITION}|at|on|in|with)\s+[^,]{{2,40}}?)"
    r"(?=,|\s+(?:i|we|you|he|she|they|my|our)\b)"
)
_FILLER: Final = re.compile(
    r"\b(?:fact|record|way|thought|general|all|first|truth|moment|honest|opinion|now|last|that"
    r"|course|end|once|least|then|years?|ages)\b"
)
_PAST_TIME: Final = re.compile(
    r"\s*((?:last|the previous) (?:week|month|year|spring|summer|autumn|fall|winter|season)"
    r"|(?:\d+|a|two|three|four|five|six|ten|many|some) (?:days?|weeks?|months?|years?) ago)\b"
)
_DETERMINED: Final = re.compile(r"\b(?:a|an|the|my|our|his|her|their|some|bir)\s*$")
_WEEKDAY: Final = re.compile(
    r"\b(?:on|at|by|in)\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d)[^a-z]*$"
)


def limit_of(
    predicate: str,
    *,
    is_value: bool,
    is_denied: bool,
    is_turkish: bool,
    before: str,
    value: str,
    behind: str,
) -> str:
    """What limits a statement, in folded words; "" for one that holds in general.

    Args:
        is_value: one of several that a predicate may have, of which it has one at a time.
        before: what its sentence says before the value; behind: after it, to the end.
    """
    value, behind, before = plain(value), plain(behind), plain(before)
    if is_value and not is_denied:
        return _of_value(predicate, value, behind)
    found = _turkish(before) if is_turkish else _fronted(before)
    found.append(_tail(behind, _BEHIND_DENIAL))
    if is_denied:
        found += _PARTLY.findall(before)
    return " ".join(each for each in found if each)


def _of_value(predicate: str, value: str, behind: str) -> str:
    """What limits a value: which price, whose dose, the password of what."""
    core = re.split(rf"\s(?:{_CONDITION}|{_PLACES})\s", value, maxsplit=1)[0]
    amount = " ".join(_TURKISH_AMOUNT.findall(value))
    measured = (
        any(map(str.isdigit, core))
        or bool(amount)
        or is_date(core)
        or predicate.rpartition("_")[2] in _KEYS
    )
    pattern = _BEHIND_MEASURE if measured else _BEHIND_NAME
    rest = value[len(core) :] + behind
    tail = _tail(rest, pattern)
    if predicate == "scheduled_for" and _WEEKDAY.search(tail):
        tail = ""  # the day belongs to the hour
    return f"{amount} {tail}".strip()


def _tail(text: str, pattern: re.Pattern[str]) -> str:
    found = _ENDS.search(text)
    text = text[: found.start()] if found else text
    text = text if text[:1] in "'\u2019" else text.strip()
    if not pattern.match(text) or _NO_LIMIT.match(text):
        return ""
    return " ".join(word for word in text.split() if word not in ("the", "a", "an", "my", "our"))


def _turkish(before: str) -> list[str]:
    """Limits stand before the value: "kahvaltıda süt içmem"."""
    found = (" ".join(one.group().split()) for one in _TURKISH_LIMIT.finditer(before))
    return [each for each in found if each not in _TURKISH_FREE]


def _fronted(before: str) -> list[str]:
    """What a sentence opens with: "on exam days I drink coffee"."""
    found = _FRONTED.match(before)
    return [] if found is None or _FILLER.search(found[1]) else [found[1].strip()]


def is_common_noun(value: str, before: str) -> bool:
    """Whether a value is a kind of thing, "a bank", "the Frankfurt branch", and not a name."""
    words = value.split()
    return (
        bool(words)
        and words[-1].islower()
        and words[-1].isalpha()
        and (_DETERMINED.search(plain(before)) is not None)
    )


def past_time(behind: str) -> str | None:
    """The time of the past that stands right behind a value: "last year"; None for none."""
    found = _PAST_TIME.match(plain(behind))
    return found[1] if found else None


def is_of_before(text: str, said_ms: int, then_ms: int) -> bool:
    """Whether what a text tells was over before a moment: "I moved to Rome in 2010".

    Args:
        said_ms: when it was said.
    """
    folded = plain(text)
    if NOW.search(folded):
        return False
    then = from_ms(then_ms).date()
    return _LONG_AGO.search(folded) is not None or any(
        each.period.end is not None and each.period.end <= then
        for each in dates_in(text, from_ms(said_ms).date())
    )
