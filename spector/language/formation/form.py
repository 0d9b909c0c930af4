"""A message with notes on who and when is meant, and long ones in parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Final, NamedTuple

from spector.clock import from_ms, local_of_ms
from spector.language.dates import DateExpression, dates_in, moments_in, reads_turkish
from spector.language.formation.references import Referents
from spector.language.statements import is_invisible, own_words
from spector.language.words import plain
from spector.records import Note, Reference

# Long messages in parts: cut at paragraphs, at sentences, at words, in this order.

_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE: Final = re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)\\]]*\\s+|\n+")
_SPACE: Final = re.compile(r"\s+")


def cut(text: str, most: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of the parts of a text, each with fewer than ``most`` characters.

    Nothing but white space between the parts is left out. A part ends with a paragraph where one
    ends, else with a sentence, else with a word; only a longer word is cut within. What has no
    character to be seen is no part: it belongs to the one beside it, however long that becomes.
    """
    if most < 2:
        raise ValueError(f"parts of fewer than {most} characters say nothing")
    limit = most - 1
    found: list[tuple[int, int]] = []
    begin = start = _skip(text, 0)
    length = len(text.rstrip())
    while start < length:
        end = length if length - start <= limit else _end(text, start, start + limit)
        stop = start + len(text[start:end].rstrip())
        if all(each.isspace() or is_invisible(each) for each in text[start:stop]):
            if found:
                found[-1] = (found[-1][0], stop)
        else:
            found.append((begin, stop))
        start = _skip(text, end)
        begin = start if found else begin
    return tuple(found) or (((begin, length),) if begin < length else ())


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _end(text: str, start: int, limit: int) -> int:
    """The last good place to end before a limit; not so early that parts become crumbs."""
    for pattern, least in ((_PARAGRAPH, 3), (_SENTENCE, 4), (_SPACE, 8)):
        best = 0
        for found in pattern.finditer(text, start, min(limit + 1, len(text))):
            if found.start() <= limit:
                best = found.start()
        if best - start > (limit - start) // least:
            return best
    return limit


# Notes in square brackets: how they are written into a text and taken out of it again.


class Insertion(NamedTuple):
    """A note to write behind its word: where in the text, what it says, and of which kind it is."""

    at: int
    value: str
    kind: str


def annotated(said: str, insertions: Iterable[Insertion]) -> tuple[str, tuple[Note, ...]]:
    """A text with its notes, and where they stand in it. Spans include the space of a note."""
    pieces: list[str] = []
    notes: list[Note] = []
    done = length = 0
    for each in sorted(insertions, key=lambda one: one.at):
        at = min(max(each.at, done), len(said))
        pieces.append(said[done:at])
        length += at - done
        piece = f" [{each.value}]"
        notes.append(Note(length, length + len(piece), each.kind, each.value))
        pieces.append(piece)
        length += len(piece)
        done = at
    pieces.append(said[done:])
    return "".join(pieces), tuple(notes)


#: "I was born on May 8" is about no May of late, and a birthday is on each of them
_EVERY_YEAR: Final = re.compile(
    r"\b(?:born|birthday|birthdays|anniversary|every year|each year|yearly|annually|always"
    r"|dogdu\w*|dogum\w*|yil ?donum\w*|her yil|her sene)\b"
)


@dataclass(frozen=True, slots=True)
class Formed:
    """What a message says.

    Attributes:
        text: what was said with notes in square brackets. said: without them.
        notes: the notes, by their place in ``text``.
        references: words that stand for a name, by their place in what was said.
        plan: it names a day that lies ahead.
    """

    text: str
    said: str
    notes: tuple[Note, ...] = ()
    references: tuple[Reference, ...] = ()
    plan: bool = False


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
    """What a message says, with notes.

    Args:
        text: the message; words of it are never changed, and what it quotes is not read.
        referents: who was named before in the conversation.
        now_ms: the moment of the message.
        timezone: where it was written; decides which day "yesterday" is.
        annotate: False writes no notes: dates and references are found all the same.
        reference_precision: a reference is annotated from this score of its best candidate on.
        speaker: who speaks: never meant by "he" or "she" of the own message.
    """
    said, own = text.strip(), own_words(text.strip())
    today, turkish = local_day(now_ms, timezone), reads_turkish(own)
    dates = dates_in(own, today, turkish=turkish)
    references = referents.references(
        own, turkish=turkish, least=reference_precision, speaker=speaker
    )
    notes: list[Insertion] = []
    if annotate:
        moments = moments_in(own, local_of_ms(now_ms, timezone), turkish=turkish)
        notes = [
            *_of_references(own, references),
            *(Insertion(each.end, each.iso, "date") for each in dates if _is_noted(own, each)),
            *(Insertion(each.end, each.iso, "date") for each in moments),
        ]
    shown, kept = annotated(said, notes)
    plan = any(each.starts > today for each in dates)
    return Formed(shown, said, kept, references, plan)


def local_day(now_ms: int, timezone: tzinfo) -> date:
    """The day of a moment in a zone."""
    moment = from_ms(now_ms)
    try:
        return moment.astimezone(timezone).date()
    except OverflowError:  # the first and the last day of the calendar
        return moment.date()


def _of_references(text: str, references: Sequence[Reference]) -> Iterator[Insertion]:
    """Notes of the names that are sure; one in a sentence as long as no other is meant."""
    name, at = "", 0
    for each in references:
        if each.chosen is None:
            continue
        if each.chosen != name or any(mark in text[at : each.start] for mark in ".!?\n"):
            yield Insertion(each.start + len(each.word), each.chosen, "reference")
        name, at = each.chosen, each.start


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
