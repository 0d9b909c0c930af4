"""What a process holds and gives back: calls, resources, caches, its exit."""

from __future__ import annotations

from spector.process import exit
from spector.process.caches import KEEPERS, drop_all_caches, keeps
from spector.process.callbacks import Callback, LayerCallbacks, Watchers
from spector.process.calls import Calls, Pace, Steps, verb
from spector.process.cycles import CycleTurn
from spector.process.exit import at_exit
from spector.process.installation import has_namesake, overlaid
from spector.process.later import Later
from spector.process.layers import ForeignLayers
from spector.process.operations import SNIPPET, Operation, Operations
from spector.process.resources import (
    Call,
    Resource,
    WeakList,
    calls_here,
    completed,
    drop,
    each_elsewhere,
    elsewhere,
    entry,
    held_by_calling,
    managed,
    postpone,
    take,
)
from spector.process.safe_open import kind_of, open_given
from spector.process.shortage import is_short_of_memory, said_as_memory_error
from spector.process.sole import Sole
from spector.process.turns import Turn

__all__ = [
    "KEEPERS",
    "SNIPPET",
    "Call",
    "Callback",
    "Calls",
    "CycleTurn",
    "ForeignLayers",
    "Later",
    "LayerCallbacks",
    "Operation",
    "Operations",
    "Pace",
    "Resource",
    "Sole",
    "Steps",
    "Turn",
    "Watchers",
    "WeakList",
    "at_exit",
    "calls_here",
    "completed",
    "drop",
    "drop_all_caches",
    "each_elsewhere",
    "elsewhere",
    "entry",
    "exit",
    "has_namesake",
    "held_by_calling",
    "is_short_of_memory",
    "keeps",
    "kind_of",
    "managed",
    "open_given",
    "overlaid",
    "postpone",
    "said_as_memory_error",
    "take",
    "verb",
]
