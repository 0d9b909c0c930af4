"""One figure of the scoreboard beside its floor and its goal, and where the sets lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench.machine import REPO

__all__ = ["Score", "data"]


@dataclass(frozen=True, slots=True)
class Score:
    """One figure beside its floor and its goal."""

    row: int
    what: str
    found: str
    floor: str
    goal: str
    reached: bool


def data() -> Path:
    """The folder of the sets."""
    return Path(os.environ.get("SPECTOR_DATA", REPO.parent / "shared" / "data"))
