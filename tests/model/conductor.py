"""Decides what happens between two disk operations: a read, a failure of the disk, a kill.

A single thread switches between actors at the store's file operations and SQL statements, so a run
with the same seed is always the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.model.faults import Photographer

__all__ = ["Conductor", "Plan", "Trouble"]

#: no operation has so many moments
NEVER = 1 << 30
_KINDS = ("EIO", "EIO", "ENOSPC", "ENOSPC", "EDQUOT", "EMFILE", "EACCES", "EINTR", "short")
_MOMENTS = 24


@dataclass(frozen=True)
class Trouble:
    """The ``at``-th moment fails, or from that on all do."""

    kind: str
    at: int
    forever: bool


@dataclass(frozen=True)
class Plan:
    """What happens within one operation: looks by moment (which reader), and perhaps trouble."""

    looks: Mapping[int, int] = field(default_factory=dict)
    trouble: Trouble | None = None

    @classmethod
    def draw(cls, rng: random.Random) -> Plan:
        looks = {}
        if rng.random() < 0.6:
            at = rng.randrange(1, _MOMENTS)
            looks = {at + n: rng.randrange(4) for n in range(rng.randrange(1, 4))}
        trouble = None
        if rng.random() < 0.2:
            trouble = Trouble(rng.choice(_KINDS), rng.randrange(1, _MOMENTS), rng.random() < 0.3)
        return cls(looks, trouble)


class Conductor(Photographer):
    """Counts moments and lets come about what is planned for each."""

    looks: Mapping[int, int]
    look: Callable[[int, str], None]
    trouble: Trouble | None = None
    struck: str = ""

    def conduct(self, plan: Plan, look: Callable[[int, str], None], *, doomed: bool) -> None:
        """Begin an operation; a doomed one has its moment of death already."""
        if not doomed:
            self.wait(NEVER, lambda: None)
        self.looks, self.look = plan.looks, look
        self.trouble, self.struck = (None if doomed else plan.trouble), ""

    def rest(self) -> None:
        """Nothing happens until the next operation; the disk is healed."""
        self.armed, self.trouble, self.looks = False, None, {}

    def point(self, name: str) -> str:
        if not self.armed:
            return ""
        super().point(name)
        if not self.armed:  # just killed: nobody sees what this one does now
            return ""
        if self.count in self.looks:
            self.armed = False
            self.look(self.looks[self.count], name)
            self.armed = True
        due = self.trouble
        if due is None or not (self.count == due.at or (due.forever and self.count > due.at)):
            return ""
        self.struck = self.struck or name
        return due.kind
