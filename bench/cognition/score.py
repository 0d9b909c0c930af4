"""One figure of the scoreboard beside its floor and its goal."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = ["Score", "scores"]

_BOARD: Final = Path(__file__).with_name("board.md")
_BOUND: Final = re.compile(r"\{(\w+)(>=|<=|>)([-\w.]+)(?::(.*?))?\}")
_SIGNS: Final = {">=": operator.ge, "<=": operator.le, ">": operator.gt}


@dataclass(frozen=True, slots=True)
class Score:
    """One figure beside its floor and its goal."""

    row: int
    what: str
    found: str
    floor: str
    goal: str
    reached: bool


def scores(of: str, **figures: Any) -> list[Score]:
    """What the board says of these figures: its lines of that name, in their order."""

    def is_kept(name: str, sign: str, bound: str, _: str) -> bool:
        wanted = figures[bound] if bound in figures else float(bound)
        return bool(_SIGNS[sign](figures[name], wanted))

    return [
        Score(
            int(row),
            *(each.format(**figures) for each in (what, found, floor)),
            _BOUND.sub(lambda at: at[3] if at[4] is None else at[4], goal),
            goal != "-" and all(is_kept(*each) for each in _BOUND.findall(goal)),
        )
        for name, row, what, found, floor, goal in _lines()
        if name == of
    ]


@cache
def _lines() -> list[list[str]]:
    rows = [line for line in _BOARD.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    return [line.strip("| ").split(" | ") for line in rows[2:]]
