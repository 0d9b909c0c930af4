"""Merges a new text into an old one, losing no sentence of either (preset v9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from spector.language.words import wording_of

__all__ = ["SEPARATOR", "merged_text"]

#: between the texts of two memories
SEPARATOR: Final = " | "
_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


def merged_text(old: str, new: str, *, most: int) -> str | None:
    """The old text and, after a separator, the sentences of the new one that it does not have.

    Returns None where that would be longer than ``most`` characters: then both are kept.
    """
    known = {wording_of(each) for each in _sentences(old)}
    fresh = [each for each in _sentences(new) if wording_of(each) not in known]
    if not fresh:
        return old if len(old) <= most else None
    text = f"{old}{SEPARATOR}{' '.join(fresh)}"
    return text if len(text) <= most else None


def _sentences(text: str) -> Iterator[str]:
    for part in text.split(SEPARATOR):
        yield from (each.strip() for each in _END.split(part) if each.strip())
