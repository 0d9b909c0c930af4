"""The time that a text is about: its expressions of time, resolved against a given now.

    time_range_in("What did Ann paint in May 2023?", now_ms).spans      # that month

Recall ranks memories of that time first. English and Turkish; UTC days, weeks from Monday; no
model; one pass over the text.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Final

from spector.clock import MAX_MS, MIN_MS, from_ms, local_of_ms, to_ms
from spector.errors import InvalidTimeError
from spector.language.cues import Kind
from spector.language.time import calendar as spans
from spector.language.time import vocabulary as timewords
from spector.language.time.calendar import Span
from spector.language.time.expressions import expressions
from spector.language.time.modifiers import apply_modifier, is_pair, phrase_start
from spector.language.time.reader import Atom, TokenReader
from spector.language.words import Token, compose, tokens

__all__ = ["Span", "TimeRange", "time_range_in"]

#: most alternatives of a time
_MOST_SPANS: Final = 64
_MOST_EXPRESSIONS: Final = 32


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

    Dates: 8 May 2023, May 8th, 2023-05-08, 8.5.2023, May 2023, in May, 2023, summer of 2022, Q3
    2023, early June, Christmas 2022. Relative: yesterday, last week, two weeks ago, the past three
    months, last May, on Monday. With either: before, after, since, until, from ... to, between ...
    and, a week before. A year alone counts only if there is nothing else.
    """
    if zone is not UTC:
        here = time_range_in(cue, _as_if_utc(now_ms, zone), years, kind)
        if here is None:
            return None
        spans_there = tuple(
            Span(_in_utc(span.start_ms, zone), _in_utc(span.end_ms, zone)) for span in here.spans
        )
        return replace(here, now_ms=now_ms, spans=spans_there)
    text = compose(cue)
    found = tokens(text)
    if not any(map(_might_be_time, found)):
        return None
    reader = TokenReader(found, now_ms)
    first = list(itertools.islice(expressions(reader), _MOST_EXPRESSIONS))
    atoms = _with_years(first, reader, years)
    if kind is not Kind.FACT:
        atoms = [atom for atom in atoms if not atom.relative or _is_over(atom, now_ms)]
    if not atoms:
        return None
    sure = [atom for atom in first if not atom.year_only or atom.of_year is None]
    is_near = bool(sure) and all(map(_is_near, sure))
    return replace(_combined(reader, atoms, text), is_near=is_near)


def _as_if_utc(ms: int, zone: tzinfo) -> int:
    """The time on the wall of a zone, as if it were UTC."""
    local = local_of_ms(ms, zone)
    offset = local.utcoffset()
    return ms + (round(offset.total_seconds() * 1000) if offset else 0)


def _in_utc(wall_ms: int, zone: tzinfo) -> int:
    """The moment at which the wall of a zone shows a time; both ends of the calendar stay."""
    if not MIN_MS < wall_ms < MAX_MS:
        return wall_ms
    try:
        return to_ms(from_ms(wall_ms).replace(tzinfo=zone))
    except (OverflowError, InvalidTimeError):
        return wall_ms


# -- which expressions count ----------------------------------------------------------------------

_HINTS: Final = frozenset((
    *timewords.MONTHS, *timewords.ABBREVIATED, *timewords.WEEKDAYS, *timewords.SEASONS,
    *timewords.DAYS, *timewords.AGO, *timewords.STEPS, *(words[0] for words in timewords.HOLIDAYS),
    "before", "after", "since", "during", "day", "other", "sonra", "q",
))  # fmt: skip


def _might_be_time(token: Token) -> bool:
    return token.text in _HINTS or (len(token.text) == 4 and token.text.isdecimal())


def _is_near(atom: Atom) -> bool:
    return not atom.vague and (atom.relative or atom.of_year is not None)


def _is_over(atom: Atom, now_ms: int) -> bool:
    return all(span.end_ms <= now_ms for span in atom.spans)


def _with_years(atoms: list[Atom], reader: TokenReader, years: Collection[int]) -> list[Atom]:
    """Fill in missing years; drop a year alone if there are other expressions."""
    alone = [atom for atom in atoms if atom.year_only]
    others = [atom for atom in atoms if not atom.year_only]
    if any(not atom.relative for atom in others):
        # "last week, as mentioned on 6 November": the date decides which week is meant
        others = [atom for atom in others if not atom.relative]
        atoms = [atom for atom in atoms if not atom.relative]
    known = sorted({year for year in years if 1 <= year < 9999})[-_MOST_SPANS:]
    if others and alone:
        said = {spans.today_of(atom.spans[0].start_ms).year for atom in alone}
        if any(atom.of_year for atom in others) and len(said) == 1:
            known = sorted(said)
        filled = [_filled(atom, known, reader) for atom in others]
        return [atom for atom in filled if atom.spans]
    dated = {spans.today_of(atom.spans[0].start_ms).year for atom in others if _is_dated(atom)}
    if len(dated) == 1:
        known = sorted(dated)  # "from 3 May to 10 May 2023"
    ready = []
    for atom in atoms:
        if atom.year_only and atom.of_year is not None:  # a number that may be a year
            number = spans.today_of(atom.spans[0].start_ms).year
            if number not in known if known else not 2000 <= number <= reader.today.year + 1:
                continue
            atom = replace(atom, of_year=None)
        atom = _filled(atom, known, reader)
        if atom.spans:
            ready.append(atom)
    return ready


def _is_dated(atom: Atom) -> bool:
    return bool(atom.spans) and not atom.relative


def _filled(atom: Atom, years: list[int], reader: TokenReader) -> Atom:
    if atom.of_year is None:
        return atom
    this = reader.today.year
    found = []
    for year in years or (this, this - 1):
        try:
            span = atom.of_year(min(max(year, 1), 9998))
        except ValueError:  # 29 February
            continue
        if years or span.start_ms <= reader.now_ms:
            found.append(span)
            if not years:
                break
    return replace(atom, spans=tuple(sorted(found)), of_year=None)


def _combined(reader: TokenReader, atoms: list[Atom], text: str) -> TimeRange:
    """Combine all expressions into one time: join pairs, apply modifiers."""
    found: list[Span] = []
    hows: list[Atom] = []
    at = 0
    while at < len(atoms):
        atom = atoms[at]
        pair = atoms[at + 1] if at + 1 < len(atoms) else None
        if pair is not None and is_pair(reader, atom, pair):
            both = spans.hull((*atom.spans[-1:], *pair.spans[-1:]))
            atom = Atom(phrase_start(reader, atom.begin), pair.end, (both,), relative=atom.relative)
            at += 1
        else:
            atom = apply_modifier(reader, atom)
        found += atom.spans
        hows.append(atom)
        at += 1
    first, last = reader.tokens[hows[0].begin], reader.tokens[hows[-1].end - 1]
    kept = sorted(set(found))[-_MOST_SPANS:]
    words = text[first.start : min(last.end, first.start + 200)]
    return TimeRange(words=words, now_ms=reader.now_ms, spans=tuple(kept))
