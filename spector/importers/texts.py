"""Texts of entries: parts joined, too long ones cut, invisible ones recognized."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["as_text", "cut_text", "is_blank", "text_of_parts"]

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
        each.isspace() or unicodedata.category(each) in _UNSEEN or each in _FILLERS
        for each in text
    )


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


def as_text(value: Any) -> str:
    """A text as it is; "" for anything else."""
    return value if isinstance(value, str) else ""
