"""Whether anything in a message could be asked for later: it is kept, doubtful, or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from spector.language.observing.content import ADDRESSED, content_of, matches
from spector.language.observing.injection import is_injection, is_system_content
from spector.language.observing.rules import Rules, patterns_of_all, rules_of
from spector.language.observing.sentences import Part, parts_of
from spector.language.statements import ASSISTANTS, Quotation, own_words, quotations, says_i
from spector.language.tables import language_of, words_of
from spector.language.words import SPACELESS, plain
from spector.language.worth import NUMBER_WORDS

__all__ = ["FILTERS", "Worth", "kind_of_filter", "worth_keeping"]

#: what stops a message -> the kind of such messages
FILTERS: Final[Mapping[str, str]] = MappingProxyType({
    "system_content": "injection", "prompt_injection": "injection", "code": "code",
    "small_talk": "smalltalk", "question": "question", "request": "request", "thin": "smalltalk",
    "unwanted": "other", "echo": "other",
})  # fmt: skip
_Verdict = Literal["keep", "doubtful", "empty"]
_ORDER: Final[tuple[_Verdict, ...]] = ("empty", "doubtful", "keep")
#: content words from which on an order, or a question, tells what its speaker is about
_DETAILED: Final = 4
_ASKED: Final = 5
#: content words of a sentence that is no fragment, and words of it
_STATED, _STATED_WORDS = 2, 3
#: words from which on less is worth a doubt
_LEAST_SAID: Final = 2
_PERSON: Final = re.compile(r"(?:he|she|they|we|i)(?:'\w+)? \w+")
#: classes that state something without a content word: "I'll give it a try"
_CLASSES: Final = ("decision", "plan", "rule")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
#: a number, an address, something that only a computer names
_VALUE: Final = re.compile(r"\d|\w@\w|://|\w[/\\]\w|[a-z][A-Z]")
#: a capital within a sentence
_NAME: Final = re.compile(r"(?<=[\w,;:)\"'(] )[\"'(]?([^\W\d_a-z][\w'’-]+)")
#: who speaks, as a subject or an owner: "me" of "tell me" is neither
_OWN: Final = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|im|ive|we|we're|we've|we'd|we'll|my|mine|our|ours|myself)\b"
)
#: who has something told or shown to him asks for what is known
_TO_ME: Final = re.compile(r"\b(?:me|us)\b")
_DATIVE_TR: Final = re.compile(r"\b(?:bana|beni|bize|bizi)\b")
#: orders in languages without a table: an imperative with the speaker in the dative, or "please"
_ABROAD: Final = re.compile(
    r"^\W*(?:(?:bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|пожалуйста|请|請)[ ,]*)?(?:"
    r"[^\W\d_]+(?:e|[^\W\d_]) (?:mir|uns)\b(?! (?:gut|schlecht|leid|nicht|egal))"
    r"|[^\W\d_]+(?:[áéíóú][^\W\d_]{1,6}|\bda|\bdi|\bhaz|\bpon)(?:me|nos)(?:l[oae]s?)?\b"
    r"|[^\W\d_]+-(?:moi|nous)\b|[^\W\d_]{3,}(?:i|a)mi(?:l[oaie])?\b"
    r"|[^\W\d_]+(?:и|й|ь|ите|йте|ьте) (?:мне|нам)\b"
    r"|(?:给|給|帮|幫|为|為|替)(?:我|我们|我們|咱)|.*(?:てください|て下さい|てくれ|ちょうだい|お願いします)\W*$"
    r"|.*(?:해|써|려|어|아|줘) ?(?:줘|주세요|주십시오)\W*$)",
    re.IGNORECASE,
)
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
        verdict: ``keep``; ``doubtful``: kept, with an importance that sleep soon forgets; or
            ``empty``: nothing in it could be asked for.
        reason: what made it doubtful or empty; one of FILTERS, or ``quoted``, ``fragment``.
    """

    verdict: _Verdict
    reason: str = ""


def worth_keeping(text: str, *, is_own: bool = True) -> Worth:
    """Whether a message is kept, by the best of its sentences.

    A sentence is kept for a value (a number, a name, a time, an address), for what a person says of
    herself, or for what it says of something. Questions and orders are doubtful where they tell
    what their speaker is about. What a message only quotes is doubtful where it has a value.

    Args:
        is_own: a person says it; an assistant or a tool says nothing of itself that matters.
    """
    if is_system_content(text):
        return Worth("empty", "system_content")
    if is_injection(text):
        return Worth("empty", "prompt_injection")
    quoted, own = quotations(text), own_words(text)
    has_code = any(each.kind == "code" for each in quoted)
    parts = parts_of(own)
    rules = rules_of(language_of(own))
    best = Worth("empty", "code" if has_code else "thin" if parts else "small_talk")
    for each in sorted(parts, key=lambda part: part.kind == "idle"):
        found = _of_part(each, rules, is_own=is_own)
        if (has_code and found.verdict == "doubtful") or _is_heading(each, quoted):
            continue  # what names the paste is a part of it
        if _ORDER.index(found.verdict) > _ORDER.index(best.verdict) or (
            found.verdict == best.verdict == "empty" and best.reason in ("thin", "code")
        ):
            best = found
    if best.verdict == "empty" and any(
        each.kind == "words" and _has_value(text[each.start : each.end]) for each in quoted
    ):
        return Worth("doubtful", "quoted")
    return best


