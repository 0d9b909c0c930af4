"""Two texts read side by side: what one replaces in the other, or cannot be so beside it."""

from __future__ import annotations

from spector.language.frames.pairs.akin import met
from spector.language.frames.pairs.kinds import TITLES
from spector.language.frames.pairs.replacing import Replacement, replacement
from spector.language.frames.pairs.tensions import denial_in, tension
from spector.language.frames.pairs.values import in_figures

__all__ = [
    "TITLES",
    "Replacement",
    "denial_in",
    "in_figures",
    "met",
    "replacement",
    "tension",
]
