"""Names in a cue, recognized by capitals."""

from __future__ import annotations

import re
from typing import Final

#: a word of letters
_WORD: Final = re.compile(r"[^\W\d_]+")
#: text before the start of a sentence
_START: Final = re.compile(r"(?:^|[.!?\u2026:\n])[\s\"'“”‘’«»(\[*_-]*\Z")
#: words of German, where every noun has a capital; none of them is English
_GERMAN: Final = frozenset(
    "das der eine einen einer habe hatte ich ist mein meine nicht und wann warum welche welcher"
    " welches wer wie wurde".split()
)
#: share of capitalized words in a headline
_HEADLINE: Final = 0.7


def names_of(cue: str) -> list[str]:
    """Names in a cue: words with a capital that do not start a sentence.

    Returns none for headlines and German, where capitals do not mark names.
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
