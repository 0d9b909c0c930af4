"""Formation: a message with notes on who and when is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Final

from spector.clock import from_ms, local_of_ms
from spector.language.dates import DateExpression, dates_in, moments_in, reads_turkish
from spector.language.formation.notes import Insertion, annotated
from spector.language.formation.references import Referents
from spector.language.statements import own_words, quotations
from spector.language.words import plain
from spector.records import Note, Reference

__all__ = ["Formed", "form", "local_day"]

#: "I was born on May 8" is about no May of late, and a birthday is on each of them
_EVERY_YEAR: Final = re.compile(
    r"\b(?:born|birthday|birthdays|anniversary|every year|each year|yearly|annually|always"
    r"|dogdu\w*|dogum\w*|yil ?donum\w*|her yil|her sene)\b"
)


@dataclass(frozen=True, slots=True)
class Formed:
    """A message, or a part of a long one.

    Attributes:
        text: what was said with notes in square brackets.
        said: the span of the message, ``message[start:end]``.
        notes: the notes, by their place in ``text``.
        references: words that stand for a name, by their place in the message.
        plan: it names a day that lies ahead.
        dates: the dates that it names, by their place in the message.
    """

    text: str
    said: str
    notes: tuple[Note, ...]
    references: tuple[Reference, ...]
    start: int
    end: int
    plan: bool
    dates: tuple[DateExpression, ...] = ()


def form(
    text: str,
    *,
    referents: Referents,
    now_ms: int,
    timezone: tzinfo,
    annotate: bool = True,
    reference_precision: float = 0.75,
    speaker: str | None = None,
) -> Formed:
    """A message with its notes.

    Args:
        text: the message; words of it are never changed, and what it quotes is not read.
        referents: who was named before in the conversation.
        now_ms: the moment of the message.
        timezone: where it was written; decides which day "yesterday" is.
        annotate: False writes no notes: dates and references are found all the same.
        reference_precision: a reference is annotated from this score of its best candidate on.
        speaker: who speaks: never meant by "he" or "she" of the own message.
    """
    today = local_day(now_ms, timezone)
    own = own_words(text)
    turkish = reads_turkish(own)
    dates = tuple(dates_in(own, today, turkish=turkish))
    moments = moments_in(own, local_of_ms(now_ms, timezone), turkish=turkish)
    references = tuple(
        referents.references(own, turkish=turkish, least=reference_precision, speaker=speaker)
    )
    is_quoting = own != text  # all of it: a quotation belongs to the sentences around it
    start = 0 if is_quoting else len(text) - len(text.lstrip())
    said = own if is_quoting else text.strip()
    shown = _insertions(own, start, start + len(said), dates, references) if annotate else []
    if annotate:
        shown += [Insertion(each.end - start, each.iso, "date") for each in moments]
    whole, notes = annotated(said, shown)
    plan = any(each.starts > today for each in dates)
    made = Formed(whole, said, notes, references, start, start + len(said), plan, dates)
    return _quoting(made, text) if is_quoting else made


def _quoting(whole: Formed, text: str) -> Formed:
    """A statement that was formed of own words, with what stands quoted among them."""
    shown, moved, notes = whole.text, 0, list(whole.notes)
    for each in quotations(text):
        while notes and notes[0].start <= each.start + moved:
            moved += notes[0].end - notes[0].start
            del notes[0]
        start, end = each.start + moved, each.end + moved
        shown = shown[:start] + text[each.start : each.end] + shown[end:]
    return replace(whole, text=shown, said=text)


def local_day(now_ms: int, timezone: tzinfo) -> date:
    """The day of a moment in a zone."""
    moment = from_ms(now_ms)
    try:
        return moment.astimezone(timezone).date()
    except OverflowError:  # the first and the last day of the calendar
        return moment.date()


def _insertions(
    text: str,
    start: int,
    end: int,
    dates: Iterable[DateExpression],
    references: Iterable[Reference],
) -> list[Insertion]:
    """The notes of a text between two places, counted from the first one."""
    found = []
    done = ("", start)
    for reference in references:
        if reference.chosen is None:
            continue
        between = text[done[1] : reference.start]
        if reference.chosen != done[0] or any(mark in between for mark in ".!?\n"):
            at = reference.start + len(reference.word) - start
            found.append(Insertion(at, reference.chosen, "reference"))
        done = (reference.chosen, reference.start)
    found += [
        Insertion(min(each.end, end) - start, each.iso, "date")
        for each in dates
        if _is_noted(text, each)
    ]
    return found


def _is_noted(text: str, each: DateExpression) -> bool:
    """Whether a date needs a note: it is relative, exact, and the text does not say it itself."""
    if not each.relative or each.vague or each.iso in text[each.start : each.end]:
        return False
    return not (each.yearly and _EVERY_YEAR.search(plain(_sentence(text, each.start))))


def _sentence(text: str, at: int) -> str:
    """The sentence around a place of a text."""
    start = max((text.rfind(mark, 0, at) for mark in ".!?\n"), default=-1) + 1
    ends = [found for mark in ".!?\n" if (found := text.find(mark, at)) >= 0]
    return text[start : min(ends, default=len(text))]
