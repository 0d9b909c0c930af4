"""Sentences of a message, their signals, and what they answer or correct."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spector.language.cues import need_gate
from spector.language.frames import are_of_kind, values_and_rest
from spector.language.statements import find_instruction, own_words
from spector.language.tables import (
    Lexicon,
    language_of,
    languages,
    languages_applied,
    lexicon_of,
    patterns_of,
    table_of,
    words_of,
)
from spector.language.words import analyse, is_stop, plain, within
from spector.process import keeps

_RE: Final = patterns_of("sorting")

# The rules of one language for observing, made ready once from its table.


@dataclass(frozen=True, slots=True)
class Rules:
    """Word lists and patterns of a language.

    Attributes:
        words: list -> its entries, folded.
        lexicon: finds the entries of all lists in the words of a text.
        patterns: list -> patterns for folded text.
    """

    words: Mapping[str, frozenset[str]]
    lexicon: Lexicon
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]


@lru_cache(maxsize=16)
def rules_of(language: str) -> Rules:
    table = table_of(language, "observing")
    words = {
        name: frozenset(plain(each) for each in entries) for name, entries in table.words.items()
    }
    return Rules(words, lexicon_of(language, "observing"), table.patterns)


@lru_cache(maxsize=16)
def patterns_of_all(name: str) -> tuple[re.Pattern[str], ...]:
    """A list of patterns of every language: an attack need not be in the language of its text."""
    return tuple(
        each for language in languages() for each in table_of(language, "observing").patterns[name]
    )


#: where a clause of a sentence ends
_CLAUSE: Final = re.compile(r"(?:[,;:(](?!\d)|\s-\s|\.\.\.)\s*|\s(?=(?:and|but|so|ve|ama) )")
#: what a longer text says beyond this is not sorted
_MOST_CHARS: Final = 20_000
_MOST_SENTENCES: Final = 400
#: a longer sentence is read in pieces, so that no rule meets more at once
_LONGEST: Final = 400
#: a clause of fewer words states nothing beside a question
_LEAST_WORDS: Final = 4
#: a clause that begins so states something of its speaker
_ONESELF: Final = frozenset(("i", "i'm", "i've", "i'd", "i'll", "we", "we're", "we've", "we'll"))
_DENIALS: Final = frozenset("can't cannot don't won't didn't haven't never no not".split())
#: among its first words is the subject of a statement
_OPENING: Final = 3
#: a sentence without a question mark asks only if it is short
_MOST_WORDS_UNMARKED: Final = 14
_WORD: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
#: a wish of few words: "fewer words pls"
_PLEADS: Final = re.compile(r"^(?:\S+ ){1,4}(?:pls|plz|please|lutfen)\W*$")
#: a name that did something: "Mark moved"
_NAMED: Final = re.compile(r"[A-Z]\w+ [a-z]{2,}ed\b")


@dataclass(frozen=True, slots=True)
class Part:
    """One sentence of a message.

    Attributes:
        text: as it is written. folded: the same, folded, in single spaces.
        start: where it begins in the message.
        kind: ``asks``, ``orders``, ``idle`` (small talk), or ``says``.
        said: what it says beside a question or an order, folded; all of it when it ``says``.
        lasts: it is about how to answer from now on.
        kept: it asks that what it says be remembered: "don't forget that I fly at six".
    """

    text: str
    folded: str
    start: int
    kind: str
    said: str
    lasts: bool = False
    kept: bool = False


def parts_of(text: str) -> tuple[Part, ...]:
    """The sentences of a message that are its speaker's own words."""
    return _parts_of(text[:_MOST_CHARS], languages_applied())


def asks_to_keep(text: str) -> bool:
    """True if a text asks that it be remembered, or is a rule about the form of answers."""
    return any(part.kept or part.lasts for part in parts_of(text))


def news_of(text: str) -> str:
    """A text with spaces in place of words that only say that it was said before.

    "As I said, I live in Kars" says no more than "I live in Kars".
    """
    folded = plain(text)
    if len(folded) != len(text):
        return text
    for each in rules_of(language_of(text)).patterns["again"]:
        found = each.search(folded)
        if found and any(map(str.isalnum, text[: found.start()] + text[found.end() :])):
            blank = " " * (found.end() - found.start())
            text = text[: found.start()] + blank + text[found.end() :]
    return text


@keeps(512)
def _parts_of(text: str, codes: tuple[str, ...]) -> tuple[Part, ...]:
    bare = own_words(text)
    rules = rules_of(language_of(bare))
    out: list[Part] = []
    for start, end in within(_LONGEST, bare, (each.end() for each in _RE["end"].finditer(bare))):
        piece = bare[start:end]
        if any(map(str.isalnum, piece)) and len(out) < _MOST_SENTENCES:
            indent = len(piece) - len(piece.lstrip())
            out.append(_part(piece.strip(), start + indent, rules))
    return tuple(out)


