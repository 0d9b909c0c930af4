"""How much a text says, and how it says it: what sleep keeps, and how two texts are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from spector.language.dates import time_range_in
from spector.language.frames import extract, normal_value
from spector.language.statements import (
    FIRST_PERSON,
    ends_with_question,
    is_of_time,
    is_question,
    names_of,
)
from spector.language.tables import patterns_of
from spector.language.words import analyse, compose, is_stop, plain, tokens, words

_RE: Final = patterns_of("worth")

# What a text says in words: its content, numbers, dates and denials, as two texts are compared.

_NUMBER: Final = re.compile(r"((?:(?<![^\s(])[-\u2212])?)(\d[\d.,:/-]*)")
NUMBER_WORDS: Final = _RE["number_words"]


@dataclass(frozen=True)
class Wording:
    """A text, read once for every comparison.

    Attributes:
        said: without annotations. event_ms: of the message, which "tomorrow" is counted from.
    """

    said: str
    event_ms: int

    @cached_property
    def folded(self) -> str:
        return plain(self.said)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Every word, number and sign in order, without case, accents and punctuation."""
        return tuple(_RE["word"].findall(self.folded))

    @cached_property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        """(as it stands in lower case, term) of each word in order."""
        found = analyse(self.said)
        return tuple(zip(found.forms, found.words, strict=True))

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The stems of its words in order, without those that only tie others together."""
        return tuple(term for _, term in self._pairs if not is_stop(term))

    @cached_property
    def forms(self) -> dict[str, str]:
        """Its content words as they stand, in lower case, with their stems."""
        return {form: term for form, term in self._pairs if not is_stop(term)}

    def between(self, start: int, end: int) -> set[str]:
        """The stems of its content words in a part of it."""
        forms = analyse(self.said[start:end]).forms
        return {self.forms[each] for each in forms if each in self.forms}

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers and amounts in digits."""
        found = _NUMBER.findall(self.folded) + [
            ("", each) for each in NUMBER_WORDS.findall(self.folded)
        ]
        return frozenset(sign + normal_value(each.rstrip(".,:/-")) for sign, each in found)

    @cached_property
    def dates(self) -> tuple[tuple[int, int], ...]:
        """The time that it names, in ms; resolved, so that another "tomorrow" is another date."""
        found = time_range_in(self.said, self.event_ms)
        return () if found is None else tuple((each[0], each[1]) for each in found.spans)

    @cached_property
    def names(self) -> frozenset[str]:
        """Its names, folded."""
        return frozenset(plain(each) for each in names_of(self.said))

    @cached_property
    def denials(self) -> int:
        """How many words of it deny something."""
        return len(_RE["not"].findall(self.folded))

    @cached_property
    def modals(self) -> frozenset[str]:
        """Words that make a wish, a plan or a condition of it."""
        return frozenset(_RE["modal"].findall(self.folded))

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """Its prepositions, persons and signs, in order: "on", "her", "€"."""
        return tuple(_RE["turn"].findall(self.folded))

    @property
    def asks(self) -> bool:
        """Whether it has a question."""
        return is_question(self.said)


def same_words(one: Wording, other: Wording) -> bool:
    """Whether two texts have the same words and signs in the same order and name the same dates."""
    return bool(one.words) and one.words == other.words and one.dates == other.dates


def same_particulars(one: Wording, other: Wording) -> bool:
    """Whether numbers, dates, names and denials agree wherever both texts have some.

    What only one of them has is no disagreement.
    """
    if (one.denials > 0) != (other.denials > 0):
        return False
    if one.dates and other.dates and one.dates != other.dates:
        return False
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return False
    a, b = one.names, other.names
    return not (a and b) or a <= b or b <= a


# The density of a text: content words, names, numbers, and what asks or opens.

_NAME, _OF_NUMBER, _FIRST, _QUESTION, _OPENS = 1.5, 1.5, 0.7, 2.0, 1.0
#: characters that are read
_LONGEST: Final = 4000


#: density below which a sentence says little, and below which one that reacts does
_LITTLE: Final = 3.0
_LITTLE_REACTION: Final = 6.0


def says_little(sentence: str) -> bool:
    """Whether a sentence asks, greets or reacts, or has hardly a content word."""
    density = content_density(sentence)
    if density < _LITTLE or ends_with_question(sentence):
        return True
    reacts = _RE["opener"].match(plain(compose(sentence[:_LONGEST])).lstrip()) is not None
    return reacts and density < _LITTLE_REACTION


def content_density(text: str) -> float:
    """Content words, names, numbers and time words of a text, less what asks or opens.

    ``words + 1.5 names + 1.5 numbers and time words + 0.7 [first person] - 2 [question] - 1
    [opener]``, at least 0.
    """
    text = compose(text[:_LONGEST])
    folded = plain(text)
    content = {each for each in words(text) if not is_stop(each) and len(each) > 1}
    found = {each.text for each in tokens(text)}
    times = sum(any(c.isdigit() for c in each) or is_of_time(each) for each in found)
    names = len(set(names_of(text)))
    first = FIRST_PERSON.search(folded) or _RE["first_tr"].search(folded)
    score = len(content) + _NAME * names + _OF_NUMBER * times
    score += _FIRST * (first is not None)
    score -= _QUESTION * ends_with_question(text)
    score -= _OPENS * (_RE["opener"].match(folded.lstrip()) is not None)
    return max(0.0, score)


