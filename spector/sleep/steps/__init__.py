"""The steps of a cycle, each a plan over the memories of the night that yields units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from spector.sleep.night import Night, Units
from spector.sleep.steps.compressing import compress
from spector.sleep.steps.concepts import rhythm
from spector.sleep.steps.forgetting import forget
from spector.sleep.steps.gathering import consolidate, theme_text
from spector.sleep.steps.graph import graph
from spector.sleep.steps.learning import extract
from spector.sleep.steps.redundancy import deduplicate
from spector.sleep.steps.strengths import decay, emotion, rehearse, replay
from spector.sleep.steps.tiers import demote, expire, promote

__all__ = ["STEPS", "Step", "theme_text"]

#: a step from a cursor on
Step: TypeAlias = Callable[[Night, int], Units]

#: by name; sealing and upkeep are mechanics of the files, which have no plan
STEPS: Final[Mapping[str, Step]] = {
    "rhythm": rhythm,
    "decay": decay,
    "emotion": emotion,
    "replay": replay,
    "promote": promote,
    "demote": demote,
    "rehearse": rehearse,
    "expire": expire,
    "compress": compress,
    "extract": extract,
    "consolidate": consolidate,
    "deduplicate": deduplicate,
    "graph": graph,
    "forget": forget,
}
