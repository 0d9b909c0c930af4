"""Entities of a text: a trained head for English, and rules where it does not speak."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.language.entities.head import EntityHead, Span
from spector.language.entities.rules import (
    Mention,
    is_technology,
    merged,
    rule_mentions,
    speaker_mentions,
)
from spector.language.entities.words import Word, split_words
from spector.language.words import is_turkish, plain

#: probability from which the head is believed: .88 of what it finds in messages of others is right
LEAST: Final = 0.6
#: words of a text that heads see, and at once
MOST_WORDS: Final = 512
_AT_ONCE: Final = 120


class Whole(NamedTuple):
    """A longer text in which a text stands, which an embedder has to read anyway.

    Attributes:
        text: the longer one. added: places in it that the text does not have, in their order.
    """

    text: str
    added: tuple[tuple[int, int], ...] = ()


@runtime_checkable
class WordVectors(Protocol):
    """An embedder that gives the vectors of words in their context."""

    @property
    def fingerprint(self) -> str: ...

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) f32, a vector a word; zeros for words that it does not read."""
        ...


class Seen(NamedTuple):
    """The words of a text and the (n, d) vectors that an embedder gave them."""

    words: tuple[Word, ...]
    vectors: NDArray[np.float32]


def seen_in(
    texts: Sequence[str],
    vectors: object,
    fingerprint: str,
    wholes: Sequence[Whole | None] | None = None,
) -> list[Seen | None]:
    """The words of each English text with their vectors, in one call of the model; None for others.

    Of a long text only the beginning is seen, at most `MOST_WORDS` words.

    Args:
        fingerprint: of the embedder that heads were trained on; another one is not asked.
        wholes: what the embedder reads in place of each text, where all words of it are there.
    """
    out: list[Seen | None] = [None] * len(texts)
    if not isinstance(vectors, WordVectors) or vectors.fingerprint != fingerprint:
        return out
    asked = [
        (n, split_words(text)[:MOST_WORDS])
        for n, text in enumerate(texts)
        if not is_turkish(text, plain(text))
    ]
    rows = _vectors_of(
        vectors, [(words, None if wholes is None else wholes[n]) for n, words in asked]
    )
    for (n, words), own in zip(asked, rows, strict=True):
        read = int(np.flatnonzero(own.any(axis=1))[-1]) + 1 if own.any() else 0
        out[n] = Seen(words[:read], own[:read])
    return out


def entities_of(
    texts: Sequence[tuple[str, Collection[str]]],
    *,
    head: EntityHead | None = None,
    seen: Sequence[Seen | None] | None = None,
    least: float = LEAST,
) -> list[list[Mention]]:
    """Persons, organisations, places, products and what else each text names.

    Args:
        texts: each with the names known to speak.
        head: a trained head, which takes the place of the rules where words were seen.
        seen: the words of each text, by the embedder that the head was trained on.
        least: probability from which the head is believed.
    """
    out = []
    for (text, speakers), own in zip(texts, seen or [None] * len(texts), strict=True):
        if head is None or own is None:
            out.append(merged(rule_mentions(text, speakers=speakers)))
            continue
        named = list(speaker_mentions(text, speakers))
        for words, rows in parts_of(own):
            spans = head.spans([each.text for each in words], rows, least=least)
            named += _named(text, words, spans)
        out.append(merged(named))
    return out


def parts_of(seen: Seen) -> Iterator[Seen]:
    """The words of a text as heads see them, so many at once."""
    for start in range(0, len(seen.words), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        yield Seen(seen.words[part], seen.vectors[part])


def _vectors_of(
    vectors: WordVectors, texts: Sequence[tuple[Sequence[Word], Whole | None]]
) -> list[NDArray[np.float32]]:
    """The vectors of the words of each text, in one call where the embedder takes several."""
    spelt: list[list[str]] = []
    chosen: list[list[int] | None] = []
    for words, whole in texts:
        others = () if whole is None else split_words(whole.text)[:MOST_WORDS]
        places = None if whole is None else _places_in(whole, words, others)
        spelt.append([each.text for each in (words if places is None else others)])
        chosen.append(places)
    many = getattr(vectors, "word_vectors_of", None)
    found = many(spelt) if many is not None else [vectors.word_vectors(each) for each in spelt]
    return [
        rows if places is None else rows[places] for rows, places in zip(found, chosen, strict=True)
    ]


def _places_in(whole: Whole, words: Sequence[Word], others: Sequence[Word]) -> list[int] | None:
    """Which words of a whole the words of a text are, up to the first one behind its end; None where
    one of them is not there."""
    behind = others[-1].end if others else 0
    at = {each.start: n for n, each in enumerate(others)}
    moved, added = 0, list(whole.added)
    out = []
    for each in words:
        while added and added[0][0] <= each.start + moved:
            start, end = added.pop(0)
            moved += end - start
        if each.start + moved >= behind:
            break
        n = at.get(each.start + moved)
        if n is None or others[n].text != each.text:
            return None
        out.append(n)
    return out


def _named(text: str, words: Sequence[Word], spans: Iterable[Span]) -> Iterator[Mention]:
    for span in spans:
        start, end = words[span.start].start, words[span.end - 1].end
        kind = "tech" if is_technology(plain(text[start:end])) else span.type
        yield Mention(text[start:end], kind, start, end, "head", span.probability)
