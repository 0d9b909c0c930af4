"""Which older memories a new one may have changed.

That decides their order and hides nothing. Where no model reads the two, a word of change beside a
near memory of the same speaker, or one with a value of the same, is enough; so are the same words
with another value in one place. What adds to something changes nothing. What a judge or the model
says of two is not overruled here by rules on their subjects and dates, which cover a fifth of true
changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from spector.config import ObserveConfig
from spector.language.observing import is_hedged, tells_of_change, tells_of_more
from spector.language.statements import value_replaced
from spector.language.words import analyse
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.vetoes import distrust, fills_slot, veto
from spector.records import PairVerdict

__all__ = ["changes_perhaps"]

#: older memories that one message may have changed
_MOST: Final = 2
#: content words in common that stand for likeness where there are no vectors
_SHARED: Final = 2
#: share of pairs with another value in one place that were changes, on the hands of development
_IN_PLACE: Final = 0.8


def changes_perhaps(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig,
    verdicts: Mapping[int, PairVerdict],
    changes: Mapping[str, float],
) -> list[tuple[Candidate, float]]:
    """Older memories that a new one may have changed, the likeliest first, with a confidence.

    Args:
        verdicts: memory -> what a judge says of it. changes: words of an older memory ->
            probability by the model. Verdicts are in place of the cues; the model is in place of
            those that are not about a slot.
    """
    if is_hedged(new.said):
        return []
    adds, has_cue = tells_of_more(new.said), tells_of_change(new.said)

    def confidence(old: Candidate) -> float:
        if old.id in verdicts:
            return verdicts[old.id].replaced
        cues = 0.0 if adds else _confidence(new, old, has_cue, old.said not in changes)
        return max(cues, changes.get(old.said, 0.0))

    found = [
        (each, sure)
        for each in candidates
        if not each.is_knowledge
        and not each.is_dormant
        and each.speaker == new.speaker
        and each.record.event_ms <= new.event_ms
        and (sure := confidence(each)) >= config.order_at
        and not (distrust if each.id in verdicts or each.said in changes else veto)(new, each)
    ]
    return sorted(found, key=lambda each: (-each[1], each[0].id))[:_MOST]


def _confidence(new: Incoming, old: Candidate, has_cue: bool, is_free: bool) -> float:
    """Of the cues; of those about one slot alone where the model has read both texts."""
    if has_cue and fills_slot(new, old):
        return _IN_PLACE
    if is_free and value_replaced(old.said, new.said):
        return _IN_PLACE
    return _likeness(new, old) if is_free and has_cue else 0.0


def _likeness(new: Incoming, old: Candidate) -> float:
    if old.likeness is not None:
        return old.likeness
    words = set(analyse(old.said).content()) & set(analyse(new.said).content())
    return 1.0 - 1.0 / (1 + len(words)) if len(words) >= _SHARED else 0.0
