"""Three ways of giving the speaker and three of giving the time: what callers write or omit.

A measurement that gives the speaker as ``role=`` says nothing of stores where the name only opens
the text, so every run is made in all ways; the worse of ``role`` and ``name`` is the headline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bench.recall.shape import SOME_DAY, Item

__all__ = ["HEADLINE", "TIMES", "WAYS", "message_of", "text_of"]

Form = Callable[[Item], dict[str, Any]]

#: way -> what of a speaker is written
WAYS: Final[dict[str, Form]] = {
    "role": lambda item: {"text": item.text, "role": item.speaker or None},
    "name": lambda item: {"text": f"{item.speaker}: {item.text}" if item.speaker else item.text},
    "words": lambda item: {"text": item.text},
}
#: the ways of which the worse one is the headline
HEADLINE: Final = ("role", "name")
#: how event times are written: the set's own, one for all, or none
TIMES: Final[dict[str, Form]] = {
    "real": lambda item: {"event_time": item.time or SOME_DAY},
    "fixed": lambda _: {"event_time": SOME_DAY},
    "absent": lambda _: {},
}


def text_of(item: Item, way: str) -> str:
    """The words that are written of an item."""
    text: str = WAYS[way](item)["text"]
    return text


def message_of(
    item: Item, way: str, times: str = "real", tier: str | None = None
) -> dict[str, Any]:
    """The arguments of ``remember`` for an item."""
    message = {**WAYS[way](item), **TIMES[times](item), "session_id": item.session or None}
    return {**message, "tier": tier} if tier else message
