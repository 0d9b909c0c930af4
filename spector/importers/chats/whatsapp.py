"""WhatsApp chats exported as text: ``_chat.txt``, ``WhatsApp Chat with Ann.txt``, or the zip file.

Times are local, in the order of day and month that the phone used: the order that all lines of the
file allow is taken, and a file that allows both is read with the day first and says so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.chats.people import left_out, said
from spector.importers.entries import Broken, Entry, Format, LeftOut, Options
from spector.importers.places import Archive, Place
from spector.importers.sources import Head, SourceFile
from spector.importers.times import in_zone

__all__ = ["ARCHIVE", "FORMAT"]

#: marks of direction and odd spaces that phones put into lines
_MARKS: Final = str.maketrans({"\u200e": "", "\u200f": "", "\u202a": "", "\u202c": "",
                               "\u202f": " ", "\u00a0": " "})  # fmt: skip
_DATE: Final = r"(\d{1,4})[./-](\d{1,2})[./-](\d{2,4})"
#: "10:01", "10:01:00 PM", "10:01 p. m."; Turkish "ÖÖ" and "ÖS"
_TIME: Final = (
    r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s?([AaPp])\.?\s?[Mm]\.?|\s?([Öö][ÖöSs]))?"
)
#: iOS: "[01/02/2025, 10:01:00] Name: text"; Android: "01/02/25, 10:01 - Name: text"
_LINE: Final = re.compile(
    rf"\[{_DATE},? {_TIME}\] (.*)$|{_DATE},? {_TIME} [-\u2013] (.*)$", re.DOTALL
)
_NAMED: Final = re.compile(r"([^:\n]{1,80}?): ?(.*)$", re.DOTALL)
#: what stands for a picture or file in several languages
_OMITTED: Final = re.compile(
    r"<?\s*(?:\u200e)?(?:(?P<kind>image|photo|video|audio|sticker|gif|document|voice|contact card)"
    r" omitted|media omitted|medya dahil edilmedi|medien ausgeschlossen|m[ée]dias? omis"
    r"|multimedia omitido|archivo omitido|m[íi]dia oculta|media omessi|media weggelaten"
    r"|g[öo]r[üu]nt[üu] dahil edilmedi|ses dahil edilmedi|video dahil edilmedi"
    r"|[çc][ıi]kartma dahil edilmedi|belge dahil edilmedi|bild weggelassen)\s*>?",
    re.IGNORECASE,
)
_ATTACHED: Final = re.compile(
    r"(?:<attached: (?P<ios>[^<>\n]+)>|(?P<android>[^\s<>]+\.\w{2,5})"
    r" \((?:file attached|dosya ekli|Datei angeh[äa]ngt|archivo adjunto)\))\s*"
)
_DELETED: Final = re.compile(
    r"(?:this message was deleted|you deleted this message|bu mesaj silindi|bu mesajı sildiniz"
    r"|diese nachricht wurde gel[öo]scht|se elimin[óo] este mensaje)\.?",
    re.IGNORECASE,
)
#: text files that are messages by this share of their first lines
_HEAD_LINES: Final = 40


@dataclass(slots=True)
class _Turn:
    line: int
    date: tuple[int, int, int]
    time: tuple[int, int, int, str]
    texts: list[str] = field(default_factory=list)


def _recognizes(head: Head) -> bool:
    if head.shape != "text" or head.suffix not in (".txt", ""):
        return False
    lines = [each for each in head.text.translate(_MARKS).splitlines() if each.strip()]
    if not lines or _turn_of(lines[0], 1) is None:
        return False
    found = sum(_turn_of(each, 1) is not None for each in lines[:_HEAD_LINES])
    return found >= 2 or len(lines) <= 3


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a chat, in their order."""
    turns = list(_turns(source))
    if not turns:
        raise source.error("", "has no line of a chat", hint="export the chat again, as text")
    day_first, is_sure = _order(turns)
    if not is_sure:
        options.notes.append(
            f"{source.label}: no day is above 12, so the dates are read with the day first;"
            " check the first and last day below"
        )
    session = f"whatsapp/{_chat_name(source)}"
    for turn in turns:
        place = f"line {turn.line}"
        try:
            yield _message(turn, day_first, session, source, place, options)
        except ImportFormatError as error:
            yield Broken(error)


def _is_archive(place: Place) -> bool:
    found = place.named("_chat.txt") or next(
        (each for each in place.files if each.name.startswith("WhatsApp Chat")), None
    )
    return found is not None


def _files(place: Place) -> Iterator[tuple[SourceFile, dict[str, Any]]]:
    for each in place.files:
        if each.name == "_chat.txt" or each.name.startswith("WhatsApp Chat"):
            yield each, {}


