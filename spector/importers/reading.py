"""What readers of formats share: entries read one by one, parts of JSON objects, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from spector.errors import ImportFormatError
from spector.importers.entries import (
    Broken,
    Entry,
    Found,
    LeftOut,
    Options,
    instructs,
    label,
    role_of_person,
)
from spector.importers.sources import SourceFile
from spector.importers.times import Spot


def read_each(
    found: Iterable[tuple[str, Any]],
    read: Callable[[Any, Spot], Entry | Iterator[Entry]],
    source: SourceFile,
    options: Options,
    *,
    stops: bool = True,
) -> Iterator[Entry]:
    """What is read of (place, object) pairs; one that cannot be read is reported, and no part of it
    is kept.

    Args:
        found: in place of an object, why there is none.
        stops: an entry that cannot be read refuses the file.
    """
    for place, entry in found:
        try:
            if isinstance(entry, ImportFormatError):
                raise entry
            each = read(entry, Spot(source, options, place))
            yield from list(each) if isinstance(each, Iterator) else [each]
        except ImportFormatError as error:
            yield Broken(error, stops)


def numbered(what: str, entries: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """(place, entry) of each of some entries."""
    return ((f"{what} {number}", entry) for number, entry in enumerate(entries, 1))


# -- parts of JSON objects, which may be anything --------------------------------------------------


def list_in(entry: dict[str, Any], name: str) -> list[Any]:
    """A list within an object; empty if it is none."""
    found = entry.get(name)
    return found if isinstance(found, list) else []


def objects_in(entry: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list within an object."""
    return [each for each in list_in(entry, name) if isinstance(each, dict)]


def object_in(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within an object; empty if it is none."""
    found = entry.get(name)
    return found if isinstance(found, dict) else {}


def texts_in(entry: dict[str, Any], *names: str) -> list[str]:
    """The values under some names that are texts and not blank."""
    found = (entry.get(name) for name in names)
    return [each for each in found if isinstance(each, str) and each.strip()]


def text_in(entry: dict[str, Any], *names: str) -> str:
    """The first of them; "" for none."""
    return next(iter(texts_in(entry, *names)), "")


def filled(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that are neither None nor ""."""
    return {name: value for name, value in fields.items() if value not in (None, "")}


def short_text(value: object, most: int = 200) -> str | None:
    """A text for metadata, on one line; None for anything else."""
    return " ".join(value.split())[:most] or None if isinstance(value, str) else None


# -- messages --------------------------------------------------------------------------------------


def message(
    spot: Spot,
    text: object,
    *,
    own_id: object = "",
    conversation: str = "",
    borrowed: bool = False,
    written: str = "",
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> Found | LeftOut:
    """A message of a file; left out without a text, or if it instructs a model.

    Args:
        own_id: the id that its maker gave it, a text or a number.
        fields: what else is known of it; what is None or "" is not.
    """
    if not isinstance(text, str) or not text.strip():
        return LeftOut("no text", spot.place)
    if instructs(fields.get("role")):
        return LeftOut("instructions", spot.place)
    return Found(
        filled({"text": text, **fields, "metadata": metadata or None}),
        spot.place,
        str(own_id) if isinstance(own_id, (str, int)) else "",
        conversation,
        borrowed,
        written,
    )


def said(
    spot: Spot,
    text: str,
    *,
    source: str,
    speaker: str | None,
    moment: datetime | None,
    session: str | None,
    own_id: object = "",
    is_bot: bool = False,
    written: str = "",
    **metadata: Any,
) -> Found | LeftOut:
    """What a person said, who is neither the user nor an assistant.

    Args:
        is_bot: a program said it.
        written: its time as the file has it.
        metadata: what else is known of it.
    """
    name = label(speaker)
    role, name = (None, None) if name is None else role_of_person(name)
    return message(
        spot,
        text,
        source=source,
        role="assistant" if is_bot else role,
        event_time=moment,
        session_id=label(session),
        own_id=own_id,
        written=written,
        metadata=filled({"speaker": name, **metadata}),
    )


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


def left_out(kind: object, place: str, otherwise: str = "no text") -> LeftOut:
    """Why a message without words is left out, by the kind of what it has instead."""
    name = kind.lower() if isinstance(kind, str) else ""
    if name == "no text" or name in _KINDS.values():
        return LeftOut(name, place)
    found = [said_as for word, said_as in _KINDS.items() if word in name]
    return LeftOut(found[0] if found else otherwise, place)
