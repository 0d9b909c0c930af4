"""One figure of the scoreboard beside its floor and its goal."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Score"]


@dataclass(frozen=True, slots=True)
class Score:
    """One figure beside its floor and its goal."""

    row: int
    what: str
    found: str
    floor: str
    goal: str
    reached: bool
