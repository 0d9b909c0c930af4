"""Finds the dates of a text and what its verbs say of them."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from spector.language.dates import rules  # noqa: F401 -- a grammar needs what its rows mean
from spector.language.dates.grammar import Grammar, Reader, grammar_of
from spector.language.dates.period import Meaning, Period
from spector.language.words import analyse, is_turkish, plain
from spector.process import keeps

# Whether a short text is Turkish: by its letters, its frequent words, or its words of time.

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_CONTRACTED: Final = ("'ve", "'s", "'re", "'ll", "n't", "'m", "'d")
_MOST_WORDS: Final = 200


def reads_turkish(text: str) -> bool:
    """Whether a text is to be read as Turkish; English words in it decide against it."""
    folded = plain(text[:4_000])
    words = _WORD.findall(folded)[:_MOST_WORDS]
    frequent = grammar_of("en").lists["frequent"]
    english = sum(word in frequent or word.endswith(_CONTRACTED) for word in words)
    if english * 4 > len(words):
        return False
    if is_turkish(text, folded) or analyse(text[:4_000]).turkish:
        return True
    of = grammar_of("tr")
    if of.patterns["case"].search(folded) and english * 6 <= len(words):
        return True
    is_finite = of.patterns["finite"].fullmatch
    return not english and any(word in of.lists["frequent"] or is_finite(word) for word in words)


# The tense of the sentence around a date, which decides between last Friday and next Friday.

_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
#: a preposition that belongs to the date
_LEADING: Final = re.compile(r"(?:until|till) ")
#: characters of a date that tell its case, and of a sentence that tell what it is for
_NEAR: Final = 16
#: words at the end of a Turkish sentence of which one tells its tense
_LAST_WORDS: Final = 3


class Tense(enum.Enum):
    PAST = "past"
    FUTURE = "future"
    NONE = "none"
    #: no clause is there that could tell
    UNKNOWN = "unknown"


def tense_of(text: str, at: int, *, turkish: bool) -> Tense:
    """The tense of the sentence in which a place stands."""
    start = 0
    for found in _ENDS.finditer(text, 0, at):
        start = found.end()
    after = _ENDS.search(text, at)
    sentence = plain(text[start : after.start() if after else len(text)])
    before, since = plain(text[start:at]), plain(text[at:])
    of = grammar_of("tr" if turkish else "en")
    if turkish:
        is_ahead = _is_set_for(of, since, sentence)
        return Tense.FUTURE if is_ahead else _tense_of_verb(of, _WORD.findall(sentence))
    if leading := _LEADING.match(since):
        before += leading.group()
    if of.patterns["moved_to"].search(before.rstrip()) or _is_booked(of, before, sentence):
        return Tense.FUTURE
    words = _WORD.findall(sentence)
    if not of.lists["future"].isdisjoint(words):
        return Tense.FUTURE
    for previous, word in itertools.pairwise(("", *words)):
        irregular = word in of.lists["past"]
        if irregular or (_is_regular(word) and not previous.endswith("ing")):  # "getting married"
            return Tense.PAST
    is_clause = of.patterns["clause"].search(sentence) or of.patterns["clause"].search(before)
    return Tense.NONE if is_clause else Tense.UNKNOWN


def _is_regular(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4


def _is_booked(of: Grammar, before: str, sentence: str) -> bool:
    """Whether a date is what something was booked for: "reserved a table for Friday"."""
    if of.patterns["had"].search(sentence):
        return False
    if of.patterns["booked"].search(before):
        return True
    past = of.lists["past"] - of.lists["came_by"]
    return bool(of.patterns["appointed"].search(sentence)) and not any(
        word in past or _is_regular(word) for word in _WORD.findall(sentence)
    )


def _is_set_for(of: Grammar, since: str, sentence: str) -> bool:
    """Whether something was moved to a Turkish date, or booked for it."""
    to_it = of.patterns["dative"].match(since[:_NEAR])
    if to_it and of.patterns["moved_to"].search(sentence):
        return True
    for_it = of.patterns["for_it"].match(since) or of.patterns["dative"].match(since)
    return bool(for_it and of.patterns["booked"].search(sentence))


def _tense_of_verb(of: Grammar, words: list[str]) -> Tense:
    for word in reversed(words[-_LAST_WORDS:]):
        if word in of.lists["no_verb"] or len(word) < 4:
            continue
        if of.patterns["future"].search(word):
            return Tense.FUTURE
        if of.patterns["past"].search(word):
            return Tense.PAST
    return Tense.NONE


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


def dates_in(text: str, today: date, *, turkish: bool | None = None) -> tuple[DateExpression, ...]:
    """The dates that a text names, in its order, none inside another.

    Args:
        today: the day of the message where it was written.
        turkish: read it as Turkish; None decides by the text.
    """
    return _dates_in(text[:MOST_CHARS], today, turkish)


@keeps(512)
def _dates_in(text: str, today: date, turkish: bool | None) -> tuple[DateExpression, ...]:
    """A message is looked at for its dates beside each memory that it may concern."""
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
    return tuple(found)


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


# Moments that a text names by minutes or hours from now: in 20 minutes, an hour ago.


class Moment(NamedTuple):
    """A moment to the minute, and where the text names it."""

    start: int
    end: int
    iso: str


def moments_in(text: str, now: datetime, *, turkish: bool) -> Iterator[Moment]:
    """What minutes and hours before and after now name in a text, in its order."""
    r = Reader(text[:MOST_CHARS], now.date(), grammar_of("tr" if turkish else "en"))
    done = 0
    for at, word in enumerate(r.words):
        found = r.rule("moment", at) if at >= done else None
        if found is not None:
            done = found[1]
        if found is None or (
            found[0] > 0 and tense_of(text, word.start, turkish=turkish) is Tense.PAST
        ):
            continue  # "I ran it in 20 minutes"
        try:
            there = now + timedelta(minutes=found[0])
        except OverflowError:
            continue
        yield Moment(word.start, r.word(found[1] - 1).end, f"{there:%Y-%m-%d %H:%M}")
