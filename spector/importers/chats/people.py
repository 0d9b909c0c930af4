"""Messages between people: each has a speaker, who is neither the user nor an assistant."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from spector.importers.entries import Found, LeftOut, Message, label
from spector.importers.texts import role_of_person

__all__ = ["left_out", "said"]

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
