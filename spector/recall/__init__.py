"""Decides what to do with a cue and its hits: whether memory is needed, how much is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.recall.context import Context, Quote, note_observed
    from spector.recall.context_builder import quoted_line
    from spector.recall.options import (
        ContextArguments,
        RareArguments,
        RecallOptions,
    )
    from spector.recall.recaller import Recaller


__getattr__ = on_first_use(__name__)
