"""The tense of the sentence around a date, which decides between last Friday and next Friday."""

from __future__ import annotations

import enum
import itertools
import re
from typing import Final

from spector.language.dates.grammar import Grammar, grammar_of
from spector.language.words import plain

_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
#: a preposition that belongs to the date
_LEADING: Final = re.compile(r"(?:until|till) ")
#: characters of a date that tell its case, and of a sentence that tell what it is for
_NEAR: Final = 16
#: words at the end of a Turkish sentence of which one tells its tense
_LAST_WORDS: Final = 3


class Tense(enum.Enum):
    PAST = "past"
    FUTURE = "future"
    NONE = "none"
    #: no clause is there that could tell
    UNKNOWN = "unknown"


def tense_of(text: str, at: int, *, turkish: bool) -> Tense:
    """The tense of the sentence in which a place stands."""
    start = 0
    for found in _ENDS.finditer(text, 0, at):
        start = found.end()
    after = _ENDS.search(text, at)
    sentence = plain(text[start : after.start() if after else len(text)])
    before, since = plain(text[start:at]), plain(text[at:])
    of = grammar_of("tr" if turkish else "en")
    if turkish:
        is_ahead = _is_set_for(of, since, sentence)
        return Tense.FUTURE if is_ahead else _tense_of_verb(of, _WORD.findall(sentence))
    if leading := _LEADING.match(since):
        before += leading.group()
    if of.patterns["moved_to"].search(before.rstrip()) or _is_booked(of, before, sentence):
        return Tense.FUTURE
    words = _WORD.findall(sentence)
    if not of.lists["future"].isdisjoint(words):
        return Tense.FUTURE
    for previous, word in itertools.pairwise(("", *words)):
        irregular = word in of.lists["past"]
        if irregular or (_is_regular(word) and not previous.endswith("ing")):  # "getting married"
            return Tense.PAST
    is_clause = of.patterns["clause"].search(sentence) or of.patterns["clause"].search(before)
    return Tense.NONE if is_clause else Tense.UNKNOWN


def _is_regular(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4


def _is_booked(of: Grammar, before: str, sentence: str) -> bool:
    """Whether a date is what something was booked for: "reserved a table for Friday"."""
    if of.patterns["had"].search(sentence):
        return False
    if of.patterns["booked"].search(before):
        return True
    past = of.lists["past"] - of.lists["came_by"]
    return bool(of.patterns["appointed"].search(sentence)) and not any(
        word in past or _is_regular(word) for word in _WORD.findall(sentence)
    )


def _is_set_for(of: Grammar, since: str, sentence: str) -> bool:
    """Whether something was moved to a Turkish date, or booked for it."""
    to_it = of.patterns["dative"].match(since[:_NEAR])
    if to_it and of.patterns["moved_to"].search(sentence):
        return True
    for_it = of.patterns["for_it"].match(since) or of.patterns["dative"].match(since)
    return bool(for_it and of.patterns["booked"].search(sentence))


def _tense_of_verb(of: Grammar, words: list[str]) -> Tense:
    for word in reversed(words[-_LAST_WORDS:]):
        if word in of.lists["no_verb"] or len(word) < 4:
            continue
        if of.patterns["future"].search(word):
            return Tense.FUTURE
        if of.patterns["past"].search(word):
            return Tense.PAST
    return Tense.NONE
