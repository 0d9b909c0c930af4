"""Which language a text is in, by its letters, its commonest words and its endings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import Final, TypeVar

from spector.language.tables.files import languages, table_of
from spector.language.words import plain
from spector.process import keeps

T = TypeVar("T")
#: a longer text is judged by its beginning
_MOST_CHARS: Final = 2_000
_WORD: Final = re.compile(r"[^\W\d_]+")
#: a letter that only this language has counts as much as so many of its common words
_LETTER: Final = 2
#: languages whose rules are applied; none named: all
_applied: ContextVar[tuple[str, ...]] = ContextVar("spector_languages", default=())
_Rules = tuple[frozenset[str], tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]


@lru_cache(maxsize=64)
def _rules(language: str) -> _Rules:
    table = table_of(language, "language")
    others = {
        word
        for code in languages()
        if code != language
        for word in table_of(code, "language").words["common"]
    }
    common = frozenset(
        plain(each)
        for each in table.words["common"]
        if plain(each) == each or plain(each) not in others  # "iş" is not "is"
    )
    return common, table.patterns["letters"], table.patterns["endings"]


def language_of(text: str) -> str:
    """The code of the language that most of a text's words speak for; English if none does."""
    codes = languages_applied()
    return codes[0] if len(codes) == 1 else _language_of(text[:_MOST_CHARS], codes)


@keeps(512)
def _language_of(text: str, codes: tuple[str, ...]) -> str:
    words = [each.group() for each in _WORD.finditer(text)]
    folded = [plain(each) for each in words]
    written = (
        []
        if text.isascii()
        else [
            word
            for at, word in enumerate(words)
            if not word.isascii() and not (at and word.istitle())  # "Gökçe" in a text is a name
        ]
    )
    best, most = codes[0], 0
    for language in codes:
        common, letters, endings = _rules(language)
        score = sum(word in common for word in folded)
        score += _LETTER * sum(any(each.search(word) for each in letters) for word in written)
        if endings:
            score += sum(_has_ending(word, language) for word in folded)
        if score > most:
            best, most = language, score
    return best


def common_share(text: str, language: str) -> float:
    """Share of a text's words that are common ones of a language, 0..1."""
    words = [plain(each.group()) for each in _WORD.finditer(text[:_MOST_CHARS])]
    common = _rules(language)[0]
    return sum(word in common for word in words) / max(1, len(words))


@keeps(8192)
def _has_ending(word: str, language: str) -> bool:
    return any(each.search(word) for each in _rules(language)[2])


def languages_applied() -> tuple[str, ...]:
    """The languages whose rules are applied now; answers that are kept belong to them."""
    return _applied.get() or languages()


def only_language() -> str | None:
    """The language whose rules alone are applied; None where several are."""
    codes = _applied.get()
    return codes[0] if len(codes) == 1 else None


def in_languages(codes: Collection[str], call: Callable[[], T]) -> T:
    """What a function returns that takes every text for one of these languages."""
    chosen = tuple(each for each in languages() if each in codes)
    if len(chosen) == len(languages()):
        return call()

    def limited() -> T:
        _applied.set(chosen)
        return call()

    return copy_context().run(limited)
