"""Short messages as people type them in a chat, and what one changes of another."""

from __future__ import annotations

from spector.language.frames.chat.restated import restated
from spector.language.frames.chat.swapped import swapped

__all__ = ["changed_in_chat"]


def changed_in_chat(old: str, new: str) -> float:
    """How surely a new short message changes what an old short one states, 0..1; 0 for not."""
    return restated(old, new) or swapped(old, new)
