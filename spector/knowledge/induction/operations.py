"""Operational patterns: tools whose success changes steadily from day to day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spector.knowledge.grounding import Figure
from spector.knowledge.induction.associations import Association
from spector.knowledge.statistics import ENOUGH, assess

__all__ = ["Trend", "trend_of", "trend_text"]

_DAY_MS: Final = 86_400_000
LEAST_R2: Final = 0.4
_OVER_TIME: Final = " success over time"


@dataclass(frozen=True, slots=True)
class Trend:
    """How the success of a tool changes over time."""

    tool: str
    scope: str
    #: share of successes gained or lost a day
    slope_per_day: float
    #: share of the variance that the line explains
    r2: float
    #: days with an outcome
    days: int
    successes: int
    observations: int
    #: the memories that it was computed from, by time
    sources: tuple[int, ...]

    @property
    def name(self) -> str:
        """``stat:tool:navigate:success``."""
        return f"stat:tool:{self.tool}:success"

    def figure(self) -> Figure:
        """The statistic that says it."""
        name = f"{self.tool}{_OVER_TIME}"
        values: dict[str, float] = {
            "slope_per_day": self.slope_per_day,
            "r2": self.r2,
            "days": self.days,
            "successes": self.successes,
            "n": self.observations,
        }
        return Figure(
            self.name,
            name,
            trend_text(name, values),
            values,
            self.observations,
            category="pattern",
            domain="operations",
            confidence=self.r2,
        )


def trend_text(name: str, values: Mapping[str, float]) -> str:
    """How the statistic of a trend reads."""
    way = "falls" if values["slope_per_day"] < 0 else "rises"
    return (
        f"{name.removesuffix(_OVER_TIME)} success {way}: slope={values['slope_per_day']:+.3f} a"
        f" day, R2={values['r2']:.2f} ({int(values['successes'])}/{int(values['n'])} on"
        f" {int(values['days'])} days)"
    )


def trend_of(
    association: Association,
    evidence: Sequence[tuple[int, int, bool]],
    *,
    enough: int = ENOUGH,
    least_r2: float = LEAST_R2,
) -> Trend | None:
    """The trend of a tool, from ``enough`` days and from ``least_r2`` on; None without one.

    Args:
        association: Of the tool alone.
        evidence: (event time in ms, memory, success), by time.
    """
    if association.about:
        return None
    days: dict[int, list[bool]] = {}
    for t_ms, _, success in evidence:
        days.setdefault(t_ms // _DAY_MS, []).append(success)
    if len(days) < enough:
        return None
    rates = [sum(each) / len(each) for _, each in sorted(days.items())]
    found = assess(rates, [float(day) for day in sorted(days)])
    if found.r2 < least_r2 or found.slope_per_day == 0.0:
        return None
    return Trend(
        association.tool,
        association.scope,
        found.slope_per_day,
        found.r2,
        len(days),
        sum(success for _, _, success in evidence),
        len(evidence),
        tuple(memory for _, memory, _ in evidence),
    )
