"""Two texts read side by side: what one replaces in the other, or cannot be so beside it."""

from __future__ import annotations

from spector.language.frames.pairs.replacing import Replacement, replacement
from spector.language.frames.pairs.tensions import denial_in, tension

__all__ = [
    "Replacement",
    "denial_in",
    "replacement",
    "tension",
]
