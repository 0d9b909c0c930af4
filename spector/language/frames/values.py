"""Normal values of statements, and the limits of time that they state."""

from __future__ import annotations

import re
from typing import Final

from spector.clock import MS_PER_DAY, from_ms, iso_of_ms
from spector.language.dates import dates_in, time_range_in
from spector.language.statements import NOW
from spector.language.tables import grammar_table, patterns_of, word_lists
from spector.language.words import plain
from spector.process import keeps

_WORDS: Final = word_lists("values")
_RE: Final = patterns_of("values")
_TABLE: Final = grammar_table("any", "values")

_LONGEST: Final = 200
#: two moments of different years, months, weekdays and hours: what reads the same from both needs
#: no reference time
_FIRST_NOW: Final = 951_998_400_000  # 2000-03-02
_SECOND_NOW: Final = 1_404_864_000_000  # 2014-07-09
_YEAR: Final = 2000

_UNITS_OF_TEN: Final[dict[str, int]] = _TABLE["figures"]
_MULTIPLIERS: Final[dict[str, int]] = _TABLE["multipliers"]
#: spellings and plurals of one unit
_UNITS: Final = {
    spelling: unit for unit, spellings in _TABLE["units"].items() for spelling in spellings.split()
}
UNITS: Final = frozenset(_UNITS.values())
#: one word for the same thing in two spellings
_SPELLINGS: Final[dict[str, str]] = _TABLE["spellings"]


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
    if _RE["clock"].fullmatch(text.strip()):
        return True
    return _date(text, _SECOND_NOW) is not None


def _numbers(pieces: set[str]) -> set[str]:
    return {each for each in pieces if any(map(str.isdigit, each))}


@keeps(4096)
def _normal(text: str, reference_time: int | None) -> str:
    text = _RE["prefix"].sub("", text.strip().strip("\"'“”‘’.,;:!?()[]"), count=1)
    address = _RE["address"].fullmatch(text)
    if address is not None:
        return address[1].lower()
    if (
        _RE["phone"].fullmatch(text)
        and sum(map(str.isdigit, text)) >= 7
        and not _date(text, _FIRST_NOW)
    ):
        return "".join(filter(str.isdigit, text))
    day = _day(text, reference_time)
    if day is not None:
        return day
    out: list[str] = []
    pieces = [_SPELLINGS.get(piece, piece) for piece in _RE["piece"].findall(plain(text))]
    at = 0
    while at < len(pieces):
        value, after = _number(pieces, at)
        if value is not None:
            out.append(value)
        elif pieces[at] in _UNITS and (out or pieces[at] in "$€£₺"):
            out.append(_UNITS[pieces[at]])
        elif pieces[at] not in _WORDS["empty"]:
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
    half = _RE["half_day"].fullmatch(text)
    if half and 1 <= int(half[1]) <= 12:
        hour = int(half[1]) % 12 + 12 * (half[3] in "pP")
        return f"{hour:02}:{half[2] or '00'}"
    clock = _RE["clock"].fullmatch(text)
    if clock and ":" in text and int(clock[1]) < 24 and int(clock[2]) < 60:
        return f"{int(clock[1]):02}:{clock[2]}"
    found = time_range_in(text, now_ms, () if year is None else (year,))
    if found is None or len(found.spans) != 1:
        return None
    rest = plain(text).replace(plain(found.words), " ", 1)
    if any(
        piece not in _WORDS["empty"] and piece not in _TIME_FILLERS
        for piece in _RE["piece"].findall(rest)
    ):
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
    if _RE["thousands"].fullmatch(word):
        separator = next(char for char in word if not char.isdigit())
        word = word.replace(separator, "")
    decimal = _RE["decimal"].fullmatch(word)
    if decimal:
        whole, part = decimal.groups()
        return f"{int(whole)}.{part}{percent}" if len(whole) < 20 else word
    return (
        str(int(word))
        if word.isascii() and word.isdigit() and len(word) < 10 and (not word.startswith("0"))
        else word
    ) + percent


# What limits a statement: "900 euros with bills", "no coffee after 4 pm", "brüt 60 bin".

#: units of a group can be counted in each other; those of two groups, or of none, cannot
UNIT_GROUPS: Final = tuple(
    frozenset(each.split())
    for each in ("s min h day week month year", "g kg", "cm m km", "mb gb tb")
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
    found.append(_tail(behind, _RE["behind_denial"]))
    if is_denied:
        found += _RE["partly"].findall(before)
    return " ".join(each for each in found if each)


def _of_value(predicate: str, value: str, behind: str) -> str:
    """What limits a value: which price, whose dose, the password of what."""
    core = _RE["tail"].split(value, maxsplit=1)[0]
    amount = " ".join(_RE["turkish_amount"].findall(value))
    measured = (
        any(map(str.isdigit, core))
        or bool(amount)
        or is_date(core)
        or predicate.rpartition("_")[2] in _WORDS["keys"]
    )
    pattern = _RE["behind_measure"] if measured else _RE["behind_name"]
    rest = value[len(core) :] + behind
    tail = _tail(rest, pattern)
    if predicate == "scheduled_for" and _RE["weekday"].search(tail):
        tail = ""  # the day belongs to the hour
    return f"{amount} {tail}".strip()


def _tail(text: str, pattern: re.Pattern[str]) -> str:
    found = _RE["ends"].search(text)
    text = text[: found.start()] if found else text
    text = text if text[:1] in "'\u2019" else text.strip()
    if not pattern.match(text) or _RE["no_limit"].match(text):
        return ""
    return " ".join(word for word in text.split() if word not in ("the", "a", "an", "my", "our"))


def _turkish(before: str) -> list[str]:
    """Limits stand before the value: "kahvaltıda süt içmem"."""
    found = (" ".join(one.group().split()) for one in _RE["turkish_limit"].finditer(before))
    return [each for each in found if each not in _WORDS["turkish_free"]]


def _fronted(before: str) -> list[str]:
    """What a sentence opens with: "on exam days I drink coffee"."""
    found = _RE["fronted"].match(before)
    return [] if found is None or _RE["filler"].search(found[1]) else [found[1].strip()]


def is_common_noun(value: str, before: str) -> bool:
    """Whether a value is a kind of thing, "a bank", "the Frankfurt branch", and not a name."""
    words = value.split()
    return (
        bool(words)
        and words[-1].islower()
        and words[-1].isalpha()
        and (_RE["determined"].search(plain(before)) is not None)
    )


def past_time(behind: str) -> str | None:
    """The time of the past that stands right behind a value: "last year"; None for none."""
    found = _RE["past_time"].match(plain(behind))
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
    return _RE["long_ago"].search(folded) is not None or any(
        each.period.end is not None and each.period.end <= then
        for each in dates_in(text, from_ms(said_ms).date())
    )