def _part(text: str, start: int, rules: Rules) -> Part:
    folded = " ".join(plain(text).split()).strip(" \"'“”*_-•")
    if not need_gate(text).needed:
        return Part(text, folded, start, "idle", "")
    kept = not folded.endswith("?") and matches(folded, rules, "keep")
    kept = kept or matches(folded, rules, "reminder")
    lasts = not kept and _is_about_answers(text)
    if kept or lasts or _is_lasting(folded, rules):
        return Part(text, folded, start, "says", folded, lasts, kept)
    announced = (each.match(folded) for each in rules.patterns["announces"])
    if told := next(filter(None, announced), None):
        return Part(text, folded, start, "says", folded[told.end() :])
    if _orders(text, folded, rules):
        return Part(text, folded, start, "orders", _stated_before(folded, rules))
    if _asks(folded, rules):
        return Part(text, folded, start, "asks", _stated_before(folded, rules))
    return Part(text, folded, start, "says", folded)


def _is_lasting(folded: str, rules: Rules) -> bool:
    """A rule for later: "always ...", which is an order of another kind."""
    if folded.endswith("?"):
        return False
    return matches(folded, rules, "lasting") or matches(folded, rules, "rule")


def _is_about_answers(text: str) -> bool:
    """A rule about the form of answers: "please answer in short sentences"."""
    found = find_instruction(text)
    return found is not None and (found.whole or found.lifts)


def _asks(folded: str, rules: Rules) -> bool:
    if folded.rstrip("\"')] !").endswith("?"):
        return True
    return (
        len(folded.split()) <= _MOST_WORDS_UNMARKED
        and "," not in folded
        and (matches(folded, rules, "asks"))
    )


def _orders(text: str, folded: str, rules: Rules) -> bool:
    if matches(folded, rules, "request") or _PLEADS.search(folded):
        return True
    if folded.endswith("?") or _NAMED.match(text):
        return False
    return _begins_with_order(_WORD.findall(folded), rules.words)


def _begins_with_order(words: list[str], lists: Mapping[str, frozenset[str]]) -> bool:
    """Whether the verb of an order opens the sentence: "please open the door"."""
    at = 0
    while at < len(words) and words[at] in lists["politeness"]:
        at += 1
    return (
        at < len(words)
        and words[at] in lists["orders"]
        and (at + 1 == len(words) or words[at + 1] not in lists["auxiliaries"])
    )


def _stated_before(folded: str, rules: Rules) -> str:
    """What a sentence says before it asks or orders: "I moved to Kars, do you know a bakery?".

    What follows the question counts where it opens as a statement of its own.
    """
    said: list[str] = []
    before: list[str] = []
    subjects = rules.words["subjects"]
    is_asked = False
    clauses = [each for each in _CLAUSE.split(folded) if each.strip()]
    for n, clause in enumerate(clauses):
        words = _WORD.findall(clause)
        is_aside = 0 < n < len(clauses) - 1 and words[:1] and words[0] in rules.words["relatives"]
        if not is_aside and (matches(clause, rules, "asks") or _orders(clause, clause, rules)):
            is_asked = True
        elif not clause.rstrip().endswith("?"):
            if not is_asked:
                before.append(clause)
            elif (
                words
                and words[0] in subjects
                and (len(words) >= _LEAST_WORDS or words[0] in _ONESELF)
            ):
                said.append(clause)
    words = _WORD.findall(" ".join(before))
    least = _LEAST_WORDS if subjects else _LEAST_WORDS // 2  # a word of Turkish is a phrase
    is_denied = bool(words) and words[0] in _DENIALS  # "can't drink milk, which cake ...?"
    is_opened = not subjects or subjects & set(words[:_OPENING]) or len(words) >= 2 * least
    if (len(words) >= least and is_opened) or is_denied:
        said = [", ".join(before), *said]
    return " ".join(said) if is_asked or not folded.endswith("?") else ""


def matches(folded: str, rules: Rules, name: str) -> bool:
    """Whether a folded sentence fits a list of patterns."""
    return any(each.search(folded) for each in rules.patterns[name])


# Hedges, words of change and words of alarm in a text.

#: importance of an error, a breach or a deadline, and of a weaker word
_ALARM: Final = 0.8
_WEAK: Final = 0.5


def is_hedged(text: str) -> bool:
    """True if a text says "maybe", "I think", "sanırım" of what it says."""
    return "hedges" in _lists_in(text, languages_applied())


def tells_of_change(text: str) -> bool:
    """True if a text says that something is different now: "no longer", "switched", "artık"."""
    return "changes" in _lists_in(text, languages_applied())


def tells_of_more(text: str) -> bool:
    """True if a text says that it adds to something: "also", "another", "too", "ayrıca"."""
    return "additions" in _lists_in(text, languages_applied())