# Whether a text tells of something that happened or will happen, rather than of how things are.

_MS_PER_DAY: Final = 86_400_000
_EVERY: Final = ("asserted", "hedged", "planned", "reported", "conditional", "asked")
#: happened once, and is so for good
_LASTING: Final = frozenset("born_in born_on founded_in built_in died_in founded_by".split())


def is_event(text: Wording) -> bool:
    """Whether a text tells of an event: past, dated or planned, and not of a state."""
    found = extract(text.said, reference_time=text.event_ms, modalities=_EVERY)
    if found:
        moves = [
            each for each in found
            if (each.tense != "present" or each.window or each.modality == "planned")
            and each.predicate not in _LASTING and not each.changed
        ]  # fmt: skip
        if moves or all(each.tense == "present" for each in found):
            return bool(moves) or _RE["future"].search(text.folded) is not None
        return False
    return bool(
        text.dates
        or _RE["past"].search(text.folded)
        or _RE["past_tr"].search(text.folded)
        or _RE["future"].search(text.folded)
        or _RE["amount"].search(text.folded)
    )


def is_other_event(one: Wording, other: Wording) -> bool:
    """Whether two texts of different days, UTC, tell of two events, or may.

    Texts that name the same dates tell of the same, whenever they are said.
    """
    if one.event_ms // _MS_PER_DAY == other.event_ms // _MS_PER_DAY:
        return False
    if one.dates and one.dates == other.dates:
        return False
    return is_event(one) or is_event(other)


# A short extract of texts: the sentences that say most, in the order in which they stood.

_MOST_CHARS: Final = 400
#: after these a text goes on: no end of a sentence
_OPEN_ENDS: Final = " ,;:-–—"
_ENDED: Final = re.compile(r"[.!?…。！？][\"'”’)\]]*$|[^\w\s,;:\-–—\"'”’)\]%$€₺]$")


def joined(sentences: Sequence[str]) -> str:
    """Sentences one after another; where one has no end mark, a full stop tells it from the next."""
    return " ".join([*map(_ended, sentences[:-1]), *sentences[-1:]])


def _ended(sentence: str) -> str:
    if _ENDED.search(sentence):
        return sentence
    return f"{sentence.rstrip(_OPEN_ENDS)}."


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they stand in it, without what is empty."""
    found, start = [], 0
    for end in (*(each.end() for each in _RE["end"].finditer(text)), len(text)):
        found.append(text[start:end].strip())
        start = end
    return [each for each in found if any(c.isalnum() for c in each)]


def extract_of(texts: Sequence[str], most: int, cost: Callable[[str], int]) -> str:
    """Sentences of texts that say most, without repetition; "" if none fits.

    Questions, greetings and reactions are left out where there is something else; of sentences that
    say as much the earlier is taken.

    Args:
        most: what the extract may cost. cost: of a text, as its tokens.
    """
    said: dict[str, str] = {}
    for each in (sentence for text in texts for sentence in sentences_of(text)):
        said.setdefault(plain(each).strip(" .!?"), each)
    sentences = list(said.values())[:_MOST_CHARS]
    sentences = [each for each in sentences if not says_little(each)] or sentences
    order = sorted(range(len(sentences)), key=lambda n: (-content_density(sentences[n]), n))
    chosen: list[int] = []
    for n in order:
        if cost(joined([sentences[at] for at in sorted([*chosen, n])])) <= most:
            chosen.append(n)
    return joined([sentences[n] for n in sorted(chosen)])


# What of a text only repeats other texts, clause by clause, in whatever words around it.


def without(text: str, is_known: Callable[[str], bool], split: re.Pattern[str]) -> str:
    """A text without its parts that are known, and without the headings of those.

    Args:
        split: what stands between two parts.
    """
    ends = [(each.start(), each.end()) for each in split.finditer(text)]
    parts: list[tuple[int, int]] = []
    at = 0
    for start, end in (*ends, (len(text), len(text))):
        parts.append((at, start))
        at = end
    known = [is_known(text[start:end]) for start, end in parts]
    if not any(known):
        return text
    for n in range(len(parts) - 2, -1, -1):  # "Relevant memories:" stands before what is known
        known[n] = known[n] or (
            known[n + 1] and text[parts[n][0] : parts[n][1]].rstrip().endswith(":")
        )
    kept = [
        text[start : parts[n + 1][0] if n + 1 < len(parts) else end]
        for n, (start, end) in enumerate(parts)
        if not known[n]
    ]
    return "".join(kept).strip()


def without_repeats(text: str, known: Sequence[Wording]) -> str:
    """A text without the clauses that say nothing but what one of some texts says.

    A clause repeats a text that has all its content words and numbers, and denies as it does.
    """

    def is_known(clause: str) -> bool:
        own = Wording(clause, 0)
        content = set(own.content)
        return bool(content) and any(
            content <= set(each.content)
            and own.numbers <= each.numbers
            and (own.denials > 0) == (each.denials > 0)
            for each in known
        )

    return without(text, is_known, _RE["clause"])
