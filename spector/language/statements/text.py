"""The fields of a memory that its words are indexed from."""

from __future__ import annotations

from typing import NamedTuple


class MemoryText(NamedTuple):
    """The fields of a memory that its words are indexed from.

    ``seal`` changes when any other field does; None if unknown. ``speaker`` is the name in the
    metadata, else the ``role``. ``text`` does not start with that name. ``aliases`` are names that
    the memory is found by. A memory that ``has_no_text`` is not indexed. Words of the
    ``turn_before`` find it as its own do.
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
    has_no_text: bool = False
    turn_before: str = ""
    user_id: str | None = None
