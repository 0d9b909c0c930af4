"""Reads a cue by the rules of language alone: kind, topic, time, id."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Final

from spector.clock import MIN_MS
from spector.language.cues import Kind, Topic, asks_for_now, asks_when, kind_of, topic_of
from spector.language.dates import Span, hull, time_range_in, window_of
from spector.search.view import NO_READING, Reading

__all__ = ["default_k", "read_cue", "topic_in"]

#: no place on earth is further from UTC: its days are not those that a time is made of
_ZONES_MS: Final = 14 * 3_600_000


def read_cue(
    text: str | None,
    *,
    named: str,
    topic: Topic | None,
    may_be_now: bool,
    now_ms: int | None,
    zone: tzinfo | None = None,
) -> Reading:
    """The reading of a cue.

    Args:
        named: the kind that the caller names; "" for the wording's.
        topic: see `topic_in`.
        may_be_now: whether the present is asked about at all, and no other moment.
        now_ms: from when the times in the cue count; None to read none.
        zone: whose days they are; None where it is not known, and days of any zone may be meant.
    """
    if text is None:
        return NO_READING
    found = Kind(named) if named else kind_of(text)
    is_of_now = may_be_now and asks_for_now(text)
    time = span = None
    if now_ms is not None:
        time = time_range_in(text, now_ms, zone=zone or UTC)
    window = None if time is None else window_of(text, time, found)
    if time is not None and window is None and found is not Kind.FACT:
        time = time_range_in(text, now_ms or 0, kind=found, zone=zone or UTC)
    if time is not None:
        start, end = hull(time.spans)
        slack = _ZONES_MS if zone is None else 0
        span = Span(start - slack, end + slack)
    ends_ms = None
    if may_be_now and span is not None:
        ends_ms = span[0]
    elif may_be_now and asks_when(text):
        ends_ms = MIN_MS
    return Reading(found, topic, is_of_now, span, _id_in(text), ends_ms, zone, window)


def _id_in(text: str) -> int | None:
    """The id that a cue is, if it is one and nothing else."""
    bare = text.strip()
    return int(bare) if bare.isdecimal() and len(bare) <= 18 else None


def topic_in(text: str | None, named: str) -> Topic | None:
    """The topic of a cue about the conversation; None for any other, and for a named talk."""
    if text is None or named not in ("", "fact"):
        return None
    topic = topic_of(text)
    return topic if topic.kind else None


def default_k(topic: Topic | None, usual: int) -> int:
    """The default number of hits: twice as many for an order of events or a summary."""
    return 2 * usual if topic is not None and topic.wants_many else usual
