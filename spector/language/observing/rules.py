"""The rules of one language for observing, made ready once from its table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from spector.language.tables import Lexicon, languages, table_of
from spector.language.words import plain


@dataclass(frozen=True, slots=True)
class Rules:
    """Word lists and patterns of a language.

    Attributes:
        words: list -> its entries, folded.
        lexicon: finds the entries of all lists in the words of a text.
        patterns: list -> patterns for folded text.
    """

    words: Mapping[str, frozenset[str]]
    lexicon: Lexicon
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]


@lru_cache(maxsize=16)
def rules_of(language: str) -> Rules:
    table = table_of(language, "observing")
    words = {
        name: frozenset(plain(each) for each in entries) for name, entries in table.words.items()
    }
    return Rules(words, Lexicon(table.words), table.patterns)


@lru_cache(maxsize=16)
def patterns_of_all(name: str) -> tuple[re.Pattern[str], ...]:
    """A list of patterns of every language: an attack need not be in the language of its text."""
    return tuple(
        each for language in languages() for each in table_of(language, "observing").patterns[name]
    )
