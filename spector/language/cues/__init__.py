"""What a cue asks: its kind, its parts, its topic."""

from __future__ import annotations

from spector.language.cues.compound import (
    split,
)
from spector.language.cues.intent import (
    PARAMS,
    Intent,
    Kind,
    Params,
    is_name,
    kind,
    route,
)
from spector.language.cues.long_cue import (
    shortened,
)
from spector.language.cues.smalltalk import (
    ASKING,
    FILLERS,
    PHRASES,
)
from spector.language.cues.topic import (
    ASSISTANT,
    USER,
    Frame,
    Topic,
    topic_of,
)

__all__ = [
    "ASKING",
    "ASSISTANT",
    "FILLERS",
    "PARAMS",
    "PHRASES",
    "USER",
    "Frame",
    "Intent",
    "Kind",
    "Params",
    "Topic",
    "is_name",
    "kind",
    "route",
    "shortened",
    "split",
    "topic_of",
]
