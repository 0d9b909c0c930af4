"""Hedges, words of change and words of alarm in a text."""

from __future__ import annotations

from typing import Final

from spector.language.observing.rules import rules_of
from spector.language.tables import language_of, languages_applied, words_of
from spector.process import keeps

#: importance of an error, a breach or a deadline, and of a weaker word
_ALARM: Final = 0.8
_WEAK: Final = 0.5
_MOST_CHARS: Final = 20_000


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


@keeps(32)
def _lists_in(text: str, _: tuple[str, ...]) -> frozenset[str]:
    text = text[:_MOST_CHARS]
    rules = rules_of(language_of(text))
    return frozenset(each.name for each in rules.lexicon.matches(words_of(text)))
