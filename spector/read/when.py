"""Which time a cue is about: expressions of time resolved against a given now.

Two uses, kept apart. A cue like "What did Ann paint in May 2023?" asks for an event; it may be told
of weeks later, so its time only favours memories near it (`TimeRange.spans`, `favour`; term *date*
of "Ranking research" in bench/LOG.md). "What did we talk about last week?" asks for what was *said*
then; nothing outside can be meant, so its time restricts as well (`TimeRange.limit`). A third sort
names no date but an event ("before the move"): `TimeRange.event` is to be recalled first, and
`resolve` puts in when it was.

English and Turkish, days and weeks (from Monday) of UTC, no LLM, one pass over the cue.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.clock import MS_PER_DAY
from spector.read import spans, timewords
from spector.read.dates import expressions
from spector.read.events import event_in
from spector.read.plain import Token, composed, tokens
from spector.read.route import Kind
from spector.read.spans import Span
from spector.read.timejoin import LONG_UNITS, applied, beginning, is_pair
from spector.read.timereader import Atom, Reader

__all__ = ["Span", "TimeRange", "days_off", "favour", "resolve", "when"]

#: days after which a memory outside of the range keeps 1/e of the favour (measured)
FAVOUR_DAYS: Final = 7.0
#: days that "before the move" and "after the move" reach
_BESIDE_DAYS: Final = 30
#: no place on earth is further from UTC: its days are not those that a limit is made of
_ZONES_MS: Final = 14 * 3_600_000
#: more alternatives than this do not make a time clearer
_MOST_SPANS: Final = 64
_MOST_EXPRESSIONS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The time that a cue speaks of.

    Attributes:
        words: the words it was read from.
        now_ms: the now it was resolved against.
        spans: alternatives, ascending ("in May" means that of each year of the store); memories
            inside any of them, or near, are favoured. Empty while an event is unresolved.
        limit: what is said to have happened outside of it cannot be meant; None: favour only.
        event: a cue for the event that the time is counted from, "" if there is none.
        relation: "before" or "after" that event.
        offset: how far from it, (number, unit); None: anything on that side.
    """

    words: str
    now_ms: int
    spans: tuple[Span, ...] = ()
    limit: Span | None = None
    event: str = ""
    relation: str = ""
    offset: tuple[int, str] | None = None

    @property
    def explicit(self) -> bool:
        """Whether it restricts."""
        return self.limit is not None


def when(
    cue: str, now_ms: int, years: Collection[int] = (), kind: Kind = Kind.FACT
) -> TimeRange | None:
    """The time that a cue is about, or None.

    Args:
        cue: any text; the time taken grows with its length only.
        now_ms: what "last week" is counted from, milliseconds since 1970 UTC.
        years: years that the store has memories of. A date without a year means that day in each of
            them; without ``years``, the last one before now.
        kind: in talk and requests, times counted from now are about plans ("what should I wear
            tomorrow?") and say nothing about memories: only dates of the calendar count there, and
        whatever a list of records is from ("my messages from last month").

    Dates: 8 May 2023, May 8th, 2023-05-08, 8.5.2023, May 2023, in May, 2023, summer of 2022, Q3
    2023, early June, Christmas 2022. From now: yesterday, last week, two weeks ago, the past three
    months, last May, on Monday. Of both: before, after, since, until, from ... to, between ... and,
    a week before. A year alone counts where there is nothing else.
    """
    text = composed(cue)
    found = tokens(text)
    if not any(map(_might_be_time, found)):
        return None
    reader = Reader(found, now_ms)
    first = list(itertools.islice(expressions(reader), _MOST_EXPRESSIONS))
    atoms = _with_years(first, reader, years)
    if kind is not Kind.FACT:
        atoms = [atom for atom in atoms if not atom.relative or _is_list(reader, atom)]
    if not atoms:
        event = event_in(reader, text) if kind is Kind.FACT else None
        if event is None:
            return None
        return TimeRange(
            words=event.words, now_ms=now_ms, event=event.event, relation=event.relation,
            offset=event.offset,
        )  # fmt: skip
    return _combined(reader, atoms, text)