def alarm_of(text: str) -> float:
    """How alarming the words of a text are.

    0.8 for an error, an attack or a deadline, 0.5 for a weaker word, else 0.
    """
    found = _lists_in(text, languages_applied())
    return _ALARM if "alarm" in found else _WEAK if "alarm_weak" in found else 0.0


@keeps(512)
def _lists_in(text: str, _: tuple[str, ...]) -> frozenset[str]:
    text = text[:_MOST_CHARS]
    rules = rules_of(language_of(text))
    return frozenset(each.name for each in rules.lexicon.matches(words_of(text)))


# What a short message has to do with the turns before it: it answers, or it corrects.

#: characters of a question that are kept with its answer: the last ones
_QUESTION_CHARS: Final = 300
#: words of a message that corrects another one
_MOST_WORDS: Final = 16
#: adds to what was said
_ADDS: Final = re.compile(r"\b(?:also|too|as well|another|ayrica|bir de|baska)\b")
_FILLERS: Final = frozenset(analyse("now rather instead artık olacak oldu").content())
#: a question about the one who is asked, and one that offers to do something
_ABOUT_YOU: Final = re.compile(r"\b(?:you|your|u|ur)\b|\w(?:s[iu]n|n var)\b")
_OFFERS: Final = re.compile(r"\b(?:i|me|we|us|let's|shall|want|ready)\b|\w[ae]y[iu]m m[iu]\b")
_CAPITAL: Final = re.compile(r"(?<=[^\w'’])[A-ZÇĞİÖŞÜ][^\W\d_]+")


def question_in(text: str) -> str:
    """What a message asks or wants to be told; "" for nothing."""
    asked = " ".join(
        part.text
        for part in parts_of(text)
        if part.kind == "asks" or (part.kind == "orders" and _RE["tell"].search(part.folded))
    )
    return asked[-_QUESTION_CHARS:].strip()


def is_answer(text: str, question: str, *, by_user: bool) -> bool:
    """Whether a message gives what a question asks for, be it one word.

    Args:
        by_user: a user says it. An assistant answers by a value; all else is talk.
    """
    has_value = bool(values_and_rest(plain(text))[0] or _names(text))
    if not by_user or has_value:
        return has_value and not text.rstrip().endswith("?")
    if need_gate(text).needed:
        return any(each.said for each in parts_of(text))
    asked = plain(question)
    return _RE["yes_no"].match(plain(text)) is not None and (
        _ABOUT_YOU.search(asked) is not None and _OFFERS.search(asked) is None
    )


def is_correction(text: str, before: str, question: str = "") -> bool:
    """Whether a short message says how the last words of its speaker are to be read.

    Args:
        question: of someone else in between; of anything else it is what the message answers.
    """
    if "?" in text or len(text.split()) > _MOST_WORDS:
        return False
    if _RE["instead"].search(plain(text)):
        return True
    if not _RE["again"].search(plain(text)):
        return False
    return _are_alike(before, text) and _about(plain(question)) <= _about(plain(before))


def corrected(before: str, text: str) -> str:
    """The words before with the one value that a correction has in place of theirs; "" where
    either has more than one value, or says something else besides."""
    folded, now = plain(before), plain(text)
    if len(parts_of(before)) != 1 or _ADDS.search(now):
        return ""
    known, named = values_and_rest(folded)[0], _names(before)
    forms = {each.form for each in known}
    values = [each for each in values_and_rest(now)[0] if each.form not in forms]
    names = [each for each in _names(text) if each not in before]
    more = _about(_RE["instead"].sub(" ", now)) - _about(folded) - set(map(plain, names))
    if len(values) + len(names) != 1 or more:
        return ""
    if names and len(named) == 1 and not known:
        return before.replace(named[0], names[0])
    if (
        values
        and len(known) == 1
        and are_of_kind(known[0], values[0])
        and (len(folded) == len(before) and len(now) == len(text))
    ):
        value = text[values[0].start : values[0].end]
        return f"{before[: known[0].start]}{value}{before[known[0].end :]}"
    return ""


def _are_alike(one: str, other: str) -> bool:
    """Whether two texts have values of one kind, or both have names, or they share a word."""
    old, new = (values_and_rest(plain(each))[0] for each in (one, other))
    if any(are_of_kind(a, b) for a in old for b in new) or (_names(one) and _names(other)):
        return True
    return not _about(plain(one)).isdisjoint(_about(plain(other)))


def _about(folded: str) -> frozenset[str]:
    """The words of a folded text that say what its values are of."""
    rest = values_and_rest(_RE["again"].sub(" ", folded))[1]
    return frozenset(analyse(rest).content()) - _FILLERS


def _names(text: str) -> list[str]:
    """Words with a capital that begin no text and are no days."""
    rest = values_and_rest(plain(text))[1]
    return [
        each
        for each in dict.fromkeys(_CAPITAL.findall(text))
        if not is_stop(each) and plain(each) in rest
    ]
