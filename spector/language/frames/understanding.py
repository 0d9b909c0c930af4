"""Whether a text is understood whole: only such a text hides what an older one says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.statement import AGENT, Statement
from spector.language.statements import grammar, own_words
from spector.language.words import analyse

__all__ = ["is_understood", "meets", "sentence_spans"]

#: words before a statement that leave it its speaker's, and so: of time, of change, of talking on
_LEADS: Final = frozenset(
    term
    for words in (
        "actually anyway correction fact finally fyi guess hey hi know last listen look month news"
        " note ok okay please ps really reminder right since so sorry today tomorrow turn turns"
        " update wait way week well year yes yesterday",
        "aslında artık bugün dün düzeltme haber ay hafta güncelleme pardon tamam yıl sene",
    )
    for term in analyse(words).content()
)


def is_understood(text: str, statements: Sequence[Statement]) -> bool:
    """Whether each sentence with content states something, with nothing before that but leads.

    What stands behind a label, in a play, a song or a joke has words that no frame knows, denies or
    supposes the rest ("NOT!"), or gives its reader a part ("You are the captain.").
    """
    own = own_words(text)
    for start, end in sentence_spans(own):
        stated = [each for each in statements if meets((start, end), each.span)]
        known = " ".join(f"{each.subject} {each.predicate}" for each in stated).replace("_", " ")
        begins = min((each.span[0] for each in stated), default=end)
        before = set(analyse(own[start:begins]).content())
        if not before <= {*_LEADS, *analyse(known).content()}:
            return False
        if any(each.subject == AGENT for each in stated):
            return False
        rest = None if stated else grammar.Statement.of(own[start:end])
        if rest and (rest.is_negated or not rest.is_of_now):
            return False
    return True


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at, char in enumerate(text):
        if char in ".!?\n;" and (at + 1 == len(text) or text[at + 1].isspace()):
            yield start, at + 1
            start = at + 1
    if text[start:].strip():
        yield start, len(text)


def meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
