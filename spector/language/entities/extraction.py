"""Entities of a text: rules in English and Turkish, and a trained head for English."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.head import EntityHead, Span
from spector.language.entities.rules import Mention, merged, rule_mentions
from spector.language.entities.words import Word, split_words
from spector.language.words import is_turkish, plain

__all__ = ["WordVectors", "entities_in", "entities_of"]

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
    return entities_of([(text, speakers)], head=head, vectors=vectors, least=least)[0]


def entities_of(
    texts: Sequence[tuple[str, Collection[str]]],
    *,
    head: EntityHead | None = None,
    vectors: WordVectors | None = None,
    least: float = _LEAST,
) -> list[list[Mention]]:
    """The same for several texts with their speakers; the model sees them in batches."""
    found = [rule_mentions(text, speakers=speakers) for text, speakers in texts]
    if head is not None and vectors is not None and vectors.fingerprint == head.fingerprint:
        parts = [
            (n, part) for n, (text, _) in enumerate(texts) if not is_turkish(text, plain(text))
            for part in _parts(split_words(text))
        ]
        spelt = [[each.text for each in part] for _, part in parts]
        rows = _vectors_of(vectors, spelt)
        for (n, part), words, own in zip(parts, spelt, rows, strict=True):
            found[n] += _named(texts[n][0], part, head.spans(words, own, least=least))
    return [merged(each) for each in found]


def _parts(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Words that the model sees at once."""
    for start in range(0, len(words), _AT_ONCE):
        yield words[start : start + _AT_ONCE]


def _vectors_of(
    vectors: WordVectors, texts: Sequence[Sequence[str]]
) -> Sequence[NDArray[np.float32]]:
    """The vectors of the words of each text, in one call where the embedder takes several."""
    many = getattr(vectors, "word_vectors_of", None)
    if many is None:
        return [vectors.word_vectors(words) for words in texts]
    found: Sequence[NDArray[np.float32]] = many(texts)
    return found


def _named(text: str, words: Sequence[Word], spans: Iterable[Span]) -> Iterator[Mention]:
    for span in spans:
        start, end = words[span.start].start, words[span.end - 1].end
        kind = "org" if span.type == "group" else span.type
        yield Mention(text[start:end], kind, start, end, "head", span.probability)
