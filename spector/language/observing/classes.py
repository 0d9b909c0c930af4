"""The class of a message: rule, correction, preference, decision, plan, entity, fact or other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spector.language.entities import rule_mentions
from spector.language.observing.rules import Rules, rules_of
from spector.language.observing.sentences import Part, parts_of
from spector.language.tables import language_of

#: class -> confidence of its first pattern, in the order in which ties are decided
_BASE: Final = {
    "correction": 0.40, "rule": 0.40, "preference": 0.30, "decision": 0.35, "plan": 0.35,
    "entity": 0.30, "fact": 0.25,
}  # fmt: skip
KINDS: Final = (*_BASE, "other")
_STEP: Final = 0.15
_MOST: Final = 0.95
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
        kind: min(_MOST, _BASE[kind] + _STEP * (len(words) - 1))
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
