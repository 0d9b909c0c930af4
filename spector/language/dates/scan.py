"""All dates of a text, resolved against the day of the message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from spector.language.dates import rules  # noqa: F401 -- a grammar needs what its rows mean
from spector.language.dates.grammar import Reader, grammar_of
from spector.language.dates.period import Meaning, Period
from spector.language.dates.tense import Tense, tense_of
from spector.language.dates.wording import reads_turkish

#: longer texts are read up to here; no message of a conversation is longer
MOST_CHARS: Final = 20_000
_MOST: Final = 64
_OPENERS: Final = frozenset(".!?:;\"'([*-")
#: what stands before a name, and before a day or a month
_NAMING: Final = frozenset("called named titled".split())
_AT: Final = frozenset("on in by since until till from next last this of and".split())


@dataclass(frozen=True, slots=True)
class DateExpression:
    """A date or a range of days that a text names.

    Attributes:
        start, end: where it stands in the text.
        period: the reading that fits the tense of its sentence.
        periods: all readings, the past one first.
        grain: the unit that it names: day, week, month, ..., or ``span``.
        relative: it depends on the day of the message.
        vague: it names no exact days.
        iso: the days that it names: 2026-11-24 of "since yesterday".
        yearly: it comes every year ("on May 8").
    """

    start: int
    end: int
    period: Period
    periods: tuple[Period, ...]
    grain: str
    relative: bool
    vague: bool
    iso: str
    yearly: bool = False

    @property
    def starts(self) -> date:
        """The first day that it names: the Friday of "by Friday"."""
        return self.period.first or self.period.until or self.period.last or date.min


def dates_in(text: str, today: date, *, turkish: bool | None = None) -> list[DateExpression]:
    """The dates that a text names, in its order, none inside another.

    Args:
        today: the day of the message where it was written.
        turkish: read it as Turkish; None decides by the text.
    """
    text = text[:MOST_CHARS]
    if turkish is None:
        turkish = reads_turkish(text)
    reader = Reader(text, today, grammar_of("tr" if turkish else "en"))
    found: list[DateExpression] = []
    for begin, end, meaning in scanned(reader):
        expression = _expression(reader, text, begin, end, meaning.resolved(today))
        if expression is not None:
            found.append(expression)
        if len(found) >= _MOST:
            break
    return found


def scanned(r: Reader) -> Iterator[tuple[int, int, Meaning]]:
    """The longest expressions of a text from left to right, and where they stand."""
    places = r.places()
    at = 0
    while at < len(r.words):
        found = r.rule("top", at) if places[at] else None
        if found is not None and not _is_name(r, at, found[1]):
            yield at, found[1], found[0]
            at = found[1]
        else:
            at += 1


def _is_name(r: Reader, begin: int, end: int) -> bool:
    """Whether words of a date are a name or part of one: monday.com, the Sunday Times."""
    if r.grammar.day_first:
        return False
    first, behind = r.word(begin), r.word(end)
    if (
        r.text(end) in (".", "@", "_", "-")
        and r.joined(end)
        and r.joined(end + 1)
        and (r.text(end + 1).isalpha())
    ):
        return True
    opens = begin == 0 or r.text(begin - 1) in _OPENERS
    if end - begin > 1 or opens or not first.raw.istitle():
        return False
    if r.find("day_word", begin) or r.text(begin - 1) in _NAMING:
        return True  # no "yesterday" has a capital within a sentence
    titled = behind.raw.istitle() and len(behind.raw) > 1 and behind.start == first.end + 1
    return titled and not behind.text.isdecimal() and r.text(begin - 1) not in _AT


def _expression(
    reader: Reader, text: str, begin: int, end: int, meaning: Meaning
) -> DateExpression | None:
    if not meaning.periods:
        return None
    first, last = reader.word(begin), reader.word(end - 1)
    at = len(meaning.periods) - 1
    vague = meaning.vague
    if at > 0:
        tense = tense_of(text, first.start, turkish=reader.grammar.day_first)
        ahead = meaning.periods[-1].first
        began = ahead is not None and ahead <= reader.today
        begins = meaning.since and tense is not Tense.FUTURE
        vague |= meaning.yearly and tense is Tense.UNKNOWN
        at = 0 if (tense is Tense.PAST or begins) and not began else at
    chosen = meaning.periods[at]
    named = meaning.named[at] if len(meaning.named) > at else chosen
    return DateExpression(
        first.start, last.end, chosen, meaning.periods, meaning.grain, meaning.relative, vague,
        iso_of(named, meaning.named_grain or meaning.grain), meaning.yearly,
    )  # fmt: skip


def iso_of(period: Period, grain: str) -> str:
    """2026-11-24 of a day, 2026-11 of a month, 2026 of a year, else first/last day."""
    first, last = period.first, period.last
    if first is None or last is None:
        return f"{first or '..'}/{last or '..'}"
    if first == last:
        return first.isoformat()
    if grain == "month" and first.day == 1:
        return first.isoformat()[:7]
    if grain == "year":
        return first.isoformat()[:4]
    return f"{first.isoformat()}/{last.isoformat()}"
