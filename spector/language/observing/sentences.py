"""A message in sentences: which of them ask, order, or are small talk, and which say something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spector.language.cues import need_gate
from spector.language.observing.rules import Rules, rules_of
from spector.language.statements import find_instruction, own_words
from spector.language.tables import language_of, languages_applied
from spector.language.words import plain, within
from spector.process import keeps

#: ends of sentences; a full stop within a number, a name or an abbreviation is none
_END: Final = re.compile(
    r"(?<!\bmr)(?<!\bdr)(?<!\bms)(?<!\bmrs)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\bno)"
    r"(?<!\b[a-z])\.+(?=[\s\"')\]]|$)|[!?…]+[\"')\]]*(?=\s|$|[^\w\s])|[!?]+(?=\w)|\n+",
    re.IGNORECASE,
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
#: a Turkish verb of the first person, which makes a statement of what stands before a last word
_TOLD_BY_ONESELF: Final = re.compile(
    r"\w{2,}(?:[iu]yor(?:um|uz)|[dt][iu](?:m|k)|[ae]c[ae]g(?:im|iz))"
)
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


@keeps(64)
def _parts_of(text: str, codes: tuple[str, ...]) -> tuple[Part, ...]:
    bare = own_words(text)
    rules = rules_of(language_of(bare))
    out: list[Part] = []
    for start, end in within(_LONGEST, bare, (each.end() for each in _END.finditer(bare))):
        piece = bare[start:end]
        if any(map(str.isalnum, piece)) and len(out) < _MOST_SENTENCES:
            indent = len(piece) - len(piece.lstrip())
            out.append(_part(piece.strip(), start + indent, rules))
    return tuple(out)


def _part(text: str, start: int, rules: Rules) -> Part:
    folded = " ".join(plain(text).split()).strip(" \"'“”*_-•")
    if not need_gate(text).needed:
        return Part(text, folded, start, "idle", "")
    kept = not folded.endswith("?") and _matches(folded, rules, "keep")
    kept = kept or _matches(folded, rules, "reminder")
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
    return _matches(folded, rules, "lasting") or _matches(folded, rules, "rule")


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
        and (_matches(folded, rules, "asks"))
    )


def _orders(text: str, folded: str, rules: Rules) -> bool:
    if _matches(folded, rules, "request") or _PLEADS.search(folded):
        return True
    if folded.endswith("?") or _NAMED.match(text):
        return False
    words = _WORD.findall(folded)
    return _begins_with_order(words, rules.words) or _ends_with_order(words, rules.words)


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


def _ends_with_order(words: list[str], lists: Mapping[str, frozenset[str]]) -> bool:
    """Whether the verb of an order ends the sentence: "kapıyı aç"."""
    verbs = lists["orders_last"]
    if len(words) > 2 and words[-1] in lists["politeness"]:
        words = words[:-1]
    if not verbs or len(words) < 2:
        return False
    if any(map(_TOLD_BY_ONESELF.fullmatch, words[:-1])):
        return False  # "İzmir'e taşınmayı düşünüyoruz belki yazın"
    last = words[-1]
    stems = {last, *(last.removesuffix(each) for each in lists["order_endings"])}
    return any(stem in verbs or f"{words[-2]} {stem}" in verbs for stem in stems)


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
        if not is_aside and (_matches(clause, rules, "asks") or _orders(clause, clause, rules)):
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


def _matches(folded: str, rules: Rules, name: str) -> bool:
    return any(each.search(folded) for each in rules.patterns[name])
