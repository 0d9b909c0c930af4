"""Who said something, and whether he may change what another said."""

from __future__ import annotations

from typing import Final

from spector.language.statements import ASSISTANTS, USERS, reads_like_a_role
from spector.language.words import plain
from spector.records import MemoryRecord

__all__ = ["data_source_of", "may_supersede", "speaker_of"]

#: roles of a message -> the class of its origin
_ROLES: Final = {
    "tool": "tool", "function": "tool", "tool_result": "tool", "system": "system",
    "developer": "system", "document": "document", "federation": "federation",
}  # fmt: skip


def data_source_of(
    role: str | None, source: str | None = None, speaker: str | None = None
) -> str:
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


def speaker_of(record: MemoryRecord) -> str:
    """The one who speaks in a memory, as names are compared; "" for the user himself."""
    name = plain(record.speaker or "").strip()
    return "" if name in USERS else name


def may_supersede(new: tuple[str, str], old: tuple[str, str]) -> bool:
    """Whether one (origin, speaker) may take the place of what another said.

    Of one origin only; of two persons, the user himself may correct what another one said.
    """
    return new[0] == old[0] and new[1] in ("", old[1])
