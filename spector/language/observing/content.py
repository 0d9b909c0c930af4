"""How much a text says: its words of content, and what it is worth keeping for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from spector.language.observing.rules import Rules, rules_of
from spector.language.observing.sentences import parts_of
from spector.language.tables import Match, language_of, words_of

#: weights of what makes a text worth keeping
_OF_REACTION, _OF_TIME, _OF_QUESTION = 0.5, 1.5, 1.0
_NUMBER: Final = re.compile(r"\d+")
#: a name that is spoken to: "Thanks, Ada!"
ADDRESSED: Final = re.compile(
    r"(?:^|[,!.?]\s|^(?:[Hh]ey|[Hh]i|[Hh]ello|[Mm]erhaba|[Ss]elam)\s)"
    r"[A-ZÇĞİÖŞÜ]\w+(?=[,!.?]|$)"
)


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
    return max(0, len(words) - len(empty) + more - len(ADDRESSED.findall(written)))


def matches(said: str, rules: Rules, name: str) -> bool:
    """Whether a folded sentence fits a list of patterns."""
    return any(each.search(said) for each in rules.patterns[name])
