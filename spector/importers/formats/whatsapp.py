"""WhatsApp chats exported as text: ``_chat.txt``, ``WhatsApp Chat with Ann.txt``, or the zip file.

Times are local, in the order of day and month that the phone used: the order that all lines of the
file allow is taken, and a file that allows both is read with the day first and says so.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from spector.clock import SystemClock, from_ms
from spector.errors import ImportFormatError
from spector.importers.entries import Entry, Format, LeftOut, Options
from spector.importers.places import Archive, Export, Place, exports_around
from spector.importers.reading import left_out, read_each, said
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot, hour_of, in_zone

_NAMED: Final = re.compile(r"([^:\n]{1,80}?): ?(.*)$", re.DOTALL)
#: what stands in the place of a name in the logs of programs
_LEVELS: Final = frozenset(
    "TRACE DEBUG INFO NOTICE WARN WARNING ERROR CRITICAL FATAL SEVERE".split()
)
#: beginnings of lines that may have a date
_DATED: Final = re.compile(r"\[?\d{1,4}\D.*\d[:.]\d\d")
#: the number before the name of a file that was sent
_SENT: Final = re.compile(r"\d{8}-")
#: text files that are messages by this share of their first lines
_HEAD_LINES: Final = 40
#: messages that a name with two colons has to begin
_LEAST_SURE: Final = 3
#: there was no WhatsApp before the first; the last is far from other calendars
_YEARS: Final = range(2009, 2060)
#: of years with two digits
_CENTURY: Final = 2000
_AGAIN: Final = "export the chat again, as text"


def _recognizes(head: Head) -> bool:
    if head.shape != "text" or head.suffix not in (".txt", ""):
        return False
    lines = [each for each in head.text.splitlines() if _without_marks(each)]
    turns = [_turn_of(each, 1) for each in lines[:_HEAD_LINES]]
    if not turns or turns[0] is None:
        return False
    if not _is_named_so(head.source):
        named = [_NAMED.match(each.texts[0]) for each in turns if each is not None]
        names = {each[1].strip().upper() for each in named if each is not None}
        if any(each is not None and each.odd for each in turns) or names <= _LEVELS:
            return False
    return sum(each is not None for each in turns) >= 2 or len(lines) <= 3


def _is_named_so(source: SourceFile) -> bool:
    """Whether a file has a name that WhatsApp gives."""
    return source.name == "_chat.txt" or "whatsapp" in source.name.lower()


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a chat, in their order."""
    turns = _turns(source)
    if not turns:
        raise source.error("", "has no line of a chat", hint=_AGAIN)
    if _has_short_years_first(turns):
        for turn in turns:
            turn.date = (turn.date[0] + _CENTURY, *turn.date[1:])
    day_first, is_sure = _order(turns)
    if not is_sure:
        options.notes.append(
            f"{source.label}: no day is above 12, so the dates are read with the day first;"
            " check the first and last day below"
        )
    found = ((f"line {turn.line}", turn) for turn in turns)
    names, chat = _names_with_colons(turns), _chat_name(source, turns[0])
    yield from read_each(found, partial(_message, day_first, chat, names), source, options)


def _is_claimed(source: SourceFile) -> bool:
    """Whether a file has the name of a chat, and a first line that may have a date."""
    if not _is_named_so(source):
        return False
    try:
        with source.open_text() as stream:
            first = next((line for line in stream if _without_marks(line)), "")
    except ImportFormatError:
        return source.name == "_chat.txt"
    return _DATED.match(_without_marks(first)) is not None


def _exports(place: Place) -> Iterator[Export]:
    """Chats, with the documents that were sent in them."""
    members = [each for each in place.files if each.suffix == ".txt" and _is_claimed(each)]
    yield from exports_around(place, members, lambda each: _SENT.match(each.name) is not None)


FORMAT: Final = Format(
    "whatsapp", "a chat that WhatsApp exported: the text, or its zip file", read, _recognizes
)
ARCHIVE: Final = Archive("whatsapp", _exports)


def _turns(source: SourceFile) -> list[Turn]:
    """Messages with all of their lines."""
    turns: list[Turn] = []
    with source.open_text() as stream:
        for number, raw in enumerate(stream, 1):
            line = raw.rstrip("\r\n")
            if (found := _turn_of(line, number)) is not None:
                turns.append(found)
            elif turns:
                turns[-1].texts.append(line)
            elif _without_marks(line.strip("\ufeff ")):
                problem = "is not the first line of a message"
                raise source.error(f"line {number}", problem, hint=_AGAIN)
    return turns


