"""What of a text is not understood: only what is understood whole hides what an older one says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from typing import Final

from spector.language.dates import dates_in
from spector.language.frames.statement import AGENT, Statement
from spector.language.statements import Statement as Words
from spector.language.statements import own_words
from spector.language.words import analyse

__all__ = ["CLAUSE", "is_read", "meets", "sentence_spans", "unread_clauses"]

#: words before a statement that leave it its speaker's, and so: of time, of change, of talking on
_LEADS: Final = frozenset(
    term
    for words in (
        "actually anyway anymore correction fact finally fyi guess hey hi instead know last listen"
        " longer look month news note now nowadays"
        " ok okay please ps really reminder right since so sorry today tomorrow turn turns"
        " update wait way week well year yes yesterday",
        "aslında artık bugün dün düzeltme haber ay hafta güncelleme pardon tamam yıl sene",
    )
    for term in analyse(words).content()
)

#: where a clause of a sentence begins
CLAUSE: Final = re.compile(r"[,;:()]\s|\s(?:and|but|ve|ama)\s|\s[-–—]\s", re.IGNORECASE)
#: days are looked for, not counted
_DAY: Final = date(2000, 1, 1)


def unread_clauses(text: str, statements: Sequence[Statement]) -> tuple[frozenset[str], ...]:
    """Content of each clause of a text that none of its statements has, beside leads and days.

    What stands behind a label, in a play, a song or a joke has words that no frame knows. A
    sentence that denies or supposes the rest ("NOT!"), or gives its reader a part ("You are the
    captain."), is a word of its own beside them, which no other text has.
    """
    own, unread = own_words(text), list[frozenset[str]]()
    for start, end in sentence_spans(own):
        stated = [each for each in statements if meets((start, end), each.span)]
        words = " ".join(
            f"{each.subject} {each.predicate} {each.replaced or ''} {each.window or ''}"
            for each in stated
        ).replace("_", " ")
        known = _LEADS.union(analyse(words).content())
        spans = [each.span for each in stated]
        spans += [(start + each.start, start + each.end) for each in dates_in(own[start:end], _DAY)]
        rest = CLAUSE.split(_outside(own, (start, end), spans))
        clauses = [frozenset(analyse(each).content()) - known for each in rest]
        said = None if stated else Words.of(own[start:end])
        if said is not None and (said.is_negated or not said.is_of_now):
            clauses = [frozenset({own[start:end]}.union(*clauses))]
        if any(each.subject == AGENT for each in stated):
            clauses.append(frozenset({own[start:end]}))
        unread += filter(None, clauses)
    return tuple(unread)


def is_read(unread: Sequence[AbstractSet[str]], old_text: str, values: Sequence[str]) -> bool:
    """Whether clauses that state nothing are about an old text: it has their words, or they its
    value ("I left Initrode")."""
    known, over = {*analyse(old_text).content()}, {*analyse(" ".join(values)).content()}
    return all(each <= known or each & over for each in unread)


def _outside(text: str, part: tuple[int, int], spans: Sequence[tuple[int, int]]) -> str:
    """A part of a text without what lies in spans."""
    start, end = part
    kept = []
    for first, last in sorted(spans):
        kept.append(text[start:first])
        start = max(start, last)
    return " ".join((*kept, text[start:end]))


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
