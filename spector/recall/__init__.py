"""Decides what to do with a cue and its hits: whether memory is needed, how much is said."""

from __future__ import annotations

from spector.recall.abstention import (
    CROWD,
    selected,
)
from spector.recall.context import (
    Context,
    Quote,
)
from spector.recall.context_builder import (
    ContextBuilder,
)
from spector.recall.hypothetical import (
    centroid,
    hypotheses,
)
from spector.recall.intent_presets import (
    intent_in,
    with_intent,
)
from spector.recall.merging import (
    DEPTH,
    merged,
)
from spector.recall.need import (
    gate,
    unneeded,
)
from spector.recall.options import (
    ParsedOptions,
    RareArguments,
    RecallArguments,
    RecallOptions,
    cut_of,
    newness_of,
    options_of,
    refuse_strange,
)

__all__ = [
    "CROWD",
    "DEPTH",
    "Context",
    "ContextBuilder",
    "ParsedOptions",
    "Quote",
    "RareArguments",
    "RecallArguments",
    "RecallOptions",
    "centroid",
    "cut_of",
    "gate",
    "hypotheses",
    "intent_in",
    "merged",
    "newness_of",
    "options_of",
    "refuse_strange",
    "selected",
    "unneeded",
    "with_intent",
]
