"""Tokens of a folded text: no case, no marks, no typographic quotes.

All rules of language match folded text, so each is written once, in ASCII, and applies to "Geçen
HAFTA", "gecen hafta" and "geçen hafta" alike. Time and memory are linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from spector.language.words.unicode import is_no_mark, normalize_unicode, plain

#: a run of digits, a run of letters, or one sign
_TOKEN: Final = re.compile(r"(?P<digits>[0-9]+)|(?P<word>[^\W0-9_]+)|(?P<sign>[^\w\s]|_)")
#: letters that only Turkish and related languages have, before folding
_TURKISH_LETTERS: Final = re.compile("[ğĞşŞıİ]")
#: frequent Turkish words that are not English words (folded)
_TURKISH_WORDS: Final = frozenset(
    """acaba bana beni benim bize bizim boyle cok daha degil evet gecen gibi hafta hangi hayir
    hangisi icin istiyorum kac musun misin nasil nasilsin neden nerede nereye neydi nicin niye oner
    onerir ondan onun bugun yarin senin simdi sonra soyle tamam tavsiye veya yok zaman merhaba selam
    tesekkurler lutfen""".split()
)
#: Turkish words that are also names or words of other languages: two of them are needed
_TURKISH_HINTS: Final = frozenset(
    "bir mi mu ne kim dun var ama ve sen ile sana o bu su ben".split()
)


class Token(NamedTuple):
    """One word, number or sign of a text, with its position."""

    text: str  # folded
    raw: str
    start: int
    end: int
    sign: bool = False


def compose(text: str) -> str:
    """NFC without marks that did not combine with a letter, such as the dot of a small "İ".

    Regular expressions do not match a mark as a letter, so it would split its word.
    """
    if text.isascii():
        return text
    return "".join(filter(is_no_mark, normalize_unicode("NFC", text)))


def wording_of(text: str) -> str:
    """The text in lower case with single spaces and without a final full stop."""
    return " ".join(text.casefold().split()).rstrip(".! ")


def within(most: int, text: str, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """(start, end) of the stretches between some ends, the longer ones cut after a space.

    Rules that look around in a sentence read at most so many characters at once, so that all of a
    text costs linear time, whatever it is.
    """
    start = 0
    for end in (*ends, len(text)):
        while end - start > most:
            stop = text.rfind(" ", start + most // 2, start + most) + 1 or start + most
            yield start, stop
            start = stop
        if end > start:
            yield start, end
        start = end


def tokens(text: str) -> list[Token]:
    """Words, numbers and signs of a text from `compose`, each folded like `plain`."""
    found = []
    for match in _TOKEN.finditer(text):
        piece = match.group()
        folded = piece.lower() if piece.isascii() else plain(piece)
        found.append(Token(folded, piece, match.start(), match.end(), match.lastgroup == "sign"))
    return found


def is_turkish(text: str, folded: str) -> bool:
    """True if a text may be Turkish, by its letters or its most frequent words."""
    if not text.isascii() and _TURKISH_LETTERS.search(text):
        return True
    hints = 0
    for match in re.finditer(r"[a-z]+", folded):
        word = match.group()
        if word in _TURKISH_WORDS:
            return True
        hints += word in _TURKISH_HINTS
    return hints >= 2
