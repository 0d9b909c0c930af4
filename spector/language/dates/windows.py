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
from spector.language.dates.ranges import Span, TimeRange, hull
from spector.language.dates.tense import Tense, tense_of
from spector.language.dates.wording import reads_turkish
from spector.language.words import ENGLISH_STOP, TURKISH_STOP, compose, plain

__all__ = ["Bound", "Window", "window_of"]

_YEAR_MS: Final = 365 * 86_400_000
_WORD: Final = re.compile(r"\w+")
_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s+|$)")
#: words that open a clause; the first one may open the question itself
_OPENS: Final = re.compile(
    r"\b(?:wh(?:at|en|ere|ich|ile|o|om|ose|y)|how|that|if|because|although|before|after|until"
    r"|since|than|as)\b"
)
#: a clause in front of its noun or verb: "tanistigimizda", "aldigim"
_OPENS_TR: Final = re.compile(r"\b\w{2,}[dt][iu]g[iu]\w*")
#: what one has told lies where it was told, whatever it is about
_TOLD: Final = re.compile(
    r"\b(?:i|we)\b.*\b(?:tell|told|say|said|mention(?:ed)?)\b"
    r"|\bwe\b.*\b(?:talk(?:ed)?|discuss(?:ed)?|chat(?:ted)?)\b"
    r"|\b(?:soyledi|soylemisti|anlatti|anlatmisti|dedi|demisti|konustu)[mk]\b"
)
#: what was told, by its name
_MESSAGES: Final = frozenset(
    """messages notes chats conversations discussions
    mesajlarim mesajlarimi notlarim notlarimi konusmalarimiz konusmalarimizi""".split()
)
#: words that say nothing of what is asked for; with the stop words of both languages
_ASKING: Final = (
    _MESSAGES
    | frozenset(
        """happen happens happened happening going everything anything something things new list show
    tell give find see remind remember recall
    yaptim yaptik oldu olmus neler goster listele""".split()
    )
    | ENGLISH_STOP
    | frozenset(map(plain, TURKISH_STOP))
)


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
    span, words = hull(time.spans), set(_WORD.findall(f"{lead} {rest}"))
    topic = topic_of(cue)
    is_list = words <= _ASKING or topic.is_survey
    tense = tense_of(compose(cue), len(before), turkish=turkish)
    is_past = tense is Tense.PAST
    told = topic.kind is Frame.SAID and topic.speaker is not None
    if told or _TOLD.search(f"{lead} {rest}") or (is_list and words & _MESSAGES):
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
        return bool(_OPENS_TR.search(f"{lead} {rest}"))
    return len(_OPENS.findall(lead)) > 1
