"""Stems of word forms, cached by form.

Words in Latin letters are English or Turkish. Words in Greek, Cyrillic, Armenian, Arabic,
Devanagari and Tamil letters are taken for Greek, Russian, Armenian, Arabic, Hindi and Tamil.

The stemmers come from PyStemmer, or from snowballstemmer if that is missing: the same algorithms,
but 60 times slower. Either is called once per word form.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from spector.language.words.stopwords import ENGLISH_STOP, TURKISH_STOP
from spector.process import said_as_memory_error

#: prefix of a stop word
STOP: Final = "\x1d"
#: letters that only Turkish has
TURKISH_LETTER: Final = re.compile("[ğĞşŞıİ]")
#: most cached word forms per language; at most some 30 MB
_FORMS: Final = 200_000
#: longer "words" are cut, which bounds the cache
_LONGEST: Final = 64
#: scripts that stand for one language
_SCRIPT: Final = re.compile(
    "(?P<greek>[\u0370-\u03ff\u1f00-\u1fff])|(?P<russian>[\u0400-\u052f])"
    "|(?P<armenian>[\u0530-\u058f])|(?P<arabic>[\u0620-\u06ff\u0750-\u077f])"
    "|(?P<hindi>[\u0900-\u097f])|(?P<tamil>[\u0b80-\u0bff])"
)
#: letters without a decomposition, which people also write without the stroke
_STROKES: Final = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t"})


class StemCache(dict[str, str]):
    """Word in lower case -> its term in one language, computed on first use."""

    def __init__(self, *, turkish: bool) -> None:
        super().__init__()
        self._turkish = turkish

    def __missing__(self, form: str) -> str:
        term = _new_term(form, self._turkish)
        if len(self) >= _FORMS:
            self.clear()
        self[form] = term
        return term


ENGLISH: Final = StemCache(turkish=False)
TURKISH: Final = StemCache(turkish=True)

#: most further passes over a Turkish word, and the shortest stem that they leave
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

    Turkish words are stemmed repeatedly, because one pass gives forms of a word different stems
    (toplantı: topla, toplantılar: toplan). Of 100 forms of 18 words, 74 % of the pairs of one word
    have the same stem after one pass and 84 % after all, and no two words share a stem.
    """
    with _stemming:  # stemmers are not reentrant
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
    """Strip accents of Latin, Greek and Cyrillic letters; other scripts keep their marks."""
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
