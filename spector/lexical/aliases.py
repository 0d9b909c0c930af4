"""Terms by which the index of words finds a memory's aliases, one typo allowed.

A memory with the alias "Ledger DB" has the term of that name and terms of its parts: its first
half, its second half, and the name without the two letters in the middle. A name with one typo
keeps one of those parts unchanged, so its memory is among the few that have the term of that part.
The names of those few are then compared (`is_typo`): a name is found exactly when its optimal
string alignment distance (Damerau-Levenshtein, no part edited twice) is at most 1.

Typos are in letters only: a different digit is a different number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.language.words import SPACELESS, normalize_unicode, term_hash
from spector.records import MOST_ALIASES

__all__ = [
    "HAS_ALIAS",
    "Span",
    "alias_hashes",
    "alias_terms",
    "fold_alias",
    "is_typo",
    "name_words",
    "spans",
    "typo_terms",
]

#: words of a name at most
MOST_WORDS: Final = 8
#: letters that a name needs before typos in it are allowed, and characters at most
_LEAST_LETTERS: Final = 5
_MOST_CHARS: Final = 64
#: the first so many words of a cue are searched for names
_CUE_WORDS: Final = 64

#: the term of every memory with an alias
HAS_ALIAS: Final = "\x1e"
_NAME, _FIRST, _SECOND, _AROUND = "\x1ep", "\x1ef", "\x1es", "\x1ea"

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
    """Words of a name or cue without case and marks; each ideograph is a word."""
    if text.isascii():
        return _WORD.findall(text.lower())
    apart = normalize_unicode("NFD", text.replace("\u0131", "i")).casefold()
    bare = "".join(each for each in apart if not unicodedata.combining(each))
    words: list[str] = []
    for word in _WORD.findall(normalize_unicode("NFC", bare)):
        for piece in SPACELESS.split(word):
            if SPACELESS.match(piece):
                words += piece
            elif piece:
                words.append(piece)
    return words


def fold_alias(alias: str) -> str:
    """The form in which names are compared; "" for a name without letters and digits."""
    return " ".join(name_words(alias)[:MOST_WORDS])


def alias_terms(aliases: Sequence[str]) -> list[str]:
    """Terms of a memory's aliases; distinct, at most four a name, and `HAS_ALIAS`."""
    out: dict[str, None] = {}
    for name in filter(None, map(fold_alias, aliases[:MOST_ALIASES])):
        out[HAS_ALIAS] = out[_NAME + name] = None
        if _may_be_mistaken(name):
            half = len(name) // 2
            out.update(
                dict.fromkeys(
                    (
                        _part(_FIRST, name, len(name), name[:half]),
                        _part(_SECOND, name, len(name), name[half:]),
                        _part(_AROUND, name, len(name), name[: half - 1] + name[half + 1 :]),
                    )
                )
            )
    return list(out)


def alias_hashes(aliases: Sequence[str], key: bytes) -> NDArray[np.uint64]:
    """(n,) ascending hashes of `alias_terms`."""
    return np.array(sorted({term_hash(term, key) for term in alias_terms(aliases)}), np.uint64)


def typo_terms(text: str) -> list[str]:
    """Terms, one of which every name has that ``text`` is a typo of; other names may too."""
    size = len(text)
    if not _LEAST_LETTERS - 1 <= size <= _MOST_CHARS + 1:
        return []
    half = size // 2
    out = [_part(_AROUND, text, size, text[: half - 1] + text[half + 1 :])]
    for long in (size - 1, size, size + 1):  # letters of the name
        half = long // 2
        out.append(_part(_FIRST, text, long, text[:half]))
        out.append(_part(_SECOND, text, long, text[size - (long - half) :]))
    return out


def _part(kind: str, text: str, size: int, part: str) -> str:
    """The term of a part of a name of ``size`` letters; it has the digits of the whole name."""
    return f"{kind}{size}{''.join(filter(str.isdigit, text))}\0{part}"


def _may_be_mistaken(name: str) -> bool:
    return len(name) <= _MOST_CHARS and sum(map(str.isalpha, name)) >= _LEAST_LETTERS


def is_typo(text: str, name: str) -> bool:
    """Whether a text is a name with one letter too many, too few or wrong, or two swapped."""
    if text == name or abs(len(text) - len(name)) > 1 or not _may_be_mistaken(name):
        return False
    if [c for c in text if c.isdigit()] != [c for c in name if c.isdigit()]:
        return False
    at = next(
        (n for n, (a, b) in enumerate(zip(text, name, strict=False)) if a != b),
        min(len(text), len(name)),
    )
    if len(text) != len(name):
        longer, shorter = sorted((text, name), key=len, reverse=True)
        return longer[at + 1 :] == shorter[at:]
    wrong = 1 if text[at + 1 :] == name[at + 1 :] else 2
    if not (text[at : at + wrong] + name[at : at + wrong]).isalpha():
        return False
    swapped = text[at : at + 2] == name[at : at + 2][::-1]
    return wrong == 1 or (swapped and text[at + 2 :] == name[at + 2 :])


def spans(words: Sequence[str]) -> Iterator[Span]:
    """Spans of a cue's words that may be names, the longest first."""
    words = words[:_CUE_WORDS]
    for length in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield Span(start, start + length, " ".join(words[start : start + length]))
