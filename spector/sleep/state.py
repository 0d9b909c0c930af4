"""Where sleep has come to: the one row that the store keeps of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from spector.layout import TierCode
from spector.search import Strengths

__all__ = ["ERASED", "TIERS", "SleepState", "before_step", "compact"]

TIERS: Final = {each.name.lower(): int(each) for each in TierCode}
ERASED: Final = "erased"
#: changes that are not of the numbers of a memory
_NO_VALUES: Final = frozenset({"made", "item", "restated", "rows", "cycle", ERASED})


@dataclass(slots=True, kw_only=True)
class SleepState:
    """The cycle that goes on or ended last, and when each part last ran.

    Attributes:
        step: the step that goes on; "" when no cycle is unfinished. cursor: how far it is.
        recent: what a going cycle has to know when it is resumed: its steps, when parts last ran.
        central: the most central memories and their scores.
    """

    cycle: int = 0
    started_ms: int = 0
    step: str = ""
    cursor: int = 0
    decayed_ms: int = 0
    extracted_id: int = 0
    abstracted_id: int = 0
    compressed_ms: int = 0
    tested_ms: int = 0
    seed: int = 0
    recent: dict[str, Any] = field(default_factory=dict)
    central: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> SleepState:
        """The state of a row; that of a store that never slept without one."""
        if row is None:
            return cls()
        values = {name: value for name, value in row.items() if name != "one"}
        values["recent"], values["central"] = json.loads(row["recent"]), json.loads(row["central"])
        return cls(**values)

    def row(self) -> dict[str, Any]:
        """The row of this state."""
        values = {name: getattr(self, name) for name in self.__slots__}
        for name in ("recent", "central"):
            values[name] = compact(values[name])
        return {"one": 1, **values}

    def note(self, changes: Mapping[str, Any]) -> None:
        """Take over fields; what ``recent`` names is added to it."""
        for name, value in changes.items():
            if name == "recent":
                self.recent = {**self.recent, **value}
            else:
                setattr(self, name, value)

    def note_once(self, name: str, value: Any) -> None:
        """Keep how far a step's plan has come, for when it is gone on with; JSON."""
        self.recent = {**self.recent, "once": {**self.recent.get("once", {}), name: value}}


def compact(value: Any) -> str:
    """JSON as the row keeps it."""
    return json.dumps(value, separators=(",", ":"))


def before_step(memories: Strengths, changes: Sequence[dict[str, Any]]) -> Strengths:
    """Memories without what a step has made, and as they were before it."""
    made = [row["record_id"] for row in changes if row["what"] == "made"]
    rows = memories.rows[~np.isin(memories.rows["id"], np.array(made, np.int64))].copy()
    places = {each: n for n, each in enumerate(rows["id"].tolist())}
    for row in reversed(changes):
        place = places.get(row["record_id"])
        if place is None or row["what"] in _NO_VALUES:
            continue
        for name, value in row["before"].items():
            if name == "tier":
                rows["tier"][place] = TIERS.get(value[0], rows["tier"][place])
            elif name != "why":
                rows[name][place] = value[0]
    return Strengths(rows, memories.users, memories.sessions)
