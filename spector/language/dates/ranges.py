"""The range of time that a cue asks about, and the window of its events."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, tzinfo
from enum import StrEnum
from typing import Final, NamedTuple

from spector.clock import MAX_MS, MIN_MS, MS_PER_DAY, from_ms, local_of_ms, to_ms
from spector.errors import InvalidTimeError
from spector.language.cues import Frame, Kind, asks_when, topic_of
from spector.language.dates.grammar import Reader, grammar_of
from spector.language.dates.period import Meaning, Period
from spector.language.dates.scan import MOST_CHARS, Tense, reads_turkish, scanned, tense_of
from spector.language.words import ENGLISH_STOP, TURKISH_STOP, compose, plain

#: most alternatives of a time
_MOST_SPANS: Final = 64
_MOST_EXPRESSIONS: Final = 32
_DIGIT: Final = re.compile(r"\d")
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MS_PER_MINUTE: Final = 60_000


class Span(NamedTuple):
    """Half-open: ``start_ms <= t < end_ms``, milliseconds since 1970-01-01 UTC."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The time that a cue is about.

    Attributes:
        words: the part of the cue that names it.
        now_ms: the now that relative times refer to.
        spans: at least one alternative, ascending ("in May" may be May of each given year).
        is_near: it counts from now and is exact ("last week", "in April"): no year is given, no
            "few", no weeks, months or years "ago".
    """

    words: str
    now_ms: int
    spans: tuple[Span, ...]
    is_near: bool = False


def hull(spans: tuple[Span, ...]) -> Span:
    """The smallest span that covers all ``spans``, which must not be empty."""
    return Span(min(span[0] for span in spans), max(span[1] for span in spans))


def time_range_in(
    cue: str,
    now_ms: int,
    years: Collection[int] = (),
    kind: Kind = Kind.FACT,
    zone: tzinfo = UTC,
) -> TimeRange | None:
    """The time that a cue is about, or None.

    Args:
        cue: any text; takes linear time.
        now_ms: the now of "last week", milliseconds since 1970 UTC.
        years: a date without a year means that day in each of these years; without ``years``, the
            last one before now.
        kind: in talk and requests, relative times that are not over are about plans ("what should I
            wear tomorrow?"), not about memories, and are ignored.
        zone: whose days, weeks and years they are.

    A year alone counts only if there is nothing else.
    """
    if zone is not UTC:
        here = time_range_in(cue, _as_if_utc(now_ms, zone), years, kind)
        if here is None:
            return None
        spans = tuple(Span(*(_in_utc(each, zone) for each in span)) for span in here.spans)
        return replace(here, now_ms=now_ms, spans=spans)
    text = compose(cue[:MOST_CHARS])
    today = from_ms(now_ms).date()
    languages = ("tr", "en") if reads_turkish(text) else ("en", "tr")
    for language in languages if _DIGIT.search(text) else languages[:1]:
        reader = Reader(text, today, grammar_of(language, cue=True))
        first = [_Named(*each) for each in scanned(reader)][:_MOST_EXPRESSIONS]
        if first:  # "17 Mart" says little of its language
            break
    found = _with_years(first, today, years)
    if kind is not Kind.FACT:
        found = [each for each in found if not each.meaning.relative or _is_over(each, today)]
    spans = tuple(sorted({span for each in found for span in each.spans(now_ms)}))
    if not spans:
        return None
    start, end = reader.words[found[0].begin].start, reader.words[found[-1].end - 1].end
    sure = [each.meaning for each in first if not each.meaning.bare]
    return TimeRange(
        words=text[start : min(end, start + 200)],
        now_ms=now_ms,
        spans=spans[-_MOST_SPANS:],
        is_near=bool(sure) and all(map(_is_near, sure)),
    )


def _as_if_utc(ms: int, zone: tzinfo) -> int:
    """The time on the wall of a zone, as if it were UTC."""
    offset = local_of_ms(ms, zone).utcoffset()
    return ms + (round(offset.total_seconds() * 1000) if offset else 0)


def _in_utc(wall_ms: int, zone: tzinfo) -> int:
    """The moment at which the wall of a zone shows a time; both ends of the calendar stay."""
    if not MIN_MS < wall_ms < MAX_MS:
        return wall_ms
    try:
        return to_ms(from_ms(wall_ms).replace(tzinfo=zone))
    except (OverflowError, InvalidTimeError):
        return wall_ms


# -- which expressions count, and of which year ----------------------------------------------------


class _Named(NamedTuple):
    """An expression: its first word, the word behind it, what it means."""

    begin: int
    end: int
    meaning: Meaning

    @property
    def is_year(self) -> bool:
        return self.meaning.grain in ("year", "decade") and not self.meaning.relative

    def spans(self, now_ms: int) -> Iterable[Span]:
        if self.meaning.minutes is not None:
            start, end = (now_ms + round(each * _MS_PER_MINUTE) for each in self.meaning.minutes)
            start = min(max(start, MIN_MS), MAX_MS)
            yield Span(start, min(max(end, start) + 1, MAX_MS + 1))
        for each in self.meaning.periods:
            start = MIN_MS if each.first is None else _ms(each.first)
            end = MAX_MS + 1 if each.end is None else _ms(each.end)
            yield Span(start, end if end > start else start + MS_PER_DAY)


def _ms(of: date) -> int:
    return (of.toordinal() - _EPOCH) * MS_PER_DAY


def _is_near(meaning: Meaning) -> bool:
    return not meaning.vague and (meaning.relative or meaning.of_year is not None)


def _is_over(each: _Named, today: date) -> bool:
    return all(period.end and period.end <= today for period in each.meaning.periods)


def _with_years(found: list[_Named], today: date, years: Collection[int]) -> list[_Named]:
    """With missing years; without a year alone or a relative time beside a date."""
    alone = [each for each in found if each.is_year]
    others = [each for each in found if not each.is_year]
    if any(not each.meaning.relative for each in others):
        # "last week, as mentioned on 6 November": the date decides which week is meant
        others = [each for each in others if not each.meaning.relative]
    known = sorted({year for year in years if 1 <= year <= 9998})[-_MOST_SPANS:]
    dated = alone if others and alone else [each for each in others if not each.meaning.relative]
    said = _years_of(dated)
    if len(said) == 1 and any(each.meaning.of_year for each in others):
        known = sorted(said)  # "In 2023, what did she do in May?", "3 May and 10 May 2023"
    ready = []
    for each in others or alone:
        if each.meaning.bare:
            (number,) = _years_of([each])
            if number not in known if known else not 2000 <= number <= today.year + 1:
                continue
        ready.append(each._replace(meaning=_filled(each.meaning, known, today)))
    return [each for each in ready if each.meaning.periods or each.meaning.minutes]


def _years_of(found: list[_Named]) -> set[int]:
    return {
        first.year for each in found for period in each.meaning.periods if (first := period.first)
    }


def _filled(meaning: Meaning, years: list[int], today: date) -> Meaning:
    """The readings of a meaning: in each of some years, or the last one that has begun."""
    if meaning.of_year is not None:
        tried = years or [min(max(year, 1), 9998) for year in (today.year, today.year - 1)]
        periods = tuple(made for year in tried if (made := meaning.of_year(year)))
    elif meaning.relative and len(meaning.periods) > 1:
        periods, years = meaning.periods[::-1], []
    else:
        return meaning
    if not years:
        periods = tuple(each for each in periods if _begins(each) <= today)[:1]
    return replace(meaning, periods=tuple(sorted(periods)), of_year=None)


def _begins(period: Period) -> date:
    return period.first or period.until or period.end or date.min


# Whether a time in a cue is what the cue asks for, or only said on the way.
#
# "What did I do last week?" asks for what lies in it. "What did Tom give me when we met in June?" and
# "When was the trip that we planned in May?" do not: their time orders an answer, and bounds none.

_YEAR_MS: Final = 365 * 86_400_000
_WORD: Final = re.compile(r"\w+")
_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s+|$)")
_STOP: Final = ENGLISH_STOP | frozenset(map(plain, TURKISH_STOP))


class Bound(StrEnum):
    """What lies within the time of a cue, as far as that is certain."""

    TOLD = "told"  # what was told then
    EVENT = "event"  # what happened then
    KNOWN = "known"  # what is known to have happened at another time does not


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, and what of it bounds an answer.

    Attributes:
        is_past: it is asked about as past, so a day in it without a year is the last one.
    """

    span: Span
    bound: Bound
    is_past: bool


def window_of(cue: str, time: TimeRange, kind: Kind) -> Window | None:
    """The window that a cue asks for; None where its time is said on the way.

    Args:
        time: of the cue, read as a question.
    """
    before, _, after = compose(cue).partition(time.words)
    lead, rest = _sentence(before, after)
    turkish = reads_turkish(cue)
    if rest is None or asks_when(cue) or _is_aside(lead, rest, turkish=turkish):
        return None
    both = [grammar_of(language) for language in ("en", "tr")]
    span, words = hull(time.spans), set(_WORD.findall(f"{lead} {rest}"))
    of_messages = any(not words.isdisjoint(of.lists["messages"]) for of in both)
    asking = _STOP.union(*(of.lists[name] for of in both for name in ("messages", "asking")))
    topic = topic_of(cue)
    is_list = words <= asking or topic.is_survey
    tense = tense_of(compose(cue), len(before), turkish=turkish)
    is_past = tense is Tense.PAST
    told = topic.kind is Frame.SAID and topic.speaker is not None
    told = told or any(of.patterns["told"].search(f"{lead} {rest}") for of in both)
    if told or (is_list and of_messages):
        return Window(span, Bound.TOLD, is_past)
    if kind is not Kind.FACT:
        return None
    is_plan = is_past and span.start_ms > time.now_ms
    is_habit = tense is Tense.NONE and span.end_ms <= time.now_ms
    if not is_list and (is_plan or is_habit):
        return None
    sure = is_list or (time.is_near and span.end_ms - span.start_ms < _YEAR_MS)
    return Window(span, Bound.EVENT if sure else Bound.KNOWN, is_past)


def _sentence(before: str, after: str) -> tuple[str, str | None]:
    """What stands beside a time in its sentence, folded; None where another sentence follows."""
    end = _ENDS.search(after)
    if end is not None and end.end() < len(after):
        return "", None
    return plain(_ENDS.split(before)[-1]), plain(after)


def _is_aside(lead: str, rest: str, *, turkish: bool) -> bool:
    """Whether a time stands in another clause than the question: one that opens before it."""
    if turkish:
        return bool(grammar_of("tr").patterns["opens"].search(f"{lead} {rest}"))
    return len(grammar_of("en").patterns["opens"].findall(lead)) > 1
