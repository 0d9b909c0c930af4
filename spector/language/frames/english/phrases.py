"""Noun phrases of English, found by closed classes of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.verbs import FORMS
from spector.language.frames.predicates import KIN
from spector.language.frames.sentences import Word

#: words of a phrase at most
_MOST: Final = 8
_QUOTES: Final = frozenset('"“”«»')
_LY: Final = frozenset(
    """family daily weekly friendly lovely early elderly lonely only italy july fly reply supply
    jelly belly lily emily sally molly kelly billy holly assembly monthly butterfly ally bully
    rally""".split()
)
_NOUN_ING: Final = frozenset(
    """meeting painting building wedding training reading writing clothing housing engineering
    marketing ring king spring string morning evening ceiling drawing recording running swimming
    hiking cooking dancing camping fishing skating skiing cycling climbing gardening counseling
    counselling singing acting programming banking nursing accounting coding baking knitting boxing
    wrestling surfing gaming shopping meeting opening ending warning feeling thing offering rating
    landing crossing parking sibling setting filing listing pudding dressing earring boarding
    processing computing testing planning mentoring teaching learning gathering outing riding
    sailing kayaking rafting diving sightseeing lifting jumping gliding snowboarding
    windsurfing""".split()
)


class Phrase(NamedTuple):
    """A noun phrase: words ``first`` to ``end``, without its article or possessive.

    Attributes:
        start: index of the first word with its article. owner: person of the possessive, 0 for
            none. article: ``a``, ``an``, ``the``, a number, or "".
    """

    start: int
    first: int
    end: int
    owner: int
    article: str


def text_of(words: Sequence[Word], first: int, end: int, text: str) -> str:
    """The words from ``first`` to ``end`` as they stand in the text, white space joined."""
    return " ".join(text[words[first].start : words[end - 1].end].split())


def quote_at(words: Sequence[Word], at: int) -> Phrase | None:
    """A title or name in quotation marks."""
    if at >= len(words) or words[at].raw not in _QUOTES:
        return None
    for end in range(at + 1, min(at + 12, len(words))):
        if words[end].raw in _QUOTES:
            inner = end - 1 if words[end - 1].raw in (",", ".") else end
            return Phrase(at, at + 1, inner, 0, '"') if inner > at + 1 else None
    return None


def phrase_at(words: Sequence[Word], at: int, *, subject: bool = False) -> Phrase | None:
    """The noun phrase that begins at a word, as far as closed classes can tell.

    With ``subject`` it also ends where a verb begins. His, her, its and their own nothing that is
    known, so phrases with them are none.
    """
    start = first = at
    owner, article = 0, ""
    if at < len(words):
        word = words[at]
        if word.text in words_of.POSSESSIVES:
            owner = words_of.POSSESSIVES[word.text]
            if owner == 3:
                return None
            first += 1
        elif word.text in ("some", "any", "several", "many", "another"):
            article = word.text
            first += 1
        elif (
            word.text in ("this", "these")
            and not subject
            and (first + 1 < len(words) and words[first + 1].text not in words_of.UNITS)
        ):
            article = "this"
            first += 1
        elif word.text in words_of.ARTICLES or word.text in words_of.NUMBERS:
            article = word.text
            first += word.text in words_of.ARTICLES
        elif word.kind == "number":
            article = word.text
    first += first < len(words) and words[first].text == "own"
    end = _end_of_phrase(words, first, subject)
    if end <= first or end - first > _MOST:
        return None
    return Phrase(start, first, end, owner, article)


def _end_of_phrase(words: Sequence[Word], first: int, subject: bool) -> int:
    end, joined = first, False
    while end < len(words) and end - first <= _MOST:
        word = words[end]
        if word.kind == "sign":
            break
        if word.kind == "suffix":
            if word.text != "'s" or end == first or not _is_noun(words, end + 1, end, False):
                break
            if subject and _is_copula(words, end):
                break
        elif word.text == "of":
            if (
                end == first
                or end + 1 >= len(words)
                or (
                    joined
                    and not (
                        words[end - 1].capital
                        and words[
                            min(end + 1 + (words[end + 1].text == "the"), len(words) - 1)
                        ].capital
                    )
                )
            ):
                break
            title = words[end + 1].capital and end + 2 < len(words) and words[end + 2].capital
            owned = words[end + 1].text in words_of.POSSESSIVES
            skip = 1 + (words[end + 1].text in words_of.ARTICLES or (owned and title))
            if (owned and not title) or not _is_noun(words, end + skip, end + skip, subject):
                break
            end += skip - 1
            joined = True
        elif not _is_noun(words, end, first, subject):
            break
        end += 1
    return end - 1 if end > first and words[end - 1].text == "of" else end


def _is_noun(words: Sequence[Word], at: int, first: int, subject: bool) -> bool:
    """Whether the word at an index may be part of a noun phrase."""
    if at >= len(words):
        return False
    word = words[at]
    if word.kind in ("sign", "suffix"):
        return False
    text = word.text
    if at > first and (text in words_of.NUMBERS or text == "a"):
        return False
    if at > first and text == "half":  # "the Istanbul half marathon", no "half the time"
        return (
            at + 1 < len(words)
            and words[at + 1].text not in ("a", "past")
            and (_is_noun(words, at + 1, at + 1, subject))
        )
    if text in words_of.STOPS and not (text in ("now", "may") and word.capital and at > 0):
        return False
    if text.endswith("ly") and text not in _LY and not word.capital:
        return False
    if word.capital and at > first:
        return True
    form = FORMS.get(text)
    if (
        subject
        and at > first
        and form is not None
        and (form.names & {"third", "past"} and not word.capital)
    ):
        return False
    if (
        subject
        and at > first
        and form is not None
        and words[at - 1].text in KIN
        and ("base" in form.names)
    ):
        return False
    if at > first and not word.capital:
        if text.endswith("ing") and text not in _NOUN_ING and len(text) > 4:
            return False
        if text.endswith("ed") and len(text) > 4 and not _is_noun(words, at + 1, at + 1, subject):
            return False
    return True


def _is_copula(words: Sequence[Word], at: int) -> bool:
    """Whether "'s" behind a subject stands for "is" or "has": by what follows it."""
    after = words[at + 1].text if at + 1 < len(words) else ""
    if after in words_of.ARTICLES or after in words_of.POSSESSIVES or after in words_of.ADVERBS:
        return True
    if after in words_of.STOPS or after.endswith("ing") or after.isdigit():
        return True
    verbs = (*words_of.BE, *words_of.HAVE, *words_of.MODALS)
    rest = [word.text for word in words[at + 1 : at + 6]]
    return not any(each in verbs or FORMS.get(each) for each in rest)


def is_modifier(words: Sequence[Word], at: int) -> bool:
    """Whether "and" or a comma goes on with another adjective: "a red and blue shirt"."""
    if at + 1 >= len(words) or words[at].text not in ("and", ",", "but"):
        return False
    after = words[at + 1].text
    verb = FORMS[after].names if after in FORMS else frozenset()
    if not verb <= ({"participle"} if words[at].text == "and" else {"ing", "participle"}):
        return False
    return (
        after not in words_of.STOPS
        and words[at + 1].kind == "word"
        and (after not in words_of.UNITS and not words[at + 1].capital)
    )
