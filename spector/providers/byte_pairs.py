"""An upper estimate of byte-pair tokens, for models whose tokenizer is not available.

Ordinary prose is counted 1.5 to 2 times too high, so a text that would just fit is split. A count
that is too low would cost a refused request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["count_tokens", "split_windows"]

#: tokens never cross the boundaries of these pieces; all are short, so a window can end anywhere
_PIECE: Final = re.compile(
    r"(?P<word>[ ]?[A-Za-z]{1,64})|(?P<number>[0-9]{1,3})|(?P<other>[\x00-\x7f])"
    r"|(?P<wide>[^\x00-\x7f]{1,16})"
)
#: a longer run of letters is a key or a hash, which may have a token per letter
_WORD_CHARS: Final = 20
#: (end offset, tokens)
_Piece = tuple[int, int]


def count_tokens(text: str) -> int:
    """An upper estimate of the tokens of a byte-pair encoding such as cl100k."""
    return sum(tokens for _, tokens in _pieces(text))


def split_windows(text: str, *, limit: int, overlap: int) -> list[str]:
    """Split a text into windows of at most ``limit`` tokens that cover it.

    Neighbours share about ``overlap`` tokens (fewer than ``limit``). Windows of only white space
    are left out. A text that fits is returned whole.
    """
    # a token is at least one byte, so a short text need not be split into pieces
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return [text]
    pieces = list(_pieces(text))
    if sum(tokens for _, tokens in pieces) <= limit:
        return [text]
    windows: list[str] = []
    first = 0
    while True:
        stop, total = first, 0
        while stop < len(pieces) and (stop == first or total + pieces[stop][1] <= limit):
            total += pieces[stop][1]
            stop += 1
        begin = pieces[first - 1][0] if first else 0
        window = text[begin : pieces[stop - 1][0]]
        if not window.isspace():
            windows.append(window)
        if stop == len(pieces):
            return windows
        shared, back = 0, stop
        while back > first + 1 and shared + pieces[back - 1][1] <= overlap:
            back -= 1
            shared += pieces[back][1]
        first = back


def _pieces(text: str) -> Iterator[_Piece]:
    """(end offset, tokens) of each piece, in order."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        kind = match.lastgroup
        if kind == "word":
            letters = len(piece)
            yield match.end(), letters if letters > _WORD_CHARS else 1 + letters // 3
        elif kind == "wide":
            yield match.end(), len(piece.encode("utf-8", "surrogatepass"))
        else:
            yield match.end(), 1
