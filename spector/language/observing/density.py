"""How much a message says, in counts: entities, facts, signals of time and of correction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from spector.language.observing.rules import Rules, rules_of
from spector.language.observing.sentences import Part, parts_of
from spector.language.tables import Match, Word, language_of, words_of
from spector.records import Density

__all__ = ["QUESTION_WORDS", "asks_in_detail", "content_words", "density_of", "substance_of"]

#: words of content from which on a question is detailed. Of the questions that people put to
#: assistants and that later questions are about, three in four have as many (BEAM), of those of
#: small talk hardly any (LoCoMo)
QUESTION_WORDS: Final = 6
_NO_CONTENT: Final = ("stop", "phatic", "temporal")
#: content words from which a sentence of the speaker's own states something, any other, and a mere
#: reaction to what was said ("that's great, you ...")
_OWN, _OTHER, _REACTION = 1, 1, 2
#: without a content word, a sentence of the speaker's own needs so many words
_OWN_WORDS: Final = 7
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
#: classes that state something without a content word: "I'll give it a try"
_CLASSES: Final = ("decision", "plan", "rule")
#: weights of what makes a text worth keeping
_OF_REACTION, _OF_TIME, _OF_QUESTION = 0.5, 1.5, 1.0
_NUMBER: Final = re.compile(r"\d+")
#: a name that is spoken to: "Thanks, Ada!"
_ADDRESSED: Final = re.compile(
    r"(?:^|[,!.?]\s|^(?:[Hh]ey|[Hh]i|[Hh]ello|[Mm]erhaba|[Ss]elam)\s)"
    r"[A-ZÇĞİÖŞÜ]\w+(?=[,!.?]|$)"
)


def density_of(
    text: str, *, entities: int, statements: int = 0, question_words: int = QUESTION_WORDS
) -> Density:
    """The density of a message; below 2 it says nothing that is worth a memory.

    A sentence that states something is a fact, and its subject counts as an entity: who speaks, or
    what the sentence is about where no entity is named. A message that only asks, in detail, tells
    one thing: what its asker is about.

    Args:
        entities: How many different entities the message names, the persons of the talk left out.
        statements: How many triples were read from it.
        question_words: Content of a question that is detailed; 0 for none.
    """
    rules = rules_of(language_of(text))
    counts = {"temporal": 0, "corrections": 0}
    facts = own = 0
    for part in parts_of(text):
        if part.said:
            words = words_of(part.said)
            found = list(rules.lexicon.matches(words))
            for each in found:
                if each.name in counts:
                    counts[each.name] += 1
            is_own = _matches(part, rules, "first_person")
            if _states(part, rules, content_words(part, words, found), is_own=is_own):
                facts, own = facts + 1, own + is_own
    if not facts and asks_in_detail(text, question_words):
        facts = own = 1
    facts = max(facts, statements)
    subjects = int(own > 0) if own or entities else int(facts > 0)
    return Density(entities + subjects, facts, **counts)


def asks_in_detail(text: str, least: int) -> bool:
    """Whether the questions of a text have so many words of content, times left out; 0 asks never.

    "What is the weather like in Kars today?" is about nothing that lasts; "how do I show the hourly
    forecast of the API behind the search box?" tells what its asker works on.
    """
    if not least:
        return False
    rules = rules_of(language_of(text))
    total = 0
    for part in parts_of(text):
        if part.kind == "asks":
            words = words_of(part.folded)
            empty = {
                at for each in rules.lexicon.matches(words) if each.name in _NO_CONTENT
                for at in range(each.start, each.end)
            }
            total += len(words) - len(empty)
    return total >= least


def substance_of(text: str) -> float:
    """How much a text is worth keeping: its content, times and numbers, less a question.

    Content words of a mere reaction count half. Unlike the density it has no bound, and orders
    messages: measured on which turns of a conversation are asked for later.
    """
    rules = rules_of(language_of(text))
    total = 0.0
    for part in parts_of(text):
        if part.said:
            words = words_of(part.said)
            found = list(rules.lexicon.matches(words))
            content = content_words(part, words, found)
            total += content * (_OF_REACTION if _matches(part, rules, "reaction") else 1.0)
            total += _OF_TIME * sum(each.name == "temporal" for each in found)
            total += _OF_TIME * len(_NUMBER.findall(part.said))
    return total - _OF_QUESTION * text.rstrip().endswith(("?", "\uff1f"))


def _states(part: Part, rules: Rules, content: int, *, is_own: bool) -> bool:
    if _matches(part, rules, "reaction"):
        return content >= _REACTION
    if content >= (_OWN if is_own else _OTHER):
        return True
    is_long = len(_WORD.findall(part.said)) >= _OWN_WORDS
    return is_own and (is_long or any(_matches(part, rules, each) for each in _CLASSES))


def content_words(part: Part, words: Sequence[Word], found: Iterable[Match]) -> int:
    """Words of what a sentence says that are neither common nor empty talk.

    A word of time counts once more, the name of who is spoken to not at all.
    """
    empty: set[int] = set()
    more = 0
    for each in found:
        if each.name in ("stop", "phatic"):
            empty.update(range(each.start, each.end))
        more += each.name == "temporal"
    return max(0, len(words) - len(empty) + more - len(_ADDRESSED.findall(part.text)))


def _matches(part: Part, rules: Rules, name: str) -> bool:
    return any(each.search(part.said) for each in rules.patterns[name])
