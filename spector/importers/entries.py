"""What readers of formats are given, and what they yield."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final

from spector.errors import ImportFormatError, InvalidScopeError
from spector.importers.sources import Head, SourceFile
from spector.messages import shown
from spector.process import keeps

#: keyword arguments of ``Memory.remember``, with the text under "text"
Message = dict[str, Any]

#: bytes of a label that stores take by default
_LABEL_BYTES: Final = 256


@dataclass(slots=True)
class Found:
    """A message of a file.

    Attributes:
        place: where it stands, as in "line 3".
        own_id: the id that its maker gave it; "" for none.
        conversation: the conversation that the id is unique in; "" for the session.
        borrowed: its time is that of the message next to it.
        written: its time as the file has it, which is the same in every zone.
    """

    message: Message
    place: str = ""
    own_id: str = ""
    conversation: str = ""
    borrowed: bool = False
    written: str = ""


@dataclass(slots=True)
class LeftOut:
    """An entry that is no message, and why: "tool call", "no text", "picture"."""

    reason: str
    place: str = ""


@dataclass(slots=True)
class Broken:
    """An entry that cannot be read, although what follows it can.

    Attributes:
        stops: it refuses the file unless the user skips bad entries.
    """

    error: ImportFormatError
    stops: bool = True


Entry = Found | LeftOut | Broken


@dataclass(slots=True)
class Options:
    """What the user wants, and what is known of the place of a file.

    Attributes:
        zone: of times that name none; None if the user has not said it.
        assume_utc: read such times as UTC.
        chunk_chars: upper bound of a chunk of notes, in characters.
        context: names that another file of the same archive gives, as of users and channels.
        zoneless: times so far that had no zone, in a format that never has one.
    """

    zone: tzinfo | None = None
    assume_utc: bool = False
    chunk_chars: int = 1200
    context: Mapping[str, Any] = field(default_factory=dict)
    zoneless: int = 0
    #: what the user should know of how the file was read
    notes: list[str] = field(default_factory=list)


FormatReader = Callable[[SourceFile, Options], Iterator[Entry]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    Attributes:
        name: as ``--format`` takes it.
        about: what it is, in a line.
        read: yields its entries, in their order.
        recognizes: whether the beginning of a file shows it.
    """

    name: str
    about: str
    read: FormatReader
    recognizes: Callable[[Head], bool]


def label(value: object, most_bytes: int = _LABEL_BYTES) -> str | None:
    """A name or id as a label that can be stored; None if nothing of it can."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    text = "".join(each if each.isprintable() else " " for each in str(value)[: 4 * most_bytes])
    text = " ".join(text.split())
    while len(text.encode("utf-8", "replace")) > most_bytes:
        text = text[:-1]
    return text.strip() or None


def short_text(value: object, most: int = 200) -> str | None:
    """A text for metadata, on one line; None for anything else."""
    return " ".join(value.split())[:most] or None if isinstance(value, str) else None


def owned(
    message: Message, labels: Mapping[str, str | None], notes: list[str], *, takes_others: bool
) -> Message:
    """A message with the labels of an import, in place of the user and agent that it names.

    Args:
        notes: says so of a message that has lost its own.
        takes_others: it keeps what the import leaves open.

    Raises:
        InvalidScopeError: it is of another user or agent than the import.
    """
    given = {name: value for name, value in labels.items() if value is not None}
    for name in ("user_id", "agent_id"):
        own = message.get(name)
        if own is not None and own != given.get(name, own):
            raise InvalidScopeError(
                f"its {name} is {shown(own)}, and that of the import {shown(given[name])}",
                hint="import messages of several users without one, or those of each user apart",
            )
    if not takes_others:
        from spector.arguments import without_owners  # a command loads it when it runs

        message = without_owners(message, notes, kept=given)
    return {**message, **given}


# Texts of entries: parts joined, too long ones cut, invisible ones recognized.

#: roles whose messages instruct a model
_INSTRUCTING: Final = frozenset(("system", "developer"))
_COMMON: Final = frozenset(("user", "assistant", "tool"))

#: categories of characters that are not seen, and letters that look like nothing
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cn", "Co", "Zs", "Zl", "Zp", "Mn", "Me"))
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufffd")


def text_of_parts(content: object) -> str:
    """The text of a message body: a string, or a list of strings and {"text": ...} parts."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    found = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and text.strip():
            found.append(text.strip())
    return "\n\n".join(found)


