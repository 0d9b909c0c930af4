"""What a message is: its substance and class, and whether it is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from spector.language.entities import rule_mentions
from spector.language.frames import extract
from spector.language.observing.head import head_for
from spector.language.observing.injection import is_injection, is_system_content
from spector.language.observing.sentences import (
    Part,
    Rules,
    matches,
    parts_of,
    rules_of,
    tells_of_change,
)
from spector.language.statements import (
    ASSISTANTS,
    find_instruction,
    is_of_time,
    own_words,
    quotations,
    says_i,
)
from spector.language.tables import Match, language_of, patterns_of, words_of
from spector.language.words import analyse, compose, is_stop, plain
from spector.language.worth import NUMBER_WORDS

_RE: Final = patterns_of("filters")

# How much a text says: its words of content, and what it is worth keeping for.

#: weights of what makes a text worth keeping
_OF_REACTION, _OF_TIME, _OF_QUESTION = 0.5, 1.5, 1.0
_NUMBER: Final = re.compile(r"\d+")


def substance_of(text: str) -> float:
    """How much a text is worth keeping: its content, times and numbers, less a question.

    Content words of a mere reaction count half. It orders messages: measured on which turns of a
    conversation are asked for later.
    """
    rules = rules_of(language_of(text))
    total = 0.0
    for part in parts_of(text):
        if part.said:
            found = list(rules.lexicon.matches(words_of(part.said)))
            content = content_of(part.said, part.text, rules, found)
            total += content * (_OF_REACTION if matches(part.said, rules, "reaction") else 1.0)
            total += _OF_TIME * sum(each.name == "temporal" for each in found)
            total += _OF_TIME * len(_NUMBER.findall(part.said))
    return total - _OF_QUESTION * text.rstrip().endswith(("?", "\uff1f"))


def content_of(said: str, written: str, rules: Rules, found: Iterable[Match] | None = None) -> int:
    """Words of a sentence that are neither common nor empty talk.

    A word of time counts once more, the name of who is spoken to not at all.

    Args:
        said: the sentence, folded. written: the same with its capitals.
        found: the entries of lists in it, where they are known.
    """
    words = words_of(said)
    empty: set[int] = set()
    more = 0
    for each in rules.lexicon.matches(words) if found is None else found:
        if each.name in ("stop", "phatic"):
            empty.update(range(each.start, each.end))
        more += each.name == "temporal"
    return max(0, len(words) - len(empty) + more - len(_RE["addressed"].findall(written)))


# The class of a message: rule, correction, preference, decision, plan, entity, fact or other.

#: class -> confidence of its first pattern, in the order in which ties are decided
_BASE: Final = {
    "correction": 0.40, "rule": 0.40, "preference": 0.30, "decision": 0.35, "plan": 0.35,
    "entity": 0.30, "fact": 0.25,
}  # fmt: skip
KINDS: Final = (*_BASE, "other")
_STEP: Final = 0.15
_MOST_CONFIDENCE: Final = 0.95
_ENTITIES: Final = 2
_MOST_EVIDENCE: Final = 12


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a message.

    Attributes:
        kind: one of KINDS.
        confidence: 0.25 to 0.95; 0.0 for ``other``.
        evidence: the words that the class was read from.
    """

    kind: str
    confidence: float
    evidence: tuple[str, ...] = ()


def classify(text: str, *, entities: int | None = None) -> Classified:
    """The class of what a message says; its questions and orders are not read.

    Args:
        entities: How many entities the text names; counted by rules when it is None.
    """
    rules = rules_of(language_of(text))
    parts = [part for part in parts_of(text) if part.said]
    found = {kind: _evidence(parts, rules, kind) for kind in _BASE}
    found["rule"] = found["rule"] or [part.folded for part in parts if part.lasts][:1]
    if reminders := _evidence(parts, rules, "reminder"):  # "don't let me forget" is no rule
        found |= {"plan": found["plan"] + reminders, "rule": []}
    if entities is None:
        entities = len({each.name for each in rule_mentions(text)})
    scores = {
        kind: min(_MOST_CONFIDENCE, _BASE[kind] + _STEP * (len(words) - 1))
        for kind, words in found.items()
        if words and (kind != "entity" or entities >= _ENTITIES)
    }
    if entities >= _ENTITIES:
        scores.setdefault("entity", _BASE["entity"])
    if not scores:
        return Classified("other", 0.0)
    best = max(scores, key=lambda each: scores[each])
    order = [each for each in _BASE if scores.get(each) == scores[best]]
    return Classified(order[0], round(scores[best], 2), tuple(found[order[0]])[:_MOST_EVIDENCE])


