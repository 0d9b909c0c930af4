"""How well a memory is retained: curves for one memory, and its two strengths.

The kernel has the same curves for many memories; tests compare the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = ["FSRS6_DECAY", "FSRS6_FACTOR", "DualStrength", "dual_strength", "retention_at"]

#: FSRS-6: the default decay, and the factor that makes retention 0.9 after one stability
FSRS6_DECAY: Final = 0.1542
FSRS6_FACTOR: Final = 0.9 ** (-1.0 / FSRS6_DECAY) - 1.0
_LEAST_STABILITY_DAYS: Final = 1e-6
#: from which storage and below which retrieval something is on the tip of the tongue
_STORED: Final = 5.0
_HARD_TO_RETRIEVE: Final = 0.3


def retention_at(elapsed_days: float, stability_days: float, curve: Any = "fsrs") -> float:
    """The share of a memory that is retained, 0..1, some days after its last use.

    Args:
        curve: "fsrs" ``(1 + t / 9S)^-2``, "fsrs6" ``(1 + f t / S)^-0.1542``, "ebbinghaus"
            ``exp(-t / S)`` or "half_life" ``2^(-t / S)``.

    Raises:
        InvalidInputError: there is no such curve.
    """
    x = max(0.0, elapsed_days) / max(stability_days, _LEAST_STABILITY_DAYS)
    if curve == "fsrs":
        return float((1.0 + x / 9.0) ** -2.0)
    if curve == "fsrs6":
        return float((1.0 + FSRS6_FACTOR * x) ** -FSRS6_DECAY)
    if curve == "ebbinghaus":
        return math.exp(-x)
    if curve == "half_life":
        return float(2.0**-x)
    raise InvalidInputError(
        f"curve is {shown(curve)}", hint='pass "fsrs", "fsrs6", "ebbinghaus" or "half_life"'
    )


@dataclass(frozen=True, slots=True)
class DualStrength:
    """How well a memory is stored, which never decays, and how well it is retrieved.

    Source: Bjork's new theory of disuse, as in Cognitive Memory v9.
    """

    #: 1..10, by the number of accesses
    storage: float
    #: 0..1, by the time since the last use
    retrieval: float

    @property
    def tip_of_tongue(self) -> bool:
        """Well stored, and hard to retrieve."""
        return self.storage >= _STORED and self.retrieval < _HARD_TO_RETRIEVE


def dual_strength(accesses: int, elapsed_days: float, stability_days: float) -> DualStrength:
    """Storage ``min(10, 1 + 9 ln(1 + n) / ln 101)``, and retention by FSRS."""
    storage = min(10.0, 1.0 + 9.0 * math.log1p(max(0, accesses)) / math.log(101.0))
    return DualStrength(storage, retention_at(elapsed_days, stability_days))
