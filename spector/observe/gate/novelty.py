"""Whether a new text repeats an old one or says more of the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from spector.language.frames import Statement, names_of_predicate
from spector.language.words import plain
from spector.language.worth import Wording
from spector.observe.gate.candidates import Candidate, Incoming

__all__ = ["is_detail", "says_nothing_new"]

#: tenses of a statement that tell the same of a state
_NOW: Final = "present"


def says_nothing_new(new: Incoming, old: Candidate) -> bool:
    """Whether a text adds neither a content word, a number nor a statement to an old one.

    Other words are allowed where they only say otherwise what both state ("My home is in Kars").
    """
    words, known = new.words, old.words
    if words.asks or (words.denials > 0) != (known.denials > 0):
        return False
    if not words.numbers <= known.numbers or not words.content:
        return False
    if any(each.replaced for each in new.statements) and not _is_within(
        words.content, known.content
    ):
        return False
    if new.statements:
        if not all(_has(old.statements, each) for each in new.statements):
            return False
    elif not (
        _is_within(words.turns, known.turns)
        and words.modals == known.modals
        and words.forms.keys() <= known.forms.keys()
        and _is_within(words.content, known.content)
    ):
        return False
    rest = set(words.content) - set(known.content)
    return not rest or not rest - _wordings(new, words)


def is_detail(new: Incoming, old: Candidate) -> bool:
    """Whether a new text holds all that an old one says, or states one thing of it and adds to it."""
    words, known = new.words, old.words
    if words.asks or (words.denials > 0) != (known.denials > 0) or not known.content:
        return False
    if new.statements and old.statements:
        shared = [each for each in old.statements if _has(new.statements, each, extended=True)]
        return bool(shared) and (
            len(shared) == len(old.statements) or set(known.content) <= set(words.content)
        )
    return (
        known.numbers <= words.numbers
        and known.modals == words.modals
        and known.forms.keys() <= words.forms.keys()
    )


def _has(statements: Iterable[Statement], one: Statement, *, extended: bool = False) -> bool:
    """Whether statements have one: the same subject, predicate, value, polarity, and meant so.

    Args:
        extended: a value that only adds words is the same.
    """
    return any(
        plain(each.subject) == plain(one.subject)
        and each.predicate == one.predicate
        and _is_value(each, one, extended)
        and each.polarity == one.polarity
        and each.modality == one.modality
        and (each.tense == _NOW) == (one.tense == _NOW)
        for each in statements
    )


def _is_value(one: Statement, other: Statement, extended: bool) -> bool:
    first, second = _value(one), _value(other)
    return first == second or (extended and set(second.split()) < set(first.split()))


def _value(one: Statement) -> str:
    return one.value or plain(one.object)


def _wordings(new: Incoming, words: Wording) -> set[str]:
    """Content words that only say how a text states something: those between subject and value,
    and the names of the predicate."""
    found: set[str] = set()
    for each in new.statements:
        names = set(names_of_predicate(each.predicate))
        found |= {term for form, term in words.forms.items() if plain(form) in names}
        places = (each.subject_span, each.object_span)
        spans = [place for place in places if place[1] > place[0]]
        if spans:
            found |= words.between(min(a for a, _ in spans), max(b for _, b in spans))
    return found


def _is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether words stand in a text in the same order."""
    ahead = iter(whole)
    return all(each in ahead for each in part)
