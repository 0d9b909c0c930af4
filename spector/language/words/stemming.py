"""The stem of a word form, remembered form by form.

English or Turkish in Latin letters; Greek, Cyrillic, Armenian, Arabic, Devanagari and Tamil letters
are taken for Greek, Russian, Armenian, Arabic, Hindi and Tamil.

The stemmers are PyStemmer's, or snowballstemmer's where that is missing: the same algorithms, the
second 60 times as slow. Either is called once a word form.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from spector.language.words.stopwords import ENGLISH_STOP, TURKISH_STOP
from spector.process import said_as_memory_error

__all__ = ["ENGLISH", "STOP", "TURKISH", "TURKISH_LETTER", "Forms", "stem_of", "terms_of"]

#: before a stop word
STOP: Final = "\x1d"
#: letters that only Turkish has
TURKISH_LETTER: Final = re.compile("[ğĞşŞıİ]")
#: word forms whose stems are remembered, each language apart; some 30 MB at the most
_FORMS: Final = 200_000
#: a longer "word" is no word: it is cut, so that no text makes a dictionary grow beyond reason
_LONGEST: Final = 64
#: scripts that are taken for one language; others with stemmers share Latin letters
_SCRIPT: Final = re.compile(
    "(?P<greek>[\u0370-\u03ff\u1f00-\u1fff])|(?P<russian>[\u0400-\u052f])"
    "|(?P<armenian>[\u0530-\u058f])|(?P<arabic>[\u0620-\u06ff\u0750-\u077f])"
    "|(?P<hindi>[\u0900-\u097f])|(?P<tamil>[\u0b80-\u0bff])"
)
#: letters that have no decomposition, but that people leave the stroke off
_STROKES: Final = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t"})

class Forms(dict[str, str]):
    """Word in lower case -> its term in one language, worked out when it is first asked for."""

    def __init__(self, *, turkish: bool) -> None:
        super().__init__()
        self._turkish = turkish

    def __missing__(self, form: str) -> str:
        term = _new_term(form, self._turkish)
        if len(self) >= _FORMS:
            self.clear()
        self[form] = term
        return term


ENGLISH: Final = Forms(turkish=False)
TURKISH: Final = Forms(turkish=True)

#: further passes over a Turkish word at most, and what they leave at least
_PASSES: Final = 4
_SHORTEST: Final = 3

_stemming = threading.Lock()
_stemmers: dict[str, Any] = {}


def terms_of(forms: Iterable[str], turkish: bool) -> list[str]:
    """The terms of words in lower case."""
    return list(map((TURKISH if turkish else ENGLISH).__getitem__, forms))


def _new_term(form: str, turkish: bool) -> str:
    form = form[:_LONGEST]
    if form in (TURKISH_STOP if turkish else ENGLISH_STOP):
        return STOP + _folded(form)
    script = None if form.isascii() else _SCRIPT.match(form)
    if script is not None:
        return _folded(stem_of(form, str(script.lastgroup))) or form
    if turkish or TURKISH_LETTER.search(form):
        return _folded(stem_of(form, "turkish"))
    return stem_of(_folded(form), "english")


def stem_of(form: str, language: str) -> str:
    """The stem of a word.

    Turkish is stemmed until nothing more comes off: one pass leaves the forms of a word apart
    (toplantı: topla, toplantılar: toplan). Of 100 forms of 18 words, 74 % of the pairs of one word
    meet after one pass and 84 % in the end, and no two words do.
    """
    with _stemming:  # a stemmer must not be entered twice
        stemmer = _stemmers.get(language)
        if stemmer is None:
            stemmer = _stemmers[language] = _make_stemmer(language)
        stem: str = stemmer.stemWord(form) or form
        for _ in range(_PASSES if language == "turkish" else 0):
            shorter = stemmer.stemWord(stem)
            if shorter == stem or len(shorter) < _SHORTEST:
                break
            stem = shorter
    return stem


def _make_stemmer(language: str) -> Any:
    try:
        with said_as_memory_error():
            from Stemmer import Stemmer
        return Stemmer(language, 0)
    except ImportError:
        import snowballstemmer

        return snowballstemmer.stemmer(language)


def _folded(form: str) -> str:
    """Without the accents of Latin, Greek and Cyrillic letters; other scripts keep their marks."""
    if form.isascii():
        return form
    out: list[str] = []
    plain = False
    for character in unicodedata.normalize("NFD", form):
        if unicodedata.category(character) == "Mn":
            if plain:
                continue
        else:
            plain = character < "\u0530"
        out.append(character)
    return unicodedata.normalize("NFC", "".join(out)).translate(_STROKES)
