"""Moments that a text names by minutes or hours from now: in 20 minutes, an hour ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from spector.language.dates.grammar import Reader, grammar_of
from spector.language.dates.scan import MOST_CHARS
from spector.language.dates.tense import Tense, tense_of


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
