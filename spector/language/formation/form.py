"""A message in its statements, with notes on who and when is meant."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Final, NamedTuple

from spector.clock import from_ms, local_of_ms
from spector.language.dates import DateExpression, dates_in, moments_in, reads_turkish
from spector.language.formation.references import Referents
from spector.language.formation.splitting import Unit, units_of
from spector.language.statements import is_invisible, own_words, quotations
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
    """A note to write: where in the text, what it says, and of which kind it is.

    A note stands behind its word with a space before it; ``leads`` writes it in front of a text.
    """

    at: int
    value: str
    kind: str
    leads: bool = False


def annotated(said: str, insertions: Iterable[Insertion]) -> tuple[str, tuple[Note, ...]]:
    """A text with its notes, and where they stand in it. Spans include the space of a note."""
    pieces: list[str] = []
    notes: list[Note] = []
    done = length = 0
    for each in sorted(insertions, key=lambda one: (one.at, not one.leads)):
        at = min(max(each.at, done), len(said))
        pieces.append(said[done:at])
        length += at - done
        piece = f"[{each.value}] " if each.leads else f" [{each.value}]"
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

#: signs that close a sentence: a note at its end stands before them
_CLOSING: Final = ".!?\u2026\"'\u201d\u2019)"


@dataclass(frozen=True, slots=True)
class Formed:
    """One statement of a message.

    Attributes:
        text: what was said with notes in square brackets.
        said: the span of the message, ``message[start:end]``.
        notes: the notes, by their place in ``text``.
        references: words that stand for a name, by their place in the message.
        plan: it names a day that lies ahead.
        dates: the dates that it names, by their place in the message.
        subject: who it is about, where the span has no subject of its own.
    """

    text: str
    said: str
    notes: tuple[Note, ...]
    references: tuple[Reference, ...]
    start: int
    end: int
    plan: bool
    dates: tuple[DateExpression, ...] = ()
    subject: str = ""


def form(
    text: str,
    *,
    referents: Referents,
    now_ms: int,
    timezone: tzinfo,
    annotate: bool = True,
    reference_precision: float = 0.75,
    speaker: str | None = None,
) -> tuple[Formed, ...]:
    """The statements of a message, in its order.

    Args:
        text: the message; words of it are never changed, and what it quotes is not read.
        referents: who was named before in the conversation.
        now_ms: the moment of the message.
        timezone: where it was written; decides which day "yesterday" is.
        annotate: False writes no notes: dates and references are found all the same.
        reference_precision: a reference is annotated from this score of its best candidate on.
        speaker: who speaks: never meant by "he" or "she" of the own message.
    """
    if not text.strip():
        return ()
    today = local_day(now_ms, timezone)
    own = own_words(text)
    turkish = reads_turkish(own)
    dates = dates_in(own, today, turkish=turkish)
    moments = tuple(moments_in(own, local_of_ms(now_ms, timezone), turkish=turkish))
    references = referents.references(
        own, turkish=turkish, least=reference_precision, speaker=speaker
    )
    is_quoting = own != text  # a quotation belongs to the sentences around it: all are one
    units = (Unit(0, len(text)),) if is_quoting else units_of(own, dates, turkish=turkish)
    opening = _opening(own, dates, units)
    made = []
    for unit in units:
        inside = tuple(each for each in dates if unit.start <= each.start < unit.end)
        meant = tuple(each for each in references if unit.start <= each.start < unit.end)
        carried = opening.get(unit)
        shown = _insertions(own, unit, inside, meant, carried) if annotate else []
        if annotate:
            shown += [
                Insertion(each.end - unit.start, each.iso, "date")
                for each in moments
                if unit.start <= each.start and each.end <= unit.end
            ]
        said = own[unit.start : unit.end]
        whole, notes = annotated(said, shown)
        named = (*inside, *([carried] if carried is not None else ()))
        plan = any(each.starts > today for each in named)
        one = Formed(whole, said, notes, meant, unit.start, unit.end, plan, named, unit.subject)
        made.append(_quoting(one, text) if is_quoting else one)
    return tuple(made)


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


def _opening(
    text: str, dates: Sequence[DateExpression], units: Sequence[Unit]
) -> dict[Unit, DateExpression]:
    """Units to which the time that opens their sentence belongs, though it does not stand there."""
    found: dict[Unit, DateExpression] = {}
    for before, unit in itertools.pairwise(units):
        seam = text[before.end : unit.start]
        opener = found.get(before) or _opener(text, before, dates)
        if opener is None or any(mark in seam for mark in ".!?\n"):
            continue
        if any(unit.start <= each.start < unit.end for each in dates):
            continue
        found[unit] = opener
    return found


def _opener(text: str, unit: Unit, dates: Sequence[DateExpression]) -> DateExpression | None:
    """The time that opens the last sentence of a unit."""
    start = unit.start
    for at in range(unit.end - 1, unit.start, -1):
        if text[at - 1] in ".!?\n" and text[at].isspace():
            start = at
            break
    while start < unit.end and not text[start].isalnum():
        start += 1
    for each in dates:
        lead = text[start : each.start] if start <= each.start < unit.end else None
        if lead is not None and lead.strip().lower() in ("", "on", "in", "the"):
            return each
    return None


def _insertions(
    text: str,
    unit: Unit,
    dates: tuple[DateExpression, ...],
    references: tuple[Reference, ...],
    carried: DateExpression | None,
) -> list[Insertion]:
    found = []
    if unit.subject:
        found.append(Insertion(0, unit.subject, "subject", leads=True))
    done = ("", unit.start)
    for reference in references:
        if reference.chosen is None:
            continue
        between = text[done[1] : reference.start]
        if reference.chosen != done[0] or any(mark in between for mark in ".!?\n"):
            at = reference.start + len(reference.word) - unit.start
            found.append(Insertion(at, reference.chosen, "reference"))
        done = (reference.chosen, reference.start)
    found += [
        Insertion(min(each.end, unit.end) - unit.start, each.iso, "date")
        for each in dates
        if _is_noted(text, each)
    ]
    if carried is not None and carried.relative and not carried.vague:
        end = _first_end(text, unit)
        while end > unit.start and text[end - 1] in _CLOSING:
            end -= 1
        found.append(Insertion(end - unit.start, carried.iso, "date"))
    return found


def _first_end(text: str, unit: Unit) -> int:
    """Where the first sentence of a unit ends."""
    for at in range(unit.start + 1, unit.end):
        if text[at].isspace() and text[at - 1] in ".!?\u2026":
            return at
    return unit.end


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
