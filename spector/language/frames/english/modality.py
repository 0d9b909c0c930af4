"""How an English sentence is meant: asserted, hedged, planned, reported, conditional, asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.sentences import Sentence, Word
from spector.language.frames.statement import Modality

#: what is played, supposed, dreamt of or made up, however it goes on
_UNREAL: Final = re.compile(
    r"\b(?:in (?:the|this|our|my|a) (?:\w+ )?(?:play|game|story|novel|movie|film|dream|scenario"
    r"|sketch|role ?-?play)\b(?! (?:on|at|last|against)\b)|role ?-?play\w*"
    r"|let ?'?s (?:say|assume|imagine|pretend)|let us (?:say|assume)|say (?:i|we) "
    r"|for (?:this|the) (?:exercise|example|test)|for (?:example|instance) ?[:,]"
    r"|my (?:character|line|lines) (?:is|are)|(?:dream|fantasi[sz]e)\w* (?:of|about)|as if"
    r"|just kidding|only joking|as a joke|jk)\b"
)


_ORDER: Final[tuple[Modality, ...]] = (
    "asserted",
    "hedged",
    "planned",
    "conditional",
    "reported",
    "asked",
)


def stricter(one: Modality, other: Modality) -> Modality:
    return max(one, other, key=_ORDER.index)


def sentence_modality(sentence: Sentence) -> Modality:
    words = [word.text for word in sentence.words]
    if sentence.asks or _is_inverted(words):
        return "asked"
    if any(word in words_of.CONDITIONS for word in words) or ("every", "time") in pairwise(words):
        return "conditional"
    if _UNREAL.search(" ".join(words)):
        return "conditional"
    for at, word in enumerate(words):
        if word in words_of.REPORTS and not (at and words[at - 1] in ("i", "we", "'ve", "you")):
            return "reported"
    return "asserted"


def doubts(words: Sequence[Word]) -> list[int]:
    """Where a sentence says that it is not sure: "maybe", "not sure"."""
    return [
        at
        for at, word in enumerate(words)
        if word.text in words_of.HEDGES
        or (word.text == "sure" and at and words[at - 1].text in ("not", "n't"))
    ]


def is_doubted(words: Sequence[Word], found: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the places of `doubts` is of the clause from ``start`` to ``end``."""
    return any(
        not any(_parts(word, of_front=True) for word in words[at:start])
        if at < start
        else not any(_parts(word) for word in words[min(end, at) : at])
        for at in found
    )


def _parts(word: Word, *, of_front: bool = False) -> bool:
    """Whether a word parts two clauses; behind a word in front a comma does not."""
    if word.kind == "sign":
        return not (of_front and word.text == ",")
    return word.text in ("and", "but", "so")


def _is_inverted(words: list[str]) -> bool:
    """Whether the words have the order of a question, whatever sign ends them."""
    at = 0
    while at < len(words) - 1 and (words[at] in words_of.INTRODUCTIONS or words[at] == ","):
        at += 1
    first, second = words[at], words[at + 1] if at + 1 < len(words) else ""
    if first in words_of.QUESTIONS:
        return first not in ("when", "while")
    asks = (
        first in words_of.BE
        or first in words_of.DO
        or first in words_of.MODALS
        or (first in ("have", "has"))
    )
    if second == "n't" and at + 2 < len(words):
        second = words[at + 2]  # "Haven't you" asks, "Haven't talked" tells
    return asks and (
        second in words_of.PRONOUNS or second in words_of.POSSESSIVES or second in words_of.ARTICLES
    )


def clause_modality(words: Sequence[Word], at: int) -> Modality:
    """What the words before a clause make of it: "I think", "Tom says"."""
    before = [word.text for word in words[max(0, at - 4) : at]]
    for at, word in enumerate(before):
        if word in words_of.OPINIONS and before[at + 1 : at + 2] != ["what"]:
            # "I don't think so" says rather the contrary
            return "conditional" if set(before[max(0, at - 2) : at]) & {"n't", "not"} else "hedged"
    return "asserted"