def _names_with_colons(turns: list[Turn]) -> dict[str, str]:
    """Names up to their first colon -> whole names, where a name has more than one.

    Each message of "Ann: Home" begins so; a single one says nothing.
    """
    rests: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for turn in turns:
        named = _NAMED.match(turn.texts[0])
        if named is not None and not _is_notice(named[1], named[2], turn.on_iphone):
            more = _NAMED.match(named[2])
            rests.setdefault(named[1], set()).add("" if more is None else more[1])
            counts[named[1]] += 1
    return {
        name: f"{name}: {rest}"
        for name, (rest, *others) in rests.items()
        if rest and not others and counts[name] >= _LEAST_SURE
    }


def _has_short_years_first(turns: list[Turn]) -> bool:
    """Whether dates are of year, month and day, with two digits for the year.

    All are days then; the other place of the year gives fewer days of a chat, or time runs
    backwards more often, or the year changes more often, or is one that is yet to come.
    """
    dates = [turn.date for turn in turns]
    if any(max(date) >= 100 for date in dates) or not all(_is_day(*date) for date in dates):
        return False
    this_year = from_ms(SystemClock().now_ms()).year - _CENTURY
    steps = [
        _steps_back([tuple(date[at] for at in order) for date in dates])
        for order in ((0, 1, 2), (2, 1, 0), (2, 0, 1))
    ]
    first, last = (
        (more, len({date[at] for date in dates}), any(date[at] > this_year for date in dates))
        for at, more in ((0, steps[0]), (2, min(steps[1:])))
    )
    return first < last or not all(_is_day(date[2], *sorted(date[:2])) for date in dates)


def _steps_back(keys: list[tuple[int, ...]]) -> int:
    """How often time runs backwards."""
    return sum(a > b for a, b in itertools.pairwise(keys))


def _is_day(year: int, month: int, day: int) -> bool:
    return year + _CENTURY in _YEARS and 1 <= month <= 12 and 1 <= day <= 31


def _order(turns: list[Turn]) -> tuple[bool, bool]:
    """Whether the day stands first, and whether that is sure.

    Days and months beyond 12 decide; then the order in which time never runs backwards.
    """
    dates = [turn.date for turn in turns]
    if any(date[0] > 31 for date in dates):
        return False, True  # year first
    day_first = any(date[0] > 12 for date in dates)
    month_first = any(date[1] > 12 for date in dates)
    if day_first != month_first:
        return day_first, True
    days = _steps_back([(year, second, first) for first, second, year in dates])
    months = _steps_back([(year, first, second) for first, second, year in dates])
    if days != months:
        return days < months, True
    return True, len(set(dates)) == 1 and dates[0][0] == dates[0][1]


def _moment(turn: Turn, day_first: bool, spot: Spot) -> datetime:
    first, second, third = turn.date
    if first > 31:
        year, month, day = first, second, third
    else:
        year = third + _CENTURY if third < 100 else third
        day, month = (first, second) if day_first else (second, first)
    hour, minute, seconds = turn.time
    if turn.odd:
        raise spot.error(
            f"the word {turn.odd!r} beside the time is not known",
            hint="export the chat again with the clock of the phone set to 24 hours",
        )
    if year not in _YEARS:
        raise spot.error(
            f"the year {year} is of another calendar",
            hint="export the chat again with the calendar of the phone set to Gregorian",
        )
    try:
        return datetime(year, month, day, hour_of(hour, turn.half), minute, seconds)
    except ValueError as exc:
        raise spot.error(f"its date is no day: {exc}", hint=_AGAIN) from exc


def _message(day_first: bool, chat: str, names: Mapping[str, str], turn: Turn, spot: Spot) -> Entry:
    named = _NAMED.match("\n".join(turn.texts).rstrip())
    if named is None:
        return LeftOut("notice", spot.place)
    whole = names.get(named[1], named[1])
    text, kind = _kind_left_out(named[2][len(whole) - len(named[1]) :].removeprefix(" "))
    if kind and not text:
        is_deleted = kind == "deleted"
        return LeftOut(kind, spot.place) if is_deleted else left_out(kind, spot.place, "picture")
    if _is_notice(named[1], named[2], turn.on_iphone):
        return LeftOut("notice", spot.place)
    local = _moment(turn, day_first, spot)
    return said(
        spot,
        text,
        source="whatsapp",
        speaker=_without_marks(whole).lstrip("~").strip(),
        moment=in_zone(local, spot.options),
        written=local.isoformat(),
        session=f"whatsapp/{chat}",
        chat=chat,
    )