def days_off(time: TimeRange, event_ms: NDArray[np.int64]) -> NDArray[np.float32]:
    """How far memories are from a time.

    Args:
        time: with at least one span, else everything is infinitely far.
        event_ms: (n,) i64, event times of the memories, ms UTC.

    Returns:
        (n,) f32, whole days (of UTC) from the memory's day to the nearest day of a span; 0 inside.
        Before a span that is yet to come it is infinite: today is no better a time to have spoken
        of tomorrow than any other.
    """
    memory_days = np.floor_divide(event_ms, MS_PER_DAY)
    off = np.full(memory_days.shape, np.inf, np.float32)
    for span in time.spans:
        first, last = span.start_ms // MS_PER_DAY, (span.end_ms - 1) // MS_PER_DAY
        before = (first - memory_days).astype(np.float32)
        if span.start_ms > time.now_ms:
            before = np.where(before > 0, np.float32(np.inf), before)
        after = (memory_days - last).astype(np.float32)
        np.minimum(off, np.maximum(np.maximum(before, after), np.float32(0.0)), out=off)
    return off


def favour(
    time: TimeRange, event_ms: NDArray[np.int64], scale_days: float = FAVOUR_DAYS
) -> NDArray[np.float32]:
    """exp(-days / scale): term *date* of the ranking formula, before its weight (3).

    Args:
        time: from `when`; event_ms: (n,) i64, ms UTC; scale_days: > 0.

    Returns:
        (n,) f32 in 0..1; 1 inside a span.
    """
    off: NDArray[np.float32] = np.exp(-days_off(time, event_ms) / np.float32(scale_days))
    return off


def resolve(time: TimeRange, event_ms: int) -> TimeRange:
    """The range of a time that is counted from an event, once it is known when that was."""
    there = spans.today_of(event_ms)
    step = -1 if time.relation == "before" else 1
    if time.offset is not None:
        amount, unit = time.offset
        span = spans.ago(event_ms, amount, unit) if step < 0 else _later(event_ms, amount, unit)
    else:
        span = spans.days(there, spans.shifted(there, step * _BESIDE_DAYS, "day"))
    return replace(time, spans=(span,))


def _later(event_ms: int, amount: int, unit: str) -> Span:
    there = spans.shifted(spans.today_of(event_ms), amount, unit if unit in LONG_UNITS else "day")
    if unit == "day":
        return spans.day(there)
    if unit in ("week", "weekend"):
        return spans.days(spans.shifted(there, -3, "day"), spans.shifted(there, 3, "day"))
    if unit in LONG_UNITS:
        return spans.calendar_unit(there, unit, 0)
    return spans.day(spans.today_of(event_ms))



# -- which expressions count ----------------------------------------------------------------------

_HINTS: Final = frozenset((
    *timewords.MONTHS, *timewords.ABBREVIATED, *timewords.WEEKDAYS, *timewords.SEASONS,
    *timewords.DAYS, *timewords.AGO, *timewords.STEPS, *(words[0] for words in timewords.HOLIDAYS),
    "before", "after", "since", "during", "day", "other", "sonra", "q",
))  # fmt: skip


def _might_be_time(token: Token) -> bool:
    return token.text in _HINTS or (len(token.text) == 4 and token.text.isdecimal())


def _with_years(atoms: list[Atom], reader: Reader, years: Collection[int]) -> list[Atom]:
    """Expressions with all their spans; a year alone only where nothing else is said."""
    alone = [atom for atom in atoms if atom.year_only]
    others = [atom for atom in atoms if not atom.year_only]
    if any(not atom.relative for atom in others):
        # "last week, as mentioned on 6 November": whose last week, only the date says
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


def _filled(atom: Atom, years: list[int], reader: Reader) -> Atom:
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


def _combined(reader: Reader, atoms: list[Atom], text: str) -> TimeRange:
    """One time of all expressions: pairs are joined, what stands before and after is applied."""
    found: list[Span] = []
    hows: list[Atom] = []
    at = 0
    while at < len(atoms):
        atom = atoms[at]
        pair = atoms[at + 1] if at + 1 < len(atoms) else None
        if pair is not None and is_pair(reader, atom, pair):
            both = spans.hull((*atom.spans[-1:], *pair.spans[-1:]))
            atom = Atom(beginning(reader, atom.begin), pair.end, (both,), relative=atom.relative)
            at += 1
        else:
            atom = applied(reader, atom)
        found += atom.spans
        hows.append(atom)
        at += 1
    first, last = reader.tokens[hows[0].begin], reader.tokens[hows[-1].end - 1]
    kept = sorted(set(found))[-_MOST_SPANS:]
    limit = None
    if len(hows) == 1 and _restricts(reader, hows[0]):
        over = [span for span in kept if span.start_ms <= reader.now_ms]
        if over:
            kept = over[-1:]
            limit = Span(over[-1].start_ms - _ZONES_MS, over[-1].end_ms + _ZONES_MS)
    words = text[first.start : min(last.end, first.start + 200)]
    return TimeRange(words=words, now_ms=reader.now_ms, spans=tuple(kept), limit=limit)


