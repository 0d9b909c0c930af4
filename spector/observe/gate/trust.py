"""Who said something, and whether he may change what another said."""

from __future__ import annotations

from typing import Final

from spector.language.frames import is_label
from spector.language.statements import (
    ASSISTANTS,
    USERS,
    person_of,
    reads_like_a_role,
    says_i,
    speaker_opening,
)
from spector.language.words import plain

__all__ = ["data_source_of", "may_supersede", "name_of_speaker", "speaker_of"]

#: roles of a message -> the class of its origin
_ROLES: Final = {
    "tool": "tool",
    "function": "tool",
    "tool_result": "tool",
    "system": "system",
    "developer": "system",
    "document": "document",
    "federation": "federation",
}


def data_source_of(role: str | None, source: str | None = None, speaker: str | None = None) -> str:
    """The class of an origin: ``user_message``, ``assistant_message``, ``tool``, ``system``,
    ``document`` or ``federation``.

    A message without a role is the user's; so is that of a person who is named by his role.

    Args:
        source: where the text is from; a text without a role that names a source is a document.
        speaker: who opens the text, where it has no role.
    """
    name = plain(role or "").strip()
    if name in _ROLES:
        return _ROLES[name]
    if not name and source and plain(source).strip() not in USERS:
        return "document"
    name = name or plain(speaker or "").strip()
    if name in USERS or not name:
        return "user_message"
    if name in ASSISTANTS:
        return "assistant_message"
    return "tool" if reads_like_a_role(name) else "user_message"


def name_of_speaker(text: str, role: str | None, speaker: str | None) -> str | None:
    """The name of the one who speaks, where it is not his role; a text may open with it.

    Args:
        speaker: as the metadata name him, or the role.
    """
    name = person_of(role, speaker)
    is_user = plain(role or "user").strip() in USERS
    opening = speaker_opening(text) if name is None and is_user else None
    if opening is None or opening.role or not opening.proper:
        return name
    if role is not None and not says_i(text[opening.start :]):
        return None
    return None if is_label(opening.name) else opening.name


def speaker_of(text: str, role: str | None, speaker: str | None) -> str:
    """The one who speaks, as names are compared; "" for the user himself."""
    name = plain(name_of_speaker(text, role, speaker) or speaker or role or "").strip()
    return "" if name in USERS else name


def may_supersede(new: tuple[str, str], old: tuple[str, str]) -> bool:
    """Whether one (origin, speaker) may take the place of what another said.

    Of one origin only; of two persons, the user himself may correct what another one said.
    """
    return new[0] == old[0] and new[1] in ("", old[1])