def _chat_name(source: SourceFile, first: Turn) -> str:
    """The name of the chat: the one that its first notice has, or that of the file or folder."""
    named = _NAMED.match(first.texts[0])
    if named is not None and _is_notice(named[1], named[2], first.on_iphone):
        return _without_marks(named[1])
    name = source.name.removesuffix(".txt")
    if name == "_chat":
        around = source.path.stem if source.member else source.path.absolute().parent.name
        name = source.folders[-1] if source.folders else around
    name = _COPY.sub("", name)
    for pattern in _AROUND:
        name = pattern.sub("", name)
    return name.strip() or "chat"


# What WhatsApp writes into the lines of a chat, in the languages of its phones.
#
# Dates stand in any order and with any signs, the half of the day before or after the time, digits in
# several scripts. On iPhones a mark of direction stands before what the program says itself.

_TABLE: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent.parent / "data" / "whatsapp.toml").read_text(encoding="utf-8")
)


def _any(name: str) -> str:
    """An expression for each of a list of the table."""
    return "|".join(_TABLE["words"][name])


#: stands before the program's own words on iPhones
MARK: Final = "\u200e"
#: marks of direction, which are not seen
_MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c"
_SPACES: Final = "\u202f\u00a0\u2009"
#: characters of a line's head -> what they are read as
_PLAIN: Final = {
    **{ord(each): "" for each in _MARKS},
    **{ord(each): " " for each in _SPACES},
    **{start + digit: str(digit) for start in (0x660, 0x6F0, 0x966, 0xFF10) for digit in range(10)},
    ord("\u060c"): ",",
    ord("\uff0c"): ",",
}
#: characters of the longest head of a line
_HEAD_CHARS: Final = 64
_DATE: Final = (
    r"(\d{1,4})(?:[./\-]|\. |\u5e74|\ub144 ?)(\d{1,2})(?:[./\-]|\. |\u6708|\uc6d4 ?)"
    r"(\d{1,4})(?:\.|\u65e5|\uc77c)?"
)
_WORD: Final = r"([^\W\d_][^\d\s,\]]{0,9}(?: [^\W\d_]{1,2}\.?)?)"
_TIME: Final = r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?"
_HEAD: Final = re.compile(
    rf"(\[?){_DATE},? ?(?:{_WORD} ?)?{_TIME}(?: ?{_WORD})?(?:\] ?|\s[\-\u2013]\s)"
)
_FILLERS: Final = frozenset(_TABLE["words"]["fillers"].split())
_HALF_OF: Final = {word: half for half, of in _TABLE["halves"].items() for word in of.split()}

_OMITTED: Final = re.compile(rf"<?\s*(?:{_any('omitted')})\s*>?", re.IGNORECASE)
#: words that name a kind in other languages -> as ``left_out`` knows it
_KINDS: Final = (
    (re.compile(r"ses\b|sesli|áudio|audio", re.IGNORECASE), "audio"),
    (re.compile(r"v[ií]d[eé]o", re.IGNORECASE), "video"),
    (re.compile(r"[çc]ıkartma|figurinha|sticker", re.IGNORECASE), "sticker"),
    (re.compile(r"belge|document|dokument", re.IGNORECASE), "document"),
    (re.compile(r"kişi kartı|contact", re.IGNORECASE), "contact"),
)
_ATTACHED: Final = re.compile(
    r"(?:<[^<>\n:]{4,20}: (?P<ios>[^<>\n]+\.\w{2,5})>|(?P<android>[^<>\n]{1,120}\.\w{2,5})"
    rf" \((?:{_any('attached')})\))\s*",
    re.IGNORECASE,
)
_EDITED: Final = re.compile(rf"\s*\u200e?<(?:{_any('edited')})\.?>$", re.IGNORECASE)
_DELETED: Final = re.compile(rf"(?:{_any('deleted')})[.।]?", re.IGNORECASE)
_PLACE: Final = re.compile(
    r"[^\n:]{3,20}: (?:https://maps\.google\.com/\?q=|https://foursquare\.com/)\S+"
)
#: of the name of a file of WhatsApp: what is not the name of the chat
_AROUND: Final = (
    re.compile(r"^(?:\w+ )?(?:d[eo] )?WhatsApp(?:[ -]\w+)? (?:with|mit|con|avec|com|met|med|с|-) "),
    re.compile(r"^WhatsApp Chat(?: - )?(?=.)"),
    re.compile(r" ile WhatsApp Sohbeti$"),
)
_COPY: Final = re.compile(r" ?\(\d{1,3}\)$")


