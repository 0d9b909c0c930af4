"""Shortens a cue that takes too long to embed during a recall."""

from __future__ import annotations

import re
from typing import Final

_SENTENCE_END: Final = re.compile(r"[.!?\u3002\uff01\uff1f\u061f]+(?=\s|$)|[\u3002\uff01\uff1f]|\n")
#: the first sentence gets at most one part in this many; a longer one is cut after a word
_SHARE: Final = 4
_GAP: Final = " \u2026 "
#: below this many bytes only one piece is kept
_LEAST: Final = 64
#: most characters of a partial word that is dropped at the start of the end
_WORD: Final = 64


def shorten_cue(cue: str, most_bytes: int) -> str:
    """The first sentence and the end of a cue, in at most ``most_bytes`` of UTF-8.

    The question is usually before or after a pasted text. Linear time.
    """
    cue = cue.strip()
    room = max(1, most_bytes)
    if len(cue.encode()) <= room:
        return cue
    if room < _LEAST:
        return _end(cue, room) or _start(cue, room)
    first = _start(cue, room // _SHARE)
    sentence = _SENTENCE_END.search(first)
    if sentence is not None:
        first = first[: sentence.end()].strip()
    elif " " in first:
        first = first.rsplit(None, 1)[0]
    return first + _GAP + _end(cue, room - len((first + _GAP).encode()))


def _start(text: str, room: int) -> str:
    return text[:room].encode()[:room].decode(errors="ignore")


def _end(text: str, room: int) -> str:
    """As much of the end as fits, starting at a word if possible."""
    end = text[-room:].encode()[-room:].decode(errors="ignore")
    if len(end) < len(text) and not text[-len(end) - 1].isspace():
        cut = re.search(r"\s", end[:_WORD])
        end = end[cut.end() :] if cut else end
    return end.lstrip()
