"""What of a text is not understood: only what is understood whole hides what an older one says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from typing import Final

from spector.clock import from_ms
from spector.language.dates import DateExpression, Period, dates_in
from spector.language.frames.statement import AGENT, Statement
from spector.language.statements import Statement as Words
from spector.language.statements import own_words
from spector.language.words import analyse

#: words beside a statement that leave it its speaker's, and so: of change, of talking on
_LEADS: Final = frozenset(
    term
    for words in (
        "actually anyway anymore correction fact finally fyi guess hey hi instead know last listen"
        " longer look news note now nowadays ok okay please ps really reminder right since so sorry"
        " turn turns update wait way well yes",
        "aslında artık düzeltme haber güncelleme pardon tamam",
    )
    for term in analyse(words).content()
)
#: where a clause of a sentence begins
CLAUSE: Final = re.compile(r"[,;:()]\s|\s(?:and|but|ve|ama)\s|\s[-–—]\s", re.IGNORECASE)


def unread_clauses(
    text: str, statements: Sequence[Statement], now_ms: int
) -> tuple[frozenset[str], ...]:
    """Content of each clause of a text that none of its statements has, beside leads and days.

    What stands behind a label, in a play, a song or a joke has words that no frame knows. A clause
    that denies or supposes the rest ("NOT!"), and a sentence that gives its reader a part ("You are
    the captain.") or is not so from some day until now ("from June on", "this week"), is a word of
    its own beside them, which no other text has.
    """
    own, unread = own_words(text), list[frozenset[str]]()
    today = from_ms(now_ms).date()
    for start, end in sentence_spans(own):
        stated = [each for each in statements if meets((start, end), each.span)]
        words = " ".join(
            f"{each.subject} {each.predicate} {each.replaced or ''}" for each in stated
        )
        known = _LEADS.union(analyse(words.replace("_", " ")).content())
        spans = [each.span for each in stated]
        days = [
            each
            for each in dates_in(own[start:end], today)
            if not any(_is_in(each, start, one.object_span) for one in stated)
        ]
        spans += [(start + each.start, start + each.end) for each in days]
        rest = CLAUSE.split(_outside(own, (start, end), spans))
        clauses = [(frozenset(analyse(each).content()) - known) | _doubt(each) for each in rest]
        passed = any(each.changed or each.tense == "past" for each in stated)
        lasts = all(_lasts(each.period, today, passed=passed) for each in days)
        if not lasts or any(each.subject == AGENT for each in stated):
            clauses.append(frozenset({own[start:end]}))
        unread += filter(None, clauses)
    return tuple(unread)


def _doubt(clause: str) -> frozenset[str]:
    """A clause that denies or supposes, or is of another time, as a word of its own."""
    said = Words.of(clause)
    return frozenset({clause} if said.is_negated or not said.is_of_now else ())


def is_read(unread: Sequence[AbstractSet[str]], old_text: str, values: Sequence[str]) -> bool:
    """Whether clauses that state nothing are about an old text: it has their words, or they its
    value ("I left Initrode")."""
    known, over = {*analyse(old_text).content()}, {*analyse(" ".join(values)).content()}
    return all(each <= known or each & over for each in unread)


def _is_in(day: DateExpression, start: int, value: tuple[int, int]) -> bool:
    """Whether a day of a sentence is a value, or a number within one ("2000 a month")."""
    first, last = start + day.start, start + day.end
    is_whole = first <= value[0] and value[1] <= last
    return meets((first, last), value) and (is_whole or not day.relative)


def _lasts(period: Period, today: date, *, passed: bool) -> bool:
    """Whether what is said with a time is so now: since then, or for a change that is past."""
    if period.end is None:
        return period.first is not None and period.first <= today
    return passed and period.end <= today


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
