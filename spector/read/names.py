"""Does a cue name somebody or something that no memory knows?"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from spector.lexical.analysis import words

__all__ = ["unknown_name"]

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


def unknown_name(cue: str, absent: Collection[str]) -> bool:
    """True when a word with a capital, not at the start of a sentence, is in no memory.

    Args:
        absent: terms of the cue that no memory has.
    """
    found = list(_WORD.finditer(cue))
    capitals = [word for word in found if _is_capital(word.group())]
    if len(capitals) > _HEADLINE * len(found) and len(found) > 2:
        return False
    if not _GERMAN.isdisjoint(word.group().lower() for word in found):
        return False
    return any(
        _is_absent(word.group(), absent)
        for word in capitals
        if not _START.search(cue, max(0, word.start() - 8), word.start())
    )


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and word[1:].islower()


def _is_absent(word: str, absent: Collection[str]) -> bool:
    terms = words(word)
    return bool(terms) and all(term in absent for term in terms)
