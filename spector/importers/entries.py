"""What readers of formats are given, and what they yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final

from spector.errors import ImportFormatError, InvalidScopeError
from spector.importers.sources import Head, SourceFile
from spector.messages import shown

__all__ = [
    "Broken",
    "Entry",
    "Format",
    "FormatReader",
    "Found",
    "LeftOut",
    "Message",
    "Options",
    "label",
    "owned",
    "short_text",
]

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
