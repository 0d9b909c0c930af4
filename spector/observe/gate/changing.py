"""Which older memories a new one may have changed.

That decides their order and hides nothing, so a word of change and a near memory of the same
speaker are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spector.config import ObserveConfig
from spector.language.observing import is_hedged, tells_of_change
from spector.language.words import analyse
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.vetoes import veto

__all__ = ["changes_perhaps"]

#: older memories that one message may have changed
_MOST: Final = 2
#: content words in common that stand for likeness where there are no vectors
_SHARED: Final = 2


def changes_perhaps(
    new: Incoming, candidates: Sequence[Candidate], config: ObserveConfig
) -> list[tuple[Candidate, float]]:
    """Older memories that a new one may have changed, the likeliest first, with a confidence."""
    if not tells_of_change(new.said) or is_hedged(new.said):
        return []
    found = [
        (each, sure)
        for each in candidates
        if not each.is_knowledge
        and not each.is_dormant
        and each.speaker == new.speaker
        and each.record.event_ms <= new.event_ms
        and (sure := _likeness(new, each)) >= config.order_at
        and not veto(new, each)
    ]
    return sorted(found, key=lambda each: (-each[1], each[0].id))[:_MOST]


def _likeness(new: Incoming, old: Candidate) -> float:
    if old.likeness is not None:
        return old.likeness
    words = set(analyse(old.said).content()) & set(analyse(new.said).content())
    return 1.0 - 1.0 / (1 + len(words)) if len(words) >= _SHARED else 0.0
