"""Long messages in parts: cut at paragraphs, at sentences, at words, in this order."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["cut"]

_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE: Final = re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)\\]]*\\s+|\n+")
_SPACE: Final = re.compile(r"\s+")


def cut(text: str, most: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of the parts of a text, each with fewer than ``most`` characters.

    Nothing but white space between the parts is left out. A part ends with a paragraph where one
    ends, else with a sentence, else with a word; only a longer word is cut within.
    """
    if most < 2:
        raise ValueError(f"parts of fewer than {most} characters say nothing")
    limit = most - 1
    found: list[tuple[int, int]] = []
    start, length = _skip(text, 0), len(text.rstrip())
    while start < length:
        end = length if length - start <= limit else _end(text, start, start + limit)
        stop = start + len(text[start:end].rstrip())
        found.append((start, stop))
        start = _skip(text, end)
    return tuple(found)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _end(text: str, start: int, limit: int) -> int:
    """The last good place to end before a limit; not so early that parts become crumbs."""
    for pattern, least in ((_PARAGRAPH, 3), (_SENTENCE, 4), (_SPACE, 8)):
        best = 0
        for found in pattern.finditer(text, start, min(limit + 1, len(text))):
            if found.start() <= limit:
                best = found.start()
        if best - start > (limit - start) // least:
            return best
    return limit
