"""Texts of entries: parts joined, too long ones cut, invisible ones recognized."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from spector.process import keeps

__all__ = [
    "cut_text",
    "instructs",
    "is_blank",
    "role_of_person",
    "text_of_parts",
]

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
