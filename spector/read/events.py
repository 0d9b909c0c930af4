"""Times that are counted from an event: "before the move", "two days after the wedding"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spector.read.timejoin import amount_before
from spector.read.timereader import Reader

__all__ = ["Event", "event_in"]

_MOST_EVENT_WORDS: Final = 10


@dataclass(frozen=True, slots=True)
class Event:
    """What a time is counted from, in the words of the cue."""

    words: str
    event: str
    relation: str  # "before" or "after"
    offset: tuple[int, str] | None


_NO_EVENT: Final = frozenset(
    """that this it then now long all me you him her them us these those which what bundan ondan
    sundan daha az biraz how about in on with for to and or at by""".split()
)
_IDIOMS: Final = frozenset(
    "look looks looked looking named take takes took go goes ask asked".split()
)
_ENDS: Final = frozenset("what who when where which why how did does do is are was were".split())
_ABLATIVE: Final = re.compile(r"(?:d|t)[ae]n$")
_DURATION: Final = frozenset(("long", "many", "much"))


def event_in(reader: Reader, text: str) -> Event | None:
    """ "before the move", "two days after the wedding", "düğünden sonra"; None if there is none.

    Not for "how long ... before": what is asked for there is the distance, and both ends matter.
    """
    if reader.word(0) == "how" and reader.word(1) in _DURATION:
        return None
    for at in range(len(reader.tokens)):
        word = reader.word(at)
        if word in ("before", "after", "since"):
            found = _english_event(reader, at, text)
        elif word in ("once", "sonra"):
            found = _turkish_event(reader, at, text)
        else:
            continue
        if found is not None:
            return found
    return None


def _english_event(reader: Reader, at: int, text: str) -> Event | None:
    begin = end = at + 1
    if reader.word(at - 1) in _IDIOMS or reader.word(begin) in _NO_EVENT:
        return None
    while end < min(len(reader.tokens), begin + _MOST_EVENT_WORDS):
        token = reader.tokens[end]
        if (token.sign and token.text not in "'-") or (end > begin and token.text in _ENDS):
            break
        end += 1
    amount = amount_before(reader, at)
    if end == begin:
        begin, end = 0, _clause_before(reader, amount[2] if amount else at)
        if not amount or end == 0:
            return None
    first = reader.tokens[amount[2] if amount else at].start
    relation = "after" if reader.word(at) == "since" else reader.word(at)
    return Event(
        words=text[first : reader.tokens[max(end - 1, at)].end],
        event=text[reader.tokens[begin].start : reader.tokens[end - 1].end],
        relation=relation, offset=(amount[0], amount[1]) if amount else None,
    )  # fmt: skip


def _clause_before(reader: Reader, at: int) -> int:
    """The end of the sentence that stands before a token's own; 0 if there is none."""
    while at > 0:
        at -= 1
        if reader.tokens[at].sign and reader.word(at) in ".;!?,":
            return at
    return 0


def _turkish_event(reader: Reader, at: int, text: str) -> Event | None:
    amount = amount_before(reader, at)
    last = (amount[2] if amount else at) - 1
    word = reader.word(last)
    if last < 0 or word in _NO_EVENT or not _ABLATIVE.search(word):
        return None
    begin = last
    while begin > 0 and begin > last - 4 and not (
        reader.tokens[begin - 1].sign and reader.word(begin - 1) != "'"
    ):
        begin -= 1
    if reader.word(begin) == "'":
        return None
    event = text[reader.tokens[begin].start : reader.tokens[last].end]
    return Event(
        words=text[reader.tokens[last].start : reader.tokens[at].end],
        event=event[:-3], relation="before" if reader.word(at) == "once" else "after",
        offset=(amount[0], amount[1]) if amount else None,
    )  # fmt: skip
