"""What a cue says of itself: its kind, the time and the id that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spector.language.cues import Kind, kind_of
from spector.language.time import Span, hull, time_range_in
from spector.search.view.request import RecallRequest

__all__ = ["Reading", "id_in", "read_cue"]

#: no place on earth is further from UTC: its days are not those that a time is made of
_ZONES_MS: Final = 14 * 3_600_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A cue as the rules of language read it; no store is asked.

    Attributes:
        kind: as the caller named it, or by the wording.
        span: the stretch of time that the cue names, widened by the time zones; None without one.
        record_id: the id that the cue is, if it is one and nothing else.
    """

    kind: Kind
    span: Span | None
    record_id: int | None


def read_cue(request: RecallRequest) -> Reading:
    """The reading of a request's cue."""
    cue = request.cue
    if cue is None:
        return Reading(Kind.FACT, None, None)
    by_time = request.ranks_by_evidence and request.profile.ranking.by_time
    found = Kind(request.kind) if request.kind else kind_of(cue)
    time = time_range_in(cue, request.now_ms, kind=found) if by_time else None
    span = None
    if time is not None:
        start, end = hull(time.spans)
        span = Span(start - _ZONES_MS, end + _ZONES_MS)
    return Reading(found, span, id_in(cue))


def id_in(cue: str) -> int | None:
    """The id that a cue is, if it is one and nothing else."""
    text = cue.strip()
    return int(text) if text.isdecimal() and len(text) <= 18 else None
