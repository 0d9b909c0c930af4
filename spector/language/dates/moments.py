"""Moments that a text names by minutes or hours from now: in 20 minutes, an hour ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from spector.language.dates.english import number
from spector.language.dates.reader import Reader, read
from spector.language.dates.tense import Tense, tense_of
from spector.language.dates.turkish import number as turkish_number

__all__ = ["Moment", "moments_in"]

_MINUTES: Final = {
    **dict.fromkeys("minute minutes min mins dakika".split(), 1),
    **dict.fromkeys("hour hours hr hrs saat".split(), 60),
}
_MOST_CHARS: Final = 20_000


class Moment(NamedTuple):
    """A moment to the minute, and where the text names it."""

    start: int
    end: int
    iso: str


def moments_in(text: str, now: datetime, *, turkish: bool) -> Iterator[Moment]:
    """What minutes and hours before and after now name in a text, in its order."""
    r = read(text[:_MOST_CHARS], now.date())
    for at, word in enumerate(r.words):
        unit = _MINUTES.get(word.text)
        if unit is None:
            continue
        half = r.text(at - 1) == "yarim" or r.text(at - 2) == "half"
        begin, count = at - 1 - (not turkish), 0.5
        if not half:
            begin, count = _counted(r, at, turkish=turkish)
        sign, end = _direction(r, begin, at + 1, turkish=turkish)
        if not count or not sign:
            continue
        if sign > 0 and tense_of(text, word.start, turkish=turkish) is Tense.PAST:
            continue  # "I ran it in 20 minutes"
        try:
            there = now + timedelta(minutes=sign * count * unit)
        except OverflowError:
            continue
        yield Moment(r.word(begin).start, r.word(end - 1).end, f"{there:%Y-%m-%d %H:%M}")


def _counted(r: Reader, unit: int, *, turkish: bool) -> tuple[int, int]:
    """(place, number) of the exact number before a unit; 0 where there is none."""
    for begin in range(max(0, unit - 3), unit):
        found = (turkish_number if turkish else number)(r, begin)
        if found is not None and found[1] == unit and not found[2]:
            return begin, found[0]
    return unit, 0


def _direction(r: Reader, begin: int, behind: int, *, turkish: bool) -> tuple[int, int]:
    """(1 ahead, -1 ago, 0 neither; the place behind it)."""
    ago = ("once",) if turkish else ("ago",)
    ahead = ("sonra", "icinde", "sonraya") if turkish else ("from now",)
    for sign, phrases in ((-1, ago), (1, ahead)):
        end = r.says(behind, *phrases)
        if end > behind:
            return sign, end
    return int(not turkish and r.text(begin - 1) in ("in", "within")), behind
