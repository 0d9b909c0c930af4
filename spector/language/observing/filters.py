"""Whether anything in a message could be asked for later: it is kept, doubtful, or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from spector.language.frames import extract
from spector.language.observing.content import ADDRESSED, matches
from spector.language.observing.head import head_for
from spector.language.observing.injection import is_injection, is_system_content
from spector.language.observing.rules import Rules, rules_of
from spector.language.observing.sentences import Part, parts_of
from spector.language.observing.signals import tells_of_change
from spector.language.statements import (
    ASSISTANTS,
    Quotation,
    find_instruction,
    is_of_time,
    own_words,
    quotations,
    says_i,
)
from spector.language.tables import language_of
from spector.language.words import is_stop, plain
from spector.language.worth import NUMBER_WORDS

#: what stops a message -> the kind of such messages
FILTERS: Final[Mapping[str, str]] = MappingProxyType({
    "system_content": "injection", "prompt_injection": "injection", "code": "code",
    "small_talk": "smalltalk", "question": "question", "request": "request", "thin": "smalltalk",
    "unwanted": "other", "echo": "other",
})  # fmt: skip
#: kind of the first sentence -> what stops a message of such ones
_REASONS: Final = {"asks": "question", "orders": "request", "says": "thin", "idle": "small_talk"}
#: a number, an address, something that only a computer names
_VALUE: Final = re.compile(r"\d|\w@\w|://|\w[/\\]\w|[a-z][A-Z]")
#: a capital within a sentence
_NAME: Final = re.compile(r"(?<=[\w,;:)\"'(] )[\"'(]?([^\W\d_a-z][\w'’-]+)")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: who speaks, as a subject or an owner: "me" of "tell me" is neither
_OWN: Final = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've|we'd|we'll|my|mine|our|ours|myself)\b"
)
_DATIVE_TR: Final = re.compile(r"\b(?:bana|beni|bize|bizi)\b")
#: languages of the messages that heads were trained on
_TRAINED: Final = ("en", "tr")
#: words that are no stop words, from which on what a machine says is about something
_STATED: Final = 3
#: tells of a person in its first words: "She said yes"
_PERSON: Final = re.compile(r"(?:he|she|they)(?:'\w+)? \w+")
#: characters in which a fact is looked for
_MOST_CHARS: Final = 1000
#: signs between a heading and what it names
_GAP: Final = 2
_VOWEL: Final = re.compile("[aeiouy]")
_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LEAST_KEYS: Final = 4
_TWICE: Final = re.compile(r"(\w{3,})\1+")


@dataclass(frozen=True, slots=True)
class Worth:
    """What is to become of a message.

    Attributes:
        verdict: ``keep``; ``doubtful``: kept, with an importance that sleep soon forgets;
            ``empty``: nothing in it could be asked for; or ``unsure``: a head decides.
        reason: what makes it doubtful or empty; one of FILTERS, or ``quoted``, ``fragment``.
    """

    verdict: Literal["keep", "doubtful", "empty", "unsure"]
    reason: str = ""


def worth_keeping(text: str, *, is_own: bool = True) -> Worth:
    """Whether a message is kept, as far as that can be said without a head.

    A message with a value (a number, a name, a time, an address), with a statement of a
    person or with a wish that it be remembered is kept. What it only quotes is doubtful.

    Args:
        is_own: a person says it; an assistant or a tool says nothing of itself that matters.
    """
    if is_system_content(text):
        return Worth("empty", "system_content")
    if is_injection(text):
        return Worth("empty", "prompt_injection")
    quoted, own = quotations(text), own_words(text)
    has_code = any(each.kind == "code" for each in quoted)
    # what names the paste is a part of it
    parts = [each for each in parts_of(own) if not _is_heading(each, quoted)]
    said = [each for each in parts if each.kind != "idle" and not _is_mash(each.text)]
    rules = rules_of(language_of(own))
    if any(_is_kept(each, rules, is_own=is_own) for each in said):
        return Worth("keep")
    if any(each.kind == "words" and _has_value(text[each.start : each.end]) for each in quoted):
        return Worth("doubtful", "quoted")
    told = [each for each in said if each.said]
    if has_code and not told:
        return Worth("empty", "code")
    if not said:
        return Worth("empty", "small_talk")
    reason = _REASONS[said[0].kind]
    if not told and language_of(own) not in _TRAINED:
        return Worth("empty", reason)
    if not is_own and not any(map(_is_of_something, told)):
        return Worth("empty", reason)
    return Worth("unsure", reason)


def judged(worth: Worth, text: str, vector: Any = None, fingerprint: str | None = None) -> Worth:
    """The worth of a message, by a head where the rules are not sure.

    What states a fact is kept. Only what asks or orders is left out, if it tells of no change and,
    unless it asks, neither of its speaker nor a value.

    Args:
        vector: of the text, by the embedder with this fingerprint; None for none.
    """
    if worth.verdict != "unsure":
        return worth
    head = head_for(None if vector is None else fingerprint)
    content = head.verdict(text, vector).content
    own = own_words(text)[:_MOST_CHARS]
    if content >= head.doubts_at or extract(own):
        return Worth("keep")
    says = worth.reason == "thin" or (
        worth.reason == "request"
        and (_has_value(own) or _is_personal(plain(own), rules_of(language_of(own))))
    )
    if content < head.drops_at and not (says or tells_of_change(own)):
        return Worth("empty", worth.reason)
    return Worth("doubtful", "fragment" if worth.reason == "thin" else worth.reason)


def worth_of_words(text: str, *, is_own: bool = True) -> Worth:
    """The worth of a text without a vector."""
    return judged(worth_keeping(text, is_own=is_own), text)


def kind_of_filter(name: str) -> str:
    """The kind of the messages that a filter stops."""
    return FILTERS.get(name, "other")


def _is_kept(part: Part, rules: Rules, *, is_own: bool) -> bool:
    """Whether a sentence is kept whatever a head says."""
    if part.kept or part.lasts or (is_own and find_instruction(part.text) is not None):
        return True
    if part.said and _has_value(part.text):
        return True
    if not is_own:
        return False
    if part.kind != "says":  # it states something before it asks, be it one Turkish verb
        before = part.folded.rpartition(",")[0]
        return bool(part.said) or (not rules.words["subjects"] and _is_personal(before, rules))
    return _PERSON.match(part.said) is not None or _is_personal(part.said, rules)


def _is_personal(folded: str, rules: Rules) -> bool:
    if rules.words["subjects"] and _OWN.search(folded):
        return True
    owned = _DATIVE_TR.sub("", folded)
    return says_i(owned) or (not rules.words["subjects"] and matches(owned, rules, "first_person"))


def _is_of_something(part: Part) -> bool:
    """Whether a machine says more in a sentence than that it is there."""
    words = _WORD.findall(part.said)
    return not _OWN.search(part.said) and sum(not is_stop(each) for each in words) >= _STATED


def _is_heading(part: Part, quoted: Sequence[Quotation]) -> bool:
    """Whether words without a value only name the code behind them."""
    end = part.start + len(part.text)
    return (
        part.text.endswith(":")
        and not _has_value(part.text)
        and any(each.kind == "code" and 0 <= each.start - end <= _GAP for each in quoted)
    )


def _has_value(text: str) -> bool:
    """Whether a text has a number, a name, a time or an address."""
    if _VALUE.search(text):
        return True
    named = ADDRESSED.sub(" ", text)  # who is spoken to is no news
    names = (each for each in _NAME.findall(named) if each[0].isupper())
    if any(plain(each) not in ASSISTANTS for each in names):
        return True
    folded = plain(text)
    return any(each != "one" for each in NUMBER_WORDS.findall(folded)) or any(
        map(is_of_time, _WORD.findall(folded))
    )


def _is_mash(text: str) -> bool:
    """Whether all words are keys that were pressed without a thought, or letters for a phrase."""
    words = re.findall(r"\w+", text)
    return bool(words) and all(map(_is_keys, words))


def _is_keys(word: str) -> bool:
    if not word.isascii() or not word.isalpha() or word.isupper():
        return False
    letters = _TWICE.sub(r"\1", word.lower())
    if not _VOWEL.search(letters):
        return True
    return len(letters) >= _LEAST_KEYS and any(
        letters in row or letters[::-1] in row for row in _ROWS
    )
