"""Names that a memory is to be found by, one typo allowed, as terms of the index of words.

A memory with the alias "Ledger DB" has the term of that name, and those of what one slip of a
finger makes of it. A cue is taken apart into names of up to a few words, and each is looked up in
the ways that meet those terms. So a name is found exactly when its optimal string alignment
distance (Damerau-Levenshtein, no part edited twice) is at most 1, without a look at any other:

======== ============================= ================================
cue has  what is indexed               what is looked up
======== ============================= ================================
it       the name                      itself
a wrong  the name with a gap at each   itself with a gap at each letter
less     the name without each letter  itself
more     the name                      itself without each letter
swapped  the name with each two        itself
         neighbours swapped
======== ============================= ================================

Only letters are ever mistaken: another digit is another number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spector.lexical.analysis import SPACELESS
from spector.unicode import normalize

__all__ = ["HAS_ALIAS", "MOST_ALIASES", "Span", "alias_terms", "name_words", "slips_of", "spans"]

#: names of one memory, and words of one
MOST_ALIASES: Final = 32
MOST_WORDS: Final = 8
#: letters that a name has at least for a slip to be told from another name, and at most
_LEAST_LETTERS: Final = 5
_MOST_CHARS: Final = 64
#: words of a cue that are looked at: its first ones
_CUE_WORDS: Final = 64

#: the term that every memory with an alias has
HAS_ALIAS: Final = "\x1e"
_NAME, _SLIP, _GAP = "\x1ep", "\x1es", "\x1eg"

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring words of a cue that may be a name, ``words[start:stop]`` joined by spaces."""

    start: int
    stop: int
    text: str

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.stop <= self.stop

    @property
    def term(self) -> str:
        return _NAME + self.text


def name_words(text: str) -> list[str]:
    """Words of a name or cue without case and marks; ideographs and the like one by one."""
    if text.isascii():
        return _WORD.findall(text.lower())
    apart = normalize("NFD", text.replace("\u0131", "i")).casefold()
    folded = "".join(each for each in apart if not unicodedata.combining(each))
    words: list[str] = []
    for word in _WORD.findall(normalize("NFC", folded)):
        for piece in SPACELESS.split(word):
            if SPACELESS.match(piece):
                words += piece
            elif piece:
                words.append(piece)
    return words


def alias_terms(aliases: Sequence[str]) -> list[str]:
    """What the index has of a memory's aliases; distinct terms."""
    out: dict[str, None] = {}
    for alias in aliases[:MOST_ALIASES]:
        name = " ".join(name_words(alias)[:MOST_WORDS])
        if not name:
            continue
        out[HAS_ALIAS] = out[_NAME + name] = None
        if _may_slip(name):
            for n, letter in enumerate(name):
                if letter.isdigit():
                    continue
                out[_SLIP + name[:n] + name[n + 1 :]] = None
                if letter != " ":
                    out[f"{_GAP}{name[:n]}\0{name[n + 1:]}"] = None
                after = name[n + 1 : n + 2]
                if after.isalpha() and letter.isalpha() and after != letter:
                    out[_SLIP + name[:n] + after + letter + name[n + 2 :]] = None
    return list(out)


def _may_slip(name: str) -> bool:
    return len(name) <= _MOST_CHARS and sum(map(str.isalpha, name)) >= _LEAST_LETTERS


def spans(words: Sequence[str]) -> Iterator[Span]:
    """Whatever may be a name in the words of a cue, the longest first."""
    words = words[:_CUE_WORDS]
    for length in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield Span(start, start + length, " ".join(words[start : start + length]))


def slips_of(words: Sequence[str], span: Span, wrong: int) -> list[str]:
    """Terms that a name has of which the span is a slip in one word.

    Args:
        words: of the cue.
        wrong: which of them, within the span, is mistaken.
    """
    name = span.text
    letters = sum(map(str.isalpha, name))
    if len(name) > _MOST_CHARS + 1 or letters < _LEAST_LETTERS - 1:
        return []
    first = sum(len(word) + 1 for word in words[span.start : wrong])
    out = [_SLIP + name]
    for n in range(first, first + len(words[wrong])):
        if name[n].isdigit():
            continue
        if letters > _LEAST_LETTERS:
            out.append(_NAME + name[:n] + name[n + 1 :])
        out.append(f"{_GAP}{name[:n]}\0{name[n + 1:]}")
    return out