# -- restriction ----------------------------------------------------------------------------------

#: telling, by or to whoever asks: a time beside it is that of the memory itself
_TELLING: Final = frozenset(
    """tell told say said mention mentioned discuss discussed talk talked ask asked asking write
    wrote share shared note noted recommend recommended suggest suggested explain explained advise
    advised chat chatted speak spoke promise promised
    konustuk konusmustuk soyledim soyledin soylemistim dedim dedin anlattim anlatmistim bahsettim
    bahsettik onerdin onermistin sordum sormustum yazdim yazmistim""".split()
)
_PERSONS: Final = frozenset("i we you".split())
_ONLY: Final = frozenset("only strictly exclusively sadece yalniz yalnizca".split())
_RECORDS: Final = frozenset(
    "messages notes memories entries mesajlar notlar mesajlari notlari".split()
)
_TALKS: Final = frozenset("conversation conversations chat chats discussion discussions".split())
_LINKS: Final = frozenset("about to with me you us it that".split())
_OWNERS: Final = frozenset("my our the all those".split())
#: what may stand before the records that are asked for, and after them
_SHOWING: Final = frozenset(
    """show list find give get see open display search look bring pull up at through for me us
    please can could would will you i want need to let all of""".split()
)
_ON: Final = frozenset("about with on regarding concerning".split())
#: words about what they are
_MOST_ON: Final = 5


def _restricts(reader: Reader, atom: Atom) -> bool:
    """Whether a time is that of telling, or said to be the only one."""
    begin = beginning(reader, atom.begin)
    word = reader.word
    if _ONLY & {word(begin - 1), word(atom.begin - 1), word(atom.end)}:
        return True
    if atom.vague:
        return False
    if word(begin - 1) in _RECORDS or _is_list(reader, atom):
        return True
    if word(begin - 1) in _TALKS and word(begin - 2) in ("our", "my", "last", "previous"):
        return True
    if word(atom.begin - 1) == "the" and begin == atom.begin - 1 and not atom.relative:
        return False  # "about the May 12 panel": a name
    at = begin - 1
    while at > begin - 4 and word(at) in _LINKS:
        at -= 1
    if word(at) in _TELLING and at >= 0:
        return bool(_PERSONS & {word(at - back) for back in range(1, 5)}) or bool(
            _TURKISH_END.search(word(at))
        )
    clause_initial = begin == 0 or reader.tokens[begin - 1].sign
    return clause_initial and _told_between(reader, atom.end)


def _is_list(reader: Reader, atom: Atom) -> bool:
    """Whether the cue is records of a time and nothing else: "show me my old notes from May",
    "yesterday's messages", "our chats from last week about the move"."""
    word, count = reader.word, len(reader.tokens)
    at, end = beginning(reader, atom.begin) - 1, atom.end
    first = at
    if word(atom.end) == "'" and word(atom.end + 1) == "s":
        at, end, first = atom.end + 2, atom.end + 3, atom.begin
    if at < 0 or word(at) not in _RECORDS | _TALKS:
        return False
    owner = next((n for n in (first - 1, first - 2) if n >= 0 and word(n) in _OWNERS), first)
    if not all(word(n) in _SHOWING for n in range(owner)):
        return False
    while count > end and reader.tokens[count - 1].sign:
        count -= 1
    return end >= count or (word(end) in _ON and count - end <= _MOST_ON)


def _told_between(reader: Reader, at: int) -> bool:
    """Whether "we talked", "did you recommend" or "konuştuk" follows within the sentence."""
    last_person = -9
    for here in range(at, min(at + 24, len(reader.tokens))):
        word = reader.word(here)
        if word in "?.!;" and reader.tokens[here].sign:
            return False
        if word in ("i", "we", "you"):
            last_person = here
        elif word in _TELLING and (here - last_person <= 3 or _TURKISH_END.search(word)):
            return True
    return False


_TURKISH_END: Final = re.compile(r"(?:[td][iu]|m[iu]st[iu])[mnk]$")
