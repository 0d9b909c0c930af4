"""What WhatsApp writes into the lines of a chat, in the languages of its phones.

Dates stand in any order and with any signs, the half of the day before or after the time, digits in
several scripts. On iPhones a mark of direction stands before what the program says itself.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["MARK", "Turn", "chat_named", "is_notice", "kind_left_out", "turn_of", "without_marks"]

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
)
_BEHIND: Final = re.compile(r" ile WhatsApp Sohbeti$")
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
    texts: list[str] = field(default_factory=list)


def turn_of(line: str, number: int) -> Turn | None:
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
    turn = Turn(
        number,
        (int(first), int(second), int(third)),
        (int(hour), int(minute), int(seconds or 0)),
        half,
        odd,
        bool(bracket),
    )
    turn.texts.append(line[ends[found.end()] :])
    return turn


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


def without_marks(text: str) -> str:
    """A text without marks of direction at its ends, and without those of the program."""
    return text.replace(MARK, "").strip(_MARKS + " \n")


def kind_left_out(text: str) -> tuple[str, str]:
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
    last = without_marks(inserted.rpartition(MARK)[2])
    if mark and said.strip(_MARKS + " \n"):
        omitted = _OMITTED.fullmatch(last)
        if omitted is not None:
            kind = _kind(omitted)
            return ("" if kind == "document" else said.strip()), kind
        if _ATTACHED.fullmatch(last) is not None:
            return said.strip(), "file"
    bare = without_marks(text)
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


def is_notice(name: str, text: str, on_iphone: bool) -> bool:
    """Whether the program says it, and no person: a group was made, a call was missed."""
    if any(each in name for each in '"“”„«»'):  # a name of a group, with a colon in it
        return True
    if not on_iphone or not text.startswith(MARK):
        return False
    bare = text.lstrip(_MARKS + " ")
    # a number of a telephone that was pasted begins with the mark, too; a poll has one a line
    return bare[:1].isalpha() and "\n" + MARK not in text


def chat_named(name: str) -> str:
    """The name of a chat in the name of a file; "" where it has none."""
    name = _COPY.sub("", name)
    for pattern in _AROUND:
        name = pattern.sub("", name)
    return _BEHIND.sub("", name).strip()
