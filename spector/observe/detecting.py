"""Detectors of the caller's own in the stages of observing; the rules where one fails.

A detector may raise, be slow or answer nonsense: it costs a fallback that the result names, and
never a message. None of them is asked about orders to a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.language.emotion import CATEGORIES
from spector.language.formation import Referents
from spector.observe.jobs import Work, asked
from spector.process import elsewhere
from spector.providers import CoreferenceResolver, RelationDetector
from spector.records import Emotion, Reference

_MOST_NAME: Final = 120
_KINDS: Final = ("related_to", "similar_to", "same_entity", "elaborates", "causes", "supports")
#: type of an entity as others may name it -> as it is kept
_ENTITY_TYPES: Final = {
    each: each for each in ("person", "org", "place", "product", "tech", "thing", "event")
} | {"organization": "org"}


@dataclass(frozen=True, slots=True)
class Resolved(Referents):
    """Who was named before, with a resolver that says who is meant."""

    resolver: CoreferenceResolver | None = None
    work: Work | None = None

    def after(
        self,
        text: str,
        *,
        speaker: str | None = None,
        asked_by: str | None = None,
        asked: str = "",
    ) -> Referents:
        known = Referents(self.turns).after(text, speaker=speaker)
        return Resolved(known.turns, resolver=self.resolver, work=self.work)

    def references(
        self, text: str, *, turkish: bool, least: float = 0.75, speaker: str | None = None
    ) -> tuple[Reference, ...]:
        resolver, out = self.resolver, self.work
        assert resolver is not None, "made with both"
        assert out is not None, "made with both"
        if "references" not in out.fallbacks:
            before = [turn.text for turn in self.turns]
            found = asked(
                out,
                "references",
                lambda: _references(elsewhere(resolver.resolve, text, before), text),
            )
            if found is not None:
                return found
        return Referents(self.turns).references(text, turkish=turkish, least=least, speaker=speaker)


def relate(
    detector: RelationDetector, text: str, others: Sequence[tuple[int, str]]
) -> dict[int, tuple[str, float]]:
    """memory -> (kind, confidence) for those of some memories that a text is related to."""
    return _related(elsewhere(detector.relate, text, others), {each for each, _ in others})


def feeling_of(found: Any) -> Emotion:
    """What a detector feels; an error where that cannot be."""
    if not isinstance(found, Emotion):
        raise TypeError("no Emotion")
    if not (-1 <= found.valence <= 1 and 0 <= found.arousal <= 1) or (
        found.category is not None and found.category not in CATEGORIES
    ):
        raise ValueError("an Emotion that cannot be")
    return found


def names_of(found: Any, text: str) -> dict[tuple[str, str], int]:
    """(name, type) -> how often it stands in the text, of names that are in it."""
    out: dict[tuple[str, str], int] = {}
    for name, kind in found:
        if not isinstance(name, str) or kind not in _ENTITY_TYPES:
            raise ValueError("a name without a type that there is")
        name = name.strip()
        if name and len(name) <= _MOST_NAME and name in text:
            out[name, _ENTITY_TYPES[kind]] = text.count(name)
    return out


def _references(found: Any, text: str) -> tuple[Reference, ...]:
    out = tuple(sorted(found, key=lambda each: each.start))
    for each in out:
        if text[each.start : each.start + len(each.word)] != each.word or not each.word:
            raise ValueError("a word that is not where it says")
        names = [name for name, _ in each.candidates] + ([each.chosen] if each.chosen else [])
        if any(
            len(name) > _MOST_NAME or not name.strip() or set(name) & set("[]\n") for name in names
        ):
            raise ValueError("a name that cannot be a note")
    return out


def _related(found: Mapping[Any, Any], shown: set[int]) -> dict[int, tuple[str, float]]:
    out: dict[int, tuple[str, float]] = {}
    for each, (kind, sure) in found.items():
        if each not in shown or kind not in _KINDS:
            raise ValueError("an id that was not shown, or a kind that there is not")
        if not 0 <= float(sure) <= 1:
            raise ValueError("no confidence in 0..1")
        if sure > 0:
            out[each] = (kind, float(sure))
    return out