def is_blank(text: str) -> bool:
    """Whether a text has no character that can be seen."""
    if text[:1].isalnum():
        return False
    return all(
        each.isspace() or unicodedata.category(each) in _UNSEEN or each in _FILLERS for each in text
    )


def instructs(role: object) -> bool:
    """Whether messages of a role instruct a model; those of a file never do."""
    if not isinstance(role, str) or role in _COMMON:
        return False
    from spector.language.words import plain

    return plain(role.strip()) in _INSTRUCTING


@keeps(4096)
def role_of_person(name: str) -> tuple[str, str]:
    """The role of what a person says, and how he is named.

    The name is the role, unless it would give him the trust of one: anyone may call himself "user".
    """
    from spector.language.statements import ASSISTANTS, USERS
    from spector.language.words import plain

    bare = plain(name).strip()
    if bare in USERS or bare in ASSISTANTS or instructs(name):
        return "person", f'"{name}"'
    return name, name


def cut_text(text: str, most_bytes: int) -> Iterator[str]:
    """Pieces of a text of at most so many bytes, cut between paragraphs, lines or words."""
    while len(text) * 4 > most_bytes and len(text.encode("utf-8", "replace")) > most_bytes:
        piece = text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
        at = -1
        for mark in ("\n\n", "\n", " "):
            at = piece.rfind(mark, len(piece) // 2)
            if at > 0:
                break
        at = at if at > 0 else max(1, len(piece))
        yield text[:at]
        text = text[at:].lstrip("\n ")
    if text:
        yield text


# Messages between people: each has a speaker, who is neither the user nor an assistant.

#: kinds of attachments -> why a message without words is left out
_KINDS = {
    "image": "picture",
    "photo": "picture",
    "sticker": "sticker",
    "animation": "picture",
    "video": "film",
    "audio": "sound",
    "voice": "sound",
    "ptt": "sound",
    "file": "file",
    "document": "file",
    "location": "place",
    "contact": "contact",
    "poll": "poll",
    "gif": "picture",
}


def said(
    text: str,
    *,
    place: str,
    source: str,
    speaker: str | None,
    moment: datetime | None,
    session: str | None,
    own_id: object = "",
    is_bot: bool = False,
    written: str = "",
    **metadata: Any,
) -> Found | LeftOut:
    """What a person said; left out without a text.

    Args:
        written: its time as the file has it.
        metadata: what else is known of it; None is left out.
    """
    if not text.strip():
        return LeftOut("no text", place)
    name = label(speaker)
    message: Message = {"text": text, "source": source}
    if name is not None:
        message["role"], name = role_of_person(name)
    if is_bot:
        message["role"] = "assistant"
    if moment is not None:
        message["event_time"] = moment
    if (conversation := label(session)) is not None:
        message["session_id"] = conversation
    known = {"speaker": name, **metadata}
    message["metadata"] = {key: value for key, value in known.items() if value not in (None, "")}
    return Found(message, place, str(own_id) if own_id not in (None, "") else "", written=written)


def left_out(kind: object, place: str, otherwise: str = "no text") -> LeftOut:
    """Why a message without words is left out, by the kind of what it has instead."""
    name = kind.lower() if isinstance(kind, str) else ""
    if name == "no text" or name in _KINDS.values():
        return LeftOut(name, place)
    found = [said_as for word, said_as in _KINDS.items() if word in name]
    return LeftOut(found[0] if found else otherwise, place)
