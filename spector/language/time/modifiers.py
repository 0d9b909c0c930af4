"""Modifiers of time expressions: "before", "from ... to", "a week after"."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Final

from spector.clock import MS_PER_DAY
from spector.language.time import calendar as spans
from spector.language.time import vocabulary as timewords
from spector.language.time.calendar import ALWAYS, Span
from spector.language.time.reader import Atom, TokenReader

__all__ = ["LONG_UNITS", "amount_before", "apply_modifier", "is_pair", "phrase_start"]

LONG_UNITS: Final = frozenset(("day", "week", "weekend", "month", "quarter", "year"))
_BEFORE: Final = frozenset(("before", "until", "till", "by", "once", "evvel", "kadar"))
_AFTER: Final = frozenset(("after", "since", "sonra", "beri"))
_POSTFIX: Final = frozenset(("once", "evvel", "sonra", "beri", "kadar"))
#: words that include the named time in the range
_INCLUDED: Final = frozenset(("until", "till", "by", "since", "beri", "kadar"))


def is_pair(reader: TokenReader, one: Atom, two: Atom) -> bool:
    """ "from ONE to TWO", "between ONE and TWO", "ONE ile TWO arasında", "ONE-TWO"."""
    between = [token.text for token in reader.tokens[one.end : two.begin]][:4]
    lead = reader.word(one.begin - 1)
    lead = reader.word(one.begin - 2) if lead == "the" else lead
    between = [word for word in between if word != "the"]
    if lead == "between" or reader.word(two.end).startswith("arasin"):
        return between in (["and"], ["ile"], ["ve"])
    if between in (["-"], ["."] * 2, ["through"]):
        return True
    if lead == "from":
        return between in (["to"], ["until"], ["till"], ["up", "to"])
    return reader.word(two.end) == "kadar" and between == []


def apply_modifier(reader: TokenReader, atom: Atom) -> Atom:
    """Apply "before", "since", "a week after" in front of an expression, or "sonra" after it."""
    at = atom.begin - 1
    if reader.word(at) == "the":
        at -= 1
    word, end = reader.word(at), atom.end
    if reader.word(end) in _POSTFIX:
        word, end, at = reader.word(end), end + 1, atom.begin
        if atom.relative and word == "once":
            return atom
    elif word == "of" and reader.word(at - 1) in ("week", "weekend"):
        return _around(reader, atom, at - 1)
    elif word not in _BEFORE | _AFTER or word in _POSTFIX:
        return atom
    amount = amount_before(reader, at) if word in ("before", "after") else None
    found = []
    for span in atom.spans:
        low, high = span
        if amount:
            value, unit, at = amount
            step = -value if word == "before" else value
            day = spans.today_of(low if word == "before" else high - 1)
            low, high = _beside(day, step, unit)
        elif word in _BEFORE:
            low, high = ALWAYS[0], high if word in _INCLUDED else low
        else:
            low, high = low if word in _INCLUDED else high, ALWAYS[1]
        if low < high:
            found.append(Span(low, high))
    return replace(atom, begin=at, end=end, spans=tuple(found) or atom.spans)


def _beside(day: date, step: int, unit: str) -> Span:
    """ "the week before 9 June": the days before it; "two days after 3 May": that day."""
    if unit == "day":
        return spans.day(spans.shifted(day, step, "day"))
    if unit == "weekend":
        away = -day.weekday() - 1 if step < 0 else (5 - day.weekday()) % 7 or 7
        return spans.weekend(spans.shifted(day, away, "day"))
    far = spans.shifted(day, step, unit if unit in LONG_UNITS else "day")
    near = spans.shifted(day, -1 if step < 0 else 1, "day")
    return spans.days(far, near)


def _around(reader: TokenReader, atom: Atom, at: int) -> Atom:
    """ "the week of May 8", "the second weekend of June"."""
    unit, number = reader.word(at), timewords.ORDINALS.get(reader.word(at - 1), 0)
    found = []
    for low, high in atom.spans:
        if high - low <= 7 * MS_PER_DAY:
            found.append(spans.calendar_unit(spans.today_of(low), unit, 0))
        elif number:
            first = spans.today_of(low if number > 0 else high - 7 * MS_PER_DAY)
            first = spans.shifted(first, 7 * max(number - 1, 0), "day")
            whole = spans.days(first, spans.shifted(first, 6, "day"))
            found.append(spans.weekend(first) if unit == "weekend" else whole)
    if not found:
        return atom
    return replace(atom, begin=at - (number != 0), spans=tuple(found))


def amount_before(reader: TokenReader, at: int) -> tuple[int, str, int] | None:
    """(number, unit, first token) of "two days" or "the week" before a token."""
    unit = timewords.UNITS.get(reader.word(at - 1))
    if unit is None:
        return None
    for back in (4, 3, 2):  # "a couple of days", "a few days", "two days"
        amount = reader.number(at - back)
        if amount and amount[1] == at - 1:
            return amount[0], unit, at - back
    lead = reader.word(at - 2) in ("the", "last", "a", "one")
    return (1, unit, at - 2 if lead and reader.word(at - 2) != "the" else at - 1)


def phrase_start(reader: TokenReader, at: int) -> int:
    """The first token of an expression with its preposition and article."""
    if reader.word(at - 1) in ("the", "our", "my"):
        at -= 1
    if reader.word(at - 1) in ("on", "in", "at", "during", "from", "of", "between", "over", "for"):
        at -= 1
    return at
