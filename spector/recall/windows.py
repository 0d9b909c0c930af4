"""A cue that asks for a time is answered from it: "last week", "in April", "yesterday"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, tzinfo
from itertools import chain, zip_longest
from typing import Final

from spector.clock import MAX_MS, MIN_MS, local_of_ms, to_ms
from spector.language.dates import Bound, Period, Span, dates_in
from spector.records import Hit, HitList
from spector.search.view import RecallRequest, Selection, told_within, within

__all__ = ["answer_in_window"]

#: hits among which those are looked for that name a day of the time, or of which none is known
_POOL: Final = 128

Answer = Callable[[RecallRequest, RecallRequest], HitList]


def answer_in_window(
    request: RecallRequest, usual: RecallRequest, answer: Answer, max_k: int
) -> HitList:
    """The answer to a request whose cue asks for a time.

    It holds what lies in the time or names a day of it, in turn; where only what is known to lie
    elsewhere is no answer, this in turn with the rest: a turn of a talk tells when it was said,
    not when that happened of which it tells. Where nothing is left it is empty, and its reason
    names the time.

    Args:
        usual: the request without its mode, which fills up too few hits.
        answer: answers a request, given its usual one, without regard to the window.
    """
    window = request.reading.window
    assert window is not None, "a caller looks first"

    def of(selection: Selection | None, k: int) -> HitList:
        """The answer out of a selection."""
        if selection is None:
            return HitList()
        reading = replace(request.reading, window=None, span=None)
        asked = replace(request, k=k, selection=selection, reading=reading)
        filling = replace(usual, k=k, selection=selection, reading=reading)
        return answer(asked, asked if usual is request else filling)

    if window.bound is Bound.TOLD:
        hits = of(told_within(request.selection, window.span), request.k)
        kept = list(hits)
    else:
        hits = of(request.selection, min(max(request.k, _POOL), max_k))
        inside = of(within(request.selection, window.span), request.k)
        kept = _in_turn(inside, _named(hits, request))
        if window.bound is Bound.KNOWN:
            kept = _in_turn(kept, [hit for hit in hits if not _is_dated(hit)])
    out = hits._holding(kept[: request.k])
    if not kept:
        out.abstained, out.reason = True, _nothing_in(window.span, request.reading.zone or UTC)
    return out


def _in_turn(one: Sequence[Hit], other: Sequence[Hit]) -> list[Hit]:
    """Hits of two answers in turn, each once."""
    turns = chain.from_iterable(zip_longest(one, other))
    return list({hit.id: hit for hit in turns if hit is not None}.values())


def _named(hits: Sequence[Hit], request: RecallRequest) -> list[Hit]:
    """Hits that lie in the time of a cue or name a day of it."""
    window, zone = request.reading.window, request.reading.zone or UTC
    assert window is not None
    asked = [window.span]
    if request.cue.text is not None:  # "on Friday", "last Friday": two readings
        found = dates_in(request.cue.text, local_of_ms(request.now_ms, zone).date())
        spans = [_span(each, zone) for one in found for each in one.periods]
        asked += [one for one in spans if not window.is_past or one.start_ms <= request.now_ms]
    return [
        hit
        for hit in hits
        if any(one.start_ms <= hit.record.event_ms < one.end_ms for one in asked)
        or _names(hit, asked, zone)
    ]


def _is_dated(hit: Hit) -> bool:
    """Whether the time of what it tells was given with it."""
    record = hit.record
    return record.role is None and record.event_ms != record.recorded_ms


def _names(hit: Hit, asked: Sequence[Span], zone: tzinfo) -> bool:
    """Whether a memory, or what it answers or corrects, names a day in one of some stretches of
    time."""
    record, before = hit.record, hit.turn_before[1]
    said = f"{before} {record.text}" if before else record.text
    days = dates_in(said, local_of_ms(record.event_ms, zone).date())
    named = [_span(each, zone) for found in days for each in found.periods]
    return any(
        one.start_ms < other.end_ms and other.start_ms < one.end_ms
        for one in named
        for other in asked
    )


def _nothing_in(span: Span, zone: tzinfo) -> str:
    first, last = (local_of_ms(ms, zone).date() for ms in (span.start_ms, span.end_ms - 1))
    said = f"{first}" if first == last else f"{first} to {last}"
    return f"nothing lies in the time that is asked for, {said}"


def _span(period: Period, zone: tzinfo) -> Span:
    return Span(_moment(period.first, zone, MIN_MS), _moment(period.end, zone, MAX_MS))


def _moment(day: date | None, zone: tzinfo, otherwise: int) -> int:
    """When a day begins in a zone."""
    return otherwise if day is None else to_ms(day.isoformat(), zone=zone)
