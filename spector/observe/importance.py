"""How much a message matters: novelty, arousal, reward and attention, or source, words and length.

The four channels see what is known already (Cognitive Memory v9); the other formula reads the text
alone (UCMA, chapter 18). Values of classes and the boost are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from spector.config import ObserveConfig
from spector.language.words import plain
from spector.observe.gate import Candidate, cosines
from spector.observe.jobs import Unit, asked
from spector.providers import ImportanceScorer
from spector.records import Decision, Importance
from spector.write import scored

#: how much each class of message promises
_PRIOR: Final = {
    "rule": 0.9,
    "correction": 0.9,
    "preference": 0.8,
    "decision": 0.8,
    "plan": 0.7,
    "fact": 0.7,
}
_OTHER: Final = 0.4
#: of what a user asks to remember, as of a rule; least of what answers a question
_ASKED, _ANSWER = 0.9, 0.4
#: neighbours whose utility tells of a reward: the nearest from this likeness on
_KIN: Final = 5
_KIN_LIKENESS: Final = 0.5
_NEUTRAL: Final = 0.5
#: what raises and lowers the boost
_INTENSITY: Final = 0.3
_TELLING: Final = frozenset(("correction", "decision", "preference"))
_OF_CLASS: Final = 0.1
_MACHINES: Final = frozenset(("assistant_message", "system"))
_OF_MACHINE: Final = 0.2
_OF_HEDGE: Final = 0.1
#: how far the origin of a text counts where nothing else is known
_SOURCE: Final = {
    "system": 0.90,
    "user_message": 0.70,
    "tool": 0.50,
    "document": 0.30,
}
_OTHER_SOURCE: Final = 0.40
_KEYWORDS: Final = frozenset(
    """error failed failure critical important remember always never decided preference must
    required deadline urgent warning success completed fixed
    hata basarisiz kritik onemli hatirla hatirlat daima asla karar tercih zorunlu sart acil uyari
    basari tamamlandi duzeltildi""".split()
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_LONG: Final = 500
_PER_WORD, _MOST_WORDS = 0.1, 0.3
#: least composite of each priority
_PRIORITIES: Final = ((0.8, "critical"), (0.6, "high"), (0.4, "normal"))
#: of what may be worth nothing; the share that is left of what its speaker does not mean
_DOUBTFUL: Final = 0.1
_NOT_MEANT: Final = 0.5
#: sums of decimal fractions miss a limit by a rounding
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """What the formula of four channels is about.

    Attributes:
        kind: the class of the message. worth: its importance by its words, 0..1; None for the
            class alone. data_source: the class of its origin.
        is_asked: a user asks that it be remembered.
        valence, arousal: of its emotion. alarm: of its words for errors and deadlines.
        likeness: to the nearest memory of the scope; None where there is none.
        is_changed: it gives another value to what is known.
        kin: (likeness, utility) of near memories.
        attention: greatest cosine to what the session is about; None without a session.
    """

    kind: str = "other"
    worth: float | None = None
    data_source: str = "user_message"
    valence: float = 0.0
    arousal: float = 0.0
    alarm: float = 0.0
    is_hedged: bool = False
    is_asked: bool = False
    likeness: float | None = None
    is_changed: bool = False
    kin: Sequence[tuple[float, float]] = ()
    attention: float | None = None


def by_channels(found: Channels, config: ObserveConfig) -> Importance:
    """The weighted sum of the four channels, times the boost; with the worth of the words, the
    geometric mean of both."""
    novelty = 1.0
    if found.likeness is not None and not found.is_changed:
        novelty = _clamp(1.0 - found.likeness)
    arousal = max(found.arousal, found.alarm)
    attention = _NEUTRAL if found.attention is None else _clamp(found.attention)
    reward = _reward(found, config)
    low, high = config.boost_range
    boost = _clamp(_boost(found), low, high)
    parts = zip(config.weights, (novelty, arousal, reward, attention), strict=True)
    composite = _clamp(sum(weight * value for weight, value in parts) * boost)
    if found.worth is not None and config.reward_prior:
        worth = max(found.worth, _ASKED if found.is_asked else 0.0)
        composite = math.sqrt(composite * worth)
    return Importance(novelty, arousal, reward, attention, boost, composite, priority_of(composite))


def _reward(found: Channels, config: ObserveConfig) -> float:
    prior = max(_PRIOR.get(found.kind, _OTHER), _ASKED if found.is_asked else 0.0)
    kin = sorted(found.kin, reverse=True)[:_KIN]
    if not config.reward_prior:
        weight = sum(max(0.0, likeness) for likeness, _ in kin)
        if not weight:
            return _NEUTRAL
        return sum(max(0.0, likeness) * utility for likeness, utility in kin) / weight
    close = [utility for likeness, utility in kin if likeness >= _KIN_LIKENESS]
    return (prior + sum(close) / len(close)) / 2 if close else prior


def _boost(found: Channels) -> float:
    return (
        1.0
        + _INTENSITY * max(abs(found.valence), found.arousal)
        + _OF_CLASS * (found.kind in _TELLING)
        - _OF_MACHINE * (found.data_source in _MACHINES)
        - _OF_HEDGE * found.is_hedged
    )


def by_text(text: str, data_source: str) -> float:
    """Importance by origin, keywords and length (UCMA)."""
    words = set(_WORD.findall(plain(text)))
    hits = min(_PER_WORD * len(words & _KEYWORDS), _MOST_WORDS)
    source = _SOURCE.get(data_source, _OTHER_SOURCE)
    return round(0.5 * source + 0.3 * hits + 0.2 * min(len(text) / _LONG, 1.0), 3)


def priority_of(composite: float) -> str:
    """critical, high, normal or low."""
    for least, name in _PRIORITIES:
        if composite >= least - _ROUNDING:
            return name
    return "low"


def _worth_of(unit: Unit) -> float | None:
    """The worth of the words; those that answer take theirs from the question."""
    worth = unit.worth
    return worth if worth is None or not unit.turn_before[0] else max(worth, _ANSWER)


def _clamp(value: float, low: float = 0.0, high: float = 1.0) -> float:
    return min(high, max(low, value))


@dataclass(eq=False)
class Rater:
    """Rates statements.

    Args:
        scorer: the caller's own; None for the formula of the configuration.
    """

    config: ObserveConfig
    scorer: ImportanceScorer | None = None

    def ask(self, unit: Unit) -> None:
        """Ask the caller's scorer, with no lock held; where it fails, the formula decides."""
        scorer, draft = self.scorer, unit.ready.draft
        if scorer is not None and draft.importance is None:
            unit.scored = asked(unit.work, "importance", lambda: scored(scorer, draft))

    def rate(self, unit: Unit, candidates: Sequence[Candidate], decision: Decision) -> Importance:
        work, observe = unit.work, self.config
        changed = decision.action == "supersede" or decision.relation == "contradicts"
        near = [
            (each.likeness, each.record.utility) for each in candidates if each.likeness is not None
        ]
        found = by_channels(
            Channels(
                kind=work.kind,
                worth=_worth_of(unit),
                data_source=work.message.data_source,
                valence=work.emotion.valence,
                arousal=work.emotion.arousal,
                alarm=work.alarm,
                is_hedged=work.is_hedged,
                is_asked=work.is_asked,
                likeness=max((like for like, _ in near), default=None),
                is_changed=changed,
                kin=near,
                attention=self._attention(unit),
            ),
            observe,
        )
        value = self._valued(unit, found.composite)
        if value == found.composite:
            return found
        return replace(found, composite=value, priority=priority_of(value))

    def _valued(self, unit: Unit, composite: float) -> float:
        """The importance that counts: the caller's, his scorer's, a doubt's, then the formulas'."""
        draft, message = unit.ready.draft, unit.work.message
        if draft.importance is not None:
            return draft.importance
        if unit.scored is not None:
            return unit.scored
        if unit.work.doubt:
            return _DOUBTFUL
        if self.config.importance == "ucma":
            composite = by_text(message.text, message.data_source)
        value = composite if unit.judged is None else unit.judged
        return value if unit.work.states else value * _NOT_MEANT

    def _attention(self, unit: Unit) -> float | None:
        session, vector = unit.work.session, unit.ready.vector
        if session is None or vector is None:
            return None
        others = list(session.attention_vectors)
        if not others:
            return None
        return max(0.0, max(cosines(np.stack(others), vector)))
