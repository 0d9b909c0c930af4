"""Whether a time in a cue is what the cue asks for, or only said on the way.

"What did I do last week?" asks for what lies in it. "What did Tom give me when we met in June?" and
"When was the trip that we planned in May?" do not: their time orders an answer, and bounds none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spector.language.cues import Frame, Kind, asks_when, topic_of
from spector.language.dates.grammar import grammar_of
from spector.language.dates.ranges import Span, TimeRange, hull
from spector.language.dates.tense import Tense, tense_of
from spector.language.dates.wording import reads_turkish
from spector.language.words import ENGLISH_STOP, TURKISH_STOP, compose, plain

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
