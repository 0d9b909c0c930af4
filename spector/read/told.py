"""The days that memories tell of, where they differ from the day they were told on.

"Last month we went to a convention", said in April, is about March: asked what happened in March,
its own date speaks against it. So for a cue that names a time, the texts of its best candidates are
read as the cue was (`when`), counted from when each was told.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from spector.clock import MS_PER_DAY
from spector.kernel.ranking import Ranking
from spector.read.plain import plain
from spector.read.ranked import Ranked
from spector.read.snapshot import Snapshot
from spector.read.spans import Span
from spector.read.timewords import AMBIGUOUS, DAYS, MONTHS, SEASONS, UNITS, WEEKDAYS
from spector.read.when import TimeRange, when

__all__ = ["Told", "nearness", "spans_told"]

#: candidates whose texts are read: what was missed of LoCoMo without this stood at 11 to 43
_READ: Final = 64
#: characters of a text that are read
_MOST_CHARS: Final = 2_000
#: a longer stretch says nothing about a day
_MOST_DAYS: Final = 400
#: texts whose spans are kept, some 100 bytes each
_KEPT: Final = 16_384
_WORD: Final = re.compile(r"[a-z]+|[0-9]+")
#: a text without any of these tells of no day, and most have none; none of them is a common word
_TELLING: Final = frozenset((
    *DAYS, *WEEKDAYS, *(set(MONTHS) - AMBIGUOUS), *map(str, range(1990, 2100)), "ago", "last",
    "past", "next", "previous", "coming", "other", "once", "gecen", "son", "gelecek", "onumuzdeki",
    "st", "nd", "rd", "th", "christmas", "halloween", "yilbasi", "yilbasinda",
))  # fmt: skip
#: "this week", "bu hafta": both words are common, together they are not
_PAIRED: Final = frozenset(("this", "bu"))
_UNITS: Final = frozenset((*UNITS, *SEASONS, "morning", "afternoon", "evening"))


class Told:
    """Adds the evidence "told". Thread-safe.

    What a text tells of is kept under a hash of it, so that nothing of a forgotten text stays.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Span, ...]] = {}

    def add(
        self, snap: Snapshot, ranked: Ranked, time: TimeRange | None, ranking: Ranking
    ) -> None:
        """Favour those of the best candidates that tell of a day that is asked for."""
        asked = _short(time.spans) if time is not None and ranking.told else ()
        if not asked:
            return
        weight = ranking.told * ranked.scale
        rows = ranked.first_rows(_READ)
        values = np.zeros(len(rows), np.float32)
        best = ranked[: len(rows)]
        for n, store in enumerate(snap.stores):
            mine = [(at, each.id) for at, each in enumerate(best) if each.store == n]
            found = store.catalog.fetch_stored([record_id for _, record_id in mine])
            for at, record_id in mine:
                row = found.get(record_id)
                if row is not None:
                    told = self._spans(row.text, row.event_ms)
                    values[at] = weight * nearness(told, asked, ranking.date_days)
        if values.any():
            ranked.add("told", rows, values)

    def _spans(self, text: str, told_ms: int) -> tuple[Span, ...]:
        key = hash((text, told_ms))
        told = self._known.get(key)
        if told is None:
            if len(self._known) >= _KEPT:
                self._known = {}
            told = self._known[key] = spans_told(text, told_ms)
        return told


def spans_told(text: str, told_ms: int) -> tuple[Span, ...]:
    """The stretches that a text tells of, counted from when it was told; at most 400 days long."""
    part = text[:_MOST_CHARS]
    words = set(_WORD.findall(plain(part)))
    if words.isdisjoint(_TELLING) and (words.isdisjoint(_PAIRED) or words.isdisjoint(_UNITS)):
        return ()
    time = when(part, told_ms)
    return () if time is None else _short(time.spans)


def _short(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    longest = _MOST_DAYS * MS_PER_DAY
    return tuple(span for span in spans if span.end_ms - span.start_ms <= longest)


def nearness(told: tuple[Span, ...], asked: tuple[Span, ...], days: float) -> float:
    """exp(-d / days), d the days between the nearest two of both; 0 if either is empty."""
    gaps = [
        max(one.start_ms - other.end_ms, other.start_ms - one.end_ms, 0)
        for one in told
        for other in asked
    ]
    return float(np.exp(-min(gaps) / (days * MS_PER_DAY))) if gaps else 0.0
