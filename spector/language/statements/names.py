"""Whom or what a cue names."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["names_of"]

#: a word with a capital and small letters after it
_WORD: Final = re.compile(r"[^\W\d_]+")
#: what a sentence may begin behind
_START: Final = re.compile(r"(?:^|[.!?\u2026:\n])[\s\"'“”‘’«»(\[*_-]*\Z")
#: words of a language that writes every noun with a capital; none of them is English
_GERMAN: Final = frozenset(
    "das der eine einen einer habe hatte ich ist mein meine nicht und wann warum welche welcher"
    " welches wer wie wurde".split()
)
#: in a headline capitals tell nothing
_HEADLINE: Final = 0.7


def names_of(cue: str) -> list[str]:
    """Words that are names by how they are written: with a capital, not at the start of a sentence.

    None in a headline or in German, where capitals tell nothing.
    """
    found = list(_WORD.finditer(cue))
    capitals = [word for word in found if _is_capital(word.group())]
    if len(capitals) > _HEADLINE * len(found) and len(found) > 2:
        return []
    if not _GERMAN.isdisjoint(word.group().lower() for word in found):
        return []
    return [
        word.group()
        for word in capitals
        if not _START.search(cue, max(0, word.start() - 8), word.start())
    ]


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and word[1:].islower()
