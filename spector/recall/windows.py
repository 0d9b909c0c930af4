"""A cue that names a time asks for what lies in it: "last week", "in April", "yesterday"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, tzinfo
from typing import Final

from spector.clock import MAX_MS, MIN_MS, local_of_ms, to_ms
from spector.language.dates import Period, Tense, dates_in, tense_of
from spector.language.time import Span
from spector.language.words import plain
from spector.records import Hit, HitList
from spector.search.view import RecallRequest

__all__ = ["lying_in"]

#: what one has told lies where it was told, whatever it is about
_TOLD: Final = re.compile(
    r"\b(?:i|we)\b.*\b(?:tell|told|say|said|mention(?:ed)?)\b"
    r"|\b(?:soyledi|soylemisti|anlatti|anlatmisti|dedi|demisti)[mk]\b"
)


def _asks_for_telling(cue: str) -> bool:
    """Whether a cue asks for what was told, and so for the time of the telling."""
    return bool(_TOLD.search(plain(cue[:2_000])))


def lying_in(hits: HitList, request: RecallRequest) -> HitList:
    """Those of some hits that lie in the time of the cue, by event or by a day that they name.

    Where none does, the answer is empty, and its reason names the time.
    """
    window, cue = request.reading.window, request.cue.text
    if window is None or cue is None:
        return hits
    telling, zone = _asks_for_telling(cue), request.reading.zone or UTC
    windows = [window]
    if tense_of(cue, len(cue), turkish=False) is not Tense.PAST:  # "on Friday" may be the next one
        named = dates_in(cue, local_of_ms(request.now_ms, zone).date())
        windows += [_span(each, zone) for found in named for each in found.periods]
    kept = [
        hit for hit in hits
        if window.start_ms <= (_told_ms(hit) if telling else hit.record.event_ms) < window.end_ms
        or (not telling and _names(hit, windows, zone))
    ]
    out = hits._holding(kept[: request.k])
    if not kept:
        first, last = (local_of_ms(ms, zone).date() for ms in (window.start_ms, window.end_ms - 1))
        said = f"{first}" if first == last else f"{first} to {last}"
        out.abstained, out.reason = True, f"nothing lies in the time that is asked for, {said}"
    return out


def _told_ms(hit: Hit) -> int:
    """When it was told: a turn of a talk when it was said, what was remembered when it was."""
    record = hit.record
    return record.recorded_ms if record.role is None else record.event_ms


def _names(hit: Hit, windows: Sequence[Span], zone: tzinfo) -> bool:
    """Whether a memory, or what it answers or corrects, names a day in one of some stretches of
    time."""
    record, before = hit.record, hit.turn_before[1]
    said = f"{before} {record.text}" if before else record.text
    days = dates_in(said, local_of_ms(record.event_ms, zone).date())
    named = [_span(each, zone) for found in days for each in found.periods]
    return any(
        one.start_ms < other.end_ms and other.start_ms < one.end_ms
        for one in named for other in windows
    )


def _span(period: Period, zone: tzinfo) -> Span:
    return Span(_moment(period.first, zone, MIN_MS), _moment(period.end, zone, MAX_MS))


def _moment(day: date | None, zone: tzinfo, otherwise: int) -> int:
    """When a day begins in a zone."""
    return otherwise if day is None else to_ms(day.isoformat(), zone=zone)
