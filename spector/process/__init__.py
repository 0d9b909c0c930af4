"""What a process holds and gives back: calls, resources, caches, its exit."""

from __future__ import annotations

from spector.process.calls import (
    SNIPPET,
    Callback,
    Calls,
    ForeignLayers,
    LayerCallbacks,
    Operation,
    Operations,
    Pace,
    Steps,
    Watchers,
    verb,
)
from spector.process.installation import has_namesake, overlaid
from spector.process.locks import CycleTurn, Turn
from spector.process.resources import (
    KEEPERS,
    Call,
    Later,
    Resource,
    Sole,
    WeakList,
    at_exit,
    calls_here,
    completed,
    drop,
    drop_all_caches,
    each_elsewhere,
    elsewhere,
    entry,
    held_by_calling,
    is_short_of_memory,
    keeps,
    managed,
    postpone,
    said_as_memory_error,
    take,
)
from spector.process.safe_open import kind_of, open_given
