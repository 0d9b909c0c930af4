"""The part of a text that a cue is about, when there is no room for all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from spector.lexical.analysis import cue_terms
from spector.lexical.analysis import words as terms

__all__ = ["cue_words", "excerpt"]

_SENTENCE: Final = re.compile(
    r"[^.!?\u3002\uff01\uff1f\n]*[.!?\u3002\uff01\uff1f\n]+[\"'”’)\]\s]*|.+"
)
_WORD: Final = re.compile(r"[^\W_]+")
#: longer sentences are looked at in pieces of about so many characters
_PIECE_CHARS: Final = 240
#: how far into a text its best sentence is looked for
_MOST_CHARS: Final = 100_000
#: pieces that an excerpt has at most beside its best one
_MOST_PIECES: Final = 64
_CUT: Final = "\u2026"


def cue_words(cue: str) -> frozenset[str]:
    """The terms of a cue, stemmed, so that other forms match; stop words if it has no others."""
    return frozenset(form for term in cue_terms(cue) for form in term.forms)


def excerpt(text: str, words: Collection[str], room: int, cost: Callable[[str], int]) -> str:
    """The sentence with most of ``words`` and neighbours as far as they fit; "" if nothing does.

    Args:
        words: of the cue, as ``cue_words`` makes them.
        room, cost: what the excerpt may cost, and what a text costs.
    """
    pieces, wanted = _pieces(text), frozenset(words)
    found = [len(wanted.intersection(terms(piece[:_MOST_CHARS]))) for piece in pieces]
    first = last = found.index(max(found))
    if cost(_marked(pieces, first, last)) > room:
        return _shortened(pieces, first, words, room, cost)
    left = room - cost(pieces[first]) - 2  # the two ellipses
    for _ in range(_MOST_PIECES):
        if last + 1 < len(pieces) and (price := cost(pieces[last + 1])) <= left:
            last += 1
        elif first > 0 and (price := cost(pieces[first - 1])) <= left:
            first -= 1
        else:
            break
        left -= price
    while last > first and cost(_marked(pieces, first, last)) > room:
        last -= 1  # the sum of its parts was too low an estimate
    body = _marked(pieces, first, last)
    return body if cost(body) <= room else _shortened(pieces, first, words, room, cost)


def _pieces(text: str) -> list[str]:
    """A text in sentences and pieces of long ones; what is far behind is one more piece."""
    pieces: list[str] = []
    for match in _SENTENCE.finditer(text, 0, _MOST_CHARS):
        sentence = match.group()
        while len(sentence) > _PIECE_CHARS:
            end = sentence.rfind(" ", _PIECE_CHARS // 2, _PIECE_CHARS) + 1 or _PIECE_CHARS
            pieces.append(sentence[:end])
            sentence = sentence[end:]
        pieces.append(sentence)
    rest = text[_MOST_CHARS:]
    return [*pieces, rest] if rest else pieces or [text]


def _marked(pieces: list[str], first: int, last: int) -> str:
    """Pieces first..last, with an ellipsis where the text goes on."""
    body = "".join(pieces[first : last + 1]).strip()
    return f"{_CUT if first else ''}{body}{_CUT if last + 1 < len(pieces) else ''}"


def _shortened(
    pieces: list[str], at: int, words: Collection[str], room: int, cost: Callable[[str], int]
) -> str:
    """As much of one piece as fits, from its first matching word on."""
    piece, wanted = pieces[at], frozenset(words)
    matches = (m.start() for m in _WORD.finditer(piece) if wanted.intersection(terms(m.group())))
    start = next(matches, 0)
    body = piece[start:].strip()
    before = _CUT if at or start else ""
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
