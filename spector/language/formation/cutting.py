"""Long messages in parts: cut at paragraphs, at sentences, at words, in this order."""

from __future__ import annotations

import re
from typing import Final

from spector.language.statements import is_invisible

_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE: Final = re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)\\]]*\\s+|\n+")
_SPACE: Final = re.compile(r"\s+")


def cut(text: str, most: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of the parts of a text, each with fewer than ``most`` characters.

    Nothing but white space between the parts is left out. A part ends with a paragraph where one
    ends, else with a sentence, else with a word; only a longer word is cut within. What has no
    character to be seen is no part: it belongs to the one beside it, however long that becomes.
    """
    if most < 2:
        raise ValueError(f"parts of fewer than {most} characters say nothing")
    limit = most - 1
    found: list[tuple[int, int]] = []
    begin = start = _skip(text, 0)
    length = len(text.rstrip())
    while start < length:
        end = length if length - start <= limit else _end(text, start, start + limit)
        stop = start + len(text[start:end].rstrip())
        if all(each.isspace() or is_invisible(each) for each in text[start:stop]):
            if found:
                found[-1] = (found[-1][0], stop)
        else:
            found.append((begin, stop))
        start = _skip(text, end)
        begin = start if found else begin
    return tuple(found) or (((begin, length),) if begin < length else ())


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
