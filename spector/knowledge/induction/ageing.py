"""Which concepts are retired: weak ones that nothing has used for a month, and what is too many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["ConceptUse", "concepts_to_retire"]

_DAY_MS: Final = 86_400_000
#: confidence from which a concept is kept whenever it was used last
SURE: Final = 0.6
MOST_CONCEPTS: Final = 5_000
#: hours around the phase of a rhythm that count as its time
_NEAR_H: Final = 1.0


@dataclass(frozen=True, slots=True)
class ConceptUse:
    """What decides whether a concept is retired."""

    id: int
    confidence: float
    #: last use of its memory, or its newest reference, whichever came later
    used_ms: int
    #: pinned or immutable
    is_protected: bool = False
    #: hour of the day at which it is used, if it has one
    phase: float | None = None


def concepts_to_retire(
    concepts: Iterable[ConceptUse],
    now_ms: int,
    *,
    hour: float | None = None,
    most: int = MOST_CONCEPTS,
    max_age_days: float = 30.0,
    sure: float = SURE,
) -> dict[int, str]:
    """The active concepts of one scope that are to be retired, each with the reason.

    ``age``: its confidence is below ``sure`` and it was not used for ``max_age_days``.
    ``capacity``: more than ``most`` are left; the least sure goes first, of equals the one unused
    for longest, and those that are used at this hour of the day go last.

    Args:
        hour: the present hour of the day, 0..24, in the zone of the store; None: no hour matters.
    """
    left, out = [], {}
    for each in concepts:
        idle_days = (now_ms - each.used_ms) / _DAY_MS
        if not each.is_protected and each.confidence < sure and idle_days >= max_age_days:
            out[each.id] = "age"
        else:
            left.append(each)
    free = sorted(
        (each for each in left if not each.is_protected),
        key=lambda each: (_is_its_time(each, hour), each.confidence, each.used_ms, each.id),
    )
    out |= {each.id: "capacity" for each in free[: max(0, len(left) - most)]}
    return out


def _is_its_time(concept: ConceptUse, hour: float | None) -> bool:
    if hour is None or concept.phase is None:
        return False
    apart = abs(hour - concept.phase) % 24.0
    return min(apart, 24.0 - apart) <= _NEAR_H
