"""What readers of formats are given, and what they yield."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.sources import Head, SourceFile
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


#: roles whose messages instruct a model
_INSTRUCTING: Final = frozenset(("system", "developer"))
_COMMON: Final = frozenset(("user", "assistant", "tool"))

#: categories of characters that are not seen, and letters that look like nothing
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cn", "Co", "Zs", "Zl", "Zp", "Mn", "Me"))
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufffd")


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