@dataclass(slots=True)
class Turn:
    """A message as it stands in the file.

    Attributes:
        date: its three numbers, in the order of the file.
        half: "a" or "p" where the clock has twelve hours.
        odd: a word beside the time that is not known.
        on_iphone: its head stands in brackets.
    """

    line: int
    date: tuple[int, int, int]
    time: tuple[int, int, int]
    half: str
    odd: str
    on_iphone: bool
    texts: list[str]


def _turn_of(line: str, number: int) -> Turn | None:
    """The message that begins with a line; None for a line that begins none."""
    head, ends = _plain_head(line)
    found = _HEAD.match(head)
    if found is None:
        return None
    bracket, first, second, third, before, hour, minute, seconds, after = found.groups()
    if bool(bracket) != found[0].rstrip().endswith("]"):
        return None
    half, odd = "", ""
    for word in (before, after):
        if word is not None:
            bare = re.sub(r"[.\s]", "", word.casefold())
            if bare in _HALF_OF:
                half = _HALF_OF[bare]
            elif word is after or bare not in _FILLERS:
                odd = word
    date, time = (int(first), int(second), int(third)), (int(hour), int(minute), int(seconds or 0))
    return Turn(number, date, time, half, odd, bool(bracket), [line[ends[found.end()] :]])


def _plain_head(line: str) -> tuple[str, list[int]]:
    """The beginning of a line as it is read, and where each of its characters stands."""
    start = line[:_HEAD_CHARS]
    if start.isascii():
        return start, list(range(len(start) + 1))
    out: list[str] = []
    ends = []
    for at, char in enumerate(start):
        plain = _PLAIN.get(ord(char), char)
        if plain:
            out.append(plain)
            ends.append(at)
    return "".join(out), [*ends, len(start)]


def _without_marks(text: str) -> str:
    """A text without marks of direction at its ends, and without those of the program."""
    return text.replace(MARK, "").strip(_MARKS + " \n")


def _kind_left_out(text: str) -> tuple[str, str]:
    """What is left of a text without the program's words, and what these stand for.

    Returns:
        The words of the speaker, and the kind of what was left out: "deleted", "place", "file", a
        kind of picture or sound, or "" for none.
    """
    edited = _EDITED.search(text, max(0, len(text) - _HEAD_CHARS))
    text = text if edited is None else text[: edited.start()]
    if "\n" + MARK in text:  # a poll has one before each of its options
        text = text.replace(MARK, "")
    said, mark, inserted = text.partition(MARK)
    last = _without_marks(inserted.rpartition(MARK)[2])
    if mark and said.strip(_MARKS + " \n"):
        omitted = _OMITTED.fullmatch(last)
        if omitted is not None:
            kind = _kind(omitted)
            return ("" if kind == "document" else said.strip()), kind
        if _ATTACHED.fullmatch(last) is not None:
            return said.strip(), "file"
    bare = _without_marks(text)
    if _DELETED.fullmatch(bare):
        return "", "deleted"
    if _PLACE.fullmatch(bare):
        return "", "place"
    if bare == "null":  # phones write it for what they cannot export
        return "", "no text"
    if (omitted := _OMITTED.fullmatch(bare)) is not None:
        return "", _kind(omitted)
    if (attached := _ATTACHED.match(bare)) is not None:
        return bare[attached.end() :].strip(), "file"
    return text.strip(_MARKS), ""


def _kind(omitted: re.Match[str]) -> str:
    if omitted["kind"]:
        return omitted["kind"].lower()
    return next((kind for pattern, kind in _KINDS if pattern.search(omitted[0])), "image")


def _is_notice(name: str, text: str, on_iphone: bool) -> bool:
    """Whether the program says it, and no person: a group was made, a call was missed."""
    if any(each in name for each in '"“”„«»'):  # a name of a group, with a colon in it
        return True
    if not on_iphone or not text.startswith(MARK):
        return False
    bare = text.lstrip(_MARKS + " ")
    # a number of a telephone that was pasted begins with the mark, too; a poll has one a line
    return bare[:1].isalpha() and "\n" + MARK not in text
