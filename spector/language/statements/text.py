"""A memory as its words need it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MemoryText"]


class MemoryText(NamedTuple):
    """A memory as its words need it. ``seal`` differs when anything else does; None: unknown.

    ``speaker`` is the name that its metadata give, else its ``role``. ``text`` is without that name
    where it opens with it. ``aliases`` are names that it is to be found by.
    """

    id: int
    segment_id: int
    slot: int
    event_ms: int
    session_id: str | None
    speaker: str | None
    text: str
    seal: int | None = None
    role: str | None = None
    source: str | None = None
    aliases: tuple[str, ...] = ()
