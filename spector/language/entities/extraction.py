"""Entities of a text: rules in English and Turkish, and a trained head for English."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.head import EntityHead
from spector.language.entities.rules import Mention, merged, rule_mentions
from spector.language.entities.words import Word, split_words
from spector.language.words import is_turkish, plain

__all__ = ["WordVectors", "entities_in"]

#: the head is trained on English of this certainty; below it says nothing
_LEAST: Final = 0.6
#: words that the model sees at once
_AT_ONCE: Final = 120


@runtime_checkable
class WordVectors(Protocol):
    """An embedder that gives the vectors of words in their context."""

    @property
    def fingerprint(self) -> str: ...

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) f32, a vector a word."""
        ...


def entities_in(
    text: str,
    *,
    speakers: Collection[str] = (),
    head: EntityHead | None = None,
    vectors: WordVectors | None = None,
    least: float = _LEAST,
) -> list[Mention]:
    """Persons, organisations, places, products and technologies that a text names.

    Args:
        speakers: Names known to speak.
        head: A trained head; it is asked about English only.
        vectors: The embedder that the head was trained on; with another one rules decide alone.
        least: Probability from which the head is believed.
    """
    found = rule_mentions(text, speakers=speakers)
    usable = head is not None and vectors is not None and vectors.fingerprint == head.fingerprint
    if usable and not is_turkish(text, plain(text)):
        assert head is not None
        assert vectors is not None
        words = split_words(text)
        for start in range(0, len(words), _AT_ONCE):
            found += _named(text, words[start : start + _AT_ONCE], head, vectors, least)
    return merged(found)


def _named(
    text: str, words: Sequence[Word], head: EntityHead, vectors: WordVectors, least: float
) -> list[Mention]:
    spelt = [each.text for each in words]
    out = []
    for span in head.spans(spelt, vectors.word_vectors(spelt), least=least):
        start, end = words[span.start].start, words[span.end - 1].end
        kind = "org" if span.type == "group" else span.type
        out.append(Mention(text[start:end], kind, start, end, "head", span.probability))
    return out