FORMAT: Final = Format(
    "whatsapp", "a chat that WhatsApp exported: the text, or its zip file", read, _recognizes
)
ARCHIVE: Final = Archive("whatsapp", _is_archive, _files)


def _turn_of(line: str, number: int) -> _Turn | None:
    found = _LINE.match(line)
    if found is None:
        return None
    groups = found.groups()
    half = groups[:9] if groups[8] is not None else groups[9:]
    first, second, third, hour, minute, second_s, half_day, turkish, rest = half
    turn = _Turn(
        number, (int(first), int(second), int(third)),
        (int(hour), int(minute), int(second_s or 0),
         (half_day or {"ÖÖ": "a", "ÖS": "p"}.get((turkish or "").upper(), "")).lower()),
    )  # fmt: skip
    turn.texts.append(rest)
    return turn


def _turns(source: SourceFile) -> Iterator[_Turn]:
    """Messages with all of their lines."""
    turn: _Turn | None = None
    with source.open_text() as stream:
        for number, raw in enumerate(stream, 1):
            line = raw.rstrip("\r\n")
            found = _turn_of(line.translate(_MARKS), number)
            if found is None:
                if turn is not None:
                    turn.texts.append(line.strip("\u200e\u200f"))
                elif line.strip("\u200e\u200f \ufeff"):
                    raise source.error(
                        f"line {number}", "is not the first line of a message",
                        hint="export the chat again, as text",
                    )
                continue
            if turn is not None:
                yield turn
            turn = found
    if turn is not None:
        yield turn


def _order(turns: list[_Turn]) -> tuple[bool, bool]:
    """Whether the day stands first, and whether that is sure.

    Days and months beyond 12 decide; then the order in which time never runs backwards.
    """
    if any(turn.date[0] > 31 for turn in turns):
        return False, True  # year first
    day_first = any(turn.date[0] > 12 for turn in turns)
    month_first = any(turn.date[1] > 12 for turn in turns)
    if day_first != month_first:
        return day_first, True
    steps = []
    for is_first in (True, False):
        keys = [_key(turn, is_first) for turn in turns]
        steps.append(sum(a > b for a, b in itertools.pairwise(keys)))
    if steps[0] != steps[1]:
        return steps[0] < steps[1], True
    return True, len({turn.date for turn in turns}) == 1 and turns[0].date[0] == turns[0].date[1]


def _key(turn: _Turn, day_first: bool) -> tuple[int, ...]:
    first, second, year = turn.date
    return (year, second, first) if day_first else (year, first, second)


def _moment(turn: _Turn, day_first: bool, source: SourceFile, place: str) -> datetime:
    first, second, third = turn.date
    if first > 31:
        year, month, day = first, second, third
    else:
        year = third + 2000 if third < 100 else third
        day, month = (first, second) if day_first else (second, first)
    hour, minute, seconds, half = turn.time
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return datetime(year, month, day, hour, minute, seconds)
    except ValueError as exc:
        raise source.error(
            place, f"its date is no day: {exc}", hint="export the chat again, as text"
        ) from exc


def _message(
    turn: _Turn, day_first: bool, session: str, source: SourceFile, place: str, options: Options
) -> Entry:
    whole = "\n".join(turn.texts).rstrip()
    named = _NAMED.match(whole)
    if named is None:
        return LeftOut("notice", place)
    name, text = named[1].strip().lstrip("~").strip(), named[2]
    bare = text.strip("\u200e\u200f \n")
    if _DELETED.fullmatch(bare):
        return LeftOut("deleted", place)
    if (omitted := _OMITTED.fullmatch(bare)) is not None:
        return left_out(omitted["kind"], place, "picture")
    attached = _ATTACHED.match(bare)
    if attached is not None:
        text = bare[attached.end() :]
        if not text.strip():
            return LeftOut("file", place)
    local = _moment(turn, day_first, source, place)
    return said(
        text.strip("\u200e\u200f"), place=place, source="whatsapp", speaker=name,
        moment=in_zone(local, options), written=local.isoformat(), session=session,
        chat=_chat_name(source),
    )


def _chat_name(source: SourceFile) -> str:
    """The name of the chat: of the file, or of the archive or folder that it lies in."""
    name = source.name.removesuffix(".txt")
    if name == "_chat":
        name = source.folders[-1] if source.folders else (
            source.path.stem if source.member else source.path.absolute().parent.name
        )
    for start in ("WhatsApp Chat with ", "WhatsApp Chat - "):
        name = name.removeprefix(start)
    return name or "chat"