def _evidence(parts: Iterable[Part], rules: Rules, kind: str) -> list[str]:
    """The words of each pattern of a class that fits a sentence; a pattern counts once."""
    out: dict[re.Pattern[str], str] = {}
    for part in parts:
        for pattern in rules.patterns[kind]:
            if pattern not in out and (found := pattern.search(part.said)):
                out[pattern] = found.group().strip()
    return list(out.values())


# What of many memories is worth keeping: what they say, what only they say, who was asked.

#: texts that may share a word which still counts as theirs alone
_RARE: Final = 2
#: what such a word adds to the substance of a text
_OF_RARE: Final = 2.0
#: substance at which a text has half of what substance can give
_HALF: Final = 16.0
_OF_TEXT, _OF_IMPORTANCE = 0.6, 0.4
#: what an answer is worth less than what a user said: as much as its text can be worth
_OF_ANSWER: Final = 0.6
#: what a reply to a question of someone else is worth more: what one wanted to know is asked again
_OF_REPLY: Final = 0.1
#: characters that are read
_MOST: Final = 4000


def keep_scores(
    texts: Sequence[str],
    importance: Sequence[float],
    answers: Collection[int] = (),
    *,
    replies: Collection[int] = (),
) -> list[float]:
    """How much each of many memories is worth keeping, -0.6 to 1.1.

    Six parts are what it says, with the words that at most one other of them has; four are its
    importance. Texts have no bound from which they are equal, or all of a conversation would be.
    What an assistant or a tool answered goes before what a user said: it can be asked for again.

    Args:
        answers: places of texts that no user said.
        replies: places of texts that someone else had asked for.
    """
    words = [
        frozenset(each for each in analyse(text[:_MOST]).words if not is_stop(each))
        for text in texts
    ]
    known = Counter(word for each in words for word in each)
    out = []
    for text, mine, weight in zip(texts, words, importance, strict=True):
        rare = sum(known[word] <= _RARE for word in mine)
        value = max(0.0, substance_of(text[:_MOST])) + _OF_RARE * rare
        out.append(_OF_TEXT * value / (value + _HALF) + _OF_IMPORTANCE * weight)
    for each in answers:
        out[each] -= _OF_ANSWER
    for each in replies:
        out[each] += _OF_REPLY
    return out


# Whether a text that sounds like a preference states one, or only likes what it speaks of.


def only_likes(text: str) -> bool:
    """Whether a text that was taken for a preference names no choice, and states nothing.

    "I love how brave that was" is one, "I love jazz" and "I avoid crowds" are none.
    """
    said = compose(text[:_MOST])
    if language_of(said) == "tr":  # frames of Turkish know no likes
        return False
    return _RE["choice"].search(plain(said)) is None and not extract(said)


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
_DATIVE_TR: Final = re.compile(r"\b(?:bana|beni|bize|bizi)\b")
#: languages of the messages that heads were trained on
_TRAINED: Final = ("en", "tr")
#: words that are no stop words, from which on what a machine says is about something
_STATED: Final = 3
#: tells of a person in its first words: "She said yes"
_PERSON: Final = re.compile(r"(?:he|she|they)(?:'\w+)? \w+")
#: characters in which a fact is looked for
_MOST_CHARS: Final = 1000


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
    said = [each for each in parts_of(own) if each.kind != "idle"]
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
    if rules.words["subjects"] and _RE["own"].search(folded):
        return True
    owned = _DATIVE_TR.sub("", folded)
    return says_i(owned) or (not rules.words["subjects"] and matches(owned, rules, "first_person"))


def _is_of_something(part: Part) -> bool:
    """Whether a machine says more in a sentence than that it is there."""
    words = _WORD.findall(part.said)
    return not _RE["own"].search(part.said) and sum(not is_stop(each) for each in words) >= _STATED


def _has_value(text: str) -> bool:
    """Whether a text has a number, a name, a time or an address."""
    if _VALUE.search(text):
        return True
    named = _RE["addressed"].sub(" ", text)  # who is spoken to is no news
    names = (each for each in _NAME.findall(named) if each[0].isupper())
    if any(plain(each) not in ASSISTANTS for each in names):
        return True
    folded = plain(text)
    return any(each != "one" for each in NUMBER_WORDS.findall(folded)) or any(
        map(is_of_time, _WORD.findall(folded))
    )