def kind_of_filter(name: str) -> str:
    """The kind of the messages that a filter stops."""
    return FILTERS.get(name, "other")


def _of_part(part: Part, rules: Rules, *, is_own: bool) -> Worth:
    if part.kind == "idle" or _is_mash(part.text):
        return Worth("empty", "small_talk")
    if part.kept or part.lasts:
        return Worth("keep")
    if _ABROAD.match(part.text) and not any(map(str.isdigit, part.text)):
        return Worth("empty", "request")
    if part.said:
        found = _of_statement(part, rules, is_own=is_own)
        if found.verdict == "keep" or part.kind == "says":
            return found
    owned = is_own and _is_personal(part.folded, rules)
    content, valued = (
        content_of(part.folded, part.text, rules),
        _has_value(part.text, rules, is_order=part.kind == "orders"),
    )
    if part.kind == "orders":
        if owned and content >= (_STATED if valued else _DETAILED):
            return Worth("keep")
        if valued or content >= _DETAILED or (owned and not _TO_ME.search(part.folded)):
            return Worth("doubtful", "request")
        return Worth("empty", "request")
    least = _ASKED if part.folded.endswith("?") else _DETAILED
    if content >= least - owned:
        return Worth("doubtful", "question")
    return Worth("empty", "question")


def _is_heading(part: Part, quoted: Sequence[Quotation]) -> bool:
    """Whether words without a value only name the code behind them."""
    end = part.start + len(part.text)
    return (
        part.text.endswith(":")
        and not _has_value(part.text)
        and any(each.kind == "code" and 0 <= each.start - end <= _GAP for each in quoted)
    )


def _of_statement(part: Part, rules: Rules, *, is_own: bool) -> Worth:
    """Whether a sentence that states something says it of something."""
    words = _WORD.findall(part.said)
    content = content_of(part.said, part.text, rules) - sum(map(_is_keys, words))
    size = max(len(words), sum(map(len, SPACELESS.findall(part.said))) // 2)
    if _has_value(part.text, rules):
        return Worth("keep")
    if not is_own:
        if content > _STATED and size >= _STATED_WORDS and not _OWN.search(part.said):
            return Worth("doubtful", "fragment")
        return Worth("empty", "thin")
    is_reaction = content <= _STATED and matches(part.said, rules, "reaction")
    is_whole = content >= _STATED and size >= _STATED_WORDS
    if (
        not is_reaction
        and content > 0
        and (is_whole or matches(part.said, rules, "first_person") or says_i(part.said))
    ):
        return Worth("keep")
    if not is_reaction and any(matches(part.said, rules, each) for each in _CLASSES):
        return Worth("keep" if _OWN.search(part.said) else "doubtful", "fragment")
    if _is_told(part.said) or (content > 0 and size >= _LEAST_SAID + is_reaction):
        return Worth("doubtful", "fragment")
    return Worth("empty", "thin")


def _is_told(said: str) -> bool:
    """Whether few words tell of a person: "She said yes", and one word of Turkish."""
    if " " in said.strip():
        return _PERSON.match(said) is not None
    return any(each.search(said) for each in patterns_of_all("first_person"))


def _is_personal(folded: str, rules: Rules) -> bool:
    if rules.words["subjects"]:
        return _OWN.search(folded) is not None
    owned = _DATIVE_TR.sub("", folded)
    return matches(owned, rules, "first_person") or says_i(owned)


def _has_value(text: str, rules: Rules | None = None, *, is_order: bool = False) -> bool:
    """Whether a text has a number, a name, a time or an address."""
    if _VALUE.search(text):
        return True
    named = ADDRESSED.sub(" ", text)  # who is spoken to is no news
    names = (each for each in _NAME.findall(named) if each[0].isupper())
    if any(plain(each) not in ASSISTANTS for each in names):
        return True
    text = text.removesuffix(".")
    rules = rules or rules_of(language_of(text))
    if is_order and rules.words["orders_last"]:  # its last word is the verb
        text = text.rpartition(" ")[0]
    if any(each != "one" for each in NUMBER_WORDS.findall(plain(text))):
        return True
    return any(each.name == "temporal" for each in rules.lexicon.matches(words_of(text)))


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
