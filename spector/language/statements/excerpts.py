"""Excerpts: the part of a text that matches a cue, within a budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from spector.language.words import cue_terms
from spector.language.words import words as terms

_SENTENCE: Final = re.compile(
    r"[^.!?\u3002\uff01\uff1f\n]*[.!?\u3002\uff01\uff1f\n]+[\"'”’)\]\s]*|.+"
)
_WORD: Final = re.compile(r"[^\W_]+")
#: longer sentences are split into pieces of about this many characters
_PIECE_CHARS: Final = 240
#: longest part of a text that is split into sentences
_STRETCH: Final = 16_384
_WORD_CHARS: Final = 100
#: most pieces of an excerpt besides its best one
_MOST_PIECES: Final = 64
_CUT: Final = "\u2026"


def cue_words(cue: str) -> frozenset[str]:
    """The stemmed terms of a cue, without stop words if it has any others."""
    return frozenset(form for term in cue_terms(cue) for form in term.forms)


def excerpt(text: str, words: Collection[str], room: int, cost: Callable[[str], int]) -> str:
    """The sentence with most of ``words``, and neighbours that fit; "" if nothing fits.

    Args:
        words: words of the cue, from ``cue_words``.
        room: most that the excerpt may cost.
        cost: function that returns the cost of a text.
    """
    wanted = frozenset(words)
    start, end = _stretch(text, wanted)
    part = _Part(_pieces(text[start:end]), start > 0, end < len(text))
    found = [len(wanted.intersection(terms(piece))) for piece in part.pieces]
    first = last = found.index(max(found))
    if cost(part.marked(first, last)) > room:
        return _shortened(part, first, wanted, room, cost)
    left = room - cost(part.pieces[first]) - 2  # the two ellipses
    for _ in range(_MOST_PIECES):
        if last + 1 < len(part.pieces) and (price := cost(part.pieces[last + 1])) <= left:
            last += 1
        elif first > 0 and (price := cost(part.pieces[first - 1])) <= left:
            first -= 1
        else:
            break
        left -= price
    while last > first and cost(part.marked(first, last)) > room:
        last -= 1  # the sum of the parts was too low
    body = part.marked(first, last)
    return body if cost(body) <= room else _shortened(part, first, wanted, room, cost)


@dataclass(frozen=True, slots=True)
class _Part:
    """Pieces of a part of a text, and whether the text continues before and after it."""

    pieces: list[str]
    before: bool
    after: bool

    def marked(self, first: int, last: int) -> str:
        """Pieces first..last, with an ellipsis where the text continues."""
        body = "".join(self.pieces[first : last + 1]).strip()
        goes_on = self.after or last + 1 < len(self.pieces)
        return f"{_CUT if self.before or first else ''}{body}{_CUT if goes_on else ''}"


def _stretch(text: str, words: Collection[str]) -> tuple[int, int]:
    """Start and end of the part of a very long text with most of the words.

    Stems are searched as substrings, which is fast and precise enough for this.
    """
    if len(text) <= _STRETCH:
        return 0, len(text)
    lower = text.casefold()
    starts = range(0, len(text), _STRETCH // 2)
    if len(lower) != len(text):  # some letters have a longer lower case
        lower = text
    start = max(starts, key=lambda at: (
        sum(lower.find(word, at, at + _STRETCH) >= 0 for word in words), -at
    ))  # fmt: skip
    end = start + _STRETCH
    if start:  # not in the middle of a word
        start = text.find(" ", start, start + _WORD_CHARS) + 1 or start
    if end < len(text):
        end = text.rfind(" ", end - _WORD_CHARS, end) + 1 or end
    return start, end


def _pieces(text: str) -> list[str]:
    """Split a text into sentences, and long sentences into pieces; joined they are the text."""
    pieces: list[str] = []
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        while len(sentence) > _PIECE_CHARS:
            end = sentence.rfind(" ", _PIECE_CHARS // 2, _PIECE_CHARS) + 1 or _PIECE_CHARS
            pieces.append(sentence[:end])
            sentence = sentence[end:]
        pieces.append(sentence)
    return pieces or [text]


def _shortened(
    part: _Part, at: int, wanted: frozenset[str], room: int, cost: Callable[[str], int]
) -> str:
    """As much of one piece as fits, starting at its first matching word."""
    piece = part.pieces[at]
    matches = (m.start() for m in _WORD.finditer(piece) if wanted.intersection(terms(m.group())))
    start = next(matches, 0)
    body = piece[start:].strip()
    before = _CUT if at or start or part.before else ""
    low, high = 0, len(body)
    while low < high:  # the most characters that fit
        middle = (low + high + 1) // 2
        if cost(f"{before}{body[:middle]}{_CUT}") <= room:
            low = middle
        else:
            high = middle - 1
    if not low:
        return ""
    space = body.rfind(" ", low // 2, low) if low < len(body) else -1
    return f"{before}{body[: space if space > 0 else low].strip()}{_CUT}"
