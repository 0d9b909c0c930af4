"""Decides what to do with a cue and its hits: whether memory is needed, how much is said."""

from __future__ import annotations

from spector.recall.context import (
    Context,
    Quote,
)
from spector.recall.options import (
    RareArguments,
    RecallArguments,
    RecallOptions,
)
from spector.recall.recaller import (
    Recaller,
)

__all__ = [
    "Context",
    "Quote",
    "RareArguments",
    "RecallArguments",
    "RecallOptions",
    "Recaller",
]
