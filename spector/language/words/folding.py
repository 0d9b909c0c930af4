"""A cue without case, marks and typographic quotes: what every rule about cues is written for.

Every rule of `gate`, `route`, `signs`, `parts` and `when` reads this form, so each is written once,
in ASCII, and holds for "Geçen HAFTA", "gecen hafta" and "geçen hafta" alike. Time and memory grow
with the length of the text only.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spector.language.words.unicode import is_no_mark, normalize_unicode, plain

__all__ = ["Token", "compose", "is_turkish", "plain", "tokens", "wording_of"]

#: a run of digits, a run of other letters, or one sign
_TOKEN: Final = re.compile(r"(?P<digits>[0-9]+)|(?P<word>[^\W0-9_]+)|(?P<sign>[^\w\s]|_)")
#: letters that only Turkish and its relatives have, after lower case and before folding
_TURKISH_LETTERS: Final = re.compile("[ğĞşŞıİ]")
#: words that are frequent in Turkish and are no English ones (folded)
_TURKISH_WORDS: Final = frozenset(
    """acaba bana beni benim bize bizim boyle cok daha degil evet gecen gibi hafta hangi hayir
    hangisi icin istiyorum kac musun misin nasil nasilsin neden nerede nereye neydi nicin niye oner
    onerir ondan onun bugun yarin senin simdi sonra soyle tamam tavsiye veya yok zaman merhaba selam
    tesekkurler lutfen""".split()
)
#: Turkish, but words of other languages or names as well: two of them are needed
_TURKISH_HINTS: Final = frozenset(
    "bir mi mu ne kim dun var ama ve sen ile sana o bu su ben".split()
)


class Token(NamedTuple):
    """One word, number or sign of a text, where it stands in it."""

    text: str  # folded
    raw: str
    start: int
    end: int
    sign: bool = False


def compose(text: str) -> str:
    """NFC without the marks that no letter took up, such as the dot of a small "İ".

    A mark is no letter to a regular expression and would cut the word it stands in.
    """
    if text.isascii():
        return text
    return "".join(filter(is_no_mark, normalize_unicode("NFC", text)))


def wording_of(text: str) -> str:
    """The words of a text, whatever their case and the space between them, without a full stop."""
    return " ".join(text.casefold().split()).rstrip(".! ")


def tokens(text: str) -> list[Token]:
    """Words, numbers and signs of a `composed` text, each folded like `plain`."""
    found = []
    for match in _TOKEN.finditer(text):
        piece = match.group()
        folded = piece.lower() if piece.isascii() else plain(piece)
        found.append(Token(folded, piece, match.start(), match.end(), match.lastgroup == "sign"))
    return found


def is_turkish(text: str, folded: str) -> bool:
    """Whether the Turkish rules are worth asking: by its letters, else by its commonest words."""
    if not text.isascii() and _TURKISH_LETTERS.search(text):
        return True
    hints = 0
    for match in re.finditer(r"[a-z]+", folded):
        word = match.group()
        if word in _TURKISH_WORDS:
            return True
        hints += word in _TURKISH_HINTS
    return hints >= 2
