"""Short messages as people type them in a chat, and what one changes of another."""

from __future__ import annotations

from spector.language.frames.chat.amounts import are_of_kind, values_and_rest
from spector.language.frames.chat.asked import Given, ValueAsked, value_asked
from spector.language.frames.chat.restated import restated
from spector.language.frames.chat.spoken import spoken
from spector.language.frames.chat.swapped import swapped

__all__ = [
    "Given", "ValueAsked", "are_of_kind", "changed_in_chat", "spoken", "value_asked",
    "values_and_rest",
]


def changed_in_chat(old: str, new: str) -> float:
    """How surely a new short message changes what an old short one states, 0..1; 0 for not."""
    after = spoken(new)
    if after is None or after.open or after.adds:
        return 0.0  # most messages: the old ones need not be read
    return restated(old, new) or swapped(old, new)
